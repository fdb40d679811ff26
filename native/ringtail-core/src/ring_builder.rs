//! Checks the parts of a ring while they arrive and puts them together.

use crate::error::RingError;
use crate::index::{Index, Position};
use crate::names::Names;
use crate::node::{NodeId, NodeName};
use crate::ring::{Member, NextOwner, Pending, Ring};
use crate::ring_size::RingSize;
use crate::status::{MemberStatus, PendingStatus};
use crate::wide::Wide;

/// What a ring is made of, for [`Ring::from_parts`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RingParts {
    /// As [`Ring::cluster_name`].
    pub cluster_name: Option<String>,
    /// As [`Ring::nodename`].
    pub nodename: Option<String>,
    /// As [`Ring::claimant`].
    pub claimant: Option<String>,
    /// One for each partition, in ring order; their number is the ring size.
    pub owners: Vec<(Index, String)>,
    /// Node and status.
    pub members: Vec<(String, MemberStatus)>,
    /// Transfers under way.
    pub pending: Vec<PendingParts>,
    /// As [`Ring::rvsn_sum`].
    pub rvsn_sum: u64,
    /// As [`Ring::vclock_sum`].
    pub vclock_sum: u64,
    /// As [`Ring::resizing`].
    pub resizing: bool,
}

/// A transfer under way, for [`RingParts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingParts {
    /// The partition.
    pub index: Index,
    /// Who hands it over.
    pub owner: String,
    /// Who gets it: a node's name, `$resize` or `$delete`.
    pub next_owner: String,
    /// How far that has come.
    pub status: PendingStatus,
}

impl Ring {
    /// A ring from its parts, checked as a decoded one is.
    pub fn from_parts(parts: RingParts) -> Result<Ring, RingError> {
        parts.build()
    }
}

impl RingParts {
    fn build(self) -> Result<Ring, RingError> {
        let size = u32::try_from(self.owners.len()).map_err(|_| RingError::TooLarge)?;
        let mut builder = RingBuilder::new(RingSize::new(size).map_err(|_| RingError::Empty)?);
        for (index, owner) in &self.owners {
            builder.owner(*index, owner)?;
        }
        builder.owners_end()?;
        for (node, status) in &self.members {
            builder.member(node, *status, None)?;
        }
        for pending in &self.pending {
            builder.pending(pending.index, &pending.owner, &pending.next_owner, pending.status)?;
        }
        builder.cluster_name = self.cluster_name;
        builder.nodename = self.nodename.map(NodeName::from);
        builder.claimant = self.claimant.map(NodeName::from);
        builder.rvsn_sum = self.rvsn_sum;
        builder.vclock_sum = self.vclock_sum;
        builder.resizing = self.resizing;
        builder.build()
    }
}

/// What to make room for.
#[derive(Clone, Copy)]
pub(crate) enum Room {
    Owners,
    Pending,
    Members,
}

pub(crate) struct RingBuilder {
    size: RingSize,
    names: Names,
    owners: Vec<NodeId>,
    /// The index the next owner should have.
    expected: Wide,
    /// The first position whose place another index took.
    skipped: Option<Position>,
    members: Vec<Member>,
    pending: Vec<Pending>,
    pub(crate) cluster_name: Option<String>,
    pub(crate) nodename: Option<NodeName>,
    pub(crate) claimant: Option<NodeName>,
    pub(crate) rvsn_sum: u64,
    pub(crate) vclock_sum: u64,
    pub(crate) resizing: bool,
}

impl RingBuilder {
    pub(crate) fn new(size: RingSize) -> RingBuilder {
        RingBuilder {
            size,
            names: Names::default(),
            owners: Vec::new(),
            expected: Wide::ZERO,
            skipped: None,
            members: Vec::new(),
            pending: Vec::new(),
            cluster_name: None,
            nodename: None,
            claimant: None,
            rvsn_sum: 0,
            vclock_sum: 0,
            resizing: false,
        }
    }

    /// Makes room for entries that are about to come.
    pub(crate) fn room(&mut self, what: Room, entries: usize) {
        match what {
            Room::Owners => self.owners.reserve_exact(entries),
            Room::Pending => self.pending.reserve_exact(entries),
            Room::Members => self.members.reserve_exact(entries),
        }
    }

    /// The owner of the next partition.
    pub(crate) fn owner(&mut self, index: Index, name: &str) -> Result<(), RingError> {
        let place = self.owners.len();
        let wide = Wide::from_be_bytes(index.as_bytes());
        if wide != self.expected || place >= self.size.get() as usize {
            let position = self.size.position_of_index(&index);
            let position = position.ok_or(RingError::OffGrid { size: self.size.get(), index })?;
            match self.skipped {
                // Up to here every index stood at its place, so one that belongs before has been
                // seen.
                None if (position.0 as usize) < place => {
                    return Err(RingError::OwnerDoubled { index });
                }
                None => self.skipped = Some(Position(place as u32)),
                Some(skipped) if skipped == position => {
                    return Err(RingError::OutOfOrder { index });
                }
                Some(_) => {}
            }
        }
        self.expected = self.expected.add(self.size.wide_increment());
        let owner = self.names.intern(name)?;
        self.owners.push(owner);
        Ok(())
    }

    /// All owners have been given.
    pub(crate) fn owners_end(&mut self) -> Result<(), RingError> {
        let size = self.size.get();
        let missing = self.skipped.or_else(|| {
            let place = self.owners.len();
            (place < size as usize).then_some(Position(place as u32))
        });
        match missing {
            Some(position) => {
                Err(RingError::OwnersMissing { size, index: self.size.index_of(position) })
            }
            None => Ok(()),
        }
    }

    pub(crate) fn member(
        &mut self,
        name: &str,
        status: MemberStatus,
        meta: Option<Box<[u8]>>,
    ) -> Result<(), RingError> {
        let node = self.names.intern(name)?;
        self.members.push(Member { node, status, meta });
        Ok(())
    }

    pub(crate) fn pending(
        &mut self,
        index: Index,
        owner: &str,
        next_owner: &str,
        status: PendingStatus,
    ) -> Result<(), RingError> {
        let owner = self.names.intern(owner)?;
        let next_owner = match next_owner {
            NextOwner::RESIZE => NextOwner::Resize,
            NextOwner::DELETE => NextOwner::Delete,
            name => NextOwner::Node(self.names.intern(name)?),
        };
        self.pending.push(Pending { index, owner, next_owner, status });
        Ok(())
    }

    /// Every owner is a valid member: what `riak_core_ring:upgrade/1` makes of a legacy ring.
    pub(crate) fn owners_are_members(&mut self) {
        for number in 0..self.names.len() {
            self.members.push(Member {
                node: NodeId(number),
                status: MemberStatus::Valid,
                meta: None,
            });
        }
    }

    /// Whether a partition waits to be resized: enough to know it where the metadata has another
    /// shape.
    pub(crate) fn resizes(&self) -> bool {
        self.pending.iter().any(|pending| pending.next_owner == NextOwner::Resize)
    }

    pub(crate) fn build(self) -> Result<Ring, RingError> {
        let RingBuilder { size, names, mut owners, mut members, mut pending, .. } = self;
        let (nodes, ranks) = names.sorted();
        let rank = |node: &mut NodeId| *node = ranks[usize::from(node.0)];
        owners.iter_mut().for_each(rank);
        members.iter_mut().for_each(|member| rank(&mut member.node));
        for transfer in &mut pending {
            rank(&mut transfer.owner);
            if let NextOwner::Node(node) = &mut transfer.next_owner {
                rank(node);
            }
        }
        let mut partitions = vec![0; nodes.len()].into_boxed_slice();
        for owner in &owners {
            partitions[usize::from(owner.0)] += 1;
        }
        let mut listed = vec![false; nodes.len()];
        for member in &members {
            if std::mem::replace(&mut listed[usize::from(member.node.0)], true) {
                return Err(RingError::MemberDoubled {
                    node: nodes[usize::from(member.node.0)].to_string(),
                });
            }
        }
        Ok(Ring {
            size,
            owners: owners.into_boxed_slice(),
            nodes,
            partitions,
            members: members.into_boxed_slice(),
            pending: pending.into_boxed_slice(),
            cluster_name: self.cluster_name,
            nodename: self.nodename,
            claimant: self.claimant,
            rvsn_sum: self.rvsn_sum,
            vclock_sum: self.vclock_sum,
            resizing: self.resizing,
        })
    }
}
