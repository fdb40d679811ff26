//! A change of a cluster's intervals, and whether it still applies.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fence::Fence;
use super::interval::Interval;
use super::intervals::{Intervals, IntervalsError};

/// What a change does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// The cluster obeys the fence of the change from now on, and no earlier one. Two epochs, so
    /// that a change of the former fence that runs beside it, on another member, is older.
    Fence,
    /// The cluster may contain the interval as well, and takes imports there.
    OpenImports(Interval),
    /// It takes imports no more.
    CloseImports,
    /// It takes no writes in the interval.
    Freeze(Interval),
    /// It takes them again.
    Unfreeze,
    /// It serves the frozen interval no more.
    ShrinkPublic(Interval),
    /// It serves the interval, of which it has taken the last import.
    GrowPublic(Interval),
    /// It contains what it serves and nothing else.
    ShrinkPrivate,
}

impl Change {
    /// Its name in documents and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Change::Fence => "fence",
            Change::OpenImports(_) => "open_imports",
            Change::CloseImports => "close_imports",
            Change::Freeze(_) => "freeze",
            Change::Unfreeze => "unfreeze",
            Change::ShrinkPublic(_) => "shrink_public",
            Change::GrowPublic(_) => "grow_public",
            Change::ShrinkPrivate => "shrink_private",
        }
    }
}

/// A change, the fence it is made under and the epoch it was thought of for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntervalChange {
    /// Who makes it.
    pub fence: Fence,
    /// The epoch that it changes.
    pub epoch: u64,
    /// What it does.
    pub change: Change,
}

impl IntervalChange {
    /// The intervals after the change, one epoch on (two, where the fence changes).
    ///
    /// # Errors
    /// Another fence or epoch than those of the intervals, and what a cluster in this state must
    /// not do. The intervals stay as they are.
    pub fn apply(&self, intervals: &Intervals) -> Result<Intervals, ChangeError> {
        let mut next = intervals.fields();
        if self.epoch != next.epoch {
            return Err(ChangeError::OtherEpoch { expected: self.epoch, found: next.epoch });
        }
        let may_change = match self.change {
            Change::Fence => self.fence.number > next.fence.number,
            _ => self.fence == next.fence,
        };
        if !may_change {
            return Err(ChangeError::Fenced { number: next.fence.number });
        }
        next.epoch = epoch_after(next.epoch)?;
        match &self.change {
            Change::Fence => {
                next.fence = self.fence;
                next.epoch = epoch_after(next.epoch)?;
            }
            Change::OpenImports(interval) => {
                let grown = next.private.union(interval);
                next.private = grown.ok_or_else(|| misfit("it leaves a gap", interval))?;
                next.importing = interval.clone();
            }
            Change::CloseImports => next.importing = Interval::EMPTY,
            Change::Freeze(interval) => next.frozen = interval.clone(),
            Change::Unfreeze => next.frozen = Interval::EMPTY,
            Change::ShrinkPublic(interval) => {
                if next.frozen != *interval {
                    return Err(misfit("it is not what is frozen", interval));
                }
                let shrunk = next.public.difference(interval);
                next.public = shrunk.ok_or_else(|| misfit("two pieces remain", interval))?;
                next.frozen = Interval::EMPTY;
            }
            Change::GrowPublic(interval) => {
                if !next.importing.is_empty() {
                    return Err(misfit("imports are not closed", interval));
                }
                let grown = next.public.union(interval);
                next.public = grown.ok_or_else(|| misfit("it leaves a gap", interval))?;
            }
            Change::ShrinkPrivate => {
                if !next.importing.is_empty() {
                    return Err(misfit("imports are not closed", &next.importing));
                }
                next.private = next.public.clone();
            }
        }
        Ok(Intervals::try_from(next)?)
    }
}

fn epoch_after(epoch: u64) -> Result<u64, ChangeError> {
    epoch.checked_add(1).ok_or(ChangeError::LastEpoch)
}

fn misfit(reason: &'static str, interval: &Interval) -> ChangeError {
    ChangeError::Misfit { reason, interval: interval.clone() }
}

/// Why a change does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// Thought of for other intervals.
    #[error(
        "the change is for epoch {expected}, and the intervals are of epoch {found}: look again"
    )]
    OtherEpoch {
        /// The change's.
        expected: u64,
        /// The intervals'.
        found: u64,
    },
    /// Another client or plan may act.
    #[error("plan number {number} of a client holds the cluster: look at the plan in the keeper")]
    Fenced {
        /// The number that holds.
        number: u64,
    },
    /// Not in this state.
    #[error("{interval} does not fit, {reason}: look at the cluster's intervals again")]
    Misfit {
        /// What is wrong.
        reason: &'static str,
        /// What it is wrong with.
        interval: Interval,
    },
    /// The intervals would contradict each other.
    #[error(transparent)]
    Intervals(#[from] IntervalsError),
    /// No cluster changes that often.
    #[error("the epoch can grow no more: the record is damaged")]
    LastEpoch,
}

impl ChangeError {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        match self {
            ChangeError::OtherEpoch { .. } => "other_epoch",
            ChangeError::Fenced { .. } => "fenced",
            ChangeError::Misfit { .. } => "misfit",
            ChangeError::Intervals(error) => error.code(),
            ChangeError::LastEpoch => "last_epoch",
        }
    }
}
