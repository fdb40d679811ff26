//! What went wrong so far, for the error in the end.

use std::time::Duration;

use crate::error::Error;
use crate::event::Event;
use crate::http::Deadline;
use crate::retry::{Happened, Kind};
use crate::shared::Shared;

/// The failures of one request.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// Node and failure, the latest of each node, in the order they came.
    failures: Vec<(String, String)>,
    retry_after: Option<Duration>,
}

/// When so little is left, another attempt is of no use.
const TOO_LITTLE: Duration = Duration::from_millis(20);

impl Trouble {
    pub(super) fn note(&mut self, node: &str, why: impl Into<String>) {
        self.failures.retain(|(known, _)| known != node);
        self.failures.push((node.to_owned(), why.into()));
    }

    pub(super) fn retry_after(&mut self, time: Option<Duration>) {
        self.retry_after = time;
    }

    /// Pauses, but leaves time for another attempt; where there is none, it is over.
    pub(super) fn rest(
        &self,
        pause: Duration,
        deadline: Deadline,
        time: Duration,
    ) -> Result<(), Error> {
        match deadline.left() {
            Some(left) if left > TOO_LITTLE => {
                std::thread::sleep(pause.min(left / 2));
                Ok(())
            }
            _ => Err(self.timed_out(time)),
        }
    }

    /// The error when time has run out.
    pub(super) fn timed_out(&self, time: Duration) -> Error {
        if self.failures.is_empty() {
            return Error::Timeout { after: time, last: "no node was tried yet".into() };
        }
        Error::Timeout { after: time, last: self.told() }
    }

    /// The connection failed, or what came over it was no answer. A write is over by that: whether
    /// it was carried out is unknown.
    pub(super) fn lost(
        &mut self,
        shared: &Shared,
        kind: Kind,
        node: &str,
        why: String,
    ) -> Result<(), Error> {
        shared.config.observer.tell(|| Event::Failed { node: node.to_owned(), why: why.clone() });
        match kind {
            Kind::Write => Err(Error::UnknownOutcome { node: node.to_owned(), cause: why }),
            Kind::Read => {
                self.note(node, why);
                Ok(())
            }
        }
    }

    /// The error when the retry policy gives up after this.
    pub(super) fn given_up(mut self, happened: Happened) -> Error {
        match happened {
            Happened::BadAnswer => {
                let (address, what) = self.failures.pop().unwrap_or_default();
                Error::BadAnswer { address, what }
            }
            Happened::NotSent
            | Happened::Lost
            | Happened::Misdirected { .. }
            | Happened::Unavailable { .. }
            | Happened::NoneLeft => self.unavailable(),
        }
    }

    /// The error when nothing more can be tried.
    pub(super) fn unavailable(&self) -> Error {
        Error::Unavailable { message: self.told(), retry_after: self.retry_after }
    }

    fn told(&self) -> String {
        let failures: Vec<String> =
            self.failures.iter().map(|(node, why)| format!("{node}: {why}")).collect();
        failures.join("; ")
    }
}
