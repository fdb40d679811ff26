//! Whether all nodes agree on another topology than the one at hand. Pure: time is an argument.

use std::time::{Duration, Instant};

use ringtail_core::topology::Token;

/// How often they must have agreed.
const ROUNDS: u32 = 3;

/// A topology of a lower ordinal is an older one as long as anybody may have the one at hand. When
/// nobody has told it for some polls, and all tell the same other one, then that is the cluster's:
/// a ring was restored, or what is at hand was told by mistake.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    token: Option<Token>,
    rounds: u32,
    last: Option<Instant>,
}

impl Agreement {
    /// All members and seeds were asked, none told the topology at hand or a newer one; those that
    /// answered told these. Rounds that are less than `apart` from the last that counted do not
    /// count. Gives the topology that was agreed on.
    pub(super) fn round(&mut self, told: &[Token], now: Instant, apart: Duration) -> Option<Token> {
        let first = *told.first()?;
        if told.iter().any(|&token| token != first) {
            self.end();
            return None;
        }
        if self.token != Some(first) {
            *self = Self { token: Some(first), rounds: 0, last: None };
        }
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < apart) {
            return None;
        }
        self.rounds += 1;
        self.last = Some(now);
        (self.rounds >= ROUNDS).then_some(first)
    }

    /// Somebody has the topology at hand, or it is another now.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: Duration = Duration::from_secs(8);

    fn token(ordinal: u64) -> Token {
        format!("{ordinal}-9f3ac21b77d0e1aa").parse().unwrap()
    }

    /// The outcomes of rounds that are ten seconds apart.
    fn rounds(rounds: &[&[u64]]) -> Vec<Option<Token>> {
        let (mut agreement, start) = (Agreement::default(), Instant::now());
        let told = rounds.iter().enumerate().map(|(at, told)| {
            let told: Vec<Token> = told.iter().map(|&ordinal| token(ordinal)).collect();
            agreement.round(&told, start + Duration::from_secs(10 * at as u64), APART)
        });
        told.collect()
    }

    #[test]
    fn what_all_have_told_for_some_polls_is_taken() {
        assert_eq!(rounds(&[&[3, 3, 3], &[3, 3], &[3]]), [None, None, Some(token(3))]);
    }

    #[test]
    fn one_that_differs_or_a_change_begins_it_anew() {
        assert_eq!(rounds(&[&[3, 3], &[3, 3], &[3, 4], &[3, 3], &[3, 3]]), [None; 5]);
        assert_eq!(rounds(&[&[3], &[3], &[4], &[4], &[3]]), [None; 5]);
    }

    #[test]
    fn rounds_in_which_nobody_answers_say_nothing() {
        assert_eq!(rounds(&[&[], &[3], &[], &[3], &[], &[3]])[5], Some(token(3)));
    }

    #[test]
    fn many_questions_in_a_moment_are_one_poll() {
        let (mut agreement, now) = (Agreement::default(), Instant::now());
        for _ in 0..100 {
            assert_eq!(agreement.round(&[token(3)], now, APART), None);
        }
        assert_eq!(agreement.round(&[token(3)], now + APART, APART), None);
        agreement.end();
        assert_eq!(agreement.round(&[token(3)], now + 2 * APART, APART), None);
    }
}
