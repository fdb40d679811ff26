//! Frames out of a stream of bytes that arrives in pieces of any size.

/// The largest frame that is taken, in bytes without its length field.
pub const FRAME_LIMIT: usize = 64 * 1024 * 1024;

const LENGTH_FIELD: usize = 4;

/// What is set aside while nothing large passes.
const USUAL_BUFFER: usize = 64 * 1024;

/// A larger buffer is given back once it is empty.
const KEPT_BUFFER: usize = 1024 * 1024;

/// As much of a frame that is too large is shown as it takes to tell who sent it.
const HEAD: usize = 16;

/// What a term in external term format begins with.
const VERSION: u8 = 131;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// A frame's content.
    Frame(&'a [u8]),
    /// A frame above the limit. Its content is passed over, and what follows it is read as ever.
    TooLarge {
        /// Its length in bytes.
        length: usize,
        /// How it begins: enough of it to tell whose it is, or one byte where it holds no term.
        head: &'a [u8],
    },
}

/// The reading end of a stream of frames. It does no reading itself: bytes are put into
/// [`Frames::spare`], told by [`Frames::filled`], and come out of [`Frames::next`].
#[derive(Debug)]
pub struct Frames {
    limit: usize,
    buffer: Vec<u8>,
    /// What is in the buffer and not yet taken out.
    start: usize,
    end: usize,
    /// Bytes of a frame that was too large which are still to come.
    passing: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self::with_limit(FRAME_LIMIT)
    }
}

impl Frames {
    /// Takes frames of up to `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, buffer: Vec::new(), start: 0, end: 0, passing: 0 }
    }

    /// Room to read into; never empty. It grows with what has arrived, not with the length that a
    /// frame claims.
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.len() > KEPT_BUFFER {
                self.buffer = Vec::new();
            }
        }
        if self.start > 0 && self.buffer.len() - self.end < USUAL_BUFFER / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() - self.end < USUAL_BUFFER / 2 {
            let larger = (2 * self.buffer.len()).min(self.limit + LENGTH_FIELD + USUAL_BUFFER);
            self.buffer.resize(larger.max(USUAL_BUFFER), 0);
        }
        &mut self.buffer[self.end..]
    }

    /// So many bytes were put at the beginning of [`Frames::spare`].
    ///
    /// # Panics
    /// More than there was room for.
    pub fn filled(&mut self, count: usize) {
        assert!(count <= self.buffer.len() - self.end, "more bytes than there was room for");
        self.end += count;
    }

    /// What is whole by now, or nothing until more bytes have come.
    #[allow(clippy::should_implement_trait)] // lends from itself
    pub fn next(&mut self) -> Option<Received<'_>> {
        let passed = self.passing.min(self.end - self.start);
        self.start += passed;
        self.passing -= passed;
        let held = &self.buffer[self.start..self.end];
        let (field, content) = held.split_first_chunk::<LENGTH_FIELD>()?;
        let length = u32::from_be_bytes(*field) as usize;
        if length > self.limit {
            // Of what holds no term, one byte tells: who sends it may send no more, and is to be
            // told at once.
            let head = if content.first().is_some_and(|&first| first != VERSION) {
                1
            } else {
                length.min(HEAD)
            };
            if content.len() < head {
                return None;
            }
            let from = self.start + LENGTH_FIELD;
            self.start = from;
            self.passing = length;
            return Some(Received::TooLarge { length, head: &self.buffer[from..from + head] });
        }
        if content.len() < length {
            return None;
        }
        let from = self.start + LENGTH_FIELD;
        self.start = from + length;
        Some(Received::Frame(&self.buffer[from..from + length]))
    }

    /// Whether the stream may end here: no frame has begun and not ended.
    pub fn between_frames(&self) -> bool {
        self.start == self.end && self.passing == 0
    }
}
