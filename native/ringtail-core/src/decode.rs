//! From the bytes of a ring to a [`Ring`]: the records `chstate_v2` and `chstate` of
//! `riak_core_ring`.

use crate::error::{DecodeError, RingError};
use crate::etf::{Cursor, List, tag};
use crate::etf_print;
use crate::inflate::inflate;
use crate::node::NodeName;
use crate::ring::Ring;
use crate::ring_builder::{RingBuilder, Room};
use crate::ring_size::RingSize;
use crate::status::{MemberStatus, PendingStatus};

/// Where a compressed term's deflated bytes begin: after version, tag and size.
const DEFLATED: usize = 6;

/// The fewest bytes an entry takes, with a name of no letters: by these, room is made at once for
/// as many entries as can be there. Growing step by step would need old and new place together,
/// more than the bound of memory.
const LEAST_OWNER: usize = 6;
const LEAST_PENDING: usize = 19;
const LEAST_MEMBER: usize = 14;

impl Ring {
    /// Reads a ring in external term format, compressed or not: the term of
    /// `riak_core_ring_manager:get_my_ring/0`, or a file of a node's ring directory. Both records
    /// that Riak has had are read, `chstate_v2` and the older `chstate`.
    ///
    /// Memory stays below three times the input and 1 MiB, whatever lengths the input claims and
    /// however deep it is nested; for a compressed term what it inflates to counts as input, and
    /// that may be 64 MiB at most.
    pub fn decode(bytes: &[u8]) -> Result<Ring, DecodeError> {
        let mut cursor = Cursor::new(bytes, 0);
        let version = cursor.u8()?;
        if version != tag::VERSION {
            let found = format!(
                "it begins with byte {version}, Erlang's external term format with {}",
                tag::VERSION
            );
            return Err(DecodeError::NotARing { found });
        }
        if cursor.peek()? != tag::COMPRESSED {
            return ring(cursor);
        }
        cursor.u8()?;
        let claimed = cursor.u32()? as usize;
        let inflated = inflate(&bytes[DEFLATED..], claimed, DEFLATED)?;
        ring(Cursor::new(&inflated, 0))
    }
}

fn ring(mut cursor: Cursor<'_>) -> Result<Ring, DecodeError> {
    let term = cursor.peek()?;
    let Some(arity) = cursor.tuple()? else {
        return Err(DecodeError::NotARing {
            found: format!("the term has tag {term}, which is no tuple's"),
        });
    };
    let record = if arity == 0 { None } else { cursor.atom()? };
    let (record, fields, legacy) = match record.as_deref() {
        Some("chstate_v2") => ("chstate_v2", 10, false),
        Some("chstate") => ("chstate", 4, true),
        Some(name) => {
            return Err(DecodeError::NotARing {
                found: format!("the tuple is a record of the name {name:?}"),
            });
        }
        None => return Err(DecodeError::NotARing { found: "the tuple is no record".to_owned() }),
    };
    if arity - 1 != fields {
        return Err(DecodeError::FieldCount { record, expected: fields, found: arity - 1 });
    }
    let nodename = optional_name(&mut cursor, "nodename")?;
    let vclock_sum = vclock_sum(&mut cursor, "vclock")?;
    let mut builder = owners(&mut cursor)?;
    builder.nodename = nodename;
    builder.vclock_sum = vclock_sum;
    let resized = meta_says_resizing(&mut cursor)?;
    if legacy {
        // What riak_core_ring:upgrade/1 makes of it.
        builder.owners_are_members();
        builder.rvsn_sum = vclock_sum;
    } else {
        builder.cluster_name = etf_print::cluster_name(&mut cursor)?;
        pending(&mut cursor, &mut builder)?;
        members(&mut cursor, &mut builder)?;
        builder.claimant = optional_name(&mut cursor, "claimant")?;
        cursor.skip()?; // seen
        builder.rvsn_sum = self::vclock_sum(&mut cursor, "rvsn")?;
    }
    if cursor.remaining() > 0 {
        return Err(DecodeError::TrailingBytes {
            offset: cursor.offset(),
            count: cursor.remaining(),
        });
    }
    builder.resizing = resized || builder.resizes();
    Ok(builder.build()?)
}

/// The name of a node, `None` for `undefined`.
fn optional_name(
    cursor: &mut Cursor<'_>,
    field: &'static str,
) -> Result<Option<NodeName>, DecodeError> {
    let name = cursor.atom_in(field)?;
    Ok((name != "undefined").then(|| NodeName::from(name)))
}

/// The sum of the counters of a vclock, `[{Node, {Counter, Timestamp}}]`; a ring may have none yet.
fn vclock_sum(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u64, DecodeError> {
    if cursor.clone().atom()?.is_some_and(|atom| atom == "undefined") {
        cursor.skip()?;
        return Ok(0);
    }
    const ENTRY: &str = "a list of {Node, {Counter, Timestamp}}";
    let mut sum = 0u64;
    let mut list = List::enter(cursor, field)?;
    while list.next(cursor)? {
        cursor.tuple_of(2, field, ENTRY)?;
        cursor.skip()?;
        cursor.tuple_of(2, field, ENTRY)?;
        let offset = cursor.offset();
        let counter = cursor.u64_in(field)?;
        sum = sum.checked_add(counter).ok_or(DecodeError::OutOfRange { field, offset })?;
        cursor.skip()?;
    }
    Ok(sum)
}

/// `{Size, [{Index, Node}]}`.
fn owners(cursor: &mut Cursor<'_>) -> Result<RingBuilder, DecodeError> {
    const FIELD: &str = "chring";
    cursor.tuple_of(2, FIELD, "{Size, [{Index, Node}]}")?;
    let size = u32::try_from(cursor.u64_in("ring size")?).map_err(|_| RingError::TooLarge)?;
    let size = RingSize::new(size).map_err(|_| RingError::Empty)?;
    let mut builder = RingBuilder::new(size);
    let mut list = List::enter(cursor, FIELD)?;
    builder.room(Room::Owners, list.room(cursor, LEAST_OWNER));
    while list.next(cursor)? {
        cursor.tuple_of(2, FIELD, "a list of {Index, Node}")?;
        let index = cursor.index_in("index")?;
        builder.owner(index, &cursor.atom_in("owner")?)?;
    }
    builder.owners_end()?;
    Ok(builder)
}

/// Passes the cluster metadata, whatever holds it, and tells whether `riak_core_ring:is_resizing/1`
/// would be true: an entry `$resized_ring` that has not been removed. In Riak's dict, as in any
/// other container, the entry follows its key.
fn meta_says_resizing(cursor: &mut Cursor<'_>) -> Result<bool, DecodeError> {
    let mut resizing = false;
    cursor.skip_watching(|atom, behind| {
        if atom == b"$resized_ring" {
            let mut entry = behind.clone();
            let is_entry = matches!(entry.tuple(), Ok(Some(3)))
                && matches!(entry.atom(), Ok(Some(name)) if name == "meta_entry");
            let removed = matches!(entry.atom(), Ok(Some(value)) if value == "$removed");
            resizing |= is_entry && !removed;
        }
    })?;
    Ok(resizing)
}

/// `[{Index, Owner, NextOwner, Modules, Status}]`.
fn pending(cursor: &mut Cursor<'_>, builder: &mut RingBuilder) -> Result<(), DecodeError> {
    const FIELD: &str = "pending changes";
    let mut list = List::enter(cursor, FIELD)?;
    builder.room(Room::Pending, list.room(cursor, LEAST_PENDING));
    while list.next(cursor)? {
        cursor.tuple_of(5, FIELD, "a list of {Index, Owner, NextOwner, Modules, Status}")?;
        let index = cursor.index_in("index")?;
        let owner = cursor.atom_in("owner")?;
        let next_owner = cursor.atom_in("next owner")?;
        cursor.skip()?;
        let status: PendingStatus = cursor.atom_in("status of a transfer")?.parse()?;
        builder.pending(index, &owner, &next_owner, status)?;
    }
    Ok(())
}

/// `[{Node, {Status, VClock, Metadata}}]`.
fn members(cursor: &mut Cursor<'_>, builder: &mut RingBuilder) -> Result<(), DecodeError> {
    const FIELD: &str = "members";
    const ENTRY: &str = "a list of {Node, {Status, VClock, Metadata}}";
    let mut list = List::enter(cursor, FIELD)?;
    builder.room(Room::Members, list.room(cursor, LEAST_MEMBER));
    while list.next(cursor)? {
        cursor.tuple_of(2, FIELD, ENTRY)?;
        let node = cursor.atom_in("member")?;
        cursor.tuple_of(3, FIELD, ENTRY)?;
        let status: MemberStatus = cursor.atom_in("status of a member")?.parse()?;
        cursor.skip()?;
        let meta = cursor.clone();
        cursor.skip()?;
        builder.member(&node, status, ringtail_meta(meta).map(Box::from))?;
    }
    Ok(())
}

/// The value under the key `ringtail` in a member's metadata, `[{Key, Value}]`. The term is known
/// to be whole; where it has another shape there is no such value.
fn ringtail_meta(mut cursor: Cursor<'_>) -> Option<&[u8]> {
    let mut list = List::enter(&mut cursor, "metadata").ok()?;
    while list.next(&mut cursor).ok()? {
        let mut entry = cursor.clone();
        cursor.skip().ok()?;
        if entry.tuple().ok()? == Some(2)
            && entry.atom().is_ok_and(|key| key.as_deref() == Some("ringtail"))
        {
            let start = entry.offset();
            entry.skip().ok()?;
            return Some(entry.slice(start, entry.offset()));
        }
    }
    None
}
