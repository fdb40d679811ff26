//! The routing table: which cluster serves a key.

mod document;
mod edit;
mod error;
mod finder;
mod picture;

pub use edit::Part;
pub use error::{MAX_CLUSTERS, TableError};

use std::collections::BTreeSet;

use super::cluster::{Cluster, ClusterName};
use super::interval::Interval;
use super::key::Key;
use finder::Finder;

/// The clusters of a nursery in the order of their keys, and the separators between them.
///
/// Cluster `i` serves from separator `i` on and before the next one; a separator belongs to the
/// cluster on its right, the first and the last interval are open. A table never changes: an edit
/// makes another one. Serde form: `{"clusters": [{"begin": null, "name": NAME, "seeds": [URL, ..]},
/// {"begin": KEY, ..}, ..]}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingTable {
    clusters: Vec<Cluster>,
    separators: Vec<Key>,
    finder: Finder,
}

impl RoutingTable {
    /// The clusters in the order of their keys, and the one separator fewer between them.
    ///
    /// # Errors
    /// No cluster or too many, another number of separators, separators that are empty, doubled or
    /// out of order, clusters named twice.
    pub fn new(clusters: Vec<Cluster>, separators: Vec<Key>) -> Result<Self, TableError> {
        if clusters.is_empty() {
            return Err(TableError::NoCluster);
        }
        if clusters.len() > MAX_CLUSTERS {
            return Err(TableError::TooManyClusters);
        }
        if separators.len() + 1 != clusters.len() {
            let (clusters, separators) = (clusters.len(), separators.len());
            return Err(TableError::SeparatorCount { clusters, separators });
        }
        if separators.first() == Some(&Key::LEAST) {
            return Err(TableError::EmptySeparator);
        }
        for pair in separators.windows(2) {
            if pair[0] == pair[1] {
                return Err(TableError::SeparatorDoubled { separator: pair[0].clone() });
            }
            if pair[0] > pair[1] {
                let (separator, after) = (pair[1].clone(), pair[0].clone());
                return Err(TableError::Unsorted { separator, after });
            }
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = clusters.iter().find(|cluster| !names.insert(cluster.name())) {
            return Err(TableError::ClusterDoubled { name: twice.name().clone() });
        }
        let finder = Finder::new(&separators);
        Ok(Self { clusters, separators, finder })
    }

    /// One cluster with all keys.
    pub fn single(cluster: Cluster) -> Self {
        Self { clusters: vec![cluster], separators: Vec::new(), finder: Finder::new(&[]) }
    }

    /// The clusters in the order of their keys.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// What lies between them, in order.
    pub fn separators(&self) -> &[Key] {
        &self.separators
    }

    /// The cluster of a key: its place among [`clusters`](Self::clusters).
    #[inline]
    pub fn find(&self, key: &[u8]) -> usize {
        self.finder.find(key, &self.separators)
    }

    /// The place of the cluster of that name.
    pub fn position(&self, name: &ClusterName) -> Result<usize, TableError> {
        let at = self.clusters.iter().position(|cluster| cluster.name() == name);
        at.ok_or_else(|| TableError::UnknownCluster { name: name.clone() })
    }

    /// What the cluster at a place serves.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn interval(&self, place: usize) -> Interval {
        assert!(place < self.clusters.len(), "no cluster at {place}");
        let begin = place.checked_sub(1).map(|before| self.separators[before].clone());
        let end = self.separators.get(place).cloned();
        Interval::new(begin, end).expect("separators ascend, and none is empty")
    }

    /// Every cluster with what it serves, in the order of the keys.
    pub fn intervals(&self) -> impl Iterator<Item = (Interval, &Cluster)> {
        self.clusters.iter().enumerate().map(|(place, cluster)| (self.interval(place), cluster))
    }
}
