//! Clusters that cannot be found.
#![deny(clippy::wildcard_enum_match_arm)]

use std::time::Duration;

use super::answer::BadAnswer;
use super::kind::ErrorKind;
use super::node::{IdentityMismatch, NodeError, TopologyError};
use super::text::{Each, Seconds};

/// Why the topology of the cluster is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// No node could be reached.
    #[error("no node of the cluster can be reached: {}", Each(.tried, among_others))]
    Unreachable {
        /// Every address that was tried, and what came of it.
        tried: Vec<(String, NodeError)>,
    },
    /// Another node than expected is at an address. Nothing was sent to it.
    #[error("{0}; it was not used")]
    Identity(#[source] Box<IdentityMismatch>),
    /// The only node that was asked told none.
    #[error(transparent)]
    Topology(TopologyError),
    /// The time to find out has passed.
    #[error("no answer within {}: {last}", Seconds(.after))]
    Timeout {
        /// The time there was.
        after: Duration,
        /// What was being waited for.
        last: &'static str,
    },
}

impl DiscoveryError {
    /// None of those told a topology that could be used.
    pub(crate) fn of(tried: Vec<(String, NodeError)>) -> Self {
        match <[_; 1]>::try_from(tried) {
            Ok([(_, NodeError::Identity(mismatch))]) => Self::Identity(mismatch),
            Ok([(_, NodeError::Topology(error))]) => Self::Topology(error),
            Ok([only @ (_, NodeError::NoAnswer(_))]) => Self::Unreachable { tried: vec![only] },
            Err(tried) => Self::Unreachable { tried },
        }
    }

    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::Identity(_) => "identity_mismatch",
            Self::Topology(error) => error.code(),
            Self::Timeout { .. } => "timeout",
        }
    }

    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } => ErrorKind::Unavailable,
            Self::Identity(_) | Self::Topology(_) => ErrorKind::Failed,
        }
    }
}

/// Without the address, which stands before it.
fn among_others(error: &NodeError) -> String {
    match error {
        NodeError::Topology(TopologyError::BadAnswer(BadAnswer { fault, .. })) => fault.to_string(),
        NodeError::Identity(mismatch) => format!("{mismatch}; it was not used"),
        NodeError::NoAnswer(_)
        | NodeError::Topology(TopologyError::NotRingtail { .. } | TopologyError::Refused(_)) => {
            error.to_string()
        }
    }
}
