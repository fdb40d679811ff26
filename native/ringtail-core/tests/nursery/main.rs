//! Nurseries: keys and intervals, the routing table, a cluster's intervals, the plan in the keeper
//! and the steps of a migration. What happens when all of it runs at once is simulated elsewhere.

mod documents;
mod intervals;
mod keys;
mod migration;
mod record;
mod table;

use ringtail_core::nursery::{Cluster, ClusterName, Interval, Key};

fn key(text: &str) -> Key {
    text.parse().expect("a key")
}

fn name(text: &str) -> ClusterName {
    text.parse().expect("a name")
}

fn cluster(text: &str) -> Cluster {
    let seed = format!("http://{text}.example:8098").parse().expect("a seed address");
    Cluster::new(name(text), vec![seed]).expect("a cluster")
}

/// An empty text is an open end.
fn interval(begin: &str, end: &str) -> Interval {
    let bound = |text: &str| (!text.is_empty()).then(|| key(text));
    Interval::new(bound(begin), bound(end)).expect("an interval")
}
