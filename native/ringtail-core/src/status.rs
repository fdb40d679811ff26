//! The words Riak has for members and transfers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::RingError;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal {
        $($(#[$word_doc:meta])* $word:ident = $text:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name {
            $($(#[$word_doc])* $word,)*
        }

        impl $name {
            /// Riak's word for it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$word => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = RingError;

            fn from_str(text: &str) -> Result<$name, RingError> {
                match text {
                    $($text => Ok($name::$word),)*
                    _ => Err(RingError::UnknownStatus { what: $what, status: text.to_owned() }),
                }
            }
        }
    };
}

words! {
    /// What a member is in its cluster (`riak_core_ring:member_status()`).
    MemberStatus, "member" {
        /// Asked to join, owns nothing yet.
        Joining = "joining",
        /// A full member.
        Valid = "valid",
        /// Hands its partitions over and then leaves.
        Leaving = "leaving",
        /// Owns nothing any more and is about to be removed.
        Exiting = "exiting",
        /// Marked down by an operator.
        Down = "down",
        /// Removed; Riak keeps such an entry for a while and counts the node as no member.
        Invalid = "invalid",
    }
}

words! {
    /// How far the hand-over of a partition has come.
    PendingStatus, "transfer" {
        /// Data still moves.
        Awaiting = "awaiting",
        /// All data is there; the owner changes with the next ring.
        Complete = "complete",
    }
}
