//! The ring as an immutable value.

use std::fmt;

use crate::index::{Index, KeyHash, NVal, NValError, Position};
use crate::node::{NodeId, NodeName};
use crate::preflist::{PreflistEntry, Primaries, UpNodes, preflist};
use crate::ring_size::RingSize;
use crate::status::{MemberStatus, PendingStatus};

/// A node that is or was a member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which node.
    pub node: NodeId,
    /// What it is in the cluster.
    pub status: MemberStatus,
    /// What the member metadata holds under the key `ringtail`, if anything: the value's external
    /// term format without the leading version byte. Not looked into here.
    pub meta: Option<Box<[u8]>>,
}

/// A partition on its way to another owner, or being resized (`riak_core_ring:pending_changes/1`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The partition. After a resize it may be one that the present ring no longer has.
    pub index: Index,
    /// Who hands it over.
    pub owner: NodeId,
    /// Who gets it.
    pub next_owner: NextOwner,
    /// How far that has come.
    pub status: PendingStatus,
}

/// What becomes of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NextOwner {
    /// It goes to a node.
    Node(NodeId),
    /// Its keys go to the partitions of a ring of another size: Riak's `$resize`.
    Resize,
    /// It is dropped after a resize: Riak's `$delete`.
    Delete,
}

/// A Riak ring: who owns which partition. Immutable; wrap it in an [`Arc`](std::sync::Arc) to share
/// it. Made by [`Ring::decode`] or [`Ring::from_parts`].
#[derive(Clone, PartialEq, Eq)]
pub struct Ring {
    pub(crate) size: RingSize,
    /// By position.
    pub(crate) owners: Box<[NodeId]>,
    /// Sorted.
    pub(crate) nodes: Box<[NodeName]>,
    /// By node, how many partitions it owns.
    pub(crate) partitions: Box<[u32]>,
    pub(crate) members: Box<[Member]>,
    pub(crate) pending: Box<[Pending]>,
    pub(crate) cluster_name: Option<String>,
    pub(crate) nodename: Option<NodeName>,
    pub(crate) claimant: Option<NodeName>,
    pub(crate) rvsn_sum: u64,
    pub(crate) vclock_sum: u64,
    pub(crate) resizing: bool,
}

impl Ring {
    /// The number of partitions (`riak_core_ring:num_partitions/1`).
    pub fn size(&self) -> u32 {
        self.size.get()
    }

    /// The number of partitions as the division of the circle.
    pub fn ring_size(&self) -> RingSize {
        self.size
    }

    /// The cluster's name (`riak_core_ring:cluster_name/1`) as Erlang's `~w` prints the term. A
    /// ring may have none: the legacy record has no such field, and Riak writes `undefined` while
    /// clusters merge.
    pub fn cluster_name(&self) -> Option<&str> {
        self.cluster_name.as_deref()
    }

    /// The node this copy of the ring belongs to (`riak_core_ring:owner_node/1`).
    pub fn nodename(&self) -> Option<&str> {
        self.nodename.as_deref()
    }

    /// The node that plans changes (`riak_core_ring:claimant/1`).
    pub fn claimant(&self) -> Option<&str> {
        self.claimant.as_deref()
    }

    /// Every node that is an owner, a member, or named by a pending transfer; sorted by name.
    pub fn nodes(&self) -> &[NodeName] {
        &self.nodes
    }

    /// The name of a node of this ring.
    ///
    /// # Panics
    /// If the id is of another ring and this one has fewer nodes.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.nodes[usize::from(node.0)]
    }

    /// The node of that name, if the ring names it.
    pub fn node_id(&self, name: &str) -> Option<NodeId> {
        self.nodes.binary_search_by(|node| (**node).cmp(name)).ok().map(|at| NodeId(at as u16))
    }

    /// The members as the ring lists them (`riak_core_ring:all_member_status/1`, but removed ones
    /// too).
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The owner of a partition (`riak_core_ring:index_owner/2`).
    ///
    /// # Panics
    /// If the position is not below the ring size.
    pub fn owner(&self, position: Position) -> NodeId {
        self.owners[position.0 as usize]
    }

    /// The index of a partition.
    ///
    /// # Panics
    /// If the position is not below the ring size.
    pub fn index(&self, position: Position) -> Index {
        self.size.index_of(position)
    }

    /// The position of an index, `None` if no partition has it.
    pub fn position_of_index(&self, index: &Index) -> Option<Position> {
        self.size.position_of_index(index)
    }

    /// All partitions with their owners, in ring order (`riak_core_ring:all_owners/1`).
    pub fn owners(&self) -> impl ExactSizeIterator<Item = (Index, NodeId)> {
        self.size
            .positions()
            .zip(&self.owners)
            .map(|(position, &owner)| (self.index(position), owner))
    }

    /// The transfers under way (`riak_core_ring:pending_changes/1`), in the ring's order.
    pub fn pending(&self) -> &[Pending] {
        &self.pending
    }

    /// Riak's word for what becomes of a partition: a node's name, `$resize` or `$delete`.
    pub fn next_owner_name(&self, next_owner: NextOwner) -> &str {
        match next_owner {
            NextOwner::Node(node) => self.node_name(node),
            NextOwner::Resize => NextOwner::RESIZE,
            NextOwner::Delete => NextOwner::DELETE,
        }
    }

    /// Sum of the counters of the ring version vclock, which changes with ownership and membership
    /// (`riak_core_ring:ring_version/1`); of the ring's only vclock in a legacy ring.
    pub fn rvsn_sum(&self) -> u64 {
        self.rvsn_sum
    }

    /// Sum of the counters of the ring's vclock, which changes with metadata too.
    pub fn vclock_sum(&self) -> u64 {
        self.vclock_sum
    }

    /// Whether the ring is on its way to another size, or cleans up after that
    /// (`riak_core_ring:is_resizing/1`).
    pub fn resizing(&self) -> bool {
        self.resizing
    }

    /// How many partitions a node owns.
    ///
    /// # Panics
    /// If the id is of another ring and this one has fewer nodes.
    pub fn partitions_of(&self, node: NodeId) -> u32 {
        self.partitions[usize::from(node.0)]
    }

    /// Where the preflist of a hash starts: the position of its first primary.
    #[inline]
    pub fn position(&self, hash: &KeyHash) -> Position {
        self.size.position_of(hash)
    }

    /// Whether the ring has as many partitions as `n` asks for.
    #[inline]
    pub fn check_n(&self, n: NVal) -> Result<(), NValError> {
        let size = self.size();
        if n.get() > size { Err(NValError::LargerThanRing { n: n.get(), size }) } else { Ok(()) }
    }

    /// The `n` primaries of a hash and their owners, up or not, in preflist order. A node may occur
    /// twice in a small ring.
    #[inline]
    pub fn primaries(&self, hash: &KeyHash, n: NVal) -> Result<Primaries<'_>, NValError> {
        self.check_n(n)?;
        Ok(Primaries::new(&self.owners, self.position(hash), n.get()))
    }

    /// The annotated preflist of a hash for a set of up nodes, as `riak_core_apl:get_apl_ann/4`
    /// gives it: the up primaries in order, then for each primary that is down, in order, the next
    /// up node further along the ring. Shorter than `n` when the ring is exhausted first.
    pub fn preflist(
        &self,
        hash: &KeyHash,
        n: NVal,
        up: &UpNodes,
    ) -> Result<Vec<PreflistEntry>, NValError> {
        self.check_n(n)?;
        Ok(preflist(&self.owners, self.position(hash), n.get(), up))
    }

    /// The set of the nodes with these names. A name the ring does not know is left out: it can
    /// hold no partition.
    pub fn up_nodes<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> UpNodes {
        let mut up = UpNodes::none(self.nodes.len());
        for node in names.into_iter().filter_map(|name| self.node_id(name)) {
            up.insert(node);
        }
        up
    }

    /// The set of all nodes the ring names.
    pub fn all_up(&self) -> UpNodes {
        UpNodes::all(self.nodes.len())
    }
}

impl NextOwner {
    pub(crate) const RESIZE: &'static str = "$resize";
    pub(crate) const DELETE: &'static str = "$delete";
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("size", &self.size())
            .field("cluster_name", &self.cluster_name)
            .field("nodes", &self.nodes)
            .field("rvsn_sum", &self.rvsn_sum)
            .field("vclock_sum", &self.vclock_sum)
            .field("resizing", &self.resizing)
            .finish_non_exhaustive()
    }
}
