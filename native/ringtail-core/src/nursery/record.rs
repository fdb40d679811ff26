//! What the keeper holds of a nursery: the routing table, and the plan of the migration that runs.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use super::cluster::{Cluster, ClusterName};
use super::fence::Fence;
use super::interval::Interval;
use super::table::{RoutingTable, TableError};

/// How far a migration is. Only what the clusters cannot tell is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The target takes a copy; the source serves reads and writes.
    Copying,
    /// The source refuses writes; the copy is made complete and compared.
    Freezing,
    /// The target serves in place of the source. Nothing is copied from here on, and nothing can
    /// be undone.
    Flipping,
    /// The table says so; the source deletes what it serves no more.
    Deleting,
    /// The migration is undone; the target deletes its copy.
    Aborting,
    /// Ended: the target serves the interval.
    Done,
    /// Ended: the source serves the interval as before.
    Aborted,
}

impl Phase {
    /// Whether there is nothing left to do.
    pub fn is_over(self) -> bool {
        matches!(self, Phase::Done | Phase::Aborted)
    }

    /// Whether the migration can still be undone.
    pub fn can_abort(self) -> bool {
        matches!(self, Phase::Copying | Phase::Freezing | Phase::Aborting)
    }

    /// Whether the other one comes right after this one.
    fn leads_to(self, next: Phase) -> bool {
        match self {
            Phase::Copying => next == Phase::Freezing,
            Phase::Freezing => next == Phase::Flipping,
            Phase::Flipping => next == Phase::Deleting,
            Phase::Deleting => next == Phase::Done,
            Phase::Aborting => next == Phase::Aborted,
            Phase::Done | Phase::Aborted => false,
        }
    }
}

/// A migration under way, or the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its number, and the client that may act.
    pub fence: Fence,
    /// Until when another client is kept from taking over, in seconds of any clock that the
    /// clients share. A courtesy: what keeps clients apart is the fence.
    pub lease_until: u64,
    /// Who gives.
    pub source: Cluster,
    /// Who takes.
    pub target: Cluster,
    /// What is migrated.
    pub interval: Interval,
    /// How far it is.
    pub phase: Phase,
}

/// What should migrate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Who gives: a cluster of the table.
    pub source: ClusterName,
    /// Who takes: its neighbour on that side, or a cluster that is not in the table yet.
    pub target: Cluster,
    /// What: the lower or upper part of what the source serves, or all of it.
    pub interval: Interval,
}

/// For how long a client wants to be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The time now, in seconds.
    pub now: u64,
    /// For how many seconds from now on.
    pub seconds: u64,
}

impl Lease {
    fn until(self) -> u64 {
        self.now.saturating_add(self.seconds)
    }
}

/// The object of a nursery in the keeper.
///
/// It is written as a whole, and only in place of the version it was made from. Whoever finds two
/// of one version has found two editors: the keeper keeps both, and neither is lost silently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// One more with each write.
    pub version: u64,
    /// Who serves which keys.
    pub table: RoutingTable,
    /// The migration that runs, or the last one.
    #[serde(deserialize_with = "Option::deserialize")]
    pub plan: Option<Plan>,
}

impl Record {
    /// A new nursery.
    pub fn new(table: RoutingTable) -> Record {
        Record { version: 0, table, plan: None }
    }

    /// The plan that is not over.
    pub fn running(&self) -> Option<&Plan> {
        self.plan.as_ref().filter(|plan| !plan.phase.is_over())
    }

    /// Another table, while nothing migrates.
    pub fn with_table(&self, table: RoutingTable) -> Result<Record, PlanError> {
        match self.running() {
            Some(plan) => Err(running(plan)),
            None => self.following(table, self.plan.clone()),
        }
    }

    /// Step 1: the plan is recorded. One migration at a time.
    pub fn begin(
        &self,
        migration: Migration,
        client: Uuid,
        lease: Lease,
    ) -> Result<Record, PlanError> {
        if let Some(plan) = self.running() {
            return Err(running(plan));
        }
        let Migration { source, target, interval } = migration;
        let place = self.table.position(&source)?;
        self.table.hand_over(&source, target.clone(), &interval)?;
        let source = self.table.clusters()[place].clone();
        let last = self.plan.as_ref().map_or(0, |plan| plan.fence.number);
        let fence = Fence { number: number_after(last)?, client };
        let (lease_until, phase) = (lease.until(), Phase::Copying);
        let plan = Plan { fence, lease_until, source, target, interval, phase };
        self.following(self.table.clone(), Some(plan))
    }

    /// Another client goes on with the plan; refused while the lease runs. Under a greater number,
    /// even where it is the same client, so that nothing which was ordered before applies.
    pub fn take_over(&self, client: Uuid, lease: Lease) -> Result<Record, PlanError> {
        let plan = self.running().ok_or(PlanError::NoPlan)?;
        self.free_for(plan, client, lease)?;
        self.renumbered(plan, plan.phase, client, lease)
    }

    /// The migration is undone, by whoever might take it over; too late once the target serves.
    pub fn abort(&self, client: Uuid, lease: Lease) -> Result<Record, PlanError> {
        let plan = self.running().ok_or(PlanError::NoPlan)?;
        self.free_for(plan, client, lease)?;
        if !plan.phase.can_abort() {
            return Err(PlanError::TooLate { phase: plan.phase });
        }
        self.renumbered(plan, Phase::Aborting, client, lease)
    }

    /// The client that acts wants to go on being left alone.
    pub fn renew(&self, fence: Fence, lease: Lease) -> Result<Record, PlanError> {
        let plan = self.held(fence)?;
        let lease_until = lease.until().max(plan.lease_until);
        self.following(self.table.clone(), Some(Plan { lease_until, ..plan.clone() }))
    }

    /// The next phase; on to [`Phase::Deleting`] the table changes in the same write.
    pub fn advance(&self, fence: Fence, phase: Phase) -> Result<Record, PlanError> {
        let plan = self.held(fence)?;
        if !plan.phase.leads_to(phase) {
            return Err(PlanError::OtherPhase { phase: plan.phase, next: phase });
        }
        let table = match phase {
            Phase::Deleting => {
                self.table.hand_over(plan.source.name(), plan.target.clone(), &plan.interval)?
            }
            Phase::Copying
            | Phase::Freezing
            | Phase::Flipping
            | Phase::Aborting
            | Phase::Done
            | Phase::Aborted => self.table.clone(),
        };
        self.following(table, Some(Plan { phase, ..plan.clone() }))
    }

    fn held(&self, fence: Fence) -> Result<&Plan, PlanError> {
        let plan = self.running().ok_or(PlanError::NoPlan)?;
        if plan.fence == fence { Ok(plan) } else { Err(running(plan)) }
    }

    fn free_for(&self, plan: &Plan, client: Uuid, lease: Lease) -> Result<(), PlanError> {
        let held = lease.now < plan.lease_until && plan.fence.client != client;
        if held { Err(running(plan)) } else { Ok(()) }
    }

    fn renumbered(
        &self,
        plan: &Plan,
        phase: Phase,
        client: Uuid,
        lease: Lease,
    ) -> Result<Record, PlanError> {
        let fence = Fence { number: number_after(plan.fence.number)?, client };
        let plan = Plan { fence, lease_until: lease.until(), phase, ..plan.clone() };
        self.following(self.table.clone(), Some(plan))
    }

    fn following(&self, table: RoutingTable, plan: Option<Plan>) -> Result<Record, PlanError> {
        Ok(Record { version: number_after(self.version)?, table, plan })
    }
}

fn number_after(number: u64) -> Result<u64, PlanError> {
    number.checked_add(1).ok_or(PlanError::LastNumber)
}

fn running(plan: &Plan) -> PlanError {
    let Fence { number, client } = plan.fence;
    PlanError::Running { number, client, until: plan.lease_until }
}

/// Why the keeper's record is not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// One at a time.
    #[error(
        "migration {number} runs, by client {client} until {until} or longer: wait for it, or \
         resume or abort it when its lease is over"
    )]
    Running {
        /// The plan's number.
        number: u64,
        /// Who may act.
        client: Uuid,
        /// The end of the lease, in seconds.
        until: u64,
    },
    /// Nothing to go on with.
    #[error("no migration runs: begin one")]
    NoPlan,
    /// The target serves already, or will in a moment.
    #[error("a migration that is {phase:?} cannot be undone: resume it, then migrate back")]
    TooLate {
        /// How far it is.
        phase: Phase,
    },
    /// Not the phase that comes next.
    #[error("a migration that is {phase:?} does not become {next:?}: read the plan again")]
    OtherPhase {
        /// How far it is.
        phase: Phase,
        /// What it should become.
        next: Phase,
    },
    /// The table does not allow it.
    #[error(transparent)]
    Table(#[from] TableError),
    /// No nursery changes that often.
    #[error("the number can grow no more: the record in the keeper is damaged")]
    LastNumber,
}

impl PlanError {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        match self {
            PlanError::Running { .. } => "migration_running",
            PlanError::NoPlan => "no_migration",
            PlanError::TooLate { .. } => "too_late",
            PlanError::OtherPhase { .. } => "other_phase",
            PlanError::Table(error) => error.code(),
            PlanError::LastNumber => "last_number",
        }
    }
}
