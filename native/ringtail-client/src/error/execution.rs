//! Requests without an answer.
#![deny(clippy::wildcard_enum_match_arm)]

use std::fmt;
use std::io;
use std::time::Duration;

use ringtail_core::topology::Protocol;

use super::answer::{AnswerFault, BadAnswer, Refusal};
use super::kind::ErrorKind;
use super::node::{IdentityMismatch, NodeError};
use super::text::{Each, Seconds};

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutionError {
    /// The cluster cannot serve the request now.
    #[error("{}", Each(.tried, attempt))]
    Unavailable {
        /// The nodes that were tried, and what came of it.
        tried: Vec<(String, AttemptError)>,
        /// When the node says it is worth to try again.
        retry_after: Option<Duration>,
    },
    /// No node that owns a replica can be reached as the seeds can.
    #[error(
        "no node that could serve this publishes an {protocol} endpoint: configure \
         listener.{protocol} there{}",
        if *.others { "; use seeds of a protocol that they publish" } else { "" }
    )]
    NoEndpoint {
        /// That of the seeds.
        protocol: Protocol,
        /// Whether there are nodes with endpoints of another protocol.
        others: bool,
    },
    /// The time for the request ran out.
    #[error("no answer within {}: {}", Seconds(.after), Last(.tried))]
    Timeout {
        /// The time the request had.
        after: Duration,
        /// The nodes that were tried, and what came of it.
        tried: Vec<(String, AttemptError)>,
    },
    /// The connection failed after a write went out: it may have been stored, or not. It was not
    /// sent again.
    #[error(
        "the outcome is unknown: {node} was sent the request and gave no answer ({cause}). \
         Read the object before writing again"
    )]
    UnknownOutcome {
        /// The node it was sent to.
        node: String,
        /// What happened to the connection.
        #[source]
        cause: AttemptError,
    },
    /// The node refused the request.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An answer that makes no sense.
    #[error(transparent)]
    BadAnswer(#[from] BadAnswer),
    /// There is no such bucket type.
    #[error(
        "the bucket type {0:?} does not exist; create and activate it with riak admin bucket-type"
    )]
    NoBucketType(String),
}

/// Why one node gave no answer to a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// It was sent nothing: it is no member any more.
    #[error("it has left the cluster")]
    Left,
    /// It was sent nothing: nobody knows where it listens.
    #[error("it publishes no endpoint")]
    NoEndpoint,
    /// It was sent nothing.
    #[error("no time was left")]
    NoTime,
    /// It was sent nothing, or did nothing, for it could not be used.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The connection failed.
    #[error("{0}")]
    Connection(#[source] io::Error),
    /// Somebody else answered.
    #[error(transparent)]
    Identity(#[from] Box<IdentityMismatch>),
    /// What came back is no answer.
    #[error(transparent)]
    Answer(#[from] AnswerFault),
    /// It answered that it does not serve the request now, or not it, in these words.
    #[error("{0}")]
    Said(String),
}

impl ExecutionError {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } | Self::NoEndpoint { .. } => "unavailable",
            Self::Timeout { .. } => "timeout",
            Self::UnknownOutcome { .. } => "unknown_outcome",
            Self::Refused(_) => "refused",
            Self::BadAnswer(_) => "bad_answer",
            Self::NoBucketType(_) => "no_bucket_type",
        }
    }

    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable { .. } | Self::NoEndpoint { .. } | Self::Timeout { .. } => {
                ErrorKind::Unavailable
            }
            Self::NoBucketType(_) => ErrorKind::NotFound,
            Self::UnknownOutcome { .. } | Self::Refused(_) | Self::BadAnswer(_) => {
                ErrorKind::Failed
            }
        }
    }
}

fn attempt(error: &AttemptError) -> &AttemptError {
    error
}

struct Last<'a>(&'a [(String, AttemptError)]);

impl fmt::Display for Last<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("no node was tried yet")
        } else {
            Each(self.0, attempt).fmt(f)
        }
    }
}
