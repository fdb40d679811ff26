//! HTTP/1.1 over blocking sockets, as much as object routes need.
//!
//! Own code over `httparse` and `rustls`, because Riak keeps the spelling of `X-Riak-Meta-*` names
//! and libraries built on the `http` crate lower it; and because three things must be known exactly
//! here: whether any byte of a write went out, who is at the other end before one does, and what
//! was answered when the answer came before the body was sent.

mod body;
mod connection;
mod deadline;
mod dial;
mod framing;
mod head;
mod headers;
mod lenient;
mod resolve;
mod session;
mod stream;

pub(crate) use body::BodyReader;
pub(crate) use connection::{Connection, SendBody, SendError};
pub(crate) use deadline::{Deadline, LONGEST};
pub(crate) use dial::Dial;
pub(crate) use head::{RequestHead, ResponseHead};
pub use headers::Headers;
pub(crate) use headers::{AUTHORIZATION, is_name, is_value};
pub(crate) use lenient::fields as lenient_fields;
