//! How requests have the follower look for news of the cluster, and wait for it.

mod progress;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use ringtail_core::topology::Token;
use uuid::Uuid;

use crate::current::CurrentView;
use crate::error::DiscoveryError;
use crate::http::Deadline;
use crate::identity::Bearing;
use crate::stats::{Counters, count};
pub(crate) use progress::{Outcome, Progress};

/// Why somebody wants news.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wake {
    /// The node that showed the change, to be asked first.
    pub(crate) node: Option<Uuid>,
    /// The token it showed.
    pub(crate) token: Option<Token>,
}

/// What requests saw, and how far the follower is with it.
pub(crate) struct News {
    pub(crate) progress: Progress,
    wakes: Sender<Wake>,
    born: Instant,
    /// When a node was heard of last, in milliseconds after `born`.
    last_heard: AtomicU64,
    /// Whether a node has told an older topology since the last poll.
    older_heard: AtomicBool,
}

impl News {
    /// With what the follower waits for.
    pub(crate) fn new() -> (Self, Receiver<Wake>) {
        let (wakes, woken) = crossbeam_channel::bounded(1);
        let news = Self {
            progress: Progress::default(),
            wakes,
            born: Instant::now(),
            last_heard: AtomicU64::new(0),
            older_heard: AtomicBool::new(false),
        };
        (news, woken)
    }

    /// Takes note of what a node said it has, and wakes the follower where that is news. An older
    /// ring of a node that lags is none.
    pub(crate) fn heard(
        &self,
        node: Uuid,
        bearing: Bearing,
        view: &CurrentView,
        counters: &Counters,
    ) {
        self.last_heard.store(self.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        let (Some(token), Some(view)) = (bearing.token, &*view.peek()) else { return };
        if token == view.token() || bearing.cluster != Some(view.snapshot().cluster().uuid) {
            return;
        }
        if token.ordinal < view.token().ordinal {
            count(&counters.older_refused);
            // If all nodes say so, it is ours that is wrong: the next poll finds out, however busy
            // the client is.
            self.older_heard.store(true, Ordering::Relaxed);
            return;
        }
        self.wake(Wake { node: Some(node), token: Some(token) });
    }

    /// How long no node was heard of.
    pub(crate) fn quiet_for(&self) -> Duration {
        let heard = Duration::from_millis(self.last_heard.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(heard)
    }

    pub(crate) fn take_older_heard(&self) -> bool {
        self.older_heard.swap(false, Ordering::Relaxed)
    }

    /// Wakes the follower. Where it is awake already, it will look after this, too.
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
                let last = "no node has told its topology yet";
                return Err(Arc::new(DiscoveryError::Timeout { after: time, last }.into()));
            }
            self.wake(Wake::default());
            self.progress.wait(self.progress.ticket(), || false, deadline);
        }
    }

    /// Wakes the follower and waits until the view is another than `used`, or it has asked.
    pub(crate) fn refresh_and_wait(
        &self,
        view: &CurrentView,
        used: Token,
        wake: Wake,
        deadline: Deadline,
    ) {
        let changed = || view.token() != Some(used);
        let ticket = self.progress.ticket();
        if changed() {
            return;
        }
        self.wake(wake);
        self.progress.wait(ticket, changed, deadline);
    }
}
