//! A client of Riak KV that goes straight to primaries.
//!
//! A [`Client`] is given the address of any node ([`Config`]), learns from it the whole topology of
//! the cluster, and sends each request to a node that owns a replica of the object. It notices
//! every change from the answers it gets anyway, and never sends anything to a node that is not the
//! one it takes it for. Blocking; meant for many threads.
//!
//! What it counts is in [`Stats`]; what it does right now it tells an
//! [observer](Config::observer).
#![forbid(unsafe_code)]

mod calls;
mod client;
mod config;
mod content;
mod current;
mod error;
mod event;
mod execute;
mod follower;
mod greeting;
mod hop;
mod http;
mod identity;
mod net;
mod news;
mod object;
mod options;
mod pass;
mod paths;
mod pool;
mod properties;
mod retry;
mod said;
mod seed;
mod shared;
mod stats;
mod tls;
mod view;

pub use client::Client;
pub use config::Config;
pub use content::{Content, ReadSeek};
pub use error::{
    AnswerFault, AttemptError, BadAnswer, ConfigError, DialError, DiscoveryError, Error, ErrorKind,
    ExecutionError, IdentityMismatch, LocalError, NoAnswer, NodeError, PropertiesFault, Refusal,
    RequestError, TlsError, TopologyError,
};
pub use event::{Event, Why};
pub use object::{
    ContentReader, Deleted, Fetched, Link, Metadata, Object, ObjectName, Siblings, Stored, Vclock,
};
pub use options::{Quorum, ReadOptions, WriteOptions};
pub use pass::{Pass, PassTo, Passed};
pub use properties::BucketProperties;
pub use seed::{Credentials, Seed};
pub use stats::Stats;
pub use tls::TlsOptions;
pub use view::{Choice, View};
