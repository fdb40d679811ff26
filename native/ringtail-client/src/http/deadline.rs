//! How long something may take.

use std::time::{Duration, Instant};

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
