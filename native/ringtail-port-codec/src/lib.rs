//! What an Erlang VM and the companion say to each other over stdin and stdout.
//!
//! Both directions are frames of `{packet, 4}`: a length of four bytes, big-endian, and that many
//! bytes ([`Frames`]). A frame holds one term in external term format.
//!
//! To the companion ([`Request`]):
//!
//! | term | |
//! |---|---|
//! | `{Id, Operation, Arguments}` | Id from 1 to 2^64 - 1, chosen by the VM; an atom; a tuple |
//! | `{cancel, Id}` | the answer is no longer wanted |
//! | `{ack, Id, Count}` | as many pieces of a streamed answer were taken: more may be sent |
//! | `{data, Id, Binary}`, `{eof, Id}` | the next piece of a streamed request, its end |
//!
//! From the companion ([`answer`]): any number of `{Id, progress, Term}`, then one `{Id, ok, Term}`
//! or
//! `{Id, error, {Code, Detail}}`, Code and Detail binaries. Answers come in any order. The id
//! stands at a fixed place in a fixed form (always eight digits), so that the VM finds who asked
//! without decoding the term.
//!
//! Names of nodes and codes of errors are binaries, not atoms: whether the VM knows them as atoms
//! is for the VM to see.
#![forbid(unsafe_code)]

pub mod answer;
mod frame;
mod request;

pub use frame::{FRAME_LIMIT, Frames, Received};
pub use request::{Request, RequestError, id_of_head};
