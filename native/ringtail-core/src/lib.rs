//! Riak rings, hashes and preflists: pure computation, no I/O, no clock.
//!
//! A [`Ring`] is decoded once from the bytes Riak keeps ([`Ring::decode`]), never changes and may be shared between
//! threads. Everything about a key follows from its [`KeyHash`] ([`hash_key`]): the primaries ([`Ring::primaries`]),
//! the preflist for a set of up nodes ([`Ring::preflist`]) and the JSON documents ([`ClusterPreflist`],
//! [`RingSummary`], [`KeyPreflist`]).
//!
//! ```
//! use ringtail_core::{Index, Keyfun, NVal, Ring, RingParts, RingSize, hash_key};
//!
//! let size = RingSize::new(8)?;
//! let owners = size.positions().map(|p| (size.index_of(p), format!("riak{}@10.0.0.1", p.0 % 4))).collect();
//! let ring = Ring::from_parts(RingParts { owners, ..RingParts::default() })?;
//! let hash = hash_key(b"default", b"users", b"user123", Keyfun::Std);
//! let nodes: Vec<&str> = ring.primaries(&hash, NVal::new(3)?)?.map(|p| ring.node_name(p.node)).collect();
//! assert_eq!(nodes.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod decode;
mod document;
mod error;
mod etf;
mod etf_print;
mod index;
mod inflate;
pub mod keys;
mod names;
mod preflist;
mod ring;
mod ring_builder;
mod ring_size;
mod status;
pub mod term;

#[cfg(feature = "testing")]
pub mod testing;
pub mod topology;
mod wide;

pub use document::{
    ClusterPreflist, KeyPreflist, KeyPreflistEntry, MemberSummary, OwnerSummary, PendingSummary, RingSummary,
};
pub use error::{DecodeError, IndexError, KeyTextError, KeyfunError, NValError, RingError, RingSizeError};
pub use index::{Index, KeyHash, NVal, Position};
pub use keys::{Keyfun, hash_key};
pub use preflist::{Owned, PreflistEntry, PreflistKind, Primaries, UpNodes};
pub use ring::{Member, NextOwner, NodeId, NodeName, Pending, Ring};
pub use ring_builder::{MAX_NODES, PendingParts, RingParts};
pub use ring_size::RingSize;
pub use status::{MemberStatus, PendingStatus};
