//! Topologies: what a client must know of a cluster, its version, and what changed between two
//! versions.
//!
//! A [`Snapshot`] is worked out from a ring alone, so that two nodes with the same ring say the
//! same, down to the token. Which nodes are up is each node's own view: documents show it beside
//! the snapshot, never within.

mod canonical;
mod difference;
mod document;
mod endpoint;
mod identity;
mod owner_map;
mod snapshot;

pub use canonical::CanonicalError;
pub use difference::{ApplyError, Difference};
pub use document::{DocumentError, Topology, TopologyAnswer};
pub use endpoint::{Endpoint, Protocol};
pub use identity::{Token, TokenError, TopologyDigest, cluster_uuid, node_uuid};
pub use owner_map::OwnerMap;
pub use snapshot::{ClusterRef, MemberEntry, Snapshot};
