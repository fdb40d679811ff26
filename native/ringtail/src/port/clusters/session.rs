//! One cluster: its client, made when it is first asked for anything, and made again when that
//! failed.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringtail_client::{Client, Config, DiscoveryError, Error};

use super::crew::Crew;

/// How much of its time a request may wait for a cluster that cannot serve it: whoever sent it can
/// wait, too.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Requests of one cluster carried out at once, and those that wait.
const REQUESTS: usize = 64;
const WAITING: usize = 256;
/// The same for those that wait for a client, either way: they may do so for as long as it pauses.
const STREAMS: usize = 64;
const WAITING_STREAMS: usize = 64;
/// A failure to find the cluster is believed for so long: whoever comes meanwhile gets it at once.
const BELIEVED: Duration = Duration::from_millis(500);

/// A cluster by its configuration.
pub struct Session {
    config: Config,
    state: Mutex<State>,
    changed: Condvar,
    /// For requests that wait for nobody but the cluster.
    pub requests: Crew,
    /// For those whose body comes in pieces, at the pace of a client.
    pub uploads: Crew,
    /// For what is left of an answer that a client does not take as fast as it comes.
    pub downloads: Crew,
    /// For what watches over the cluster, which must get through when all requests hang.
    pub watch: Crew,
}

enum State {
    /// Nobody is trying; the last failure and when it was.
    Idle(Option<(Arc<Error>, Instant)>),
    /// Somebody is.
    Connecting,
    Connected(Client),
}

impl Session {
    /// Connects to nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            state: Mutex::new(State::Idle(None)),
            changed: Condvar::new(),
            requests: Crew::new("cluster", REQUESTS, WAITING),
            uploads: Crew::new("upload", STREAMS, WAITING_STREAMS),
            downloads: Crew::new("download", STREAMS, WAITING_STREAMS),
            watch: Crew::new("watch", 2, 16),
        }
    }

    /// The client. Of many who ask at once one finds the cluster, and its success or failure is
    /// that of all.
    pub fn client(&self, deadline: Instant) -> Result<Client, Arc<Error>> {
        let mut state = self.lock();
        loop {
            match &*state {
                State::Connected(client) => return Ok(client.clone()),
                State::Idle(Some((error, at))) if at.elapsed() < BELIEVED => {
                    return Err(Arc::clone(error));
                }
                State::Idle(_) => break,
                State::Connecting => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        let last = "the cluster's nodes are still being looked for";
                        return Err(Arc::new(DiscoveryError::Timeout { after: left, last }.into()));
                    }
                    state = self
                        .changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0;
                }
            }
        }
        *state = State::Connecting;
        drop(state);
        let undo = Undo(self);
        let connected = Client::connect(self.config.clone()).map_err(Arc::new);
        std::mem::forget(undo);
        self.settle(match &connected {
            Ok(client) => State::Connected(client.clone()),
            Err(error) => State::Idle(Some((Arc::clone(error), Instant::now()))),
        });
        connected
    }

    fn settle(&self, state: State) {
        *self.lock() = state;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Should connecting panic, nobody waits for it for ever.
struct Undo<'s>(&'s Session);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        self.0.settle(State::Idle(None));
    }
}
