//! Keys as bytes, and how they are written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::keys::{KeyTextError, percent_decode, percent_encode};

/// How long a key may be that bounds an interval. A longer key can be stored and routed; to
/// separate it from others, its beginning does as well.
pub const MAX_KEY_BYTES: usize = 4096;

/// A key that bounds an interval. Keys are bytes and compare as bytes: `k` < `k\0` < `k\1` <
/// `k\xff` < `l`, and the empty key is below all others.
///
/// Text and serde form: letters, digits and `-._~` as they are, any other byte as `%XX`.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key(Vec<u8>);

impl Key {
    /// The empty key, below all others.
    pub const LEAST: Key = Key(Vec::new());

    /// Refuses more than [`MAX_KEY_BYTES`].
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Key, KeyError> {
        let bytes = bytes.into();
        if bytes.len() > MAX_KEY_BYTES { Err(KeyError::TooLong) } else { Ok(Key(bytes)) }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key right after this one: no other lies between. It is this one with a zero byte after
    /// it, so `[k, successor of k)` holds `k` alone.
    pub fn successor(&self) -> Result<Key, KeyError> {
        Key::new([self.as_bytes(), &[0]].concat())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&percent_encode(&self.0))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Key, KeyError> {
        if text.len() > 3 * MAX_KEY_BYTES {
            return Err(KeyError::TooLong);
        }
        Key::new(percent_decode(text.as_bytes())?)
    }
}

impl TryFrom<String> for Key {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Key, KeyError> {
        text.parse()
    }
}

impl From<Key> for String {
    fn from(key: Key) -> String {
        percent_encode(&key.0)
    }
}

/// What bounds no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// More bytes than a bound may have.
    #[error(
        "a key that bounds an interval has at most {MAX_KEY_BYTES} bytes: give the beginning of it"
    )]
    TooLong,
    /// The text is no key.
    #[error(transparent)]
    Text(#[from] KeyTextError),
}

impl KeyError {
    /// `key_too_long`, or what [`KeyTextError::code`] says.
    pub fn code(&self) -> &'static str {
        match self {
            KeyError::TooLong => "key_too_long",
            KeyError::Text(error) => error.code(),
        }
    }
}
