//! What to do after an attempt that brought no answer. Pure: no clock, no sockets, chance is an
//! argument.
#![deny(clippy::wildcard_enum_match_arm)]

use std::time::Duration;

/// Whether a request changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// No byte of the request went out.
    NotSent,
    /// The connection failed after bytes had gone out.
    Lost,
    /// What came back is no answer.
    BadAnswer,
    /// The node says that it is no primary (421), by a ring that is newer than ours or not.
    Misdirected { newer: bool },
    /// The node cannot serve it now (503), and says whether that means that nothing was done.
    Unavailable { nothing_done: bool, retry_after: Option<Duration> },
    /// No primary is left that was not tried.
    NoneLeft,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Try a primary that was not tried yet.
    Another,
    /// Get the topology; if it is a new one, start over; if not, this node is out, and where no
    /// other is left, pause first.
    Refresh(Duration),
    /// Pause, then start over.
    Wait(Duration),
    /// Tell the caller.
    GiveUp,
}

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Riak says when to come back in whole seconds; what is back earlier should be found earlier.
const LONGEST_ASKED: Duration = Duration::from_secs(1);

/// The state of one request's retries.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    kind: Kind,
    pauses: u32,
}

impl Retry {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, pauses: 0 }
    }

    /// `repeatable`: the body can be sent again. `left`: primaries not tried yet.
    pub(crate) fn next(
        &mut self,
        happened: Happened,
        repeatable: bool,
        left: usize,
        chance: &mut fastrand::Rng,
    ) -> Next {
        if !repeatable || self.may_be_done(happened) {
            return Next::GiveUp;
        }
        match happened {
            Happened::Misdirected { newer: true } => Next::Refresh(self.pause(chance)),
            Happened::NotSent
            | Happened::Lost
            | Happened::BadAnswer
            | Happened::Misdirected { newer: false }
            | Happened::Unavailable { .. }
                if left > 0 =>
            {
                Next::Another
            }
            // It would be the same in a while.
            Happened::BadAnswer => Next::GiveUp,
            // Perhaps it is somewhere else now.
            Happened::NotSent | Happened::Lost | Happened::NoneLeft => {
                Next::Refresh(self.pause(chance))
            }
            Happened::Misdirected { newer: false } => Next::Wait(self.pause(chance)),
            Happened::Unavailable { nothing_done: _, retry_after } => {
                let asked = retry_after.unwrap_or_default().min(LONGEST_ASKED);
                Next::Wait(self.pause(chance).max(asked))
            }
        }
    }

    /// Whether it is a write that was carried out, perhaps: carried out twice it may make a sibling
    /// or undo what came between.
    fn may_be_done(&self, happened: Happened) -> bool {
        match (self.kind, happened) {
            (Kind::Read, _) => false,
            (Kind::Write, Happened::Lost | Happened::BadAnswer) => true,
            (Kind::Write, Happened::Unavailable { nothing_done, .. }) => !nothing_done,
            (
                Kind::Write,
                Happened::NotSent | Happened::Misdirected { .. } | Happened::NoneLeft,
            ) => false,
        }
    }

    /// Doubles from one time to the next; half of it is left to chance, so that callers who failed
    /// together come back apart.
    fn pause(&mut self, chance: &mut fastrand::Rng) -> Duration {
        let longest = FIRST_PAUSE.saturating_mul(1 << self.pauses.min(10)).min(LONGEST_PAUSE);
        self.pauses += 1;
        longest.mul_f64(0.5 + chance.f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(kind: Kind, happened: Happened, repeatable: bool, left: usize) -> Next {
        Retry::new(kind).next(happened, repeatable, left, &mut fastrand::Rng::with_seed(1))
    }

    const UNSURE: Happened = Happened::Unavailable { nothing_done: false, retry_after: None };
    const REFUSED: Happened = Happened::Unavailable { nothing_done: true, retry_after: None };

    #[test]
    fn a_write_is_sent_again_only_if_it_surely_did_nothing() {
        use Kind::Write;
        assert_eq!(next(Write, Happened::NotSent, true, 1), Next::Another);
        assert_eq!(next(Write, REFUSED, true, 1), Next::Another);
        assert_eq!(next(Write, Happened::Misdirected { newer: false }, true, 1), Next::Another);
        assert_eq!(next(Write, Happened::Lost, true, 1), Next::GiveUp);
        assert_eq!(next(Write, UNSURE, true, 1), Next::GiveUp);
    }

    #[test]
    fn a_read_goes_on_to_the_next_primary_whatever_happened() {
        for happened in [Happened::NotSent, Happened::Lost, UNSURE, REFUSED] {
            assert_eq!(next(Kind::Read, happened, true, 1), Next::Another, "{happened:?}");
        }
    }

    #[test]
    fn a_bad_answer_is_not_asked_for_again() {
        assert_eq!(next(Kind::Read, Happened::BadAnswer, true, 1), Next::Another);
        assert_eq!(next(Kind::Read, Happened::BadAnswer, true, 0), Next::GiveUp);
        assert_eq!(next(Kind::Write, Happened::BadAnswer, true, 1), Next::GiveUp);
    }

    #[test]
    fn a_body_that_is_used_up_is_not_sent_again() {
        for happened in
            [Happened::NotSent, Happened::Lost, UNSURE, Happened::Misdirected { newer: true }]
        {
            assert_eq!(next(Kind::Read, happened, false, 1), Next::GiveUp, "{happened:?}");
        }
    }

    #[test]
    fn a_refusal_by_a_newer_ring_asks_for_that_ring_first() {
        for kind in [Kind::Read, Kind::Write] {
            assert!(matches!(
                next(kind, Happened::Misdirected { newer: true }, true, 2),
                Next::Refresh(_)
            ));
            assert!(matches!(next(kind, Happened::NotSent, true, 0), Next::Refresh(_)));
        }
    }

    #[test]
    fn pauses_grow_to_a_limit_and_honour_what_the_node_asks() {
        let mut retry = Retry::new(Kind::Read);
        let mut chance = fastrand::Rng::with_seed(1);
        let mut pause = |happened| match retry.next(happened, true, 0, &mut chance) {
            Next::Wait(pause) => pause,
            other @ (Next::Another | Next::Refresh(_) | Next::GiveUp) => panic!("{other:?}"),
        };
        assert!(pause(REFUSED) <= FIRST_PAUSE);
        let _: Vec<Duration> = (0..20).map(|_| pause(REFUSED)).collect();
        let late = pause(REFUSED);
        assert!(late <= LONGEST_PAUSE && late >= LONGEST_PAUSE / 2, "{late:?}");
        let asked = Happened::Unavailable {
            nothing_done: true,
            retry_after: Some(Duration::from_secs(60)),
        };
        let pause = match Retry::new(Kind::Read).next(asked, true, 0, &mut chance) {
            Next::Wait(pause) => pause,
            other @ (Next::Another | Next::Refresh(_) | Next::GiveUp) => panic!("{other:?}"),
        };
        assert_eq!(pause, LONGEST_ASKED);
    }
}
