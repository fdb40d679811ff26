//! The recorded vectors, and odds and ends that several tests need.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::PathBuf;

use ringtail_core::{DecodeError, Ring};
use serde_json::Value;

/// Every recorded ring; a file that is not listed here, or listed and gone, fails `every_ring_is_listed`.
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
