//! What a ring says that clients go by.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::endpoint::{self, Endpoint, Protocol};
use super::identity::{cluster_uuid, node_uuid};
use crate::{Index, KeyHash, MemberStatus, NVal, NValError, Position, Ring, RingSize};

/// A cluster by UUID and name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterRef {
    /// Version 5 UUID of the name.
    pub uuid: Uuid,
    /// The ring's cluster name as Erlang's `~w` prints it; `undefined` where a legacy ring has
    /// none.
    pub name: String,
}

/// One node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEntry {
    /// Version 5 UUID of the node name within the cluster.
    pub uuid: Uuid,
    /// The Erlang node name.
    pub name: String,
    /// Its status in the ring; `invalid` for an owner that is no member.
    pub status: MemberStatus,
    /// Its listeners, sorted, as it published them in the ring; empty where it published none.
    pub endpoints: Vec<Endpoint>,
}

impl MemberEntry {
    /// The first endpoint of a protocol.
    pub fn endpoint(&self, protocol: Protocol) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.protocol == protocol)
    }
}

/// What a ring says that clients go by: members and owners. Immutable; members are sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub(super) cluster: ClusterRef,
    pub(super) resizing: bool,
    pub(super) members: Vec<MemberEntry>,
    /// By position: the owner's place in `members`.
    pub(super) owners: Vec<u16>,
}

impl Snapshot {
    /// The snapshot of a ring.
    pub fn of(ring: &Ring) -> Self {
        let name = ring.cluster_name().unwrap_or("undefined").to_owned();
        let uuid = cluster_uuid(&name);
        // Riak keeps removed members for a while, as invalid: they are listed only while they still
        // own something.
        let mut place = vec![None; ring.nodes().len()];
        let mut members: Vec<_> = ring
            .members()
            .iter()
            .filter(|member| member.status != MemberStatus::Invalid)
            .map(|member| {
                (
                    member.node,
                    member.status,
                    member.meta.as_deref().map(endpoint::published).unwrap_or_default(),
                )
            })
            .collect();
        for (_, owner) in ring.owners() {
            if place[usize::from(owner.0)].is_none() {
                place[usize::from(owner.0)] = Some(0);
                if !members.iter().any(|(node, ..)| *node == owner) {
                    members.push((owner, MemberStatus::Invalid, Vec::new()));
                }
            }
        }
        members.sort_by(|(a, ..), (b, ..)| ring.node_name(*a).cmp(ring.node_name(*b)));
        for (at, (node, ..)) in members.iter().enumerate() {
            place[usize::from(node.0)] = u16::try_from(at).ok();
        }
        let owners = ring
            .owners()
            .map(|(_, owner)| place[usize::from(owner.0)].unwrap_or_default())
            .collect();
        let members = members
            .into_iter()
            .map(|(node, status, endpoints)| {
                let name = ring.node_name(node).to_owned();
                MemberEntry { uuid: node_uuid(uuid, &name), name, status, endpoints }
            })
            .collect();
        Self { cluster: ClusterRef { uuid, name }, resizing: ring.resizing(), members, owners }
    }

    /// A snapshot of members in any order and owners by UUID in ring order; nothing where an owner
    /// is no member, or a member is listed twice.
    pub(super) fn assemble(
        cluster: ClusterRef,
        resizing: bool,
        mut members: Vec<MemberEntry>,
        owners: &[Uuid],
    ) -> Option<Self> {
        members.sort_by(|a, b| a.name.cmp(&b.name));
        let mut places: Vec<(Uuid, u16)> = Vec::with_capacity(members.len());
        for (at, member) in members.iter().enumerate() {
            places.push((member.uuid, u16::try_from(at).ok()?));
        }
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let place = |uuid: &Uuid| {
            places.binary_search_by(|(known, _)| known.cmp(uuid)).ok().map(|found| places[found].1)
        };
        let owners = owners.iter().map(place).collect::<Option<Vec<u16>>>()?;
        if owners.is_empty() { None } else { Some(Self { cluster, resizing, members, owners }) }
    }

    /// The cluster it is a snapshot of.
    pub fn cluster(&self) -> &ClusterRef {
        &self.cluster
    }

    /// Number of partitions.
    pub fn ring_size(&self) -> u32 {
        // A ring's size is a u32 and a canonical form's is checked to be one.
        u32::try_from(self.owners.len()).unwrap_or(u32::MAX)
    }

    /// Whether the ring is being resized.
    pub fn resizing(&self) -> bool {
        self.resizing
    }

    /// The members, sorted by name.
    pub fn members(&self) -> &[MemberEntry] {
        &self.members
    }

    /// The member of that UUID.
    pub fn member(&self, uuid: Uuid) -> Option<&MemberEntry> {
        self.members.iter().find(|member| member.uuid == uuid)
    }

    /// Who owns a partition. Panics where the position is not in the ring.
    pub fn owner(&self, position: Position) -> &MemberEntry {
        &self.members[self.owner_number(position)]
    }

    /// The owner's place in [`members`](Self::members). Panics where the position is not in the
    /// ring.
    pub fn owner_number(&self, position: Position) -> usize {
        usize::from(self.owners[position.0 as usize])
    }

    /// Every partition with its owner, in ring order.
    pub fn owners(&self) -> impl ExactSizeIterator<Item = (Index, &MemberEntry)> {
        let size = self.size();
        self.owners.iter().enumerate().map(move |(at, &owner)| {
            (size.index_of(Position(at as u32)), &self.members[usize::from(owner)])
        })
    }

    /// The primaries of a key, up or not, as places in [`members`](Self::members); one may occur
    /// twice.
    ///
    /// # Errors
    /// More primaries asked for than the ring has partitions.
    pub fn primaries(
        &self,
        hash: &KeyHash,
        n: NVal,
    ) -> Result<impl ExactSizeIterator<Item = usize>, NValError> {
        let size = self.ring_size();
        if n.get() > size {
            return Err(NValError::LargerThanRing { n: n.get(), size });
        }
        let first = self.size().position_of(hash).0;
        Ok((0..n.get()).map(move |step| usize::from(self.owners[((first + step) % size) as usize])))
    }

    pub(super) fn size(&self) -> RingSize {
        RingSize::new(self.ring_size()).expect("a snapshot has at least one partition")
    }
}
