//! The migration as a state machine: what is recorded and what is seen say what comes next.

use thiserror::Error;
use uuid::Uuid;

use super::change::{Change, IntervalChange};
use super::fence::Fence;
use super::interval::Interval;
use super::intervals::Intervals;
use super::record::{Phase, Plan, PlanError, Record};
use super::view::View;

/// One of the two clusters of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who gives.
    Source,
    /// Who takes.
    Target,
}

/// Work on the objects of the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Every object of the source is imported by the target.
    Copy,
    /// What differs is imported again, and what the source has no more is taken out of the target.
    CopyRest,
    /// Both sides are compared: the same keys, the same versions. Changes nothing.
    Compare,
    /// The source deletes all.
    EraseSource,
    /// The target deletes its copy.
    EraseTarget,
}

/// Under what work is done: every request of it carries the fence and the epoch of the cluster it
/// goes to, and is refused by others ([`Intervals::admit_work`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkOrder {
    /// What to do.
    pub work: Work,
    /// For whom.
    pub fence: Fence,
    /// The source's epoch.
    pub source_epoch: u64,
    /// The target's epoch.
    pub target_epoch: u64,
}

/// Work that the client itself has seen done. It counts only while fence and epochs are what they
/// were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkDone {
    /// What was done, and under what.
    pub order: WorkOrder,
    /// Of a comparison: whether both sides are equal. Otherwise true.
    pub equal: bool,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The members say that they admit by the newest intervals.
    Confirmed,
    /// The members say that nothing runs any more which was admitted under an older epoch.
    Drained,
}

/// What to do next. Each may be done again by whoever does not know whether it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A cluster's intervals change.
    Change(Side, IntervalChange),
    /// Objects are copied, compared or deleted.
    Work(WorkOrder),
    /// The record in the keeper is replaced by its next version.
    Write(Box<Record>),
    /// Nothing but to look again: these members are waited for.
    Await(Side, Condition, Vec<String>),
    /// The migration has ended, in this phase.
    Finished(Phase),
}

impl Effect {
    /// What it is called, for a log, a progress bar or a list of all of them.
    pub fn name(&self) -> String {
        let side = |side: &Side| match side {
            Side::Source => "source",
            Side::Target => "target",
        };
        match self {
            Effect::Change(at, change) => format!("{} {}", change.change.name(), side(at)),
            Effect::Work(order) => match order.work {
                Work::Copy => "copy",
                Work::CopyRest => "copy rest",
                Work::Compare => "compare",
                Work::EraseSource => "erase source",
                Work::EraseTarget => "erase target",
            }
            .to_owned(),
            Effect::Write(record) => {
                let phase = record.plan.as_ref().map(|plan| plan.phase);
                phase.map_or("write".to_owned(), |phase| format!("write {phase:?}"))
            }
            Effect::Await(at, Condition::Confirmed, _) => format!("await confirmed {}", side(at)),
            Effect::Await(at, Condition::Drained, _) => format!("await drained {}", side(at)),
            Effect::Finished(phase) => format!("finished {phase:?}"),
        }
    }
}

/// What `client` does next, from the record in the keeper, both clusters as just seen, and the last
/// work it has seen done itself. It then does that, looks again, and asks again. A client that has
/// just started knows of no work, and does some of it again.
///
/// # Errors
/// No plan; another client or plan may act; intervals that do not fit the plan.
pub fn next(
    record: &Record,
    client: Uuid,
    source: &View,
    target: &View,
    done: Option<&WorkDone>,
) -> Result<Effect, StepError> {
    let plan = record.plan.as_ref().ok_or(StepError::NoPlan)?;
    let step = match plan.phase {
        Phase::Copying => Step::copying,
        Phase::Freezing => Step::freezing,
        Phase::Flipping => Step::flipping,
        Phase::Deleting => Step::deleting,
        Phase::Aborting => Step::aborting,
        Phase::Done | Phase::Aborted => return Ok(Effect::Finished(plan.phase)),
    };
    if plan.fence.client != client {
        return Err(fenced(plan.fence));
    }
    // Before anything else both clusters obey this fence, on every member: from then on nothing
    // that another client ordered can happen, and what it did is seen.
    let source_intervals = match in_force(plan, Side::Source, source)? {
        Ok(intervals) => intervals,
        Err(effect) => return Ok(effect),
    };
    let target_intervals = match in_force(plan, Side::Target, target)? {
        Ok(intervals) => intervals,
        Err(effect) => return Ok(effect),
    };
    step(&Step { record, plan, source, target, source_intervals, target_intervals, done })
}

/// The intervals of a cluster whose every member has confirmed them under the plan's fence, or what
/// must be done before.
fn in_force<'v>(
    plan: &Plan,
    side: Side,
    view: &'v View,
) -> Result<Result<&'v Intervals, Effect>, StepError> {
    let wait = || Effect::Await(side, Condition::Confirmed, view.unconfirmed());
    let Some(newest) = view.newest() else { return Ok(Err(wait())) };
    let (fence, known) = (plan.fence, newest.fence());
    if known.number > fence.number || (known.number == fence.number && known != fence) {
        return Err(fenced(known));
    }
    if known != fence {
        let (epoch, change) = (newest.epoch(), Change::Fence);
        return Ok(Err(Effect::Change(side, IntervalChange { fence, epoch, change })));
    }
    if view.unconfirmed().is_empty() { Ok(Ok(newest)) } else { Ok(Err(wait())) }
}

struct Step<'s> {
    record: &'s Record,
    plan: &'s Plan,
    source: &'s View,
    target: &'s View,
    source_intervals: &'s Intervals,
    target_intervals: &'s Intervals,
    done: Option<&'s WorkDone>,
}

impl Step<'_> {
    /// Steps 2 and 3.
    fn copying(&self) -> Result<Effect, StepError> {
        self.check(Side::Source, self.source_intervals.public().covers(&self.plan.interval))?;
        if *self.target_intervals.importing() != self.plan.interval {
            let fits = self.target_intervals.private().union(&self.plan.interval).is_some();
            self.check(Side::Target, fits)?;
            return Ok(self.change(Side::Target, Change::OpenImports));
        }
        match self.seen(Work::Copy) {
            Some(_) => self.advance(Phase::Freezing),
            None => Ok(self.order(Work::Copy)),
        }
    }

    /// Steps 4 and 5. What the source has is final once it is frozen and drained; what the target
    /// has is final once imports are closed and drained. Only then a comparison means something.
    fn freezing(&self) -> Result<Effect, StepError> {
        if *self.source_intervals.frozen() != self.plan.interval {
            self.check(Side::Source, self.source_intervals.public().covers(&self.plan.interval))?;
            return Ok(self.change(Side::Source, Change::Freeze));
        }
        if let Some(wait) = self.undrained(Side::Source) {
            return Ok(wait);
        }
        if !self.target_intervals.importing().is_empty() {
            return Ok(match self.seen(Work::CopyRest) {
                Some(_) => self.change(Side::Target, |_| Change::CloseImports),
                None => self.order(Work::CopyRest),
            });
        }
        if let Some(wait) = self.undrained(Side::Target) {
            return Ok(wait);
        }
        match self.seen(Work::Compare) {
            None => Ok(self.order(Work::Compare)),
            Some(true) => self.advance(Phase::Flipping),
            Some(false) => Ok(self.change(Side::Target, Change::OpenImports)),
        }
    }

    /// Step 6. That the source's members have all confirmed was seen before this is asked.
    fn flipping(&self) -> Result<Effect, StepError> {
        if self.source_intervals.public().intersects(&self.plan.interval) {
            Ok(self.change(Side::Source, Change::ShrinkPublic))
        } else if !self.target_intervals.public().covers(&self.plan.interval) {
            Ok(self.change(Side::Target, Change::GrowPublic))
        } else {
            self.advance(Phase::Deleting)
        }
    }

    /// Steps 7 and 8. A read that was admitted before the source served no more may still run; it
    /// must not find the key deleted.
    fn deleting(&self) -> Result<Effect, StepError> {
        if self.source_intervals.private() == self.source_intervals.public() {
            return self.advance(Phase::Done);
        }
        if let Some(wait) = self.undrained(Side::Source) {
            return Ok(wait);
        }
        match self.seen(Work::EraseSource) {
            None => Ok(self.order(Work::EraseSource)),
            Some(_) => Ok(self.change(Side::Source, |_| Change::ShrinkPrivate)),
        }
    }

    fn aborting(&self) -> Result<Effect, StepError> {
        if !self.source_intervals.frozen().is_empty() {
            return Ok(self.change(Side::Source, |_| Change::Unfreeze));
        }
        if !self.target_intervals.importing().is_empty() {
            return Ok(self.change(Side::Target, |_| Change::CloseImports));
        }
        if self.target_intervals.private() == self.target_intervals.public() {
            return self.advance(Phase::Aborted);
        }
        if let Some(wait) = self.undrained(Side::Target) {
            return Ok(wait);
        }
        Ok(match self.seen(Work::EraseTarget) {
            Some(_) => self.change(Side::Target, |_| Change::ShrinkPrivate),
            None => self.order(Work::EraseTarget),
        })
    }

    fn check(&self, side: Side, fits: bool) -> Result<(), StepError> {
        let interval = || self.plan.interval.clone();
        if fits { Ok(()) } else { Err(StepError::Misfit { side, interval: interval() }) }
    }

    fn change(&self, side: Side, change: impl FnOnce(Interval) -> Change) -> Effect {
        let epoch = match side {
            Side::Source => self.source_intervals.epoch(),
            Side::Target => self.target_intervals.epoch(),
        };
        let (fence, change) = (self.plan.fence, change(self.plan.interval.clone()));
        Effect::Change(side, IntervalChange { fence, epoch, change })
    }

    fn work_order(&self, work: Work) -> WorkOrder {
        let (source_epoch, target_epoch) =
            (self.source_intervals.epoch(), self.target_intervals.epoch());
        WorkOrder { work, fence: self.plan.fence, source_epoch, target_epoch }
    }

    fn order(&self, work: Work) -> Effect {
        Effect::Work(self.work_order(work))
    }

    /// What came of the work, if it was done under this fence and these epochs.
    fn seen(&self, work: Work) -> Option<bool> {
        let done = self.done.filter(|done| done.order == self.work_order(work))?;
        Some(done.equal)
    }

    fn undrained(&self, side: Side) -> Option<Effect> {
        let view = match side {
            Side::Source => self.source,
            Side::Target => self.target,
        };
        let members = view.undrained();
        (!members.is_empty()).then_some(Effect::Await(side, Condition::Drained, members))
    }

    fn advance(&self, phase: Phase) -> Result<Effect, StepError> {
        Ok(Effect::Write(Box::new(self.record.advance(self.plan.fence, phase)?)))
    }
}

fn fenced(fence: Fence) -> StepError {
    StepError::Fenced { number: fence.number, client: fence.client }
}

/// Why a client does nothing next.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StepError {
    /// Nothing to do.
    #[error("no migration is recorded: begin one")]
    NoPlan,
    /// Another client may act.
    #[error("migration {number} belongs to client {client}: take it over when its lease is over")]
    Fenced {
        /// The number that holds.
        number: u64,
        /// Whose it is.
        client: Uuid,
    },
    /// A cluster serves or holds something else than the table says.
    #[error(
        "the intervals of the {side:?} do not fit a migration of {interval}: abort it, and check \
         the nursery"
    )]
    Misfit {
        /// Whose.
        side: Side,
        /// What should migrate.
        interval: Interval,
    },
    /// The record does not allow it.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl StepError {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        match self {
            StepError::NoPlan => "no_migration",
            StepError::Fenced { .. } => "fenced",
            StepError::Misfit { .. } => "misfit",
            StepError::Plan(error) => error.code(),
        }
    }
}
