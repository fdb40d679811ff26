//! Where a node has its routes. Its `prefixes` move all documents but one: the topology has a path
//! of its own, which every node has since it is there; older ones have it under `/explore` only.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringtail_core::topology::{Endpoint, Token};
use uuid::Uuid;

/// The paths before the cluster.
pub(crate) const OBJECTS: &str = "/riak/primary/clusters/";
pub(crate) const DOCUMENTS: &str = "/explore/clusters/";
const TOPOLOGY: &str = "/ringtail/clusters/";

/// Remembered at most; who has more old nodes asks some twice.
const MOST: usize = 1024;

/// What a path is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// Riak's own path: its answers do not bear Ringtail's headers.
    Riak,
    /// An object's, by the cluster's UUID.
    Object,
    /// A document's.
    Document,
    /// The topology's, which is a document.
    Topology,
}

impl Base {
    /// That of a document by what follows the cluster in its path.
    pub(crate) fn of_document(path: &str) -> Self {
        match path.strip_prefix("/topology") {
            Some("") => Self::Topology,
            Some(rest) if rest.starts_with('?') => Self::Topology,
            Some(_) | None => Self::Document,
        }
    }
}

/// Endpoints of nodes that have their topology under `/explore` only.
#[derive(Debug, Default)]
pub(crate) struct Paths(Mutex<HashSet<Endpoint>>);

impl Paths {
    /// Where an endpoint is asked for its topology.
    pub(crate) fn topology(&self, endpoint: &Endpoint, from: Option<Token>) -> String {
        let before = self.before_topology(endpoint);
        match from {
            Some(token) => format!("{before}default/topology?from={token}"),
            None => format!("{before}default/topology"),
        }
    }

    /// Path and query at an endpoint.
    pub(crate) fn target(
        &self,
        base: Base,
        endpoint: &Endpoint,
        cluster: Uuid,
        after: &str,
    ) -> String {
        match base {
            Base::Riak => after.to_owned(),
            Base::Object => format!("{OBJECTS}{cluster}{after}"),
            Base::Document => format!("{DOCUMENTS}{cluster}{after}"),
            Base::Topology => format!("{}{cluster}{after}", self.before_topology(endpoint)),
        }
    }

    fn before_topology(&self, endpoint: &Endpoint) -> &'static str {
        if self.lock().contains(endpoint) { DOCUMENTS } else { TOPOLOGY }
    }

    /// It was not there: the other path is the next to be tried.
    pub(crate) fn turn(&self, endpoint: &Endpoint) {
        let mut old = self.lock();
        if !old.remove(endpoint) {
            if old.len() >= MOST {
                old.clear();
            }
            old.insert(endpoint.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Endpoint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringtail_core::topology::Protocol;

    #[test]
    fn a_node_is_asked_by_the_path_that_it_has() {
        let paths = Paths::default();
        let at = |port| Endpoint { protocol: Protocol::Http, host: "h".into(), port };
        assert_eq!(paths.topology(&at(1), None), "/ringtail/clusters/default/topology");
        paths.turn(&at(1));
        assert_eq!(paths.topology(&at(1), None), "/explore/clusters/default/topology");
        assert_eq!(paths.topology(&at(2), None), "/ringtail/clusters/default/topology");
        paths.turn(&at(1));
        assert_eq!(paths.topology(&at(1), None), "/ringtail/clusters/default/topology");
        (0..u16::MAX).for_each(|port| paths.turn(&at(port)));
        assert!(paths.lock().len() <= MOST);
    }

    #[test]
    fn only_the_topology_itself_has_the_fixed_path() {
        for (path, base) in [
            ("/topology", Base::Topology),
            ("/topology?from=-1", Base::Topology),
            ("/topology/x", Base::Document),
            ("/preflist", Base::Document),
        ] {
            assert_eq!(Base::of_document(path), base, "{path}");
        }
    }
}
