//! What all threads of a client share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use crossbeam_channel::Sender;
use ringtail_core::topology::{Endpoint, MemberEntry};
use uuid::Uuid;

use crate::config::Config;
use crate::discovery::{Progress, Wake};
use crate::error::Error;
use crate::event::Event;
use crate::http::Connection;
use crate::identity::Identity;
use crate::net::{Net, OpenError};
use crate::pool::Pools;
use crate::properties::PropertyCache;
use crate::stats::{Counters, count};
use crate::view::View;

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) net: Net,
    pub(crate) view: ArcSwapOption<View>,
    pub(crate) pools: Pools,
    pub(crate) properties: PropertyCache,
    pub(crate) counters: Counters,
    pub(crate) progress: Progress,
    pub(crate) wakes: Sender<Wake>,
    pub(crate) born: Instant,
    /// When a node was heard of last, in milliseconds after `born`.
    pub(crate) last_heard: AtomicU64,
    /// Whether a node has told an older topology since the last poll.
    pub(crate) older_heard: AtomicBool,
}

impl Shared {
    /// The view at hand.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.load_full().expect("a client is made only once it has a topology")
    }

    /// How long no node was heard of.
    pub(crate) fn quiet_for(&self) -> Duration {
        let heard = Duration::from_millis(self.last_heard.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(heard)
    }

    /// Replaces the view. Pools of nodes that come are there before, of those that go until after.
    pub(crate) fn replace(&self, view: View) {
        let view = Arc::new(view);
        let before = self.view.load_full();
        if let Some(before) = &before {
            let gone = before.snapshot().members().iter();
            let gone = gone.filter(|member| view.snapshot().member(member.uuid).is_none());
            self.follow(view.snapshot().members().iter().chain(gone));
        } else {
            self.follow(view.snapshot().members().iter());
        }
        self.view.store(Some(Arc::clone(&view)));
        if before.is_some() {
            self.follow(view.snapshot().members().iter());
        }
    }

    fn follow<'a>(&self, members: impl Iterator<Item = &'a MemberEntry>) {
        self.pools.follow(
            members.map(|member| (member.uuid, &member.endpoints[..])),
            self.config.max_idle,
        );
    }

    /// Takes over who is up, unless the topology has changed since.
    pub(crate) fn seen_up(&self, view: View) {
        self.view.rcu(|current| match current {
            Some(current) if current.token() == view.token() => Some(Arc::new(view.clone())),
            other => other.clone(),
        });
    }

    /// Keeps a connection to a node where it is a member and listens there; else the connection is
    /// closed.
    pub(crate) fn keep(&self, by: Identity, endpoint: &Endpoint, connection: Connection) {
        let view = self.view.load();
        let Some(view) = &*view else { return };
        if view.snapshot().cluster().uuid == by.cluster
            && view
                .snapshot()
                .member(by.node)
                .is_some_and(|member| member.endpoints.contains(endpoint))
            && let Some(pool) = self.pools.of(by.node)
        {
            pool.give_back(endpoint, connection, self.config.max_idle_per_node);
        }
    }

    /// Tells that a node could not be used.
    pub(crate) fn failed(&self, node: &str, error: &OpenError) {
        if let OpenError::Identity(mismatch) = error {
            count(&self.counters.identity_mismatches);
            self.config.observer.tell(|| Event::Identity(mismatch.clone()));
        } else {
            self.config
                .observer
                .tell(|| Event::Failed { node: node.to_owned(), why: error.to_string() });
        }
    }

    pub(crate) fn is_suspect(&self, node: Uuid) -> bool {
        self.pools.is_suspect(node)
    }
}

impl OpenError {
    /// As the error of a request that got no further.
    pub(crate) fn into_error(self, address: &str) -> Error {
        match self {
            Self::NoAnswer(why) => Error::Unreachable { tried: vec![(address.to_owned(), why)] },
            Self::Identity(mismatch) => Error::Identity(mismatch),
            Self::NoTopology(error) => error,
        }
    }
}

impl Error {
    /// Without the words that an enclosing message says already.
    pub(crate) fn bare_message(&self) -> String {
        match self {
            Self::Unreachable { tried } if tried.len() == 1 => tried[0].1.clone(),
            Self::BadAnswer { what, .. } => what.clone(),
            other => other.to_string(),
        }
    }
}
