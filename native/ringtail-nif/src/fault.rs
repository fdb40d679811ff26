//! The one place where a failure becomes an Erlang term.

use ringtail_core::topology::{CanonicalError, TokenError};
use ringtail_core::{DecodeError, NValError};
use rustler::{Atom, Encoder, Env, NewBinary, Term};

mod atoms {
    rustler::atoms! { ok, error, unknown_node }
}

/// Every way a call can fail without a panic.
#[derive(Debug)]
pub enum Fault {
    /// An argument has the wrong type or is out of range: its name and what was expected.
    Argument(&'static str, &'static str),
    /// The ring handle is no resource of this library: of another version of it, or no handle at
    /// all.
    ForeignRing,
    /// The answer holds a node whose name is no atom of this VM, so that the node cannot be one it
    /// ever spoke to.
    UnknownNode(String),
    /// The bytes are no ring.
    Decode(DecodeError),
    /// The n_val does not fit the ring.
    NVal(NValError),
    /// The text is no topology token.
    Token(TokenError),
    /// The text is no canonical form of a topology.
    Canonical(CanonicalError),
    /// A document could not be written; never expected, and still no reason to panic.
    Document(serde_json::Error),
}

/// A fault on its way out. Boxed, because results are passed up through the calls that take a
/// fraction of a microsecond, and a fault by value would make each of them a copy of many words.
pub type Failure = Box<Fault>;

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Box::new(Fault::Decode(error))
    }
}

impl From<NValError> for Failure {
    fn from(error: NValError) -> Self {
        Box::new(Fault::NVal(error))
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        Box::new(Fault::Token(error))
    }
}

impl From<CanonicalError> for Failure {
    fn from(error: CanonicalError) -> Self {
        Box::new(Fault::Canonical(error))
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Box::new(Fault::Document(error))
    }
}

impl Fault {
    fn code(&self) -> &'static str {
        match self {
            Self::Argument(..) => "bad_argument",
            Self::ForeignRing => "foreign_ring",
            Self::UnknownNode(_) => "unknown_node",
            Self::Decode(error) => error.code(),
            Self::NVal(error) => error.code(),
            Self::Token(error) => error.code(),
            Self::Canonical(error) => error.code(),
            Self::Document(_) => "document",
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::Argument(name, expected) => format!("{name} must be {expected}"),
            Self::ForeignRing => {
                "the ring handle is not one of this version of ringtail_nif: load the ring again"
                    .to_owned()
            }
            // The name itself, so that a caller can compare it.
            Self::UnknownNode(name) => name.clone(),
            Self::Decode(error) => error.to_string(),
            Self::NVal(error) => error.to_string(),
            Self::Token(error) => error.to_string(),
            Self::Canonical(error) => error.to_string(),
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
