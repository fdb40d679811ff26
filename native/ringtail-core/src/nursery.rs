//! Nurseries: several clusters, each with an interval of a bucket's keys. A client routes by the
//! [`RoutingTable`]. A node admits by its cluster's [`Intervals`].

mod bounded;
mod change;
mod cluster;
mod fence;
mod interval;
mod intervals;
mod key;
mod table;

pub use change::{Change, ChangeError, IntervalChange};
pub use cluster::{Cluster, ClusterError, ClusterName, MAX_SEEDS, SeedUrl};
pub use fence::Fence;
pub use interval::{Interval, IntervalError};
pub use intervals::{Intervals, IntervalsError, Refusal, WorkKind};
pub use key::{Key, KeyError, MAX_KEY_BYTES};
pub use table::{MAX_CLUSTERS, Part, RoutingTable, TableError};
