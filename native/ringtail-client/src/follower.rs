//! Finding the cluster's nodes and following its changes.
//!
//! One thread per client asks for topologies, so that at most one question is under way whatever
//! number of threads notice a change, and never more often than the minimum interval allows.
//! Everybody else wakes it by its [`News`](crate::news::News) and, where they need them, waits.
#![deny(clippy::wildcard_enum_match_arm)]

mod agreement;
mod judge;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use ringtail_core::topology::{Endpoint, MemberEntry, Token};
use uuid::Uuid;

use crate::error::{AnswerFault, DiscoveryError, NodeError};
use crate::event::Event;
use crate::greeting::{Greeting, Told, bad_answer};
use crate::http::{Connection, Deadline};
use crate::identity::Identity;
use crate::news::{Outcome, Wake};
use crate::pool::NodePool;
use crate::seed::url;
use crate::shared::Shared;
use crate::stats::count;
use crate::view::View;
use agreement::Agreement;
use judge::{Past, Verdict, judge};

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

/// The loop.
pub(crate) struct Follower {
    past: Past,
    agreement: Agreement,
    chance: fastrand::Rng,
    last_start: Option<Instant>,
    /// Who told the topology that was judged last.
    teller: Uuid,
}

impl Follower {
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
                    shared.news.progress.begin();
                    // Whoever waits looks at the view, or at the outcome.
                    let outcome = self.follow(&shared, wake);
                    shared.news.progress.end(outcome);
                }
                None if shared.news.quiet_for() >= interval || shared.news.take_older_heard() => {
                    count(&shared.counters.polls);
                    let _ = self.refresh(&shared, Wake::default());
                }
                None => {}
            }
        }
    }

    /// Nothing where there is no need to ask.
    fn follow(&mut self, shared: &Shared, wake: Wake) -> Option<Outcome> {
        let view = shared.view.if_any();
        if let (Some(view), Some(token)) = (&view, wake.token)
            && (token == view.token()
                || (token.ordinal == view.token().ordinal
                    && self.past.holds(token, Instant::now())))
        {
            return None;
        }
        count(&shared.counters.refreshes);
        Some(
            self.refresh(shared, wake)
                .map(|()| self.teller)
                .map_err(|error| Arc::new(error.into())),
        )
    }

    /// Asks known nodes, then the seeds, until one tells a topology that can be used.
    pub(crate) fn refresh(&mut self, shared: &Shared, wake: Wake) -> Result<(), DiscoveryError> {
        self.last_start = Some(Instant::now());
        let mut older = Vec::new();
        if let Some(view) = shared.view.if_any() {
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
        let (Some((view, address)), Some(ours)) = (older.pop(), shared.view.if_any()) else {
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
                        shared.config.observer.failed(&member.name, &error, &shared.counters);
                    }
                }
            }
        }
        false
    }

    fn ask_seeds(
        &mut self,
        shared: &Shared,
        older: &mut Vec<(View, String)>,
    ) -> Result<(), DiscoveryError> {
        let mut tried: Vec<(String, NodeError)> = Vec::new();
        let mut other_cluster = None;
        for seed in shared.config.seeds() {
            let address = url(&seed.endpoint);
            match self.ask(shared, &seed.endpoint, None, None) {
                Ok(Asked::Settled) => return Ok(()),
                Ok(Asked::OtherCluster(view)) => {
                    other_cluster.get_or_insert((view, address));
                }
                Ok(Asked::Older(view)) => {
                    older.push((view, address.clone()));
                    let error = bad_answer(&address, AnswerFault::Older);
                    tried.push((address, error));
                }
                Err(error) => {
                    shared.config.observer.failed(&address, &error, &shared.counters);
                    tried.push((address, error));
                }
            }
        }
        // A cluster restored under another name. Only now, when nobody knows the one at hand.
        if let (Some((view, address)), true) = (other_cluster, older.is_empty()) {
            self.take_over(shared, view, &address);
            return Ok(());
        }
        Err(DiscoveryError::of(tried))
    }

    /// Asks one endpoint: over an idle connection, else at each address behind it until one answers
    /// well.
    fn ask(
        &mut self,
        shared: &Shared,
        endpoint: &Endpoint,
        expected: Option<Identity>,
        pool: Option<&NodePool>,
    ) -> Result<Asked, NodeError> {
        let greeting = Greeting {
            net: &shared.net,
            counters: &shared.counters,
            endpoint,
            expected,
            from: shared.view.token(),
            deadline: Deadline::after(ONE_NODE_TIME.max(shared.config.connect_timeout)),
        };
        if let Some(pool) = pool
            && let Some(connection) = pool.take(endpoint, shared.config.max_idle, false)
            // A connection that the node has closed meanwhile says nothing of the node.
            && let Ok(mut told) = greeting.over(connection)
        {
            if let Some(connection) = told.connection.take() {
                pool.give_back(endpoint, connection, shared.config.max_idle_per_node);
            }
            return self.judge(shared, greeting, told);
        }
        greeting.at_any_address(|mut told| {
            let (by, connection) = (told.by, told.connection.take());
            let asked = self.judge(shared, greeting, told)?;
            if let Some(connection) = connection {
                keep(shared, by, endpoint, connection);
            }
            Ok(asked)
        })
    }

    fn judge(
        &mut self,
        shared: &Shared,
        greeting: Greeting<'_>,
        mut told: Told,
    ) -> Result<Asked, NodeError> {
        let address = url(greeting.endpoint);
        let current = shared.view.if_any();
        for whole in [false, true] {
            if whole {
                // What differs was of no use. Once more, everything, over a connection of its own.
                let greeting = Greeting { expected: Some(told.by), from: None, ..greeting };
                told = greeting.at_any_address(Ok)?;
            }
            self.teller = told.by.node;
            match judge(current.as_deref(), &self.past, told.by, &told.answer, Instant::now()) {
                Verdict::Same(view) => {
                    shared.view.seen_up(view);
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
                Verdict::Bad(fault) => return Err(bad_answer(&address, fault)),
            }
        }
        Err(bad_answer(&address, AnswerFault::OnlyDifference))
    }

    fn take_over(&mut self, shared: &Shared, view: View, address: &str) {
        let from = shared.view.token();
        if let Some(from) = from {
            self.past.leave(from, Instant::now());
        }
        let token = view.token();
        replace(shared, view);
        shared.config.observer.tell(|| Event::Topology {
            address: address.to_owned(),
            from,
            token,
        });
    }
}

/// Replaces the view. Pools of nodes that come are there before, of those that go until after.
fn replace(shared: &Shared, view: View) {
    let view = Arc::new(view);
    let members = view.snapshot().members();
    let pool_for = |members: &mut dyn Iterator<Item = &MemberEntry>| {
        let endpoints = members.map(|member| (member.uuid, &member.endpoints[..]));
        shared.pools.follow(endpoints, shared.config.max_idle);
    };
    match shared.view.if_any() {
        None => {
            pool_for(&mut members.iter());
            shared.view.replace(Arc::clone(&view));
        }
        Some(before) => {
            let gone = before.snapshot().members().iter();
            let gone = gone.filter(|member| view.snapshot().member(member.uuid).is_none());
            pool_for(&mut members.iter().chain(gone));
            shared.view.replace(Arc::clone(&view));
            pool_for(&mut members.iter());
        }
    }
}

/// Keeps a connection to a node where it is a member and listens there; else it is closed.
fn keep(shared: &Shared, by: Identity, endpoint: &Endpoint, connection: Connection) {
    let view = shared.view.peek();
    let Some(view) = &*view else { return };
    if view.snapshot().cluster().uuid == by.cluster
        && view.snapshot().member(by.node).is_some_and(|member| member.endpoints.contains(endpoint))
        && let Some(pool) = shared.pools.of(by.node)
    {
        pool.give_back(endpoint, connection, shared.config.max_idle_per_node);
    }
}
