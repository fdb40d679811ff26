//! The one place where a failure becomes a code and a sentence. Both are those of the NIF, so that
//! callers need not know which of the two they asked.

use std::any::Any;
use std::io;
use std::sync::Arc;

use ringtail_core::question::Refusal;
use ringtail_core::topology::CanonicalError;
use ringtail_core::{DecodeError, NValError};

/// Every way an operation can fail.
#[derive(Debug)]
pub enum Fault {
    /// The question itself makes no sense.
    Refused(Refusal),
    /// The operation takes another number of arguments than it was given.
    Arity(usize),
    /// No such operation.
    UnknownOperation(String),
    /// The ring is not loaded here (any more).
    NoSuchRing,
    /// A document could not be written; never expected.
    Document(serde_json::Error),
    /// The request's frame is above the limit: its length.
    FrameTooLarge(usize),
    /// The answer would be.
    AnswerTooLarge(usize),
    /// The cluster is not open here (any more).
    NoSuchCluster,
    /// What the client of a cluster says.
    Client(Arc<ringtail_client::Error>),
    /// An answer that began and did not end.
    BrokenOff(io::Error),
    /// Too much is waiting already: for what.
    Busy(&'static str),
    /// The request was cancelled before it was done.
    Cancelled,
    /// The id belongs to a request that is not done yet.
    IdInUse,
    /// A bug: the panic's message.
    Internal(String),
}

macro_rules! from {
    ($($error:ty => $variant:ident),*) => {
        $(impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })*
    };
}

from!(Refusal => Refused, serde_json::Error => Document, Arc<ringtail_client::Error> => Client);

macro_rules! refused {
    ($($error:ty),*) => {
        $(impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Self::Refused(error.into())
            }
        })*
    };
}

refused!(DecodeError, NValError, CanonicalError);

impl From<ringtail_client::Error> for Fault {
    fn from(error: ringtail_client::Error) -> Self {
        Self::Client(Arc::new(error))
    }
}

impl Fault {
    /// An argument that is not what was expected: its name and that.
    pub const fn argument(name: &'static str, expected: &'static str) -> Self {
        Self::Refused(Refusal::Argument(name, expected))
    }

    /// What was caught of a panic.
    pub fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Internal(text.unwrap_or_else(|| "a panic".to_owned()))
    }

    /// What Erlang sees as an atom.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Arity(_) => "bad_arity",
            Self::UnknownOperation(_) => "unknown_operation",
            Self::NoSuchRing => "no_such_ring",
            Self::Document(_) => "document",
            Self::FrameTooLarge(_) => "frame_too_large",
            Self::AnswerTooLarge(_) => "answer_too_large",
            Self::NoSuchCluster => "no_such_cluster",
            Self::Client(error) => error.code(),
            Self::BrokenOff(_) => "broken_off",
            Self::Busy(_) => "busy",
            Self::Cancelled => "cancelled",
            Self::IdInUse => "id_in_use",
            Self::Internal(_) => "internal",
        }
    }

    /// What a person reads.
    pub fn detail(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.to_string(),
            Self::Arity(given) => {
                format!("the operation takes another number of arguments than {given}")
            }
            Self::UnknownOperation(name) => format!(
                "this companion (version {}) knows no operation {name:?}: install companion and \
                 beams of the same version",
                env!("CARGO_PKG_VERSION")
            ),
            Self::NoSuchRing => {
                "the companion does not hold this ring (any more): load it again".to_owned()
            }
            Self::Document(error) => format!("the document could not be written: {error}"),
            Self::FrameTooLarge(length) => format!(
                "the request has {length} bytes, and {} is the most: send it in pieces",
                ringtail_port_codec::FRAME_LIMIT
            ),
            Self::AnswerTooLarge(length) => format!(
                "the answer has {length} bytes, and {} is the most: ask for less at once",
                ringtail_port_codec::FRAME_LIMIT
            ),
            Self::NoSuchCluster => {
                "the cluster is not open in the companion (any more): open it again".to_owned()
            }
            Self::Client(error) => error.to_string(),
            Self::BrokenOff(error) => format!("the node's answer broke off: {error}"),
            Self::Busy(what) => format!("too many requests wait for {what}: try again later"),
            Self::Cancelled => "the request was cancelled".to_owned(),
            Self::IdInUse => "a request of this id is not done yet".to_owned(),
            Self::Internal(message) => {
                format!("a bug in the companion, please report it: {message}")
            }
        }
    }
}
