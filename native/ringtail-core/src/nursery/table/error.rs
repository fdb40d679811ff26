//! What is wrong with a routing table or an edit of it.

use thiserror::Error;

use crate::nursery::cluster::ClusterName;
use crate::nursery::interval::Interval;
use crate::nursery::key::Key;

/// How many clusters a nursery may have.
pub const MAX_CLUSTERS: usize = 4096;

/// What makes no routing table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// Nobody would serve any key.
    #[error("a routing table names at least one cluster: add the one that holds the data")]
    NoCluster,
    /// More than a table may have.
    #[error("a routing table names at most {MAX_CLUSTERS} clusters: use larger ones")]
    TooManyClusters,
    /// A number of separators that does not go with that of the clusters.
    #[error(
        "{separators} separators cannot lie between {clusters} clusters: give one separator fewer \
         than clusters"
    )]
    SeparatorCount {
        /// How many clusters there are.
        clusters: usize,
        /// How many separators there are.
        separators: usize,
    },
    /// The first cluster would serve nothing.
    #[error("a separator is empty: the first cluster's keys begin at the open end anyway")]
    EmptySeparator,
    /// A cluster would serve nothing.
    #[error("separator {separator} is there twice: take out the cluster between, or move one")]
    SeparatorDoubled {
        /// The separator.
        separator: Key,
    },
    /// Not in the order of bytes.
    #[error(
        "separator {separator} stands after {after}, which is above it: sort the separators as \
         bytes, and their clusters with them"
    )]
    Unsorted {
        /// What is out of order.
        separator: Key,
        /// What stands before it.
        after: Key,
    },
    /// A begin where there must be none, or none where there must be one.
    #[error("the first cluster begins at null and every other at a key: see cluster {name}")]
    Begin {
        /// The first such cluster.
        name: ClusterName,
    },
    /// One cluster, two intervals.
    #[error("cluster {name} is there twice: a cluster serves one interval; rename one")]
    ClusterDoubled {
        /// The cluster.
        name: ClusterName,
    },
    /// No such cluster.
    #[error("no cluster is called {name}: see the names in the routing table")]
    UnknownCluster {
        /// The name.
        name: ClusterName,
    },
    /// No such separator.
    #[error("no clusters are separated at {separator}: see the separators in the routing table")]
    UnknownSeparator {
        /// The key.
        separator: Key,
    },
    /// Neither side would be left without keys otherwise.
    #[error("{at} does not lie inside of {interval}: give a key above its begin and below its end")]
    Outside {
        /// The key.
        at: Key,
        /// Where it should lie.
        interval: Interval,
    },
    /// What one gives another must lie between them.
    #[error(
        "clusters {source_name} and {target_name} are no neighbours there: hand over to the \
         neighbour on that side, in several steps if need be"
    )]
    NotNeighbours {
        /// Who gives.
        source_name: ClusterName,
        /// Who takes.
        target_name: ClusterName,
    },
    /// The middle of an interval would leave two pieces.
    #[error(
        "{interval} is no lower or upper part of what {name} serves, {served}: begin or end where \
         that does"
    )]
    NotAtEdge {
        /// What should be handed over.
        interval: Interval,
        /// Who serves it.
        name: ClusterName,
        /// What that one serves.
        served: Interval,
    },
    /// Somebody must serve the keys.
    #[error("cluster {name} is the last one: add another before it is removed")]
    LastCluster {
        /// The cluster.
        name: ClusterName,
    },
    /// An inner cluster has two neighbours.
    #[error(
        "cluster {name} has a neighbour on both sides: give the separator that says which keys go \
         to the left and which to the right"
    )]
    SeparatorNeeded {
        /// The cluster.
        name: ClusterName,
    },
    /// A boundary cluster has one neighbour.
    #[error("cluster {name} has one neighbour, which takes all: give no separator")]
    SeparatorNotNeeded {
        /// The cluster.
        name: ClusterName,
    },
}

impl TableError {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoCluster => "no_cluster",
            Self::TooManyClusters => "too_many_clusters",
            Self::SeparatorCount { .. } => "separator_count",
            Self::EmptySeparator => "empty_separator",
            Self::SeparatorDoubled { .. } => "separator_doubled",
            Self::Unsorted { .. } => "unsorted",
            Self::Begin { .. } => "bad_begin",
            Self::ClusterDoubled { .. } => "cluster_doubled",
            Self::UnknownCluster { .. } => "unknown_cluster",
            Self::UnknownSeparator { .. } => "unknown_separator",
            Self::Outside { .. } => "separator_outside",
            Self::NotNeighbours { .. } => "not_neighbours",
            Self::NotAtEdge { .. } => "not_at_edge",
            Self::LastCluster { .. } => "last_cluster",
            Self::SeparatorNeeded { .. } => "separator_needed",
            Self::SeparatorNotNeeded { .. } => "separator_not_needed",
        }
    }
}
