//! Riak rings, hashes and preflists: pure computation, no I/O, no clock.
//!
//! A [`Ring`] is decoded once from the bytes Riak keeps ([`Ring::decode`]), never changes and may
//! be shared between threads. Everything about a key follows from its [`KeyHash`] ([`hash_key`]):
//! the primaries ([`Ring::primaries`]), the preflist for a set of up nodes ([`Ring::preflist`]) and
//! the JSON documents ([`ClusterPreflist`], [`RingSummary`], [`KeyPreflist`]).
//!
//! ```
//! use ringtail_core::{Index, Keyfun, NVal, Ring, RingParts, RingSize, hash_key};
//!
//! let size = RingSize::new(8)?;
//! let owner = |p: ringtail_core::Position| format!("riak{}@10.0.0.1", p.0 % 4);
//! let owners = size.positions().map(|p| (size.index_of(p), owner(p))).collect();
//! let ring = Ring::from_parts(RingParts { owners, ..RingParts::default() })?;
//! let hash = hash_key(b"default", b"users", b"user123", Keyfun::Std);
//! let primaries = ring.primaries(&hash, NVal::new(3)?)?;
//! let nodes: Vec<&str> = primaries.map(|primary| ring.node_name(primary.node)).collect();
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
mod node;
pub mod nursery;
mod preflist;
pub mod question;
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
    ClusterPreflist, KeyPreflist, KeyPreflistEntry, MemberSummary, OwnerSummary, PendingSummary,
    RingSummary,
};
pub use error::{DecodeError, RingError};
pub use index::{Index, IndexError, KeyHash, NVal, NValError, Position};
pub use keys::{KeyTextError, Keyfun, KeyfunError, hash_key};
pub use node::{MAX_NODES, NodeId, NodeName};
pub use preflist::{Owned, PreflistEntry, PreflistKind, Primaries, UpNodes};
pub use ring::{Member, NextOwner, Pending, Ring};
pub use ring_builder::{PendingParts, RingParts};
pub use ring_size::{RingSize, RingSizeError};
pub use status::{MemberStatus, PendingStatus};
