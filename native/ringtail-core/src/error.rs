//! What is wrong with a ring or its bytes, where, and what to do about it. `code` is the same in
//! Erlang (an atom) and in JSON. The errors of one type alone stand beside that type.

use thiserror::Error;

use crate::index::Index;

/// Parts that make no ring, wherever they came from.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RingError {
    /// Size 0.
    #[error("the ring has no partition: take the ring from a node whose cluster has been created")]
    Empty,
    /// More partitions than a position can count.
    #[error(
        "a ring of more than {} partitions is not supported: check where this ring comes from",
        u32::MAX
    )]
    TooLarge,
    /// No owner for an index.
    #[error(
        "the ring of {size} partitions names no owner for index {index}: take the ring again from \
         a running node (riak_core_ring_manager:get_my_ring/0)"
    )]
    OwnersMissing {
        /// The ring's size.
        size: u32,
        /// The first index without owner.
        index: Index,
    },
    /// Two owners for an index.
    #[error("the ring names two owners for index {index}: take the ring again from a running node")]
    OwnerDoubled {
        /// The index.
        index: Index,
    },
    /// All owners are there but not in order.
    #[error(
        "the owners are not sorted: index {index} is not at its place; Riak keeps them sorted and \
         walks them by place, take the ring again from a running node"
    )]
    OutOfOrder {
        /// The first index that is not at its place.
        index: Index,
    },
    /// An index that is no multiple of the increment, or beyond the last partition.
    #[error(
        "index {index} names no partition of a ring of {size}: indices are multiples of 2^160 div \
         {size}; take the ring again from a running node"
    )]
    OffGrid {
        /// The ring's size.
        size: u32,
        /// The index.
        index: Index,
    },
    /// A member entered twice.
    #[error("the ring lists member {node} twice: take the ring again from a running node")]
    MemberDoubled {
        /// The member.
        node: String,
    },
    /// More node names than [`MAX_NODES`](crate::MAX_NODES).
    #[error(
        "the ring names more than {limit} nodes, more than Erlang can connect: check where this \
         ring comes from"
    )]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// A status this version does not know.
    #[error("{what} status {status:?} is unknown: a newer Riak may need a newer Ringtail")]
    UnknownStatus {
        /// Of a member or of a transfer.
        what: &'static str,
        /// As given.
        status: String,
    },
}

impl RingError {
    /// `empty_ring`, `ring_too_large`, `owners_missing`, `owner_doubled`, `owners_out_of_order`,
    /// `off_grid`, `member_doubled`, `too_many_nodes` or `unknown_status`.
    pub fn code(&self) -> &'static str {
        match self {
            RingError::Empty => "empty_ring",
            RingError::TooLarge => "ring_too_large",
            RingError::OwnersMissing { .. } => "owners_missing",
            RingError::OwnerDoubled { .. } => "owner_doubled",
            RingError::OutOfOrder { .. } => "owners_out_of_order",
            RingError::OffGrid { .. } => "off_grid",
            RingError::MemberDoubled { .. } => "member_doubled",
            RingError::TooManyNodes { .. } => "too_many_nodes",
            RingError::UnknownStatus { .. } => "unknown_status",
        }
    }
}

/// Bytes that are no ring. Offsets count from the start of the external term, for a compressed term
/// from the start of what it inflates to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes end inside the term.
    #[error(
        "the ring ends at byte {len}, in the middle of a term: read the whole file (it may still \
         be being written, or the copy was cut)"
    )]
    Truncated {
        /// How many bytes there are.
        len: usize,
    },
    /// Bytes after the term.
    #[error(
        "{count} bytes follow the ring, which ends at byte {offset}: give one ring, nothing after \
         it"
    )]
    TrailingBytes {
        /// Where the term ends.
        offset: usize,
        /// How many bytes follow.
        count: usize,
    },
    /// External term format, but another term; or no external term format at all.
    #[error(
        "this is no ring: {found}; give a file from a node's data/ring directory, or \
         term_to_binary of riak_core_ring_manager:get_my_ring/0's ring"
    )]
    NotARing {
        /// What was found instead.
        found: String,
    },
    /// A ring record with the wrong number of fields.
    #[error(
        "a {record} record has {expected} fields, this one has {found}: a newer Riak may need a \
         newer Ringtail"
    )]
    FieldCount {
        /// The record's name.
        record: &'static str,
        /// Fields known.
        expected: u32,
        /// Fields found.
        found: u32,
    },
    /// A term of another kind than the field holds.
    #[error(
        "the {field} of the ring should be {expected}, but the term at byte {offset} has tag \
         {tag}: the file is damaged, or a newer Riak needs a newer Ringtail"
    )]
    Unexpected {
        /// Which field.
        field: &'static str,
        /// What Riak keeps there.
        expected: &'static str,
        /// Where.
        offset: usize,
        /// The tag found, see Erlang's external term format.
        tag: u8,
    },
    /// A number beyond what the field can hold.
    #[error(
        "the number at byte {offset} is beyond what the {field} of a ring can be: the file is \
         damaged"
    )]
    OutOfRange {
        /// Which field.
        field: &'static str,
        /// Where.
        offset: usize,
    },
    /// A tag the external term format does not have, or that only occurs between connected nodes.
    #[error(
        "the term at byte {offset} has tag {tag}, which no stored term has: the file is damaged"
    )]
    UnsupportedTag {
        /// Where.
        offset: usize,
        /// The tag.
        tag: u8,
    },
    /// An atom that is not in its encoding.
    #[error(
        "the atom at byte {offset} is not valid UTF-8 or longer than 255 characters: the file is \
         damaged"
    )]
    BadAtom {
        /// Where.
        offset: usize,
    },
    /// A term that must be read whole, nested too deep.
    #[error(
        "the {field} of the ring is nested deeper than {limit} at byte {offset}: this is no ring \
         Riak made"
    )]
    TooDeep {
        /// Which field.
        field: &'static str,
        /// The limit.
        limit: usize,
        /// Where.
        offset: usize,
    },
    /// A term that must be read whole, larger than makes sense.
    #[error("the {field} of the ring is larger than {limit} bytes: this is no ring Riak made")]
    TooLarge {
        /// Which field.
        field: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A compressed term that inflates, or says it inflates, beyond the limit.
    #[error("the compressed ring inflates to more than {limit} bytes: give the ring uncompressed")]
    InflatesTooLarge {
        /// The limit.
        limit: usize,
    },
    /// A compressed term that inflates to another size than it says.
    #[error(
        "the compressed ring says it inflates to {claimed} bytes and does not: the file is damaged"
    )]
    InflatedSize {
        /// What it says.
        claimed: usize,
    },
    /// A compressed term whose compressed bytes are damaged.
    #[error("the compressed ring cannot be inflated: the file is damaged, copy it again")]
    BadCompression,
    /// A well-formed term whose ring is not.
    #[error(transparent)]
    Ring(#[from] RingError),
}

impl DecodeError {
    /// `truncated`, `trailing_bytes`, `not_a_ring`, `field_count`, `unexpected_term`,
    /// `out_of_range`, `unsupported_tag`, `bad_atom`, `too_deep`, `too_large`,
    /// `inflates_too_large`, `inflated_size`, `bad_compression`, or what [`RingError::code`] says.
    pub fn code(&self) -> &'static str {
        match self {
            DecodeError::Truncated { .. } => "truncated",
            DecodeError::TrailingBytes { .. } => "trailing_bytes",
            DecodeError::NotARing { .. } => "not_a_ring",
            DecodeError::FieldCount { .. } => "field_count",
            DecodeError::Unexpected { .. } => "unexpected_term",
            DecodeError::OutOfRange { .. } => "out_of_range",
            DecodeError::UnsupportedTag { .. } => "unsupported_tag",
            DecodeError::BadAtom { .. } => "bad_atom",
            DecodeError::TooDeep { .. } => "too_deep",
            DecodeError::TooLarge { .. } => "too_large",
            DecodeError::InflatesTooLarge { .. } => "inflates_too_large",
            DecodeError::InflatedSize { .. } => "inflated_size",
            DecodeError::BadCompression => "bad_compression",
            DecodeError::Ring(error) => error.code(),
        }
    }
}
