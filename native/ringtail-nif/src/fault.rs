//! The one place where a failure becomes an Erlang term.

use ringtail_core::question::Refusal;
use ringtail_core::topology::CanonicalError;
use ringtail_core::{DecodeError, NValError};
use rustler::{Atom, Encoder, Env, NewBinary, Term};

mod atoms {
    rustler::atoms! { ok, error, unknown_node }
}

/// Every way a call can fail without a panic.
#[derive(Debug)]
pub enum Fault {
    /// The question itself makes no sense.
    Refused(Refusal),
    /// The ring handle is no resource of this library: of another version of it, or no handle at
    /// all.
    ForeignRing,
    /// The answer holds a node whose name is no atom of this VM, so that the node cannot be one it
    /// ever spoke to.
    UnknownNode(String),
    /// A document could not be written; never expected, and still no reason to panic.
    Document(serde_json::Error),
}

/// A fault on its way out. Boxed, because results are passed up through the calls that take a
/// fraction of a microsecond, and a fault by value would make each of them a copy of many words.
pub type Failure = Box<Fault>;

impl From<Refusal> for Failure {
    #[cold]
    fn from(refusal: Refusal) -> Self {
        Box::new(Fault::Refused(refusal))
    }
}

macro_rules! refused {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Refusal::from(error).into()
            }
        })*
    };
}

refused!(DecodeError, NValError, CanonicalError);

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Box::new(Fault::Document(error))
    }
}

impl Fault {
    fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::ForeignRing => "foreign_ring",
            Self::UnknownNode(_) => "unknown_node",
            Self::Document(_) => "document",
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.to_string(),
            Self::ForeignRing => {
                "the ring handle is not one of this version of ringtail_nif: load the ring again"
                    .to_owned()
            }
            // The name itself, so that a caller can compare it.
            Self::UnknownNode(name) => name.clone(),
            Self::Document(error) => format!("the document could not be written: {error}"),
        }
    }

    fn to_term<'a>(&self, env: Env<'a>) -> Term<'a> {
        // Codes are literals of the program: the atoms made here are few and the same ones every
        // time.
        let code = Atom::from_str(env, self.code()).expect("error codes are short ASCII");
        (atoms::error(), (code, binary(env, self.detail().as_bytes()))).encode(env)
    }
}

/// A binary term holding a copy of `bytes`.
pub fn binary<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    NewBinary::from_slice(env, bytes).into()
}

/// `{ok, Value}` or `{error, {Code, Detail}}`.
pub fn answer<'a>(env: Env<'a>, result: Result<Term<'a>, Failure>) -> Term<'a> {
    match result {
        Ok(value) => (atoms::ok(), value).encode(env),
        Err(fault) => fault.to_term(env),
    }
}

/// The same where the value is an answer already.
pub fn whole<'a>(env: Env<'a>, result: Result<Term<'a>, Failure>) -> Term<'a> {
    result.unwrap_or_else(|fault| fault.to_term(env))
}
