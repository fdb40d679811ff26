//! Splits a stream of bytes into delimited records in one reused buffer: the memory used is that of
//! the longest record, whatever the length of the stream.

use std::io::{self, Read};

/// Bytes asked of the reader at a time.
const CHUNK: usize = 256 * 1024;

/// Why no further record can be had.
#[derive(Debug)]
pub enum RecordError {
    /// The input failed.
    Read(io::Error),
    /// A record has more than the allowed number of bytes.
    TooLong {
        /// Its number, from 1.
        number: u64,
    },
}

/// Records of a stream. The last one need not be terminated; bytes are passed on as they are, with
/// no thought of encodings or carriage returns.
///
/// Taking a record and reading more are separate calls, so that the caller can pass on what it has
/// before a read that may wait for long.
pub struct Records<R> {
    reader: R,
    delimiter: u8,
    limit: usize,
    buffer: Vec<u8>,
    /// Start of the next record in `buffer`.
    start: usize,
    /// Up to here the next record has no delimiter.
    searched: usize,
    /// End of the bytes read so far.
    end: usize,
    at_end: bool,
    number: u64,
}

impl<R: Read> Records<R> {
    /// Records of `reader` that end with `delimiter` and have at most `limit` bytes.
    pub fn new(reader: R, delimiter: u8, limit: usize) -> Self {
        let buffer = vec![0; CHUNK];
        Self {
            reader,
            delimiter,
            limit,
            buffer,
            start: 0,
            searched: 0,
            end: 0,
            at_end: false,
            number: 0,
        }
    }

    /// Number of the record given last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next record, without its delimiter, if it has been read already. Where it has not,
    /// [`Self::fill`] is next.
    #[inline]
    pub fn next_buffered(&mut self) -> Result<Option<&[u8]>, RecordError> {
        if let Some(at) = memchr::memchr(self.delimiter, &self.buffer[self.searched..self.end]) {
            return self.give(self.searched + at, self.searched + at + 1);
        }
        self.searched = self.end;
        if self.end - self.start > self.limit {
            return Err(RecordError::TooLong { number: self.number + 1 });
        }
        if self.at_end && self.start < self.end { self.give(self.end, self.end) } else { Ok(None) }
    }

    fn give(&mut self, end: usize, next: usize) -> Result<Option<&[u8]>, RecordError> {
        let start = self.start;
        self.number += 1;
        if end - start > self.limit {
            return Err(RecordError::TooLong { number: self.number });
        }
        self.start = next;
        self.searched = next;
        Ok(Some(&self.buffer[start..end]))
    }

    /// Reads more. False where nothing is left: neither in the stream nor of a last record without
    /// delimiter.
    pub fn fill(&mut self) -> Result<bool, RecordError> {
        if self.at_end {
            return Ok(false);
        }
        // The unfinished record moves to the front. The buffer grows only when a record fills it,
        // never past the limit.
        self.buffer.copy_within(self.start..self.end, 0);
        self.searched -= self.start;
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            let length = (self.buffer.len() * 2).min(self.limit + CHUNK);
            self.buffer.resize(length, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    self.at_end = count == 0;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(RecordError::Read(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the bytes in pieces of the given sizes, in turn.
    struct Pieces<'a>(&'a [u8], Vec<usize>, usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let size = self.1[self.2 % self.1.len()].min(self.0.len()).min(into.len());
            self.2 += 1;
            into[..size].copy_from_slice(&self.0[..size]);
            self.0 = &self.0[size..];
            Ok(size)
        }
    }

    fn next(records: &mut Records<impl Read>) -> Result<Option<Vec<u8>>, RecordError> {
        loop {
            if let Some(record) = records.next_buffered()? {
                return Ok(Some(record.to_vec()));
            }
            if !records.fill()? {
                return Ok(None);
            }
        }
    }

    fn all(reader: impl Read, limit: usize) -> Result<Vec<Vec<u8>>, RecordError> {
        let mut records = Records::new(reader, b'\n', limit);
        let mut all = Vec::new();
        while let Some(record) = next(&mut records)? {
            all.push(record);
            assert_eq!(records.number(), all.len() as u64);
        }
        Ok(all)
    }

    #[test]
    fn any_split_of_the_bytes_gives_the_same_records() {
        let long = vec![b'x'; CHUNK + 10];
        let input = [&b"one\n\ntwo\r\n"[..], &long, b"\n\0\xff\nlast"].concat();
        let expected: Vec<Vec<u8>> = vec![
            b"one".to_vec(),
            vec![],
            b"two\r".to_vec(),
            long,
            b"\0\xff".to_vec(),
            b"last".to_vec(),
        ];
        for sizes in [vec![1], vec![2, 3], vec![7], vec![4096, 1], vec![CHUNK], vec![usize::MAX]] {
            assert_eq!(all(Pieces(&input, sizes, 0), CHUNK * 2).unwrap(), expected);
        }
    }

    #[test]
    fn ends_of_input() {
        assert!(all(&b""[..], 10).unwrap().is_empty());
        assert_eq!(all(&b"\n"[..], 10).unwrap(), [b""]);
        assert_eq!(all(&b"a\n"[..], 10).unwrap(), [b"a"]);
        assert_eq!(all(&b"a"[..], 10).unwrap(), [b"a"]);
    }

    #[test]
    fn a_record_of_the_limit_passes_and_one_byte_more_is_named() {
        for limit in [5, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let exact = [vec![b'k'; limit], b"\nz\n".to_vec()].concat();
            assert_eq!(all(&exact[..], limit).unwrap().len(), 2);
            let over = [b"a\n".to_vec(), vec![b'k'; limit + 1], b"\nz\n".to_vec()].concat();
            assert!(matches!(all(&over[..], limit), Err(RecordError::TooLong { number: 2 })));
        }
    }

    #[test]
    fn an_endless_record_stops_at_the_limit() {
        let mut records = Records::new(io::repeat(b'x'), b'\n', 3 * CHUNK);
        assert!(matches!(next(&mut records), Err(RecordError::TooLong { number: 1 })));
        assert!(records.buffer.len() <= 4 * CHUNK);
    }

    #[test]
    fn a_read_error_is_passed_on_after_the_records_before_it() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
        let mut records = Records::new((&b"a\nb"[..]).chain(Broken), b'\n', 10);
        assert_eq!(next(&mut records).unwrap(), Some(b"a".to_vec()));
        assert!(matches!(next(&mut records), Err(RecordError::Read(_))));
    }
}
