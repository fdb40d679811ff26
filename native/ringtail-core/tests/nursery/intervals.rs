//! A cluster's intervals: what is admitted, and which changes apply.

use ringtail_core::nursery::{
    Change, ChangeError, Fence, Interval, IntervalChange, Intervals, Refusal, WorkKind,
};
use uuid::Uuid;

use crate::interval;

fn fence(number: u64) -> Fence {
    Fence { number, client: Uuid::from_u128(number.into()) }
}

/// Under the fence and for the epoch that the intervals have.
fn apply(intervals: &Intervals, change: Change) -> Result<Intervals, ChangeError> {
    let (fence, epoch) = (intervals.fence(), intervals.epoch());
    IntervalChange { fence, epoch, change }.apply(intervals)
}

fn applied(intervals: &Intervals, changes: &[Change]) -> Intervals {
    changes.iter().fold(intervals.clone(), |known, change| apply(&known, change.clone()).unwrap())
}

fn fenced(intervals: &Intervals, number: u64) -> Result<Intervals, ChangeError> {
    let (fence, change) = (fence(number), Change::Fence);
    IntervalChange { fence, epoch: intervals.epoch(), change }.apply(intervals)
}

#[test]
fn a_request_is_admitted_where_the_cluster_serves() {
    let serving = Intervals::serving(interval("b", "m"));
    let frozen = applied(&serving, &[Change::Freeze(interval("k", "m"))]);
    for (key, read, write) in [
        (&b"a"[..], Err(Refusal::OutOfInterval), Err(Refusal::OutOfInterval)),
        (b"b", Ok(()), Ok(())),
        (b"j\xff", Ok(()), Ok(())),
        (b"k", Ok(()), Err(Refusal::Frozen)),
        (b"k\0", Ok(()), Err(Refusal::Frozen)),
        (b"m", Err(Refusal::OutOfInterval), Err(Refusal::OutOfInterval)),
    ] {
        assert_eq!((frozen.admit_read(key), frozen.admit_write(key)), (read, write), "{key:?}");
        assert_eq!(serving.admit_write(key), serving.admit_read(key), "{key:?}");
    }
    assert_eq!(Intervals::serving(Interval::EMPTY).admit_read(b""), Err(Refusal::OutOfInterval));
}

#[test]
fn the_target_takes_imports_until_it_is_to_serve() {
    let range = interval("k", "m");
    let new = fenced(&Intervals::serving(interval("m", "")), 1).unwrap();
    let open = applied(&new, &[Change::OpenImports(range.clone())]);
    assert_eq!((open.private(), open.importing()), (&interval("k", ""), &range));
    let import =
        |at: &Intervals, key: &[u8]| at.admit_work(at.fence(), at.epoch(), WorkKind::Import, key);
    assert_eq!(import(&open, b"k"), Ok(()));
    assert_eq!(import(&open, b"m"), Err(Refusal::OutOfInterval));
    assert_eq!(open.admit_read(b"k"), Err(Refusal::OutOfInterval));
    assert_eq!(apply(&open, Change::GrowPublic(range.clone())).unwrap_err().code(), "misfit");
    let closed = applied(&open, &[Change::CloseImports]);
    assert_eq!(import(&closed, b"k"), Err(Refusal::OutOfInterval));
    let grown = applied(&closed, &[Change::GrowPublic(range)]);
    assert_eq!(
        (grown.admit_write(b"k"), import(&grown, b"k")),
        (Ok(()), Err(Refusal::OutOfInterval))
    );
}

#[test]
fn work_of_another_plan_or_epoch_is_stale() {
    let new = fenced(&Intervals::serving(Interval::EMPTY), 2).unwrap();
    let open = applied(&new, &[Change::OpenImports(interval("k", "m"))]);
    let other = Fence { number: 2, client: Uuid::nil() };
    for (fence, epoch) in
        [(fence(1), open.epoch()), (other, open.epoch()), (fence(2), open.epoch() - 1)]
    {
        let refused = open.admit_work(fence, epoch, WorkKind::Import, b"k");
        assert_eq!(refused, Err(Refusal::Stale), "{fence:?} {epoch}");
    }
}

#[test]
fn the_source_deletes_only_what_it_serves_no_more() {
    let range = interval("k", "m");
    let serving = fenced(&Intervals::serving(interval("", "m")), 1).unwrap();
    let erase =
        |at: &Intervals, key: &[u8]| at.admit_work(at.fence(), at.epoch(), WorkKind::Erase, key);
    let frozen = applied(&serving, &[Change::Freeze(range.clone())]);
    assert_eq!(erase(&frozen, b"k"), Err(Refusal::OutOfInterval));
    let shrunk = applied(&frozen, &[Change::ShrinkPublic(range)]);
    assert_eq!((shrunk.public(), shrunk.frozen()), (&interval("", "k"), &Interval::EMPTY));
    assert_eq!((erase(&shrunk, b"k"), erase(&shrunk, b"j")), (Ok(()), Err(Refusal::OutOfInterval)));
    let gone = applied(&shrunk, &[Change::ShrinkPrivate]);
    assert_eq!(gone.private(), gone.public());
    assert_eq!(erase(&gone, b"k"), Err(Refusal::OutOfInterval));
}

#[test]
fn a_copy_is_not_erased_while_it_is_imported() {
    let new = fenced(&Intervals::serving(Interval::EMPTY), 1).unwrap();
    let open = applied(&new, &[Change::OpenImports(interval("k", "m"))]);
    let refused = open.admit_work(open.fence(), open.epoch(), WorkKind::Erase, b"k");
    assert_eq!(refused, Err(Refusal::OutOfInterval));
    assert_eq!(apply(&open, Change::ShrinkPrivate).unwrap_err().code(), "misfit");
}

#[test]
fn each_change_is_an_epoch_and_applies_once() {
    let serving = fenced(&Intervals::serving(interval("", "m")), 1).unwrap();
    let (fence, epoch) = (serving.fence(), serving.epoch());
    let freeze = IntervalChange { fence, epoch, change: Change::Freeze(interval("k", "m")) };
    let frozen = freeze.apply(&serving).unwrap();
    assert_eq!(frozen.epoch(), epoch + 1);
    assert!(frozen.is_newer_than(&serving) && !serving.is_newer_than(&frozen));
    let again = ChangeError::OtherEpoch { expected: epoch, found: epoch + 1 };
    assert_eq!(freeze.apply(&frozen), Err(again));
}

#[test]
fn a_fence_gives_way_to_a_greater_number_only() {
    let second = fenced(&Intervals::serving(Interval::ALL), 2).unwrap();
    assert_eq!((second.epoch(), second.fence()), (2, fence(2)));
    for number in [0, 1, 2] {
        assert_eq!(fenced(&second, number), Err(ChangeError::Fenced { number: 2 }));
    }
    let third = fenced(&second, 3).unwrap();
    let (late, epoch) = (fence(2), third.epoch());
    let late = IntervalChange { fence: late, epoch, change: Change::Freeze(interval("k", "m")) };
    assert_eq!(late.apply(&third), Err(ChangeError::Fenced { number: 3 }));
}

/// What a fenced client changed on one member is undone by the fence that reached another.
#[test]
fn a_fence_is_newer_than_a_change_that_ran_beside_it() {
    let first = fenced(&Intervals::serving(Interval::ALL), 1).unwrap();
    let changed = applied(&first, &[Change::Freeze(interval("k", "m"))]);
    let taken_over = fenced(&first, 2).unwrap();
    assert!(taken_over.is_newer_than(&changed));
    assert!(taken_over.epoch() > changed.epoch());
}

#[test]
fn changes_that_fit_nowhere_are_refused() {
    let serving = fenced(&Intervals::serving(interval("g", "p")), 1).unwrap();
    let code = |change| apply(&serving, change).unwrap_err().code();
    assert_eq!(code(Change::OpenImports(interval("q", "r"))), "misfit");
    assert_eq!(code(Change::OpenImports(interval("h", "q"))), "importing_public");
    assert_eq!(code(Change::Freeze(interval("a", "h"))), "frozen_beyond_public");
    assert_eq!(code(Change::ShrinkPublic(interval("h", "p"))), "misfit");
    assert_eq!(code(Change::GrowPublic(interval("p", "q"))), "public_beyond_private");
    assert_eq!(code(Change::GrowPublic(interval("q", "r"))), "misfit");
    let middle = applied(&serving, &[Change::Freeze(interval("h", "i"))]);
    let two_pieces = apply(&middle, Change::ShrinkPublic(interval("h", "i")));
    assert_eq!(two_pieces.unwrap_err().code(), "misfit");
}
