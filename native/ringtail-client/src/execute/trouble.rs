//! What went wrong so far, for the error in the end.

use std::mem::take;
use std::time::Duration;

use crate::error::{AttemptError, BadAnswer, ExecutionError};

/// The failures of one request.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// Node and failure, the latest of each node, in the order they came.
    failures: Vec<(String, AttemptError)>,
    retry_after: Option<Duration>,
}

impl Trouble {
    pub(super) fn note(&mut self, node: &str, why: AttemptError) {
        self.failures.retain(|(known, _)| known != node);
        self.failures.push((node.to_owned(), why));
    }

    pub(super) fn retry_after(&mut self, time: Option<Duration>) {
        self.retry_after = time;
    }

    /// The error when time has run out.
    pub(super) fn timed_out(&mut self, after: Duration) -> ExecutionError {
        ExecutionError::Timeout { after, tried: take(&mut self.failures) }
    }

    /// The error when nothing more can be tried.
    pub(super) fn unavailable(&mut self) -> ExecutionError {
        let tried = take(&mut self.failures);
        ExecutionError::Unavailable { tried, retry_after: self.retry_after }
    }

    /// The error when all that were asked gave answers that are none.
    pub(super) fn bad_answer(&mut self) -> ExecutionError {
        match self.failures.pop() {
            Some((address, AttemptError::Answer(fault))) => BadAnswer { address, fault }.into(),
            other => {
                self.failures.extend(other);
                self.unavailable()
            }
        }
    }
}
