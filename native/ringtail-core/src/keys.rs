//! Keys: their hash, and how people write them on a command line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha1::block_api::compress;
use sha1::{Digest, Sha1};
use thiserror::Error;

use crate::index::KeyHash;

/// The bucket type of plain buckets, whose name is not part of the hash.
pub const DEFAULT_TYPE: &[u8] = b"default";

/// What of an object's name is hashed: the bucket property `chash_keyfun`, where it is one of
/// Riak's own two (`riak_core_util:chash_std_keyfun/1`, `chash_bucketonly_keyfun/1`). Any other
/// function only the node can compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keyfun {
    /// `{Bucket, Key}`.
    #[default]
    #[serde(alias = "chash_std_keyfun")]
    Std,
    /// `Bucket` alone: all keys of a bucket in one place.
    #[serde(alias = "chash_bucketonly_keyfun")]
    BucketOnly,
}

impl Keyfun {
    /// `std` or `bucketonly`.
    pub fn as_str(self) -> &'static str {
        match self {
            Keyfun::Std => "std",
            Keyfun::BucketOnly => "bucketonly",
        }
    }
}

impl fmt::Display for Keyfun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Keyfun {
    type Err = KeyfunError;

    /// `std`, `bucketonly`, or Riak's function names.
    fn from_str(text: &str) -> Result<Keyfun, KeyfunError> {
        match text {
            "std" | "chash_std_keyfun" => Ok(Keyfun::Std),
            "bucketonly" | "chash_bucketonly_keyfun" => Ok(Keyfun::BucketOnly),
            _ => Err(KeyfunError::Custom { name: text.to_owned() }),
        }
    }
}

/// A keyfun that is not one of Riak's own two.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyfunError {
    /// Some function of the cluster's own.
    #[error(
        "keyfun {name:?} cannot be computed here: only std and bucketonly can; for a custom \
         chash_keyfun ask a node"
    )]
    Custom {
        /// The name given.
        name: String,
    },
}

impl KeyfunError {
    /// `custom_keyfun`.
    pub fn code(&self) -> &'static str {
        match self {
            KeyfunError::Custom { .. } => "custom_keyfun",
        }
    }
}

// Tags of Erlang's external term format, as `term_to_binary/1` of every release writes them for
// these terms.
const VERSION: u8 = 131;
const SMALL_TUPLE: u8 = 104;
const BINARY: u8 = 109;

/// Version, two tuples, three binaries.
const OVERHEAD: usize = 1 + 2 * 2 + 3 * 5;

const BLOCK: usize = 64;
/// Terms that fit into four blocks are put together on the stack, SHA-1's padding included, and
/// compressed in one call; most do. The hasher's own buffer would cost half as much again as the
/// hash.
const SMALL_TERM: usize = 4 * BLOCK;
/// SHA-1's padding: one byte and the length.
const PADDING: usize = 1 + 8;
/// SHA-1's initial state (FIPS 180-4, 5.3.1).
const INITIAL: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// Where the object `bucket`/`key` of `bucket_type` lies on the circle: SHA-1 of the external term
/// format of `{Bucket, Key}` or of `Bucket`, where `Bucket` is a binary for the bucket type
/// `default` and `{Type, Bucket}` for any other (`riak_core_util:chash_key/2`, `chash:key_of/1`).
///
/// The bytes are those Riak stores: percent-decoded, if they came from a URL. Empty names are
/// hashed like any others. A name of 4 GiB or more is beyond what an Erlang binary term can carry
/// and has no hash in Riak; the result then is some hash.
#[inline(always)]
pub fn hash_key(bucket_type: &[u8], bucket: &[u8], key: &[u8], keyfun: Keyfun) -> KeyHash {
    let bucket_type = (bucket_type != DEFAULT_TYPE).then_some(bucket_type);
    let key = (keyfun == Keyfun::Std).then_some(key);
    let len = bucket_type.map_or(0, <[u8]>::len) + bucket.len() + key.map_or(0, <[u8]>::len);
    if len <= BLOCK - OVERHEAD - PADDING {
        hash_small::<BLOCK>(bucket_type, bucket, key)
    } else if len <= SMALL_TERM - OVERHEAD - PADDING {
        hash_small::<SMALL_TERM>(bucket_type, bucket, key)
    } else {
        hash_long(bucket_type, bucket, key)
    }
}

/// A term of up to this many bytes, padding included; less room is less to clear.
#[inline(always)]
fn hash_small<const ROOM: usize>(
    bucket_type: Option<&[u8]>,
    bucket: &[u8],
    key: Option<&[u8]>,
) -> KeyHash {
    let mut term = SmallTerm { bytes: &mut [0; ROOM], len: 0 };
    write_term(&mut term, bucket_type, bucket, key);
    term.hash()
}

/// Apart, so that the hasher's state takes no part in the frame of the usual case.
#[inline(never)]
fn hash_long(bucket_type: Option<&[u8]>, bucket: &[u8], key: Option<&[u8]>) -> KeyHash {
    let mut sha = Sha1::new();
    write_term(&mut sha, bucket_type, bucket, key);
    KeyHash::from_bytes(sha.finalize().into())
}

trait Sink {
    fn put(&mut self, bytes: &[u8]);

    #[inline(always)]
    fn binary(&mut self, bytes: &[u8]) {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
        self.put(&[BINARY, len[0], len[1], len[2], len[3]]);
        self.put(bytes);
    }
}

/// The bytes are elsewhere so that their address, which copying gives away, is not that of the
/// length, which then stays in a register.
struct SmallTerm<'a, const ROOM: usize> {
    bytes: &'a mut [u8; ROOM],
    len: usize,
}

impl<const ROOM: usize> SmallTerm<'_, ROOM> {
    /// Pads the term as FIPS 180-4 says (5.1.1) and hashes it.
    #[inline(always)]
    fn hash(&mut self) -> KeyHash {
        let blocks = (self.len + PADDING).div_ceil(BLOCK);
        let end = blocks * BLOCK;
        self.bytes[self.len] = 0x80;
        self.bytes[end - 8..end].copy_from_slice(&(8 * self.len as u64).to_be_bytes());
        let mut state = INITIAL;
        compress(&mut state, self.bytes[..end].as_chunks().0);
        // In words of eight bytes, because the hash is read again in such words at once: a load
        // that spans several stores has to wait for all of them, which would cost a tenth of the
        // whole.
        let pair = |high: u32, low: u32| (u64::from(high) << 32 | u64::from(low)).to_be_bytes();
        let mut hash = [0; 20];
        hash[..8].copy_from_slice(&pair(state[0], state[1]));
        hash[8..16].copy_from_slice(&pair(state[2], state[3]));
        hash[16..].copy_from_slice(&state[4].to_be_bytes());
        KeyHash::from_bytes(hash)
    }
}

impl<const ROOM: usize> Sink for SmallTerm<'_, ROOM> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

impl Sink for Sha1 {
    fn put(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

#[inline(always)]
fn write_term(out: &mut impl Sink, bucket_type: Option<&[u8]>, bucket: &[u8], key: Option<&[u8]>) {
    out.put(&[VERSION]);
    if key.is_some() {
        out.put(&[SMALL_TUPLE, 2]);
    }
    if let Some(bucket_type) = bucket_type {
        out.put(&[SMALL_TUPLE, 2]);
        out.binary(bucket_type);
    }
    out.binary(bucket);
    if let Some(key) = key {
        out.binary(key);
    }
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

fn byte(high: u8, low: u8) -> Option<u8> {
    Some(nibble(high)? << 4 | nibble(low)?)
}

/// Bytes written as hexadecimal digits, two a byte, either case, nothing between them.
pub fn parse_hex(text: &str) -> Result<Vec<u8>, KeyTextError> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().enumerate().map(|(at, &[high, low])| {
        byte(high, low)
            .ok_or(KeyTextError::NotHex { at: 2 * at + usize::from(nibble(high).is_some()) })
    });
    let bytes = bytes.collect::<Result<_, _>>()?;
    match rest {
        [] => Ok(bytes),
        [digit] if nibble(*digit).is_some() => Err(KeyTextError::OddHex { len: text.len() }),
        _ => Err(KeyTextError::NotHex { at: text.len() - 1 }),
    }
}

/// Bytes written with `%XX` for any byte. A `+` is a plus here; only in the path of Riak's HTTP
/// interface is it a space. A `%` without two digits after it is refused rather than taken
/// literally, so that no key is mistaken for another.
pub fn percent_decode(text: &[u8]) -> Result<Vec<u8>, KeyTextError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&next) = text.get(at) {
        if next != b'%' {
            bytes.push(next);
            at += 1;
            continue;
        }
        let decoded = match text.get(at + 1..at + 3) {
            Some(&[high, low]) => byte(high, low),
            _ => None,
        };
        bytes.push(decoded.ok_or(KeyTextError::BadPercent { at })?);
        at += 3;
    }
    Ok(bytes)
}

/// The inverse of [`percent_decode`]: letters, digits and `-._~` as they are, every other byte as
/// `%XX`.
pub fn percent_encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
    text
}

/// A key in hexadecimal or percent notation that cannot be read. Places are byte offsets into the
/// text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyTextError {
    /// An odd number of digits.
    #[error("{len} hexadecimal digits are no whole number of bytes: write two digits a byte")]
    OddHex {
        /// How many there are.
        len: usize,
    },
    /// Another character.
    #[error("no hexadecimal digit at offset {at}: write 0-9 and a-f only, without blanks or 0x")]
    NotHex {
        /// Where.
        at: usize,
    },
    /// `%` without two hexadecimal digits after it.
    #[error(
        "the % at offset {at} is not followed by two hexadecimal digits: write a literal percent \
         sign as %25"
    )]
    BadPercent {
        /// Where.
        at: usize,
    },
}

impl KeyTextError {
    /// `odd_hex`, `not_hex` or `bad_percent`.
    pub fn code(&self) -> &'static str {
        match self {
            KeyTextError::OddHex { .. } => "odd_hex",
            KeyTextError::NotHex { .. } => "not_hex",
            KeyTextError::BadPercent { .. } => "bad_percent",
        }
    }
}
