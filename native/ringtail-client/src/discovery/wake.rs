//! How others have the discovery look for news, and wait for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ringtail_core::topology::Token;
use uuid::Uuid;

use super::{Outcome, Wake};
use crate::error::Error;
use crate::http::Deadline;
use crate::shared::Shared;
use crate::stats::count;

impl Shared {
    /// Says what a node was seen to have, and wakes the discovery where that is news. An older ring
    /// of a node that lags is none.
    pub(crate) fn heard(&self, node: Uuid, cluster: Option<Uuid>, token: Option<Token>) {
        self.last_heard.store(self.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        let (Some(token), Some(view)) = (token, &*self.view.load()) else { return };
        if token == view.token() || cluster != Some(view.snapshot().cluster().uuid) {
            return;
        }
        if token.ordinal < view.token().ordinal {
            count(&self.counters.older_refused);
            // If all nodes say so, it is ours that is wrong: the next poll finds out, however busy
            // the client is.
            self.older_heard.store(true, Ordering::Relaxed);
            return;
        }
        self.wake(Wake { node: Some(node), token: Some(token) });
    }

    pub(super) fn take_older_heard(&self) -> bool {
        self.older_heard.swap(false, Ordering::Relaxed)
    }

    /// Wakes the discovery. Where it is awake already, it will look after this, too.
    pub(crate) fn wake(&self, wake: Wake) {
        let _ = self.wakes.try_send(wake);
    }

    /// Has a node asked now, and waits for what comes of it.
    pub(crate) fn ask_and_wait(&self, time: Duration) -> Outcome {
        let deadline = Deadline::after(time);
        let ticket = self.progress.ticket();
        loop {
            if let Some(outcome) = self.progress.outcome(ticket) {
                return outcome;
            }
            if deadline.left().is_none() {
                let last = "no node has told its topology yet".to_owned();
                return Err(Arc::new(Error::Timeout { after: time, last }));
            }
            self.wake(Wake { node: None, token: None });
            self.progress.wait(self.progress.ticket(), || false, deadline);
        }
    }

    /// Wakes the discovery and waits until the view is another than `used`, or it has asked.
    pub(crate) fn refresh_and_wait(&self, used: Token, wake: Wake, deadline: Deadline) {
        let changed = || self.view.load().as_ref().is_none_or(|view| view.token() != used);
        let ticket = self.progress.ticket();
        if changed() {
            return;
        }
        self.wake(wake);
        self.progress.wait(ticket, changed, deadline);
    }
}
