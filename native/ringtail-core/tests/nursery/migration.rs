//! The steps of a migration, one after the other and from any of them on.

use ringtail_core::nursery::{
    Change, Condition, Effect, Fence, Interval, IntervalChange, Intervals, Lease, MemberState,
    Migration, Phase, Record, Report, Side, StepError, View, WorkDone, next,
};
use uuid::Uuid;

use crate::record::{ALICE, AT_NOON, BOB, begun, from_a_to_b, two};
use crate::{cluster, interval, name};

/// Two clusters that do at once what they are told, and a keeper.
#[derive(Clone)]
struct World {
    record: Record,
    intervals: [Intervals; 2],
    done: Option<WorkDone>,
    equal: bool,
}

fn view(intervals: &Intervals) -> View {
    let report = Report { intervals: intervals.clone(), drained: true };
    let members = ["one", "other"]
        .map(|name| (name.to_owned(), MemberState::Reported(Box::new(report.clone()))));
    View { members: members.to_vec() }
}

impl World {
    fn new() -> Self {
        let intervals = [interval("", "m"), interval("m", "")].map(Intervals::serving);
        Self { record: begun(), intervals, done: None, equal: true }
    }

    fn next(&self, client: Uuid) -> Effect {
        let [source, target] = [0, 1].map(|at| view(&self.intervals[at]));
        next(&self.record, client, &source, &target, self.done.as_ref()).expect("a next step")
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Change(side, change) => {
                let at = usize::from(side == Side::Target);
                self.intervals[at] = change.apply(&self.intervals[at]).expect("it applies");
            }
            Effect::Work(order) => self.done = Some(WorkDone { order, equal: self.equal }),
            Effect::Write(record) => self.record = *record,
            Effect::Await(..) | Effect::Finished(_) => panic!("nothing to do: {effect:?}"),
        }
    }

    fn step(&mut self, client: Uuid) {
        self.perform(self.next(client));
    }

    /// Up to the effect of that name, which is next.
    fn run_until(&mut self, client: Uuid, name: &str) {
        while self.next(client).name() != name {
            self.step(client);
        }
    }

    /// The names of all effects up to the end.
    fn run(&mut self, client: Uuid) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            let effect = self.next(client);
            names.push(effect.name());
            if matches!(effect, Effect::Finished(_)) {
                return names;
            }
            assert!(names.len() < 50, "no end: {names:?}");
            self.perform(effect);
        }
    }
}

const STEPS: [&str; 17] = [
    "fence source",
    "fence target",
    "open_imports target",
    "copy",
    "write Freezing",
    "freeze source",
    "copy rest",
    "close_imports target",
    "compare",
    "write Flipping",
    "shrink_public source",
    "grow_public target",
    "write Deleting",
    "erase source",
    "shrink_private source",
    "write Done",
    "finished Done",
];

#[test]
fn a_migration_takes_its_steps_in_order() {
    let mut world = World::new();
    assert_eq!(world.run(ALICE), STEPS);
    let [source, target] = &world.intervals;
    assert_eq!((source.public(), source.private()), (&interval("", "k"), &interval("", "k")));
    assert_eq!((target.public(), target.private()), (&interval("k", ""), &interval("k", "")));
    assert!(source.frozen().is_empty() && target.importing().is_empty());
}

/// Another client goes on from each point, with nothing but what is recorded and seen.
#[test]
fn another_client_goes_on_from_any_point() {
    let later = Lease { now: 2000, seconds: 60 };
    for point in 0..16 {
        let mut world = World::new();
        for _ in 0..point {
            world.step(ALICE);
        }
        if let Ok(taken) = world.record.take_over(BOB, later) {
            (world.record, world.done) = (taken, None);
            let names = world.run(BOB);
            assert_eq!(names[..2], STEPS[..2], "from {point}");
            assert_eq!(names.last().map(String::as_str), Some("finished Done"), "from {point}");
            // What changes intervals is not done twice, save what a comparison needs.
            let (before, twice) = (&STEPS[2..point.max(2)], |name: &&&str| {
                names.contains(&(**name).to_string()) && name.contains('_')
            });
            assert_eq!(before.iter().find(twice), None, "from {point}: {names:?}");
        }
        assert_eq!(world.intervals[1].public(), &interval("k", ""), "from {point}");
    }
}

#[test]
fn an_abort_from_any_point_leaves_everything_as_it_was() {
    for point in 0..10 {
        let mut world = World::new();
        let before = world.intervals.clone();
        for _ in 0..point {
            world.step(ALICE);
        }
        if world.record.plan.as_ref().is_some_and(|plan| !plan.phase.can_abort()) {
            continue;
        }
        world.record = world.record.abort(ALICE, AT_NOON).expect("before the flip");
        let names = world.run(ALICE);
        assert_eq!(names.last().map(String::as_str), Some("finished Aborted"), "from {point}");
        for (now, before) in world.intervals.iter().zip(&before) {
            assert_eq!((now.public(), now.private()), (before.public(), before.private()));
            assert!(now.frozen().is_empty() && now.importing().is_empty(), "from {point}");
        }
        let copied = point > 2;
        assert_eq!(names.contains(&"erase target".to_owned()), copied, "from {point}: {names:?}");
    }
}

#[test]
fn a_comparison_that_finds_a_difference_opens_the_copy_again() {
    let mut world = World::new();
    world.equal = false;
    world.run_until(ALICE, "compare");
    let mut names = Vec::new();
    for _ in 0..4 {
        let effect = world.next(ALICE);
        names.push(effect.name());
        world.perform(effect);
    }
    assert_eq!(names, ["compare", "open_imports target", "copy rest", "close_imports target"]);
    world.equal = true;
    assert_eq!(world.run(ALICE)[..2], ["compare", "write Flipping"]);
}

#[test]
fn intervals_are_in_force_when_every_member_has_confirmed_them() {
    let mut world = World::new();
    world.run_until(ALICE, "shrink_public source");
    let before = view(&world.intervals[0]).members.remove(1).1;
    world.step(ALICE);
    let target = view(&world.intervals[1]);
    let ask = |state: MemberState| {
        let mut source = view(&world.intervals[0]);
        source.members[1].1 = state;
        next(&world.record, ALICE, &source, &target, None).expect("a next step")
    };
    let wait = Effect::Await(Side::Source, Condition::Confirmed, vec!["other".to_owned()]);
    assert_eq!(ask(before), wait);
    assert_eq!(ask(MemberState::Silent), wait);
    assert_eq!(ask(MemberState::Waived { rested: false }).name(), "grow_public target");
}

#[test]
fn a_freeze_holds_when_every_member_is_drained() {
    let mut world = World::new();
    world.run_until(ALICE, "copy rest");
    let target = view(&world.intervals[1]);
    let ask = |state: MemberState| {
        let mut source = view(&world.intervals[0]);
        source.members[0].1 = state;
        next(&world.record, ALICE, &source, &target, None).expect("a next step")
    };
    let running = Report { intervals: world.intervals[0].clone(), drained: false };
    let wait = Effect::Await(Side::Source, Condition::Drained, vec!["one".to_owned()]);
    assert_eq!(ask(MemberState::Reported(Box::new(running))), wait);
    assert_eq!(ask(MemberState::Waived { rested: false }), wait);
    assert_eq!(ask(MemberState::Waived { rested: true }).name(), "copy rest");
}

#[test]
fn a_client_that_was_fenced_does_nothing() {
    let world = World::new();
    let views = [0, 1].map(|at| view(&world.intervals[at]));
    let ask = |record: &Record, client| next(record, client, &views[0], &views[1], None);
    assert_eq!(ask(&world.record, BOB), Err(StepError::Fenced { number: 1, client: ALICE }));
    assert_eq!(ask(&two(), ALICE), Err(StepError::NoPlan));
    // Its copy of the record is old, but the clusters are not.
    let fence = Fence { number: 2, client: BOB };
    let change = IntervalChange { fence, epoch: 0, change: Change::Fence };
    let taken = view(&change.apply(&world.intervals[0]).unwrap());
    let refused = next(&world.record, ALICE, &taken, &views[1], None);
    assert_eq!(refused, Err(StepError::Fenced { number: 2, client: BOB }));
}

/// Two clients took over at the same moment and both wrote the same number.
#[test]
fn of_two_clients_with_one_number_a_cluster_obeys_one() {
    let mut world = World::new();
    world.step(ALICE);
    let other = two().begin(from_a_to_b(), BOB, AT_NOON).expect("a plan");
    let views = [0, 1].map(|at| view(&world.intervals[at]));
    let refused = next(&other, BOB, &views[0], &views[1], None);
    assert_eq!(refused, Err(StepError::Fenced { number: 1, client: ALICE }));
}

#[test]
fn intervals_that_do_not_fit_the_plan_stop_it() {
    let mut world = World::new();
    world.intervals[0] = Intervals::serving(interval("", "l"));
    for _ in 0..2 {
        world.step(ALICE);
    }
    let views = [0, 1].map(|at| view(&world.intervals[at]));
    let refused = next(&world.record, ALICE, &views[0], &views[1], None);
    let misfit = StepError::Misfit { side: Side::Source, interval: interval("k", "m") };
    assert_eq!(refused, Err(misfit));
}

#[test]
fn a_whole_cluster_migrates_and_leaves_the_table() {
    let mut world = World::new();
    let migration =
        Migration { source: name("a"), target: cluster("b"), interval: interval("", "m") };
    world.record = two().begin(migration, ALICE, AT_NOON).unwrap();
    assert_eq!(world.run(ALICE), STEPS);
    assert_eq!(world.record.table.clusters(), [cluster("b")]);
    assert_eq!(world.record.plan.as_ref().map(|plan| plan.phase), Some(Phase::Done));
    assert_eq!(world.intervals[0].private(), &Interval::EMPTY);
    assert_eq!(world.intervals[1].public(), &Interval::ALL);
}
