//! The record in the keeper: one migration at a time, and who may act.

use ringtail_core::nursery::{
    Fence, Lease, Migration, Phase, Plan, PlanError, Record, RoutingTable, TableError,
};
use uuid::Uuid;

use crate::{cluster, interval, key, name};

pub const ALICE: Uuid = Uuid::from_u128(1);
pub const BOB: Uuid = Uuid::from_u128(2);
pub const AT_NOON: Lease = Lease { now: 1000, seconds: 60 };
const LATER: Lease = Lease { now: 1060, seconds: 60 };

/// `a` serves below `m` and `b` from there on.
pub fn two() -> Record {
    let table = RoutingTable::new(vec![cluster("a"), cluster("b")], vec![key("m")]);
    Record::new(table.expect("a table"))
}

pub fn from_a_to_b() -> Migration {
    Migration { source: name("a"), target: cluster("b"), interval: interval("k", "m") }
}

pub fn begun() -> Record {
    two().begin(from_a_to_b(), ALICE, AT_NOON).expect("a plan")
}

fn plan(record: &Record) -> &Plan {
    record.plan.as_ref().expect("a plan")
}

fn in_phase(phases: &[Phase]) -> Record {
    let advance = |record: Record, phase: &Phase| {
        record.advance(plan(&record).fence, *phase).expect("the next phase")
    };
    phases.iter().fold(begun(), advance)
}

#[test]
fn one_migration_at_a_time() {
    let first = begun();
    assert_eq!(plan(&first).fence, Fence { number: 1, client: ALICE });
    assert_eq!((first.version, plan(&first).phase), (1, Phase::Copying));
    let running = PlanError::Running { number: 1, client: ALICE, until: 1060 };
    assert_eq!(first.begin(from_a_to_b(), BOB, LATER), Err(running.clone()));
    assert_eq!(first.with_table(first.table.clone()), Err(running));
    let over = in_phase(&[Phase::Freezing, Phase::Flipping, Phase::Deleting, Phase::Done]);
    assert_eq!(over.take_over(BOB, LATER), Err(PlanError::NoPlan));
    let back = Migration { source: name("b"), target: cluster("a"), interval: interval("k", "p") };
    assert_eq!(plan(&over.begin(back, BOB, LATER).unwrap()).fence.number, 2);
}

#[test]
fn a_migration_that_the_table_does_not_allow_is_not_recorded() {
    let try_begin = |source, target, begin, end| {
        let (source, target) = (name(source), cluster(target));
        let migration = Migration { source, target, interval: interval(begin, end) };
        two().begin(migration, ALICE, AT_NOON).unwrap_err()
    };
    let unknown = TableError::UnknownCluster { name: name("z") };
    assert_eq!(try_begin("z", "b", "k", "m"), PlanError::Table(unknown));
    assert_eq!(try_begin("a", "b", "j", "k").code(), "not_at_edge");
    assert_eq!(try_begin("a", "b", "", "k").code(), "not_neighbours");
    assert_eq!(try_begin("a", "a", "k", "m").code(), "not_neighbours");
}

#[test]
fn a_lease_keeps_others_out_while_it_runs_and_no_longer() {
    let first = begun();
    let early = Lease { now: 1059, ..LATER };
    assert_eq!(first.take_over(BOB, early).unwrap_err().code(), "migration_running");
    assert_eq!(first.abort(BOB, early).unwrap_err().code(), "migration_running");
    let taken = first.take_over(BOB, LATER).unwrap();
    assert_eq!(plan(&taken).fence, Fence { number: 2, client: BOB });
    assert_eq!((plan(&taken).lease_until, taken.version), (1120, 2));
    let fence = plan(&first).fence;
    assert_eq!(taken.advance(fence, Phase::Freezing).unwrap_err().code(), "migration_running");
    assert_eq!(taken.renew(fence, LATER).unwrap_err().code(), "migration_running");
    let renewed = first.renew(fence, Lease { now: 1030, seconds: 60 }).unwrap();
    assert_eq!(renewed.take_over(BOB, LATER).unwrap_err().code(), "migration_running");
    assert_eq!(plan(&first.take_over(ALICE, early).unwrap()).fence.number, 2);
}

#[test]
fn a_migration_can_be_undone_until_the_target_is_about_to_serve() {
    for (phases, abortable) in [
        (&[][..], true),
        (&[Phase::Freezing][..], true),
        (&[Phase::Freezing, Phase::Flipping], false),
        (&[Phase::Freezing, Phase::Flipping, Phase::Deleting], false),
    ] {
        let record = in_phase(phases);
        match record.abort(ALICE, AT_NOON) {
            Ok(aborting) => {
                assert!(abortable, "{phases:?}");
                assert_eq!(
                    (plan(&aborting).phase, plan(&aborting).fence.number),
                    (Phase::Aborting, 2)
                );
            }
            Err(error) => {
                assert!(!abortable, "{phases:?}");
                assert_eq!(error.code(), "too_late");
            }
        }
    }
}

#[test]
fn phases_come_in_order_and_the_table_changes_with_the_flip() {
    let copying = begun();
    let fence = plan(&copying).fence;
    for phase in [Phase::Copying, Phase::Flipping, Phase::Deleting, Phase::Done, Phase::Aborted] {
        assert_eq!(copying.advance(fence, phase).unwrap_err().code(), "other_phase");
    }
    let flipping = in_phase(&[Phase::Freezing, Phase::Flipping]);
    assert_eq!(flipping.table.separators(), [key("m")]);
    let deleting = flipping.advance(fence, Phase::Deleting).unwrap();
    assert_eq!(deleting.table.separators(), [key("k")]);
    assert_eq!(deleting.version, flipping.version + 1);
}

#[test]
fn a_number_at_its_end_is_an_error() {
    let mut record = begun();
    record.version = u64::MAX;
    assert_eq!(record.take_over(ALICE, LATER), Err(PlanError::LastNumber));
}
