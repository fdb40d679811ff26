//! Work on the objects of an interval: orders that travel, are admitted, and run for a while.

use ringtail_core::nursery::{Fence, Interval, Work, WorkDone, WorkKind, WorkOrder};

use crate::fault::Fault;
use crate::members::LONGEST;
use crate::model::{KEYS, Object, contains};
use crate::world::{Event, World};

/// What one client is doing with all keys of an interval.
#[derive(Clone)]
pub struct Job {
    order: WorkOrder,
    source: usize,
    target: usize,
    /// The keys that are not known to be as they should, and where among them the client is.
    left: Vec<usize>,
    cursor: usize,
    equal: bool,
    rounds: usize,
}

/// What a cluster is to do with one key.
#[derive(Clone, Copy)]
pub struct Order {
    cluster: usize,
    key: usize,
    action: Action,
    fence: Fence,
    epoch: u64,
}

#[derive(Clone, Copy)]
enum Action {
    Import(Object),
    /// Only if the object is still this one.
    Remove(Object),
    Erase,
}

impl Job {
    pub fn new(order: WorkOrder, interval: &Interval, source: usize, target: usize) -> Self {
        let left = (0..KEYS.len()).filter(|&key| contains(interval, key)).collect();
        Self { order, source, target, left, cursor: 0, equal: true, rounds: 0 }
    }
}

impl World {
    /// Looks at the next key and orders what it needs. Gives what came of the work when it is done,
    /// or nothing in it when the client has lost patience.
    pub fn go_on(&mut self, job: &mut Job) -> Option<Option<WorkDone>> {
        let Some(&key) = job.left.get(job.cursor) else {
            job.rounds += 1;
            job.cursor = 0;
            let done = WorkDone { order: job.order, equal: job.equal };
            let patient = job.rounds < 8;
            return match job.left.is_empty() {
                true => Some(Some(done)),
                false => (!patient).then_some(None),
            };
        };
        let source = self.clusters[job.source].objects[key];
        let target = self.clusters[job.target].objects[key];
        let import = source.filter(|given| target.is_none_or(|taken| taken.write < given.write));
        let remove = target.filter(|_| source.is_none());
        let skipped = self.has(Fault::RestNotCopied);
        let order = match job.order.work {
            Work::Copy => import.map(|object| (job.target, Action::Import(object))),
            Work::CopyRest | Work::Compare if skipped => None,
            Work::CopyRest => {
                let import = import.map(|object| (job.target, Action::Import(object)));
                import.or(remove.map(|object| (job.target, Action::Remove(object))))
            }
            Work::Compare => {
                job.equal &= source == target;
                None
            }
            Work::EraseSource => source.map(|_| (job.source, Action::Erase)),
            Work::EraseTarget => target.map(|_| (job.target, Action::Erase)),
        };
        match order {
            None => drop(job.left.remove(job.cursor)),
            Some((cluster, action)) => {
                job.cursor += 1;
                let WorkOrder { fence, source_epoch, target_epoch, .. } = job.order;
                let epoch = if cluster == job.source { source_epoch } else { target_epoch };
                let member = self.chance.below(self.clusters[cluster].members.len());
                let order = Order { cluster, key, action, fence, epoch };
                let copies = 1 + u64::from(self.chance.percent(20));
                for _ in 0..copies {
                    if let Some(delay) = self.travel() {
                        self.after(delay, Event::ArriveWork { member, order });
                    }
                }
            }
        }
        None
    }

    pub fn arrive_work(&mut self, member: usize, order: Order) {
        let Order { cluster, key, action, fence, epoch } = order;
        let state = &self.clusters[cluster].members[member];
        if !state.up || !state.confirmed {
            return;
        }
        let kind = match action {
            Action::Import(_) | Action::Remove(_) => WorkKind::Import,
            Action::Erase => WorkKind::Erase,
        };
        let known = &state.intervals;
        let admitted = if self.has(Fault::StaleWorkAdmitted) {
            known.admit_work(known.fence(), known.epoch(), kind, KEYS[key])
        } else {
            known.admit_work(fence, epoch, kind, KEYS[key])
        };
        let by_force = kind == WorkKind::Import && self.has(Fault::CopiesAfterFlip);
        if admitted.is_ok() || by_force {
            if !by_force {
                self.check_fence(cluster, fence.number, "work");
            }
            let (number, _) = self.admit(cluster, member);
            let slow = self.chance.percent(15);
            let delay = self.chance.between(1, if slow { LONGEST - 1 } else { 4 });
            self.after(delay, Event::RunWork { number, order });
        }
    }

    pub fn run_work(&mut self, number: u64, order: Order) {
        let Order { cluster, key, action, .. } = order;
        self.ended(cluster, number);
        let stored = &mut self.clusters[cluster].objects[key];
        match action {
            Action::Import(object) => {
                if stored.is_none_or(|known| known.write < object.write) {
                    *stored = Some(object);
                }
            }
            Action::Remove(object) => {
                if *stored == Some(object) {
                    *stored = None;
                }
            }
            Action::Erase => *stored = None,
        }
    }
}
