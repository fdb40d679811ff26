//! The recorded vectors, and odds and ends that several tests need.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod history;

use std::path::PathBuf;

use ringtail_core::testing::{AtomEncoding, Etf, Record, encode, spread};
use ringtail_core::{DecodeError, Ring, RingParts};
use serde_json::Value;

/// Every recorded ring; a file that is not listed here, or listed and gone, fails
/// `every_ring_is_listed`.
pub const RINGS: [&str; 18] = [
    "bucketmeta64",
    "down64",
    "leaving64",
    "live4_my",
    "live4_raw",
    "live_leaving",
    "oddnames64",
    "pending64",
    "resizing64to128",
    "single64",
    "single8",
    "spread1024x12",
    "spread16x5",
    "spread256x7",
    "spread4096x60",
    "spread64x5",
    "spread8x3",
    "twice16x2",
];

pub fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../test/vectors")
}

pub fn ring_bytes(name: &str) -> Vec<u8> {
    std::fs::read(vectors().join(format!("rings/{name}.etf"))).expect("a recorded ring")
}

pub fn ring(name: &str) -> Ring {
    Ring::decode(&ring_bytes(name)).expect("a recorded ring decodes")
}

pub fn ring_json(name: &str) -> Value {
    let text = std::fs::read_to_string(vectors().join(format!("rings/{name}.json")))
        .expect("what riak_core says of it");
    serde_json::from_str(&text).expect("JSON")
}

pub fn lines(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(vectors().join(name)).expect("recorded lines");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} of {value} is a string"))
}

pub fn hex(value: &Value, field: &str) -> Vec<u8> {
    ringtail_core::keys::parse_hex(text(value, field)).expect("hexadecimal digits")
}

/// The code of the error that decoding must give.
pub fn refusal(bytes: &[u8]) -> &'static str {
    refused(bytes).code()
}

pub fn refused(bytes: &[u8]) -> DecodeError {
    Ring::decode(bytes).expect_err("no ring")
}

pub fn sample() -> RingParts {
    spread(16, 3)
}

pub fn encoded(parts: &RingParts) -> Vec<u8> {
    encode(parts, Record::Current, AtomEncoding::Latin1)
}

/// The same bytes with the one place where `from` stands replaced.
pub fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut places = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(from));
    let at = places.next().expect("the bytes to replace are there");
    assert_eq!(places.next(), None, "only one place");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

/// The head of `{16, [{0, ...`: the size, and the list of owners.
pub const SIZE: [u8; 9] = [104, 2, 97, 16, 108, 0, 0, 0, 16];

/// A current record with this term in the place of its metadata, cluster name, or the metadata of
/// its member.
pub fn around(meta: &[u8], cluster_name: &[u8], member_meta: &[u8]) -> Vec<u8> {
    let mut out = Etf::new(AtomEncoding::SmallUtf8);
    out.tuple(11).atom("chstate_v2").atom("a@b").vclock(1);
    out.tuple(2).integer(1).list(1).tuple(2).integer(0).atom("a@b").nil();
    out.raw(meta).raw(cluster_name).nil();
    out.list(1).tuple(2).atom("a@b").tuple(3).atom("valid").nil().raw(member_meta).nil();
    out.atom("a@b").nil().vclock(1).bytes.clone()
}

pub const NIL: [u8; 1] = [106];
