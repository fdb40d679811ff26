//! A cursor over Erlang's external term format, as `erl_ext_dist` describes it.
//!
//! Of a ring only a small part is wanted, and the bytes may come from anywhere. So nothing is built
//! from a term that is not wanted, nothing is set aside by a length before the bytes are known to
//! be there, and skipping counts the terms still to come instead of descending into them.

use std::borrow::Cow;

use crate::error::DecodeError;
use crate::index::Index;

pub(crate) mod tag {
    pub(crate) const VERSION: u8 = 131;
    pub(crate) const COMPRESSED: u8 = 80;
    pub(crate) const NEW_FLOAT: u8 = 70;
    pub(crate) const BIT_BINARY: u8 = 77;
    pub(crate) const NEW_PID: u8 = 88;
    pub(crate) const NEW_PORT: u8 = 89;
    pub(crate) const NEWER_REFERENCE: u8 = 90;
    pub(crate) const SMALL_INTEGER: u8 = 97;
    pub(crate) const INTEGER: u8 = 98;
    pub(crate) const FLOAT: u8 = 99;
    pub(crate) const ATOM: u8 = 100;
    pub(crate) const REFERENCE: u8 = 101;
    pub(crate) const PORT: u8 = 102;
    pub(crate) const PID: u8 = 103;
    pub(crate) const SMALL_TUPLE: u8 = 104;
    pub(crate) const LARGE_TUPLE: u8 = 105;
    pub(crate) const NIL: u8 = 106;
    pub(crate) const STRING: u8 = 107;
    pub(crate) const LIST: u8 = 108;
    pub(crate) const BINARY: u8 = 109;
    pub(crate) const SMALL_BIG: u8 = 110;
    pub(crate) const LARGE_BIG: u8 = 111;
    pub(crate) const NEW_FUN: u8 = 112;
    pub(crate) const EXPORT: u8 = 113;
    pub(crate) const NEW_REFERENCE: u8 = 114;
    pub(crate) const SMALL_ATOM: u8 = 115;
    pub(crate) const MAP: u8 = 116;
    pub(crate) const FUN: u8 = 117;
    pub(crate) const ATOM_UTF8: u8 = 118;
    pub(crate) const SMALL_ATOM_UTF8: u8 = 119;
    pub(crate) const V4_PORT: u8 = 120;
}

/// Erlang's own limit.
const ATOM_CHARACTERS: usize = 255;

/// An integer as it stands in the bytes.
#[derive(Clone, Copy)]
pub(crate) enum Integer<'a> {
    Small(i32),
    Big {
        negative: bool,
        /// Least significant first; may end in zeros.
        digits: &'a [u8],
    },
}

impl Integer<'_> {
    /// The 160-bit number, `None` if negative or larger.
    fn index(self) -> Option<Index> {
        let mut bytes = [0; 20];
        match self {
            Integer::Small(value) => {
                bytes[16..].copy_from_slice(&u32::try_from(value).ok()?.to_be_bytes())
            }
            Integer::Big { negative, digits } => {
                let len = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
                if len > 20 || (negative && len > 0) {
                    return None;
                }
                for (to, from) in bytes.iter_mut().rev().zip(&digits[..len]) {
                    *to = *from;
                }
            }
        }
        Some(Index::from_bytes(bytes))
    }
}

#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// What lies between two offsets already passed.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        &self.bytes[from..to]
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        if len > self.remaining() {
            return Err(DecodeError::Truncated { len: self.bytes.len() });
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        Ok(self.take(N)?.try_into().expect("as many bytes as asked for"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<usize, DecodeError> {
        Ok(usize::from(u16::from_be_bytes(self.array()?)))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A 32-bit length of something of which each element takes at least a byte.
    pub(crate) fn length(&mut self) -> Result<usize, DecodeError> {
        let len = self.u32()? as usize;
        if len > self.remaining() {
            return Err(DecodeError::Truncated { len: self.bytes.len() });
        }
        Ok(len)
    }

    pub(crate) fn peek(&self) -> Result<u8, DecodeError> {
        self.clone().u8()
    }

    /// The error of a term that is of another kind than its field, at the cursor.
    pub(crate) fn unexpected(&self, field: &'static str, expected: &'static str) -> DecodeError {
        match self.peek() {
            Ok(tag) => DecodeError::Unexpected { field, expected, offset: self.at, tag },
            Err(truncated) => truncated,
        }
    }

    /// The arity of a tuple, or `None` (and the cursor unmoved) at any other term.
    pub(crate) fn tuple(&mut self) -> Result<Option<u32>, DecodeError> {
        match self.peek()? {
            tag::SMALL_TUPLE => {
                self.at += 1;
                self.u8().map(|arity| Some(u32::from(arity)))
            }
            tag::LARGE_TUPLE => {
                self.at += 1;
                self.u32().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Enters a tuple of a known arity.
    pub(crate) fn tuple_of(
        &mut self,
        arity: u32,
        field: &'static str,
        expected: &'static str,
    ) -> Result<(), DecodeError> {
        let start = self.clone();
        match self.tuple()? {
            Some(found) if found == arity => Ok(()),
            _ => Err(start.unexpected(field, expected)),
        }
    }

    /// The text of an atom in any encoding, or `None` (and the cursor unmoved) at any other term.
    pub(crate) fn atom(&mut self) -> Result<Option<Cow<'a, str>>, DecodeError> {
        let offset = self.at;
        let tag = self.peek()?;
        let Some(name) = self.raw_atom()? else { return Ok(None) };
        let text = match tag {
            tag::ATOM | tag::SMALL_ATOM if !name.is_ascii() => {
                Cow::Owned(name.iter().copied().map(char::from).collect())
            }
            _ => Cow::Borrowed(
                std::str::from_utf8(name).map_err(|_| DecodeError::BadAtom { offset })?,
            ),
        };
        // Counting characters is only needed where bytes may be more.
        if text.len() > ATOM_CHARACTERS && text.chars().count() > ATOM_CHARACTERS {
            return Err(DecodeError::BadAtom { offset });
        }
        Ok(Some(text))
    }

    /// The bytes of an atom, whatever their encoding.
    fn raw_atom(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        let wide = match self.peek()? {
            tag::ATOM | tag::ATOM_UTF8 => true,
            tag::SMALL_ATOM | tag::SMALL_ATOM_UTF8 => false,
            _ => return Ok(None),
        };
        self.at += 1;
        let len = if wide { self.u16()? } else { usize::from(self.u8()?) };
        self.take(len).map(Some)
    }

    /// An atom where nothing else may stand.
    pub(crate) fn atom_in(&mut self, field: &'static str) -> Result<Cow<'a, str>, DecodeError> {
        match self.atom()? {
            Some(atom) => Ok(atom),
            None => Err(self.unexpected(field, "an atom")),
        }
    }

    /// The bytes of a binary where nothing else may stand.
    pub(crate) fn binary_in(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        if self.peek()? != tag::BINARY {
            return Err(self.unexpected(field, "a binary"));
        }
        self.at += 1;
        let len = self.length()?;
        self.take(len)
    }

    /// An integer, or `None` (and the cursor unmoved) at any other term.
    pub(crate) fn integer(&mut self) -> Result<Option<Integer<'a>>, DecodeError> {
        let tag = self.peek()?;
        if !matches!(tag, tag::SMALL_INTEGER | tag::INTEGER | tag::SMALL_BIG | tag::LARGE_BIG) {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(match tag {
            tag::SMALL_INTEGER => Integer::Small(i32::from(self.u8()?)),
            tag::INTEGER => Integer::Small(i32::from_be_bytes(self.array()?)),
            _ => {
                let len =
                    if tag == tag::SMALL_BIG { usize::from(self.u8()?) } else { self.length()? };
                let negative = self.u8()? != 0;
                Integer::Big { negative, digits: self.take(len)? }
            }
        }))
    }

    /// A number from 0 to 2^160 - 1 where nothing else may stand.
    pub(crate) fn index_in(&mut self, field: &'static str) -> Result<Index, DecodeError> {
        let offset = self.at;
        match self.integer()? {
            Some(integer) => integer.index().ok_or(DecodeError::OutOfRange { field, offset }),
            None => Err(self.unexpected(field, "an integer")),
        }
    }

    /// A number from 0 to 2^64 - 1 where nothing else may stand.
    pub(crate) fn u64_in(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        let offset = self.at;
        let index = self.index_in(field)?;
        let (high, low) = index.as_bytes().split_at(12);
        if high.iter().any(|&byte| byte != 0) {
            return Err(DecodeError::OutOfRange { field, offset });
        }
        Ok(u64::from_be_bytes(low.try_into().expect("8 bytes")))
    }

    /// Passes one term.
    pub(crate) fn skip(&mut self) -> Result<(), DecodeError> {
        self.skip_watching(|_, _| {})
    }

    /// Passes one term and shows each atom in it as bytes, with a cursor that stands behind it.
    pub(crate) fn skip_watching(
        &mut self,
        mut atom: impl FnMut(&'a [u8], &Cursor<'a>),
    ) -> Result<(), DecodeError> {
        // Terms still to be passed. Each takes a byte or more, so a length beyond what remains is
        // refused at once.
        let mut terms: usize = 1;
        while terms > 0 {
            if terms > self.remaining() {
                return Err(DecodeError::Truncated { len: self.bytes.len() });
            }
            terms -= 1;
            if let Some(name) = self.raw_atom()? {
                atom(name, self);
                continue;
            }
            let offset = self.at;
            // A count is at most 2^32, `terms` at most the bytes there are: their sum fits.
            terms += match self.u8()? {
                tag::SMALL_TUPLE => usize::from(self.u8()?),
                tag::LARGE_TUPLE => self.length()?,
                tag::LIST => self.length()? + 1,
                tag::MAP => self.length()? * 2,
                tag::EXPORT => 3,
                // Process, module, index, unique number, and the free variables.
                tag::FUN => self.length()? + 4,
                tag => {
                    self.skip_leaf(tag, offset)?;
                    0
                }
            };
        }
        Ok(())
    }

    /// Passes the rest of a term that holds no terms but perhaps a node's name.
    fn skip_leaf(&mut self, tag: u8, offset: usize) -> Result<(), DecodeError> {
        let len = match tag {
            tag::NIL => 0,
            tag::SMALL_INTEGER => 1,
            tag::INTEGER => 4,
            tag::NEW_FLOAT => 8,
            tag::FLOAT => 31,
            tag::STRING => self.u16()?,
            tag::BINARY => self.length()?,
            tag::BIT_BINARY => self.length()? + 1,
            tag::SMALL_BIG => usize::from(self.u8()?) + 1,
            tag::LARGE_BIG => self.length()? + 1,
            // The size counts its own four bytes.
            tag::NEW_FUN => {
                let size = self.u32()? as usize;
                size.checked_sub(4).ok_or(DecodeError::UnsupportedTag { offset, tag })?
            }
            tag::REFERENCE | tag::PORT => self.node_and(5)?,
            tag::PID => self.node_and(9)?,
            tag::NEW_PID | tag::V4_PORT => self.node_and(12)?,
            tag::NEW_PORT => self.node_and(8)?,
            tag::NEW_REFERENCE => {
                let words = self.u16()?;
                self.node_and(1 + 4 * words)?
            }
            tag::NEWER_REFERENCE => {
                let words = self.u16()?;
                self.node_and(4 + 4 * words)?
            }
            _ => return Err(DecodeError::UnsupportedTag { offset, tag }),
        };
        self.take(len).map(|_| ())
    }

    fn node_and(&mut self, len: usize) -> Result<usize, DecodeError> {
        match self.raw_atom()? {
            Some(_) => Ok(len),
            None => Err(self.unexpected("node of a process, port or reference", "an atom")),
        }
    }
}

/// Walks a proper list in one piece, as `term_to_binary/1` writes it.
pub(crate) struct List {
    field: &'static str,
    left: usize,
}

impl List {
    pub(crate) fn enter(cursor: &mut Cursor<'_>, field: &'static str) -> Result<List, DecodeError> {
        match cursor.peek()? {
            tag::NIL => Ok(List { field, left: 0 }),
            tag::LIST => {
                cursor.u8()?;
                Ok(List { field, left: cursor.length()? })
            }
            _ => Err(cursor.unexpected(field, "a list")),
        }
    }

    /// How many elements to make room for: the claimed number, but no more than could be there if
    /// each takes `least` bytes.
    pub(crate) fn room(&self, cursor: &Cursor<'_>, least: usize) -> usize {
        self.left.min(cursor.remaining() / least)
    }

    /// Whether another element follows; the cursor then stands at it. After the last one the list's
    /// end is passed.
    pub(crate) fn next(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, DecodeError> {
        if self.left > 0 {
            self.left -= 1;
            return Ok(true);
        }
        match cursor.peek()? {
            tag::NIL => cursor.u8().map(|_| false),
            _ => Err(cursor.unexpected(self.field, "a proper list")),
        }
    }
}
