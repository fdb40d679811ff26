//! Terms in external term format, looked at where they lie.
//!
//! A [`Term`] is a slice of the message it came in, known to hold one whole term. Nothing is
//! copied, nothing is built and nothing descends: a view of a tuple's elements is made when it is
//! asked for, by passing over each of them with the same counting walk that passes over what is not
//! wanted of a ring. So depth costs no stack and a claimed length no memory, and any term may stand
//! where another was expected: it is simply not what was asked for.

use std::borrow::Cow;

use crate::error::DecodeError;
use crate::etf::{Cursor, tag};

/// One term inside a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term<'a>(&'a [u8]);

/// What stands for an element of a list that is written as a string of bytes: integers have no
/// bytes of their own there.
const SOME_INTEGER: Term<'static> = Term(&[tag::SMALL_INTEGER, 0]);

impl<'a> Term<'a> {
    /// The term of a message: version byte, one term, nothing after it.
    ///
    /// # Errors
    /// Anything else, and a compressed term: a message has a bounded length, and what it inflates
    /// to would not.
    pub fn of_message(bytes: &'a [u8]) -> Result<Term<'a>, DecodeError> {
        let mut cursor = Cursor::new(bytes, 0);
        let version = cursor.u8()?;
        if version != tag::VERSION {
            return Err(DecodeError::UnsupportedTag { offset: 0, tag: version });
        }
        cursor.skip()?;
        if cursor.remaining() > 0 {
            return Err(DecodeError::TrailingBytes {
                offset: cursor.offset(),
                count: cursor.remaining(),
            });
        }
        Ok(Term(&bytes[1..]))
    }

    fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.0, 0)
    }

    /// The elements of a tuple of this arity.
    pub fn tuple<const N: usize>(&self) -> Option<[Term<'a>; N]> {
        let mut cursor = self.cursor();
        if cursor.tuple().ok()?? as usize != N {
            return None;
        }
        let mut elements = [Term(&[]); N];
        for element in &mut elements {
            *element = next(&mut cursor)?;
        }
        Some(elements)
    }

    /// The elements of a tuple of any arity up to a bound.
    pub fn tuple_up_to(&self, most: u32) -> Option<Vec<Term<'a>>> {
        let mut cursor = self.cursor();
        let arity = cursor.tuple().ok()??;
        (arity <= most).then(|| (0..arity).map(|_| next(&mut cursor)).collect())?
    }

    /// The elements of a proper list.
    pub fn list(&self) -> Option<Elements<'a>> {
        let mut cursor = self.cursor();
        match cursor.u8().ok()? {
            tag::NIL => Some(Elements { left: 0, cursor: None }),
            tag::STRING => {
                let length = cursor.take(2).ok()?;
                Some(Elements {
                    left: usize::from(u16::from_be_bytes(length.try_into().ok()?)),
                    cursor: None,
                })
            }
            tag::LIST => {
                let left = cursor.u32().ok()? as usize;
                let first = cursor.clone();
                (0..left).try_for_each(|_| cursor.skip()).ok()?;
                (cursor.peek().ok()? == tag::NIL).then_some(Elements { left, cursor: Some(first) })
            }
            _ => None,
        }
    }

    /// The text of an atom.
    pub fn atom(&self) -> Option<Cow<'a, str>> {
        self.cursor().atom().ok()?
    }

    /// Whether this is the atom of that name.
    pub fn is_atom(&self, name: &str) -> bool {
        self.atom().is_some_and(|atom| atom == name)
    }

    /// The bytes of a binary.
    pub fn binary(&self) -> Option<&'a [u8]> {
        self.cursor().binary_in("term").ok()
    }

    /// An integer from 0 to 2^64 - 1.
    pub fn u64(&self) -> Option<u64> {
        self.cursor().u64_in("term").ok()
    }
}

/// The term at the cursor.
fn next<'a>(cursor: &mut Cursor<'a>) -> Option<Term<'a>> {
    let from = cursor.offset();
    cursor.skip().ok()?;
    Some(Term(cursor.slice(from, cursor.offset())))
}

/// The elements of a list.
#[derive(Clone)]
pub struct Elements<'a> {
    left: usize,
    /// At the next element; none where the list is written as a string of bytes.
    cursor: Option<Cursor<'a>>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Term<'a>;

    fn next(&mut self) -> Option<Term<'a>> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.cursor {
            Some(cursor) => next(cursor),
            None => Some(SOME_INTEGER),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Elements<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_a_message() {
        // {7, ok, [<<"b">>, x], "hi", []}
        let bytes = [
            131, 104, 5, 97, 7, 100, 0, 2, b'o', b'k', 108, 0, 0, 0, 2, 109, 0, 0, 0, 1, b'b', 119,
            1, b'x', 106, 107, 0, 2, b'h', b'i', 106,
        ];
        let [number, atom, list, string, nil] = Term::of_message(&bytes).unwrap().tuple().unwrap();
        assert_eq!(number.u64(), Some(7));
        assert!(atom.is_atom("ok") && !atom.is_atom("o"));
        let elements: Vec<Term> = list.list().unwrap().collect();
        assert_eq!(elements[0].binary(), Some(&b"b"[..]));
        assert_eq!(elements[1].atom().unwrap(), "x");
        assert_eq!(string.list().unwrap().len(), 2);
        assert!(string.list().unwrap().all(|element| element.u64().is_some()));
        assert_eq!(nil.list().unwrap().count(), 0);
        assert!(number.list().is_none() && number.atom().is_none() && atom.binary().is_none());
        assert!(list.tuple::<2>().is_none() && list.u64().is_none());
    }

    #[test]
    fn improper_lists_and_other_arities_are_not_what_was_asked_for() {
        let improper = [131, 108, 0, 0, 0, 1, 97, 1, 97, 2];
        assert!(Term::of_message(&improper).unwrap().list().is_none());
        let pair = [131, 104, 2, 106, 106];
        let term = Term::of_message(&pair).unwrap();
        assert!(
            term.tuple::<1>().is_none()
                && term.tuple::<3>().is_none()
                && term.tuple::<2>().is_some()
        );
        assert!(term.tuple_up_to(1).is_none());
        assert_eq!(term.tuple_up_to(2).unwrap().len(), 2);
    }

    #[test]
    fn messages_that_are_no_single_term_are_refused() {
        for bytes in [
            &[][..],
            &[131],
            &[97, 1],
            &[131, 97, 1, 0],
            &[131, 80, 0, 0, 0, 1, 0],
            &[131, 104, 2, 106],
        ] {
            assert!(Term::of_message(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let mut bytes = vec![131];
        for _ in 0..1_000_000 {
            bytes.extend([104, 1]);
        }
        bytes.push(106);
        let [inner] = Term::of_message(&bytes).unwrap().tuple().unwrap();
        assert!(inner.list().is_none());
    }
}
