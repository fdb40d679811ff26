//! Nurseries: several clusters, each with an interval of a bucket's keys, and the migration of an
//! interval from one to another. Decisions only; who carries them out is elsewhere.
//!
//! A client routes by the [`RoutingTable`]. A node admits by its cluster's [`Intervals`]. A
//! migrating client asks [`next`] what to do, does it, looks again, and asks again; what it knows
//! is the [`Record`] in the keeper and what the members of both clusters report ([`View`]), so any
//! other client can go on in its place. `docs/nursery.md` says why no key is lost or served twice.

mod bounded;
mod change;
mod cluster;
mod fence;
mod interval;
mod intervals;
mod key;
mod record;
mod step;
mod table;
mod view;

pub use change::{Change, ChangeError, IntervalChange};
pub use cluster::{Cluster, ClusterError, ClusterName, MAX_SEEDS, SeedUrl};
pub use fence::Fence;
pub use interval::{Interval, IntervalError};
pub use intervals::{Intervals, IntervalsError, Refusal, WorkKind};
pub use key::{Key, KeyError, MAX_KEY_BYTES};
pub use record::{Lease, Migration, Phase, Plan, PlanError, Record};
pub use step::{Condition, Effect, Side, StepError, Work, WorkDone, WorkOrder, next};
pub use table::{MAX_CLUSTERS, Part, RoutingTable, TableError};
pub use view::{MemberState, Report, View};
