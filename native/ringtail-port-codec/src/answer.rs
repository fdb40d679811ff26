//! What the companion answers: whole frames, appended to a buffer.

use crate::frame::FRAME_LIMIT;

const VERSION: u8 = 131;
const SMALL_INTEGER: u8 = 97;
const INTEGER: u8 = 98;
/// Every release reads it; all names written here are ASCII.
const ATOM: u8 = 100;
const SMALL_TUPLE: u8 = 104;
const NIL: u8 = 106;
const LIST: u8 = 108;
const BINARY: u8 = 109;
const SMALL_BIG: u8 = 110;

/// Appends `{Id, ok, Term}`, the term written by `write`. What it wrote is taken back if it fails.
///
/// # Errors
/// Those of `write`; `too_large` makes the error of an answer that is larger than a frame may be.
pub fn ok<E>(
    out: &mut Vec<u8>,
    id: u64,
    write: impl FnOnce(&mut Writer) -> Result<(), E>,
    too_large: impl FnOnce(usize) -> E,
) -> Result<(), E> {
    let start = out.len();
    begin(out, id, "ok");
    let written = write(&mut Writer(out)).and_then(|()| finish(out, start).map_err(too_large));
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Appends `{Id, error, {Code, Detail}}`. A detail larger than a frame is cut.
pub fn error(out: &mut Vec<u8>, id: u64, code: &str, detail: &str) {
    let start = out.len();
    begin(out, id, "error");
    let mut writer = Writer(out);
    writer.tuple(2);
    writer.binary(code.as_bytes());
    let most = detail.len().min(1024 * 1024);
    writer.binary(&detail.as_bytes()[..detail.floor_char_boundary(most)]);
    finish(out, start).expect("an error has at most a mebibyte");
}

/// Appends `{Id, progress, Term}`. The term must be smaller than a frame.
///
/// # Panics
/// It is not.
pub fn progress(out: &mut Vec<u8>, id: u64, write: impl FnOnce(&mut Writer)) {
    let start = out.len();
    begin(out, id, "progress");
    write(&mut Writer(out));
    finish(out, start).expect("a piece is smaller than a frame");
}

/// Appends what comes before the bytes of `{Id, progress, {Kind, Binary}}`: `length` of them must
/// follow to make a frame. For large pieces, which need not be copied then. It is as long for any
/// length.
///
/// # Panics
/// The binary is larger than a frame.
pub fn binary_progress(out: &mut Vec<u8>, id: u64, kind: &str, length: usize) {
    let start = out.len();
    begin(out, id, "progress");
    let mut writer = Writer(out);
    writer.tuple(2);
    writer.atom(kind);
    writer.binary_head(length);
    let whole = out.len() - start - 4 + length;
    assert!(whole <= FRAME_LIMIT, "a piece is smaller than a frame");
    out[start..start + 4].copy_from_slice(&(whole as u32).to_be_bytes());
}

fn begin(out: &mut Vec<u8>, id: u64, kind: &str) {
    out.extend([0; 4]);
    out.extend([VERSION, SMALL_TUPLE, 3, SMALL_BIG, 8, 0]);
    out.extend(id.to_le_bytes());
    Writer(out).atom(kind);
}

fn finish(out: &mut [u8], start: usize) -> Result<(), usize> {
    let length = out.len() - start - 4;
    if length > FRAME_LIMIT {
        return Err(length);
    }
    // The limit is far below 2^32.
    out[start..start + 4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(())
}

/// Appends terms. That a tuple or list is followed by as many terms as it says is for the caller to
/// see to.
pub struct Writer<'o>(&'o mut Vec<u8>);

impl Writer<'_> {
    /// A tuple of as many terms as follow.
    pub fn tuple(&mut self, arity: u8) {
        self.0.extend([SMALL_TUPLE, arity]);
    }

    /// A list, each element written by `element`.
    ///
    /// # Errors
    /// The first of `element`.
    pub fn list<T, E>(
        &mut self,
        elements: impl ExactSizeIterator<Item = T>,
        mut element: impl FnMut(&mut Writer, T) -> Result<(), E>,
    ) -> Result<(), E> {
        if elements.len() > 0 {
            self.0.push(LIST);
            self.0.extend(u32::try_from(elements.len()).expect("less than a frame").to_be_bytes());
            for item in elements {
                element(&mut Writer(self.0), item)?;
            }
        }
        self.0.push(NIL);
        Ok(())
    }

    /// An atom, named by a literal of this program.
    pub fn atom(&mut self, name: &str) {
        debug_assert!(name.is_ascii() && name.len() < 256);
        self.0.extend([ATOM, 0, name.len() as u8]);
        self.0.extend(name.as_bytes());
    }

    /// A binary.
    pub fn binary(&mut self, bytes: &[u8]) {
        self.binary_head(bytes.len());
        self.0.extend(bytes);
    }

    fn binary_head(&mut self, length: usize) {
        self.0.push(BINARY);
        self.0.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }

    /// A number.
    pub fn u64(&mut self, number: u64) {
        self.integer(&number.to_be_bytes());
    }

    /// A number, most significant byte first.
    pub fn integer(&mut self, big_endian: &[u8]) {
        let zeros = big_endian.iter().take_while(|&&byte| byte == 0).count();
        match &big_endian[zeros..] {
            [] => self.0.extend([SMALL_INTEGER, 0]),
            [small] => self.0.extend([SMALL_INTEGER, *small]),
            digits if digits.len() < 4 || (digits.len() == 4 && digits[0] < 128) => {
                self.0.push(INTEGER);
                self.0.extend(std::iter::repeat_n(0, 4 - digits.len()));
                self.0.extend(digits);
            }
            digits => {
                self.0.extend([
                    SMALL_BIG,
                    u8::try_from(digits.len()).expect("at most 160 bits"),
                    0,
                ]);
                self.0.extend(digits.iter().rev());
            }
        }
    }
}
