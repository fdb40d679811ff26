//! Clients that migrate: they look, ask the state machine, do what it says, crash, and oversleep.

use ringtail_core::nursery::{
    Change, Effect, IntervalChange, Lease, MemberState, Migration, Phase, Plan, Record, Side,
    StepError, View, Work, WorkDone, WorkOrder, next,
};
use uuid::Uuid;

use crate::fault::Fault;
use crate::model::{KEYS, separator};
use crate::work::Job;
use crate::world::{Event, World, entry, number};

const LEASE: u64 = 120;

pub struct Migrator {
    number: usize,
    client: Uuid,
    life: u32,
    stage: Stage,
    done: Option<WorkDone>,
}

/// Between any two of these time passes, and sometimes a lot.
enum Stage {
    Read,
    Look { record: Box<Record>, ahead: Vec<(Side, usize)>, views: [View; 2] },
    Act { record: Box<Record>, views: [View; 2] },
    Work(Job),
}

impl Migrator {
    pub fn new(number: usize) -> Self {
        let client = Uuid::from_u128(1 + number as u128);
        Self { number, client, life: 0, stage: Stage::Read, done: None }
    }

    fn crash(&mut self) {
        self.life += 1;
        self.client = Uuid::from_u128((u128::from(self.life) << 8) + 1 + self.number as u128);
        (self.stage, self.done) = (Stage::Read, None);
    }
}

fn sides(plan: &Plan) -> [usize; 2] {
    [number(&plan.source), number(&plan.target)]
}

impl World {
    pub fn wake(&mut self, migrator: usize, life: u32) {
        if self.migrators[migrator].life != life {
            return;
        }
        if self.is_restless() && self.chance.below(1000) < 3 {
            return self.crash(migrator);
        }
        let stage = std::mem::replace(&mut self.migrators[migrator].stage, Stage::Read);
        let (stage, delay) = match stage {
            Stage::Read => self.read(migrator),
            Stage::Look { record, ahead, views } => (self.look(record, ahead, views), 1),
            Stage::Act { record, views } => match self.act(migrator, &record, views) {
                Some(stage) => (stage, 4),
                None => return self.crash(migrator),
            },
            Stage::Work(mut job) => match self.go_on(&mut job) {
                None => (Stage::Work(job), 2),
                Some(done) => {
                    self.migrators[migrator].done = done;
                    (Stage::Read, 1)
                }
            },
        };
        self.migrators[migrator].stage = stage;
        let asleep = self.is_restless() && self.chance.below(1000) < 8;
        let delay = if asleep { self.chance.between(50, 500) } else { delay };
        let delay = self.chance.between(0, delay);
        self.after(delay, Event::Wake { migrator, life });
    }

    fn crash(&mut self, migrator: usize) {
        self.migrators[migrator].crash();
        let life = self.migrators[migrator].life;
        let delay = self.chance.between(5, 80);
        self.after(delay, Event::Wake { migrator, life });
    }

    /// Looks at the keeper, and changes what is recorded there if it is not this client's to act.
    fn read(&mut self, migrator: usize) -> (Stage, u64) {
        let record = self.keeper.clone();
        let client = self.migrators[migrator].client;
        let lease = Lease { now: self.now, seconds: LEASE };
        let restless = self.is_restless();
        let changed = match record.running() {
            None if restless && self.chance.percent(30) => {
                self.migration(&record).and_then(|plan| record.begin(plan, client, lease).ok())
            }
            None => None,
            Some(plan) if plan.fence.client != client || (restless && self.chance.percent(1)) => {
                match restless && self.chance.percent(15) {
                    true => record.abort(client, lease).ok(),
                    false => record.take_over(client, lease).ok(),
                }
            }
            Some(plan) => {
                if plan.lease_until < self.now + LEASE / 2 {
                    let renewed = record.renew(plan.fence, lease).expect("it is this client's");
                    self.send_record(renewed);
                }
                let members = |side: Side, cluster: usize| {
                    (0..self.clusters[cluster].members.len()).map(move |member| (side, member))
                };
                let [source, target] = sides(plan);
                let mut ahead: Vec<_> =
                    members(Side::Source, source).chain(members(Side::Target, target)).collect();
                let first = self.chance.below(ahead.len());
                ahead.rotate_left(first);
                let views = Default::default();
                return (Stage::Look { record: Box::new(record), ahead, views }, 1);
            }
        };
        if let Some(record) = changed {
            self.send_record(record);
        }
        (Stage::Read, 20)
    }

    /// A part of what a cluster serves, for its neighbour on that side or for a new cluster.
    fn migration(&mut self, record: &Record) -> Option<Migration> {
        let table = &record.table;
        let place = self.chance.below(table.clusters().len());
        let source = table.clusters()[place].name().clone();
        let served = table.interval(place);
        let cut = separator(self.chance.below(KEYS.len()));
        let upper = self.chance.percent(50);
        let (begin, end) = match self.chance.percent(20) {
            true => (served.begin().cloned(), served.end().cloned()),
            false if upper => (Some(cut), served.end().cloned()),
            false => (served.begin().cloned(), Some(cut)),
        };
        let interval = ringtail_core::nursery::Interval::new(begin, end).ok()?;
        let target = entry(self.chance.below(self.clusters.len()));
        Some(Migration { source, target, interval })
    }

    fn look(
        &mut self,
        record: Box<Record>,
        mut ahead: Vec<(Side, usize)>,
        mut views: [View; 2],
    ) -> Stage {
        let Some((side, member)) = ahead.pop() else { return Stage::Act { record, views } };
        let at = usize::from(side == Side::Target);
        let cluster = sides(record.plan.as_ref().expect("a plan"))[at];
        let mut state = self.clusters[cluster].look_at(member, self.now);
        if let MemberState::Reported(report) = &mut state
            && self.has(Fault::RestartIsDrained)
            && self.clusters[cluster].members[member].started.is_some()
        {
            let life = self.clusters[cluster].members[member].life;
            let epoch = report.intervals.epoch();
            report.drained = !self.clusters[cluster]
                .running
                .iter()
                .any(|one| (one.member, one.life) == (member, life) && one.epoch < epoch);
        }
        views[at].members.push((member.to_string(), state));
        Stage::Look { record, ahead, views }
    }

    /// Asks what comes next and does it. Nothing if the client crashed before or after.
    fn act(&mut self, migrator: usize, record: &Record, mut views: [View; 2]) -> Option<Stage> {
        let plan = record.plan.as_ref().expect("a plan");
        self.distort(plan.phase, &mut views);
        let Migrator { client, done, .. } = &self.migrators[migrator];
        let effect = match next(record, *client, &views[0], &views[1], done.as_ref()) {
            Ok(effect) => effect,
            Err(StepError::Fenced { .. } | StepError::NoPlan) => return Some(Stage::Read),
            Err(error @ (StepError::Misfit { .. } | StepError::Plan(_))) => {
                self.violated(error.to_string());
                return Some(Stage::Read);
            }
        };
        let crash = self.is_restless().then(|| self.chance.below(50));
        if crash == Some(0) {
            self.seen.crashes.insert((effect.name(), "before"));
            return None;
        }
        let name = effect.name();
        self.seen.effects.insert(name.clone());
        let stage = self.perform(plan, effect, &views);
        if crash == Some(1) {
            self.seen.crashes.insert((name, "after"));
            return None;
        }
        Some(stage)
    }

    fn perform(&mut self, plan: &Plan, effect: Effect, views: &[View; 2]) -> Stage {
        let clusters = sides(plan);
        let acts = match &effect {
            Effect::Change(_, change) => change.change != Change::Fence,
            Effect::Work(_) | Effect::Write(_) => true,
            Effect::Await(..) | Effect::Finished(_) => false,
        };
        if acts {
            for cluster in clusters {
                let in_force = &mut self.clusters[cluster].fence_in_force;
                *in_force = plan.fence.number.max(*in_force);
            }
        }
        match effect {
            Effect::Change(side, change) => {
                let at = usize::from(side == Side::Target);
                if self.has(Fault::GrowsBeforeShrunk)
                    && matches!(change.change, Change::ShrinkPublic(_))
                {
                    let epoch = views[1].newest().expect("seen in force").epoch();
                    let grow = Change::GrowPublic(plan.interval.clone());
                    let change = IntervalChange { fence: plan.fence, epoch, change: grow };
                    self.send_change(clusters[1], &views[1], change);
                }
                self.send_change(clusters[at], &views[at], change);
            }
            Effect::Work(order) => {
                return Stage::Work(Job::new(order, &plan.interval, clusters[0], clusters[1]));
            }
            Effect::Write(record) => self.send_record(*record),
            Effect::Await(..) | Effect::Finished(_) => {}
        }
        let flipped = matches!(plan.phase, Phase::Flipping | Phase::Deleting);
        if flipped && self.has(Fault::CopiesAfterFlip) && self.chance.percent(30) {
            let (fence, work) = (plan.fence, Work::Copy);
            let order = WorkOrder { work, fence, source_epoch: 0, target_epoch: 0 };
            return Stage::Work(Job::new(order, &plan.interval, clusters[0], clusters[1]));
        }
        Stage::Read
    }

    /// To a member that has the newest intervals, or to any.
    fn send_change(&mut self, cluster: usize, view: &View, change: IntervalChange) {
        let any = self.chance.below(view.members.len());
        let newest = view.newest().cloned();
        let has_newest = |state: &MemberState| match state {
            MemberState::Reported(report) => Some(&report.intervals) == newest.as_ref(),
            MemberState::Silent | MemberState::Waived { .. } => false,
        };
        let apt = view.members.iter().find(|(_, state)| has_newest(state));
        let apt = apt.map_or(any, |(name, _)| name.parse().expect("a number"));
        let member = if self.chance.percent(80) { apt } else { any };
        for _ in 0..1 + u64::from(self.chance.percent(8)) {
            if let Some(delay) = self.travel() {
                self.after(delay, Event::Change { cluster, member, change: change.clone() });
            }
        }
    }

    fn send_record(&mut self, record: Record) {
        for _ in 0..1 + u64::from(self.chance.percent(8)) {
            if let Some(delay) = self.travel() {
                self.after(delay, Event::Write { record: Box::new(record.clone()) });
            }
        }
    }

    /// What a client takes for seen that leaves out a rule.
    fn distort(&self, phase: Phase, views: &mut [View; 2]) {
        let Some(fault) = self.fault else { return };
        let believed = match phase {
            Phase::Freezing => [Fault::SourceNotDrained, Fault::TargetNotDrained].map(Some),
            Phase::Deleting => [Some(Fault::ReadersNotDrained), None],
            _ => [None, None],
        };
        for (view, believed) in views.iter_mut().zip(believed) {
            let newest = view.newest().cloned();
            for (_, state) in &mut view.members {
                match state {
                    MemberState::Reported(report) => {
                        report.drained |= believed == Some(fault);
                        if let (Fault::UnconfirmedCounts, Some(newest)) = (fault, &newest) {
                            report.intervals = newest.clone();
                        }
                    }
                    MemberState::Waived { rested } => *rested |= believed == Some(fault),
                    MemberState::Silent => {}
                }
            }
        }
    }
}
