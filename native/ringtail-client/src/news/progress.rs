//! How far the follower is, for those who wait for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::error::Error;
use crate::http::Deadline;

/// Counts the refreshes that began and ended.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    counts: Mutex<Counts>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    begun: u64,
    ended: u64,
    /// The latest of them in which a node was asked, and what came of it.
    asked: Option<(u64, Outcome)>,
}

/// The node that told the topology at hand, or why none did.
pub(crate) type Outcome = Result<Uuid, Arc<Error>>;

/// The first refresh that begins after the ticket was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

impl Progress {
    pub(crate) fn begin(&self) {
        self.lock().begun += 1;
    }

    /// Without an outcome nobody was asked, for there was no need.
    pub(crate) fn end(&self, outcome: Option<Outcome>) {
        let mut counts = self.lock();
        counts.ended += 1;
        if let Some(outcome) = outcome {
            counts.asked = Some((counts.ended, outcome));
        }
        drop(counts);
        self.moved.notify_all();
    }

    pub(crate) fn ticket(&self) -> Ticket {
        Ticket(self.lock().begun + 1)
    }

    /// What came of asking, if somebody was asked since the ticket was taken.
    pub(crate) fn outcome(&self, since: Ticket) -> Option<Outcome> {
        self.lock()
            .asked
            .clone()
            .filter(|(number, _)| *number >= since.0)
            .map(|(_, outcome)| outcome)
    }

    /// Waits until the refresh of the ticket has ended, or an earlier one brought what was wanted.
    pub(crate) fn wait(&self, ticket: Ticket, enough: impl Fn() -> bool, deadline: Deadline) {
        let mut counts = self.lock();
        while counts.ended < ticket.0 && !enough() {
            let Some(left) = deadline.left() else { return };
            // Not longer than this in one go: the wake may have been lost to one whose refresh just
            // ended.
            let (next, timeout) = self
                .moved
                .wait_timeout(counts, left.min(Duration::from_secs(1)))
                .unwrap_or_else(PoisonError::into_inner);
            counts = next;
            if timeout.timed_out() {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
