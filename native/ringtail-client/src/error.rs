//! What can go wrong, told so that the reader knows what to do: by what was being done, each with
//! its cause as its source.
#![deny(clippy::wildcard_enum_match_arm)]

mod answer;
mod config;
mod discovery;
mod execution;
mod kind;
mod node;
mod text;

use std::io;

pub use answer::{AnswerFault, BadAnswer, PropertiesFault, Refusal};
pub use config::{ConfigError, TlsError};
pub use discovery::DiscoveryError;
pub use execution::{AttemptError, ExecutionError};
pub use kind::ErrorKind;
pub use node::{DialError, IdentityMismatch, NoAnswer, NodeError, TopologyError};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client cannot be made as it is configured. Nothing was sent.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A request that makes no sense, or not by this call.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// No node told what the cluster is.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// No node gave the answer to a request.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    /// Reading what is to be stored, or writing what was fetched, failed on this side.
    #[error(transparent)]
    Local(#[from] LocalError),
}

/// What is wrong with a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// No node would understand it: nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The object is larger than what is taken into memory.
    #[error("the object has {0}, the limit for objects in memory: read it with get_streamed")]
    TooLarge(#[source] io::Error),
    /// More primaries than the ring has partitions, or none.
    #[error(transparent)]
    NVal(#[from] ringtail_core::NValError),
}

/// What failed on this side.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {cause}")]
pub struct LocalError {
    /// What was tried.
    pub what: &'static str,
    /// Why it failed.
    #[source]
    pub cause: io::Error,
}

impl Error {
    /// A request that no node would understand.
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        RequestError::Invalid(why.into()).into()
    }

    /// What makes an error of that which was tried on this side.
    pub(crate) fn local(what: &'static str) -> impl Fn(io::Error) -> Self + Copy {
        move |cause| LocalError { what, cause }.into()
    }

    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Config(error) => error.code(),
            Self::Request(RequestError::Invalid(_) | RequestError::TooLarge(_)) => "bad_request",
            Self::Request(RequestError::NVal(error)) => error.code(),
            Self::Discovery(error) => error.code(),
            Self::Execution(error) => error.code(),
            Self::Local(_) => "local_io",
        }
    }

    /// What it asks of the caller.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(_) | Self::Request(_) => ErrorKind::Usage,
            Self::Discovery(error) => error.kind(),
            Self::Execution(error) => error.kind(),
            Self::Local(_) => ErrorKind::Failed,
        }
    }
}

impl From<ringtail_core::NValError> for Error {
    fn from(error: ringtail_core::NValError) -> Self {
        RequestError::NVal(error).into()
    }
}
