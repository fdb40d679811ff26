//! What the VM asks.

use std::borrow::Cow;

use ringtail_core::DecodeError;
use ringtail_core::term::Term;

/// No operation takes more.
const MOST_ARGUMENTS: u32 = 16;

/// One frame to the companion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Do something.
    Call {
        /// Names the request in what is said about it later.
        id: u64,
        /// What to do.
        operation: Cow<'a, str>,
        /// With what.
        arguments: Vec<Term<'a>>,
    },
    /// Stop doing it; the answer is not wanted.
    Cancel {
        /// Of the request.
        id: u64,
    },
    /// Pieces of a streamed answer were taken.
    Ack {
        /// Of the request.
        id: u64,
        /// How many.
        count: u64,
    },
    /// The next piece of a streamed request.
    Data {
        /// Of the request.
        id: u64,
        /// The piece.
        bytes: &'a [u8],
    },
    /// A streamed request is complete.
    Eof {
        /// Of the request.
        id: u64,
    },
}

/// A frame that nobody who speaks this language sends. What follows it cannot be trusted either.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The frame holds no term.
    #[error("a frame holds no term in external term format: {0}")]
    NotATerm(DecodeError),
    /// The frame holds another term.
    #[error("a frame holds a term that is no request: {{Id, Operation, Arguments}} is expected")]
    NotARequest,
}

impl<'a> Request<'a> {
    /// Reads a frame's content.
    ///
    /// # Errors
    /// It is no term, or no request.
    pub fn parse(frame: &'a [u8]) -> Result<Request<'a>, RequestError> {
        let term = Term::of_message(frame).map_err(RequestError::NotATerm)?;
        request(term).ok_or(RequestError::NotARequest)
    }
}

fn request(term: Term<'_>) -> Option<Request<'_>> {
    if let Some([first, second, third]) = term.tuple() {
        if let Some(id) = call_id(&first) {
            let operation = second.atom()?;
            return Some(Request::Call {
                id,
                operation,
                arguments: third.tuple_up_to(MOST_ARGUMENTS)?,
            });
        }
        let id = call_id(&second)?;
        return match &*first.atom()? {
            "ack" => Some(Request::Ack { id, count: third.u64()? }),
            "data" => Some(Request::Data { id, bytes: third.binary()? }),
            _ => None,
        };
    }
    let [first, second] = term.tuple()?;
    let id = call_id(&second)?;
    match &*first.atom()? {
        "cancel" => Some(Request::Cancel { id }),
        "eof" => Some(Request::Eof { id }),
        _ => None,
    }
}

fn call_id(term: &Term) -> Option<u64> {
    term.u64().filter(|&id| id > 0)
}

/// Who sent a frame that begins like this, if it begins like a call. For frames that are too large
/// to be read.
pub fn id_of_head(head: &[u8]) -> Option<u64> {
    let id = match head {
        [131, 104, 3, 97, small, ..] => u64::from(*small),
        [131, 104, 3, 98, rest @ ..] => {
            u64::try_from(i32::from_be_bytes(*rest.first_chunk()?)).ok()?
        }
        [131, 104, 3, 110, length @ 1..=8, 0, digits @ ..] => digits
            .get(..usize::from(*length))?
            .iter()
            .rev()
            .fold(0, |id, digit| id << 8 | u64::from(*digit)),
        _ => return None,
    };
    Some(id).filter(|&id| id > 0)
}
