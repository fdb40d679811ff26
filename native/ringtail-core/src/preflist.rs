//! Who holds a key: primaries whatever their state, and the preflist for a set of up nodes.

use std::iter::FusedIterator;

use serde::{Deserialize, Serialize};

use crate::index::Position;
use crate::node::NodeId;

/// A partition and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owned {
    /// The partition.
    pub position: Position,
    /// Its owner.
    pub node: NodeId,
}

/// Consecutive partitions with their owners, wrapping at the end of the ring. Made by
/// [`Ring::primaries`](crate::Ring::primaries).
#[derive(Clone, Debug)]
pub struct Primaries<'a> {
    owners: &'a [NodeId],
    next: u32,
    left: u32,
}

impl<'a> Primaries<'a> {
    pub(crate) fn new(owners: &'a [NodeId], first: Position, count: u32) -> Primaries<'a> {
        Primaries { owners, next: first.0, left: count }
    }
}

impl Iterator for Primaries<'_> {
    type Item = Owned;

    #[inline]
    fn next(&mut self) -> Option<Owned> {
        self.left = self.left.checked_sub(1)?;
        let at = self.next;
        let following = at + 1;
        self.next = if following as usize == self.owners.len() { 0 } else { following };
        Some(Owned { position: Position(at), node: self.owners[at as usize] })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Primaries<'_> {}
impl FusedIterator for Primaries<'_> {}

/// A set of nodes of one ring: those that are up, as far as one knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpNodes {
    bits: Box<[u64]>,
}

impl UpNodes {
    pub(crate) fn none(nodes: usize) -> UpNodes {
        UpNodes { bits: vec![0; nodes.div_ceil(64)].into() }
    }

    pub(crate) fn all(nodes: usize) -> UpNodes {
        let mut up = UpNodes::none(nodes);
        for node in 0..nodes {
            up.insert(NodeId(node as u16));
        }
        up
    }

    /// Whether the node is in the set.
    pub fn contains(&self, node: NodeId) -> bool {
        let (word, bit) = UpNodes::place(node);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Adds a node.
    ///
    /// # Panics
    /// If the id is of another ring and this one has fewer nodes.
    pub fn insert(&mut self, node: NodeId) {
        let (word, bit) = UpNodes::place(node);
        self.bits[word] |= bit;
    }

    /// Takes a node out.
    ///
    /// # Panics
    /// If the id is of another ring and this one has fewer nodes.
    pub fn remove(&mut self, node: NodeId) {
        let (word, bit) = UpNodes::place(node);
        self.bits[word] &= !bit;
    }

    fn place(node: NodeId) -> (usize, u64) {
        (usize::from(node.0) / 64, 1 << (node.0 % 64))
    }
}

/// Whether a node answers for a partition as its owner or in place of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreflistKind {
    /// The partition's owner.
    Primary,
    /// A node further along the ring, because the owner is down.
    Fallback,
}

/// One line of a preflist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PreflistEntry {
    /// The partition; for a fallback, the one whose owner is down.
    pub position: Position,
    /// Who answers for it.
    pub node: NodeId,
    /// As owner or in its place.
    pub kind: PreflistKind,
}

/// `riak_core_apl:get_apl_ann/4` from a position on, `owners` by position. `n` is at most the ring
/// size, which fits a u32.
pub(crate) fn preflist(
    owners: &[NodeId],
    first: Position,
    n: u32,
    up: &UpNodes,
) -> Vec<PreflistEntry> {
    let mut walk = Primaries::new(owners, first, owners.len() as u32);
    let mut entries = Vec::with_capacity(n as usize);
    let mut down = Vec::new();
    for Owned { position, node } in walk.by_ref().take(n as usize) {
        if up.contains(node) {
            entries.push(PreflistEntry { position, node, kind: PreflistKind::Primary });
        } else {
            down.push(position);
        }
    }
    // Each partition of the rest of the ring lends its owner once, even if that node already stands
    // in for another.
    let fallbacks = walk.filter(|owned| up.contains(owned.node));
    let stand_ins = down.into_iter().zip(fallbacks);
    entries.extend(stand_ins.map(|(position, Owned { node, .. })| PreflistEntry {
        position,
        node,
        kind: PreflistKind::Fallback,
    }));
    entries
}
