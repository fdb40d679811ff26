//! Content that is not held in memory.

use std::fmt;
use std::io::{self, Read};

use crate::http::BodyReader;

/// The content of an object as it comes in.
pub struct ContentReader {
    body: BodyReader,
    length: Option<u64>,
}

impl ContentReader {
    pub(crate) fn new(body: BodyReader) -> Self {
        Self { length: body.length(), body }
    }

    pub(crate) fn read_all(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        self.body.read_all(limit)
    }

    /// How many bytes the whole content has, where the node said so.
    pub fn length(&self) -> Option<u64> {
        self.length
    }
}

impl Read for ContentReader {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        self.body.read(output)
    }
}

impl fmt::Debug for ContentReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentReader").field("length", &self.length).finish_non_exhaustive()
    }
}
