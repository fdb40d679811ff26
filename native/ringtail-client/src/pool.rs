//! Idle connections and liveness by node UUID. Kept outside of snapshots, so that a change of
//! topology closes only the connections it concerns.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use ringtail_core::topology::Endpoint;
use uuid::Uuid;

use crate::http::Connection;

/// How long a node that could not be reached is asked last.
const SUSPICION: Duration = Duration::from_secs(1);

/// No server closes a connection that was idle for less, nor says so by an answer to nothing.
const MOMENT: Duration = Duration::from_secs(1);

/// The idle connections to one node.
#[derive(Debug)]
pub(crate) struct NodePool {
    idle: Mutex<Vec<(Endpoint, Connection)>>,
    born: Instant,
    /// Milliseconds after `born` until which the node is suspect.
    suspect_until: AtomicU64,
}

impl NodePool {
    fn new() -> Self {
        Self { idle: Mutex::default(), born: Instant::now(), suspect_until: AtomicU64::new(0) }
    }

    /// The connection used last, so that surplus ones grow old and go. It is looked at before it is
    /// given out, unless it was used a moment ago and `unseen` says that a failure of it does no
    /// harm.
    pub(crate) fn take(
        &self,
        endpoint: &Endpoint,
        max_idle: Duration,
        unseen: bool,
    ) -> Option<Connection> {
        loop {
            let connection = {
                let mut idle = self.lock();
                let at = idle.iter().rposition(|(known, _)| known == endpoint)?;
                idle.swap_remove(at).1
            };
            let idle = connection.idle_since.elapsed();
            if idle < max_idle && ((unseen && idle < MOMENT) || connection.is_usable()) {
                return Some(connection);
            }
        }
    }

    pub(crate) fn give_back(&self, endpoint: &Endpoint, mut connection: Connection, max: usize) {
        connection.rest();
        let mut idle = self.lock();
        if idle.len() >= max {
            // The oldest goes: it is the next that the node would close.
            if let Some(oldest) = (0..idle.len()).min_by_key(|&at| idle[at].1.idle_since) {
                idle.swap_remove(oldest);
            }
        }
        if max > 0 {
            idle.push((endpoint.clone(), connection));
        }
    }

    /// Closes idle connections to where the node no longer is, and those that have waited too long.
    fn prune(&self, endpoints: &[Endpoint], max_idle: Duration) {
        self.lock().retain(|(endpoint, connection)| {
            endpoints.contains(endpoint) && connection.idle_since.elapsed() < max_idle
        });
    }

    pub(crate) fn idle(&self) -> usize {
        self.lock().len()
    }

    /// Notes that the node could not be reached just now.
    pub(crate) fn suspect(&self) {
        let until = (self.born.elapsed() + SUSPICION).as_millis() as u64;
        self.suspect_until.store(until, Ordering::Relaxed);
    }

    pub(crate) fn trust(&self) {
        if self.suspect_until.load(Ordering::Relaxed) != 0 {
            self.suspect_until.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_suspect(&self) -> bool {
        match self.suspect_until.load(Ordering::Relaxed) {
            0 => false,
            until => (self.born.elapsed().as_millis() as u64) < until,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Endpoint, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All pools, by node UUID.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    by_node: ArcSwap<HashMap<Uuid, Arc<NodePool>>>,
}

impl Pools {
    /// The pool of a node; nothing for a node that has left.
    pub(crate) fn of(&self, node: Uuid) -> Option<Arc<NodePool>> {
        self.by_node.load().get(&node).cloned()
    }

    pub(crate) fn is_suspect(&self, node: Uuid) -> bool {
        self.by_node.load().get(&node).is_some_and(|pool| pool.is_suspect())
    }

    /// Keeps pools for these nodes only, and in them connections to these endpoints only.
    pub(crate) fn follow<'a>(
        &self,
        members: impl Iterator<Item = (Uuid, &'a [Endpoint])>,
        max_idle: Duration,
    ) {
        let before = self.by_node.load();
        let mut after = HashMap::new();
        for (node, endpoints) in members {
            let pool = before.get(&node).cloned().unwrap_or_else(|| Arc::new(NodePool::new()));
            pool.prune(endpoints, max_idle);
            after.insert(node, pool);
        }
        self.by_node.store(Arc::new(after));
    }

    /// Idle connections altogether.
    pub(crate) fn idle(&self) -> usize {
        self.by_node.load().values().map(|pool| pool.idle()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_outlive_changes_of_the_topology_and_go_with_their_node() {
        let pools = Pools::default();
        let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let max = Duration::from_secs(1);
        pools.follow([(a, &[][..]), (b, &[][..])].into_iter(), max);
        let pool = pools.of(a).unwrap();
        pools.follow([(a, &[][..])].into_iter(), max);
        assert!(Arc::ptr_eq(&pool, &pools.of(a).unwrap()));
        assert!(pools.of(b).is_none());
    }

    #[test]
    fn suspicion_ends_with_trust() {
        let pool = NodePool::new();
        assert!(!pool.is_suspect());
        pool.suspect();
        assert!(pool.is_suspect());
        pool.trust();
        assert!(!pool.is_suspect());
    }
}
