//! Keys and intervals of keys.

use std::cmp::Ordering;

use proptest::prelude::*;
use ringtail_core::nursery::{Interval, IntervalError, Key, KeyError, MAX_KEY_BYTES};

use crate::{interval, key};

/// Short keys of few bytes, so that equal and adjacent ones are common.
fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0, 1, b'k', 0xff]), 0..4)
}

fn intervals() -> impl Strategy<Value = Interval> {
    let end = || prop::option::of(keys().prop_map(|bytes| Key::new(bytes).unwrap()));
    (end(), end()).prop_map(|(begin, end)| Interval::new(begin, end).unwrap_or(Interval::EMPTY))
}

proptest! {
    #[test]
    fn a_key_comes_back_from_its_text(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let key = Key::new(bytes.clone()).unwrap();
        prop_assert_eq!(key.to_string().parse::<Key>(), Ok(key.clone()));
        prop_assert_eq!(key.as_bytes(), &bytes);
        let json = serde_json::to_string(&key).unwrap();
        prop_assert_eq!(serde_json::from_str::<Key>(&json).unwrap(), key);
    }

    #[test]
    fn intervals_say_what_their_keys_say(
        one in intervals(),
        other in intervals(),
        samples in prop::collection::vec(keys(), 30),
    ) {
        let common = one.intersection(&other);
        let all = samples.iter().all(|key| !other.contains(key) || one.contains(key));
        prop_assert!(all || !one.covers(&other));
        prop_assert_eq!(one.intersects(&other), !common.is_empty());
        for key in &samples {
            let (in_one, in_other) = (one.contains(key), other.contains(key));
            prop_assert_eq!(common.contains(key), in_one && in_other);
            if let Some(union) = one.union(&other) {
                prop_assert_eq!(union.contains(key), in_one || in_other);
            }
            if let Some(difference) = one.difference(&other) {
                prop_assert_eq!(difference.contains(key), in_one && !in_other);
            }
        }
        prop_assert_eq!(one.union(&other), other.union(&one));
        prop_assert!(!one.is_adjacent(&other) || !one.intersects(&other));
    }

    #[test]
    fn an_interval_comes_back_from_its_document(interval in intervals()) {
        let json = serde_json::to_string(&interval).unwrap();
        prop_assert_eq!(serde_json::from_str::<Interval>(&json).unwrap(), interval);
    }
}

#[test]
fn keys_compare_as_bytes() {
    let order = ["", "k", "k%00", "k%00%00", "k%01", "kk", "k%FF", "k%FF%00", "l"];
    for pair in order.windows(2) {
        assert_eq!(key(pair[0]).cmp(&key(pair[1])), Ordering::Less, "{pair:?}");
    }
}

#[test]
fn nothing_lies_between_a_key_and_its_successor() {
    for text in ["", "k", "k%00", "k%FF"] {
        let alone = Interval::new(Some(key(text)), key(text).successor().ok()).unwrap();
        for other in ["", "k", "k%00", "k%00%00", "k%01", "k%FF", "k%FF%00", "l"] {
            assert_eq!(alone.contains(key(other).as_bytes()), other == text, "{other} in {alone}");
        }
    }
    let longest = Key::new(vec![b'k'; MAX_KEY_BYTES]).unwrap();
    assert_eq!(longest.successor(), Err(KeyError::TooLong));
}

#[test]
fn a_begin_is_inside_and_an_end_is_not() {
    let interval = interval("k", "k%FF");
    for inside in [&b"k"[..], b"k\0", b"k\x01", b"k\xfe\xff"] {
        assert!(interval.contains(inside), "{inside:?}");
    }
    for outside in [&b""[..], b"j\xff", b"k\xff", b"k\xff\0", b"l"] {
        assert!(!interval.contains(outside), "{outside:?}");
    }
}

#[test]
fn open_ends_hold_whatever_there_is() {
    assert!(Interval::ALL.contains(b"") && Interval::ALL.contains(&[0xff; 9000]));
    assert!(!Interval::EMPTY.contains(b"") && Interval::EMPTY.is_empty());
    assert_eq!(interval("", ""), Interval::ALL);
    assert!(interval("", "k").is_adjacent(&interval("k", "")));
    assert!(!interval("", "k").is_adjacent(&interval("k%00", "")));
    assert_eq!(interval("", "k").union(&interval("k", "")), Some(Interval::ALL));
    assert_eq!(interval("", "k").union(&interval("k%00", "")), None);
    assert_eq!(Interval::ALL.difference(&interval("k", "l")), None);
    assert!(!Interval::EMPTY.is_adjacent(&interval("", "k")));
    assert!(!Interval::EMPTY.is_adjacent(&Interval::ALL));
}

#[test]
fn an_interval_without_keys_is_refused_where_one_is_asked_for() {
    for (begin, end) in [("k", "k"), ("l", "k"), ("k%00", "k"), ("", "")] {
        let (begin, end) = (key(begin), key(end));
        let refused = Interval::new(Some(begin.clone()), Some(end.clone()));
        assert_eq!(refused, Err(IntervalError::NoKey { begin, end }));
    }
}

#[test]
fn a_text_that_is_no_key_is_refused() {
    assert_eq!("k%0".parse::<Key>().unwrap_err().code(), "bad_percent");
    let long = "k".repeat(MAX_KEY_BYTES + 1);
    assert_eq!(long.parse::<Key>(), Err(KeyError::TooLong));
    assert_eq!("%6B".repeat(MAX_KEY_BYTES + 1).parse::<Key>(), Err(KeyError::TooLong));
    assert_eq!("%6B".repeat(MAX_KEY_BYTES).parse::<Key>().unwrap().as_bytes().len(), MAX_KEY_BYTES);
}
