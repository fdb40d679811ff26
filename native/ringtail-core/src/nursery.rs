//! Nurseries: several clusters, each with an interval of a bucket's keys. A client routes by the
//! [`RoutingTable`].

mod bounded;
mod cluster;
mod interval;
mod key;
mod table;

pub use cluster::{Cluster, ClusterError, ClusterName, MAX_SEEDS, SeedUrl};
pub use interval::{Interval, IntervalError};
pub use key::{Key, KeyError, MAX_KEY_BYTES};
pub use table::{MAX_CLUSTERS, Part, RoutingTable, TableError};
