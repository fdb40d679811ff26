//! Numbers with a meaning: [`Index`], [`KeyHash`], [`Position`], [`NVal`].

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::wide::{DECIMAL_BUFFER, Wide};

macro_rules! number_160 {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        ///
        /// Text and serde form: the decimal number as a string (a JSON number would lose digits in
        /// JavaScript).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 20]);

        impl $name {
            /// Zero.
            pub const ZERO: $name = $name([0; 20]);

            /// From the 160-bit big-endian number.
            pub const fn from_bytes(bytes: [u8; 20]) -> $name {
                $name(bytes)
            }

            /// The 160-bit big-endian number.
            pub const fn as_bytes(&self) -> &[u8; 20] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut buffer = [0; DECIMAL_BUFFER];
                f.pad_integral(true, "", Wide::from_be_bytes(&self.0).decimal(&mut buffer))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = IndexError;

            /// Decimal digits only, below 2^160.
            fn from_str(text: &str) -> Result<$name, IndexError> {
                if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(IndexError::NotDecimal { what: $what });
                }
                let value = Wide::from_decimal(text).and_then(Wide::to_be_bytes);
                value.map($name).ok_or(IndexError::TooLarge { what: $what })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut buffer = [0; DECIMAL_BUFFER];
                serializer.serialize_str(Wide::from_be_bytes(&self.0).decimal(&mut buffer))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                struct Decimal;
                impl Visitor<'_> for Decimal {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " as a string of decimal digits"))
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Decimal)
            }
        }
    };
}

number_160! {
    /// The 160-bit integer that names a partition: its position times the ring increment
    /// (`chash:index_as_int()`).
    Index, "an index"
}

number_160! {
    /// The SHA-1 of a key's term, a 160-bit integer on the same circle as the indices
    /// (`riak_core_util:chash_key/1,2`).
    KeyHash, "a key hash"
}

impl KeyHash {
    /// The first 64 bits.
    pub(crate) fn top(&self) -> u64 {
        u64::from_be_bytes(self.0[..8].try_into().expect("8 bytes"))
    }

    pub(crate) fn wide(&self) -> Wide {
        Wide::from_be_bytes(&self.0)
    }
}

impl Index {
    /// The same number as a hash: an index lies on the circle of the hashes.
    pub(crate) fn as_hash(&self) -> KeyHash {
        KeyHash(self.0)
    }
}

/// A partition's place in the ring, 0 up to the ring size less one
/// (`riak_core_ring:partition_id()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u32);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many partitions hold a key: the bucket property `n_val`. At least one; whether a ring can
/// hold that many is [`Ring::check_n`](crate::Ring::check_n)'s to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NVal(NonZeroU32);

impl NVal {
    /// Refuses 0.
    pub fn new(n: u32) -> Result<NVal, NValError> {
        NonZeroU32::new(n).map(NVal).ok_or(NValError::Zero)
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for NVal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An [`Index`] or [`KeyHash`] could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IndexError {
    /// Something other than decimal digits.
    #[error("{what} is a string of decimal digits and nothing else")]
    NotDecimal {
        /// What was read.
        what: &'static str,
    },
    /// 2^160 or more.
    #[error("{what} is below 2^160: check for digits too many")]
    TooLarge {
        /// What was read.
        what: &'static str,
    },
}

impl IndexError {
    /// `not_decimal` or `index_too_large`.
    pub fn code(&self) -> &'static str {
        match self {
            IndexError::NotDecimal { .. } => "not_decimal",
            IndexError::TooLarge { .. } => "index_too_large",
        }
    }
}

/// An n_val no ring, or not this ring, can satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NValError {
    /// n_val 0.
    #[error("n_val is 0: give the bucket's n_val, 1 or more (Riak's default is 3)")]
    Zero,
    /// More copies than partitions.
    #[error(
        "n_val {n} is larger than the ring, which has {size} partitions: give an n_val of at most \
         {size}"
    )]
    LargerThanRing {
        /// The n_val asked for.
        n: u32,
        /// The ring's size.
        size: u32,
    },
}

impl NValError {
    /// `n_val_zero` or `n_val_too_large`.
    pub fn code(&self) -> &'static str {
        match self {
            NValError::Zero => "n_val_zero",
            NValError::LargerThanRing { .. } => "n_val_too_large",
        }
    }
}
