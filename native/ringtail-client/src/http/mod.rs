//! HTTP/1.1 over blocking sockets, as much as object routes need.
//!
//! Own code over `httparse` and `rustls`, because Riak keeps the spelling of `X-Riak-Meta-*` names
//! and libraries built on the `http` crate lower it; and because three things must be known exactly
//! here: whether any byte of a write went out, who is at the other end before one does, and what
//! was answered when the answer came before the body was sent.

mod body;
mod connection;
mod head;
mod headers;
mod lenient;
mod resolve;
mod session;
mod stream;

pub(crate) use body::{BodyReader, Framing};
pub(crate) use connection::{Connection, SendBody, SendError};
pub(crate) use head::{RequestHead, ResponseHead};
pub use headers::Headers;
pub(crate) use headers::{is_name, is_value};
pub(crate) use lenient::fields as lenient_fields;
pub(crate) use stream::Dial;

use std::time::{Duration, Instant};

/// The field whose value is a secret.
pub(crate) const AUTHORIZATION: &str = "Authorization";

/// Nothing takes longer, whatever time it is given: no clock overflows, and Riak's timers (2^32 ms)
/// hold it.
pub(crate) const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The latest moment for something, and how long that is from now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(pub Instant);

impl Deadline {
    pub(crate) fn after(time: Duration) -> Self {
        Self(Instant::now() + time.min(LONGEST))
    }

    /// What is left; nothing once it has passed.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// The earlier of two.
    pub(crate) fn or_after(self, time: Duration) -> Self {
        Self(self.0.min(Self::after(time).0))
    }

    pub(crate) fn timed_out() -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::TimedOut, "the deadline passed")
    }
}
