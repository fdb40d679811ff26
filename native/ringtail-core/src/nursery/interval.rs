//! Half-open intervals of keys.

use std::fmt;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use super::key::Key;

/// The keys from `begin` on and before `end`: `[begin, end)`. Either end may be open.
///
/// An open begin is the empty key, which is below all others. There is one empty interval, so equal
/// intervals are equal values. Serde form: `{"begin": KEY or null, "end": KEY or null}`, and `null`
/// for the empty interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    begin: Key,
    /// Nothing where the end is open. The empty interval ends at the empty key.
    end: Option<Key>,
}

impl Interval {
    /// No key.
    pub const EMPTY: Interval = Interval { begin: Key::LEAST, end: Some(Key::LEAST) };
    /// Every key.
    pub const ALL: Interval = Interval { begin: Key::LEAST, end: None };

    /// From one key to another, nothing for an open end. Refuses what holds no key: whoever writes
    /// `[z, a)` did not mean nothing.
    pub fn new(begin: Option<Key>, end: Option<Key>) -> Result<Interval, IntervalError> {
        let begin = begin.unwrap_or_default();
        match end {
            Some(end) if end <= begin => Err(IntervalError::NoKey { begin, end }),
            end => Ok(Interval { begin, end }),
        }
    }

    fn normal(begin: Key, end: Option<Key>) -> Interval {
        Interval::new(Some(begin), end).unwrap_or(Interval::EMPTY)
    }

    /// The first key; nothing where it is open.
    pub fn begin(&self) -> Option<&Key> {
        (self.begin != Key::LEAST).then_some(&self.begin)
    }

    /// The first key above; nothing where it is open.
    pub fn end(&self) -> Option<&Key> {
        self.end.as_ref()
    }

    /// Whether it holds no key.
    pub fn is_empty(&self) -> bool {
        self.end.as_ref() == Some(&Key::LEAST)
    }

    /// Whether it holds the key.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.begin.as_bytes() <= key && self.end.as_ref().is_none_or(|end| key < end.as_bytes())
    }

    /// Whether it holds every key of the other. Any interval covers the empty one.
    pub fn covers(&self, other: &Interval) -> bool {
        self.intersection(other) == *other
    }

    /// Whether some key is in both.
    pub fn intersects(&self, other: &Interval) -> bool {
        !self.intersection(other).is_empty()
    }

    /// What is in both.
    pub fn intersection(&self, other: &Interval) -> Interval {
        let end = match (&self.end, &other.end) {
            (None, end) | (end, None) => end,
            (Some(one), Some(other)) => &Some(one.min(other).clone()),
        };
        Interval::normal(self.begin.clone().max(other.begin.clone()), end.clone())
    }

    /// Whether one begins where the other ends. The empty interval has no ends to be adjacent at.
    pub fn is_adjacent(&self, other: &Interval) -> bool {
        let meet = |left: &Interval, right: &Interval| left.end.as_ref() == Some(&right.begin);
        !self.is_empty() && !other.is_empty() && (meet(self, other) || meet(other, self))
    }

    /// Both together; nothing where a gap would lie between.
    pub fn union(&self, other: &Interval) -> Option<Interval> {
        if self.is_empty() {
            return Some(other.clone());
        }
        if !(other.is_empty() || self.intersects(other) || self.is_adjacent(other)) {
            return None;
        }
        if other.is_empty() {
            return Some(self.clone());
        }
        let begin = self.begin.clone().min(other.begin.clone());
        let end = self.end.clone().zip(other.end.clone()).map(|(one, other)| one.max(other));
        Some(Interval { begin, end })
    }

    /// What remains without the other; nothing where two pieces would.
    pub fn difference(&self, other: &Interval) -> Option<Interval> {
        let taken = self.intersection(other);
        if taken.is_empty() {
            return Some(self.clone());
        }
        if taken.begin == self.begin {
            let rest = taken.end.map(|begin| Interval::normal(begin, self.end.clone()));
            Some(rest.unwrap_or(Interval::EMPTY))
        } else if taken.end == self.end {
            Some(Interval::normal(self.begin.clone(), Some(taken.begin)))
        } else {
            None
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.begin(), self.end()) {
            _ if self.is_empty() => f.write_str("no keys"),
            (None, None) => f.write_str("all keys"),
            (None, Some(end)) => write!(f, "(.., {end})"),
            (Some(begin), None) => write!(f, "[{begin}, ..)"),
            (Some(begin), Some(end)) => write!(f, "[{begin}, {end})"),
        }
    }
}

/// Both members must be there: one that is missing is not an open end but a mistake.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ends {
    #[serde(deserialize_with = "Option::deserialize")]
    begin: Option<Key>,
    #[serde(deserialize_with = "Option::deserialize")]
    end: Option<Key>,
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ends = || Ends { begin: self.begin().cloned(), end: self.end.clone() };
        (!self.is_empty()).then(ends).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Interval, D::Error> {
        let Some(Ends { begin, end }) = Option::deserialize(deserializer)? else {
            return Ok(Interval::EMPTY);
        };
        Interval::new(begin, end).map_err(serde::de::Error::custom)
    }
}

/// What is no interval.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IntervalError {
    /// It ends where it begins, or before.
    #[error("[{begin}, {end}) holds no key: its end must lie above its begin; exchange them?")]
    NoKey {
        /// Where it begins.
        begin: Key,
        /// Where it ends.
        end: Key,
    },
}

impl IntervalError {
    /// `empty_interval`.
    pub fn code(&self) -> &'static str {
        match self {
            IntervalError::NoKey { .. } => "empty_interval",
        }
    }
}
