//! Lines of `ringtail keys`. What a line says besides the key depends on the position of its first
//! primary alone, so it is made once, before the first key; a key then costs its hash and a few
//! copies.

use std::io::{self, Write};

use ringtail_core::{NVal, Position, Ring};
use unicode_width::UnicodeWidthStr;

use super::sink::Sink;
use crate::keytext::{is_plain, shown, shown_in_list, write_shown};

/// Separates primaries in text. Names that contain it are escaped.
const SEPARATOR: &str = ",";

/// Texts one after another, any run of which can be had without copying.
struct Texts {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Texts {
    fn new(texts: impl Iterator<Item = String>) -> Self {
        let mut all = Self { bytes: Vec::new(), starts: vec![0] };
        for text in texts {
            all.bytes.extend_from_slice(text.as_bytes());
            all.starts.push(all.bytes.len());
        }
        all
    }

    #[inline]
    fn run(&self, first: usize, count: usize) -> &[u8] {
        &self.bytes[self.starts[first]..self.starts[first + count]]
    }
}

/// Index and primaries of every position.
///
/// The primaries of a position are the owners of n positions in a row, so all their lists are runs
/// of one text: the owners of the ring written twice around. It stays small whatever n is.
struct Places {
    indices: Texts,
    owners: Texts,
    n: usize,
}

impl Places {
    /// With `owner` giving a node's text including the separator, which [`Self::primaries`] leaves
    /// out at the end.
    fn new(ring: &Ring, n: NVal, owner: impl Fn(&str) -> String) -> Self {
        let size = ring.size();
        let around =
            (0..size).chain(0..size).map(|at| owner(ring.node_name(ring.owner(Position(at)))));
        Self {
            indices: Texts::new((0..size).map(|at| ring.index(Position(at)).to_string())),
            owners: Texts::new(around),
            n: n.get() as usize,
        }
    }

    #[inline]
    fn index(&self, position: Position) -> &[u8] {
        self.indices.run(position.0 as usize, 1)
    }

    #[inline]
    fn primaries(&self, position: Position) -> &[u8] {
        let run = self.owners.run(position.0 as usize, self.n);
        &run[..run.len() - SEPARATOR.len()]
    }
}

fn name_in_list(name: &str) -> String {
    shown_in_list(name.as_bytes(), SEPARATOR) + SEPARATOR
}

/// How keys are printed: as they were given.
#[derive(Clone, Copy)]
pub enum KeyText {
    /// Percent notation.
    Percent,
    /// Hexadecimal.
    Hex,
}

impl KeyText {
    #[inline]
    fn write(self, out: &mut impl Write, key: &[u8]) -> io::Result<()> {
        match self {
            Self::Percent => write_shown(out, key),
            Self::Hex => write_hex(out, key),
        }
    }

    fn of(self, key: &[u8]) -> String {
        match self {
            Self::Percent => shown(key),
            Self::Hex => {
                let mut text = Vec::with_capacity(2 * key.len());
                write_hex(&mut text, key).expect("writing to memory cannot fail");
                String::from_utf8(text).expect("hexadecimal digits are text")
            }
        }
    }
}

fn write_hex(out: &mut impl Write, key: &[u8]) -> io::Result<()> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 128];
    for part in key.chunks(text.len() / 2) {
        for (digits, byte) in text.chunks_exact_mut(2).zip(part) {
            digits[0] = DIGITS[usize::from(byte >> 4)];
            digits[1] = DIGITS[usize::from(byte & 15)];
        }
        out.write_all(&text[..2 * part.len()])?;
    }
    Ok(())
}

/// Key, TAB, index, TAB, primaries.
pub struct Plain<'a, W> {
    places: Places,
    text: KeyText,
    out: &'a mut W,
}

impl<'a, W: Write> Plain<'a, W> {
    pub fn new(ring: &Ring, n: NVal, text: KeyText, out: &'a mut W) -> Self {
        Self { places: Places::new(ring, n, name_in_list), text, out }
    }
}

impl<W: Write> Sink for Plain<'_, W> {
    #[inline]
    fn key(&mut self, key: &[u8], position: Position) -> io::Result<()> {
        self.text.write(self.out, key)?;
        self.out.write_all(b"\t")?;
        self.out.write_all(self.places.index(position))?;
        self.out.write_all(b"\t")?;
        self.out.write_all(self.places.primaries(position))?;
        self.out.write_all(b"\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// An object a line: `{"key":..., "index":..., "primaries":[...]}`.
pub struct Json<'a, W> {
    places: Places,
    text: KeyText,
    out: &'a mut W,
}

impl<'a, W: Write> Json<'a, W> {
    pub fn new(ring: &Ring, n: NVal, text: KeyText, out: &'a mut W) -> Self {
        let quoted = |name: &str| serde_json::json!(name).to_string() + SEPARATOR;
        Self { places: Places::new(ring, n, quoted), text, out }
    }
}

impl<W: Write> Sink for Json<'_, W> {
    #[inline]
    fn key(&mut self, key: &[u8], position: Position) -> io::Result<()> {
        self.out.write_all(b"{\"key\":")?;
        // What is plain and holds no quote or backslash is JSON as it is.
        if matches!(self.text, KeyText::Percent)
            && is_plain(key)
            && memchr::memchr2(b'"', b'\\', key).is_none()
        {
            self.out.write_all(b"\"")?;
            self.out.write_all(key)?;
            self.out.write_all(b"\"")?;
        } else {
            serde_json::to_writer(&mut *self.out, &self.text.of(key))?;
        }
        self.out.write_all(b",\"index\":\"")?;
        self.out.write_all(self.places.index(position))?;
        self.out.write_all(b"\",\"primaries\":[")?;
        self.out.write_all(self.places.primaries(position))?;
        self.out.write_all(b"]}\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Columns for a terminal. The keys to come are not known, so their column is of a usual width, and
/// a long key pushes the rest of its own line aside.
pub struct Aligned<'a, W> {
    places: Places,
    text: KeyText,
    index_width: usize,
    out: &'a mut W,
}

const KEY_WIDTH: usize = 24;

impl<'a, W: Write> Aligned<'a, W> {
    pub fn new(ring: &Ring, n: NVal, text: KeyText, out: &'a mut W) -> Self {
        let places = Places::new(ring, n, name_in_list);
        // No index has more digits than the last one.
        let index_width = places.index(Position(ring.size() - 1)).len().max("INDEX".len());
        Self { places, text, index_width, out }
    }

    pub fn write_headings(&mut self) -> io::Result<()> {
        let width = self.index_width;
        writeln!(self.out, "{:<KEY_WIDTH$}  {:>width$}  PRIMARIES", "KEY", "INDEX")
    }
}

impl<W: Write> Sink for Aligned<'_, W> {
    fn key(&mut self, key: &[u8], position: Position) -> io::Result<()> {
        let text = self.text.of(key);
        let padding = KEY_WIDTH.saturating_sub(text.width());
        let index = self.places.index(position);
        let indent = self.index_width - index.len();
        write!(self.out, "{text}{:padding$}  {:indent$}", "", "")?;
        self.out.write_all(index)?;
        self.out.write_all(b"  ")?;
        self.out.write_all(self.places.primaries(position))?;
        self.out.write_all(b"\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringtail_core::{RingParts, RingSize};

    fn ring(names: &[&str]) -> Ring {
        let size = RingSize::new(names.len() as u32).unwrap();
        let owners = size
            .positions()
            .map(|at| (size.index_of(at), names[at.0 as usize].to_owned()))
            .collect();
        Ring::from_parts(RingParts { owners, ..RingParts::default() }).unwrap()
    }

    #[test]
    fn names_that_hold_the_separator_stay_apart() {
        let ring = ring(&["a,b@h", "c@h"]);
        let (mut plain, mut json) = (Vec::new(), Vec::new());
        let n = NVal::new(2).unwrap();
        Plain::new(&ring, n, KeyText::Percent, &mut plain).key(b"k", Position(0)).unwrap();
        assert_eq!(plain, b"k\t0\ta%2Cb@h,c@h\n");
        Json::new(&ring, n, KeyText::Percent, &mut json).key(b"k", Position(1)).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(value["primaries"], serde_json::json!(["c@h", "a,b@h"]));
    }

    #[test]
    fn columns_line_up_under_their_headings() {
        let ring = ring(&["a@h", "b@h"]);
        let mut out = Vec::new();
        let mut lines = Aligned::new(&ring, NVal::new(1).unwrap(), KeyText::Percent, &mut out);
        lines.write_headings().unwrap();
        lines.key("größe".as_bytes(), Position(0)).unwrap();
        lines.key("鍵".as_bytes(), Position(1)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let ends: Vec<usize> =
            text.lines().map(|line| line.rsplit_once("  ").unwrap().0.width()).collect();
        assert_eq!(ends, [KEY_WIDTH + 2 + ring.index(Position(1)).to_string().len(); 3], "{text}");
    }
}
