//! Which client may act, and under which plan.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The number of a plan and the client that may act under it. A cluster takes effects of the fence
/// it holds and of no other, and another fence only if its number is greater.
///
/// The number alone would not do: two clients that take a plan over at the same moment may both
/// have written the same number, until the keeper shows them each other.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    /// Grows with each plan, each takeover and each abort.
    pub number: u64,
    /// A client draws its own whenever it starts.
    pub client: Uuid,
}
