//! Finding the cluster's nodes and following its changes.
//!
//! One thread per client asks for topologies, so that at most one question is under way whatever
//! number of threads notice a change, and never more often than the minimum interval allows.
//! Everybody else wakes it and, where they need the news, waits.

mod agreement;
mod judge;
mod progress;
mod wake;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use ringtail_core::topology::{Endpoint, Token};
use uuid::Uuid;

use crate::error::Error;
use crate::event::Event;
use crate::http::Deadline;
use crate::identity::Identity;
use crate::net::{OpenError, Told};
use crate::pool::NodePool;
use crate::seed::url;
use crate::shared::Shared;
use crate::stats::count;
use crate::view::View;
use agreement::Agreement;
use judge::{Past, Verdict, judge};
pub(crate) use progress::{Outcome, Progress};

/// Why somebody wants news.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wake {
    /// The node that showed the change, to be asked first.
    pub(crate) node: Option<Uuid>,
    /// The token it showed.
    pub(crate) token: Option<Token>,
}

/// How long all known nodes together are tried before the seeds are.
const KNOWN_NODES_TIME: Duration = Duration::from_secs(10);
/// How long one node may take to tell its topology.
const ONE_NODE_TIME: Duration = Duration::from_secs(3);

/// What asking one node came to.
enum Asked {
    /// The view at hand is that of the node, or has become it.
    Settled,
    /// The node lags behind.
    Older(View),
    /// It belongs to another cluster.
    OtherCluster(View),
}

/// The discovery loop.
pub(crate) struct Discovery {
    past: Past,
    agreement: Agreement,
    chance: fastrand::Rng,
    last_start: Option<Instant>,
    /// Who told the topology that was judged last.
    teller: Uuid,
}

impl Discovery {
    pub(crate) fn new() -> Self {
        Self {
            past: Past::default(),
            agreement: Agreement::default(),
            chance: fastrand::Rng::new(),
            last_start: None,
            teller: Uuid::nil(),
        }
    }

    /// Runs until the client is gone.
    pub(crate) fn run(
        mut self,
        shared: &Weak<Shared>,
        wakes: &Receiver<Wake>,
        poll: Duration,
        pause: Duration,
    ) {
        loop {
            let interval = poll.mul_f64(0.8 + 0.4 * self.chance.f64());
            let wake = match wakes.recv_timeout(interval) {
                Ok(wake) => Some(wake),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Some(last) = self.last_start {
                std::thread::sleep(pause.saturating_sub(last.elapsed()));
            }
            let Some(shared) = shared.upgrade() else { return };
            match wake {
                Some(wake) => {
                    shared.progress.begin();
                    // Whoever waits looks at the view, or at the outcome.
                    let outcome = self.follow(&shared, wake);
                    shared.progress.end(outcome);
                }
                None if shared.quiet_for() >= interval || shared.take_older_heard() => {
                    count(&shared.counters.polls);
                    let _ = self.refresh(&shared, Wake { node: None, token: None });
                }
                None => {}
            }
        }
    }

    /// Nothing where there is no need to ask.
    fn follow(&mut self, shared: &Shared, wake: Wake) -> Option<Outcome> {
        let view = shared.view.load_full();
        if let (Some(view), Some(token)) = (&view, wake.token)
            && (token == view.token()
                || (token.ordinal == view.token().ordinal
                    && self.past.holds(token, Instant::now())))
        {
            return None;
        }
        count(&shared.counters.refreshes);
        Some(self.refresh(shared, wake).map(|()| self.teller).map_err(Arc::new))
    }

    /// Asks known nodes, then the seeds, until one tells a topology that can be used.
    pub(crate) fn refresh(&mut self, shared: &Shared, wake: Wake) -> Result<(), Error> {
        self.last_start = Some(Instant::now());
        let mut older = Vec::new();
        if let Some(view) = shared.view.load_full() {
            if self.ask_members(shared, &view, wake.node, &mut older) {
                self.agreement.end();
                return Ok(());
            }
            if older.is_empty() {
                shared.config.observer.tell(|| Event::Reseeding);
                count(&shared.counters.reseeds);
            }
        }
        let members_answered = !older.is_empty();
        match self.ask_seeds(shared, &mut older) {
            Ok(()) => {
                self.agreement.end();
                Ok(())
            }
            Err(error) => {
                let agreed = self.agree(shared, older);
                if agreed || members_answered { Ok(()) } else { Err(error) }
            }
        }
    }

    /// Nobody has the topology at hand: takes over the one that all have told for some polls.
    fn agree(&mut self, shared: &Shared, mut older: Vec<(View, String)>) -> bool {
        let told: Vec<Token> = older.iter().map(|(view, _)| view.token()).collect();
        let apart = shared.config.poll_interval.mul_f64(0.8);
        if self.agreement.round(&told, Instant::now(), apart).is_none() {
            return false;
        }
        let (Some((view, address)), Some(ours)) = (older.pop(), shared.view.load_full()) else {
            return false;
        };
        let (from, token) = (ours.token(), view.token());
        shared.config.observer.tell(|| Event::Agreed { address: address.clone(), from, token });
        self.take_over(shared, view, &address);
        self.agreement.end();
        true
    }

    /// Whether a node of the cluster has told what could be taken; what others told that lag
    /// behind.
    fn ask_members(
        &mut self,
        shared: &Shared,
        view: &View,
        first: Option<Uuid>,
        older: &mut Vec<(View, String)>,
    ) -> bool {
        let protocol = shared.config.protocol();
        let deadline = Deadline::after(KNOWN_NODES_TIME);
        for place in
            view.to_ask(protocol, first, |uuid| shared.pools.is_suspect(uuid), &mut self.chance)
        {
            let member = view.member(place);
            let pool = shared.pools.of(member.uuid);
            for endpoint in View::endpoints(member, protocol) {
                if deadline.left().is_none() {
                    return false;
                }
                let expected =
                    Identity { cluster: view.snapshot().cluster().uuid, node: member.uuid };
                match self.ask(shared, endpoint, Some(expected), pool.as_deref()) {
                    Ok(Asked::Settled) => return true,
                    Ok(Asked::Older(view)) => {
                        older.push((view, url(endpoint)));
                        break;
                    }
                    // Not of the cluster that was expected there, which is an error already.
                    Ok(Asked::OtherCluster(_)) => break,
                    Err(error) => {
                        if let Some(pool) = &pool {
                            pool.suspect();
                        }
                        shared.failed(&member.name, &error);
                    }
                }
            }
        }
        false
    }

    fn ask_seeds(&mut self, shared: &Shared, older: &mut Vec<(View, String)>) -> Result<(), Error> {
        let mut tried: Vec<(String, Error)> = Vec::new();
        let mut other_cluster = None;
        for seed in shared.config.seeds() {
            match self.ask(shared, &seed.endpoint, None, None) {
                Ok(Asked::Settled) => return Ok(()),
                Ok(Asked::OtherCluster(view)) => {
                    other_cluster.get_or_insert((view, url(&seed.endpoint)));
                }
                Ok(Asked::Older(view)) => {
                    let what = "its topology is older than ours".to_owned();
                    let address = url(&seed.endpoint);
                    older.push((view, address.clone()));
                    tried.push((address.clone(), Error::BadAnswer { address, what }));
                }
                Err(error) => {
                    let address = url(&seed.endpoint);
                    shared.failed(&address, &error);
                    tried.push((address.clone(), error.into_error(&address)));
                }
            }
        }
        // A cluster restored under another name. Only now, when nobody knows the one at hand.
        if let (Some((view, address)), true) = (other_cluster, older.is_empty()) {
            self.take_over(shared, view, &address);
            return Ok(());
        }
        match <[_; 1]>::try_from(tried) {
            Ok([(_, error)]) => Err(error),
            Err(tried) => Err(Error::Unreachable {
                tried: tried
                    .into_iter()
                    .map(|(address, error)| (address, error.bare_message()))
                    .collect(),
            }),
        }
    }

    /// Asks one endpoint: over an idle connection, else at each address behind it until one answers
    /// well.
    fn ask(
        &mut self,
        shared: &Shared,
        endpoint: &Endpoint,
        expected: Option<Identity>,
        pool: Option<&NodePool>,
    ) -> Result<Asked, OpenError> {
        let deadline = Deadline::after(ONE_NODE_TIME.max(shared.config.connect_timeout));
        let net = &shared.net;
        if let Some(pool) = pool
            && let Some(connection) = pool.take(endpoint, shared.config.max_idle, false)
        {
            let from = shared.view.load().as_ref().map(|view| view.token());
            // A connection that the node has closed meanwhile says nothing of the node.
            if let Ok((connection, told)) =
                net.topology(connection, endpoint, expected, from, deadline)
            {
                if let Some(connection) = connection {
                    pool.give_back(endpoint, connection, shared.config.max_idle_per_node);
                }
                return self.judge(shared, endpoint, told, deadline);
            }
        }
        let mut last = OpenError::NoAnswer("its name has no address".into());
        for address in net.addresses(endpoint, deadline)? {
            let from = shared.view.load().as_ref().map(|view| view.token());
            let asked = net.greet(endpoint, address, expected, from, deadline, &shared.counters);
            match asked.and_then(|(connection, told)| {
                let by = told.by;
                let asked = self.judge(shared, endpoint, told, deadline)?;
                if let Some(connection) = connection {
                    shared.keep(by, endpoint, connection);
                }
                Ok(asked)
            }) {
                Ok(asked) => return Ok(asked),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn judge(
        &mut self,
        shared: &Shared,
        endpoint: &Endpoint,
        told: Told,
        deadline: Deadline,
    ) -> Result<Asked, OpenError> {
        let address = url(endpoint);
        let current = shared.view.load_full();
        let mut told = told;
        for whole in [false, true] {
            if whole {
                // What differs was of no use. Once more, everything, over a connection of its own.
                let mut answer = Err(OpenError::NoAnswer("its name has no address".into()));
                for socket in shared.net.addresses(endpoint, deadline)? {
                    let (by, counters) = (Some(told.by), &shared.counters);
                    answer = shared.net.greet(endpoint, socket, by, None, deadline, counters);
                    if answer.is_ok() {
                        break;
                    }
                }
                told = answer?.1;
            }
            self.teller = told.by.node;
            match judge(current.as_deref(), &self.past, told.by, &told.answer, Instant::now()) {
                Verdict::Same(view) => {
                    shared.seen_up(view);
                    return Ok(Asked::Settled);
                }
                Verdict::Newer(view) => {
                    self.take_over(shared, view, &address);
                    return Ok(Asked::Settled);
                }
                Verdict::Older(view) => {
                    let token = view.token();
                    count(&shared.counters.older_refused);
                    if let Some(ours) = current.as_ref().map(|view| view.token()) {
                        shared.config.observer.tell(|| Event::Older { address, token, ours });
                    }
                    return Ok(Asked::Older(view));
                }
                Verdict::OtherCluster(view) => return Ok(Asked::OtherCluster(view)),
                Verdict::NeedWhole => {}
                Verdict::Bad(what) => {
                    return Err(OpenError::NoTopology(Error::BadAnswer { address, what }));
                }
            }
        }
        let what = "it answers a difference where the whole topology was asked for".into();
        Err(OpenError::NoTopology(Error::BadAnswer { address, what }))
    }

    fn take_over(&mut self, shared: &Shared, view: View, address: &str) {
        let from = shared.view.load().as_ref().map(|view| view.token());
        if let Some(from) = from {
            self.past.leave(from, Instant::now());
        }
        let token = view.token();
        shared.replace(view);
        shared.config.observer.tell(|| Event::Topology {
            address: address.to_owned(),
            from,
            token,
        });
    }
}
