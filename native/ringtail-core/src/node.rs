//! How a ring names nodes.

use std::sync::Arc;

/// The most nodes a ring may name. Erlang nodes of a cluster are all connected to each other, so a
/// real one has far fewer.
pub const MAX_NODES: usize = 16_384;

/// The name of an Erlang node, such as `riak@10.0.0.1`.
pub type NodeName = Arc<str>;

/// A node of one ring: where its name stands in [`Ring::nodes`](crate::Ring::nodes). Means nothing
/// in another ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);
