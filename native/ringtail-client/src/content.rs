//! What is to be stored: bytes, files, readers.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use crate::error::Error;
use crate::http::SendBody;

/// A reader that can go back.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// The content of an object to be stored.
pub enum Content<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// From here to the end of something that can be read again, such as a file. It is streamed.
    Seekable(&'a mut dyn ReadSeek),
    /// So many bytes from a reader (all there are, without a number). It is streamed, and can be
    /// sent only once: where a node takes a part of it and then refuses, the request fails.
    Reader(&'a mut dyn Read, Option<u64>),
}

impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Seekable(_) => f.write_str("Seekable(..)"),
            Self::Reader(_, length) => write!(f, "Reader(.., {length:?})"),
        }
    }
}

/// From this size on a node is asked whether it wants the content before it is sent.
const ASK_FIRST: u64 = 256 * 1024;
/// What is not larger than this is held in memory.
const HOLD: u64 = 64 * 1024;

/// Content with what is needed to send it more than once.
pub(crate) enum Source<'a> {
    None,
    Bytes(&'a [u8]),
    Held(Vec<u8>),
    Seekable { reader: &'a mut dyn ReadSeek, start: u64, length: u64 },
    Once { reader: Once<'a>, length: Option<u64> },
}

/// A reader that knows whether it was read from.
pub(crate) struct Once<'a> {
    reader: &'a mut dyn Read,
    used: bool,
}

impl Read for Once<'_> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        self.used = true;
        self.reader.read(output)
    }
}

impl<'a> Source<'a> {
    pub(crate) fn new(content: Content<'a>) -> Result<Self, Error> {
        let local = Error::local("cannot read what is to be stored");
        Ok(match content {
            Content::Bytes(bytes) => Self::Bytes(bytes),
            Content::Reader(reader, length) => {
                Self::Once { reader: Once { reader, used: false }, length }
            }
            Content::Seekable(reader) => {
                let start = reader.stream_position().map_err(local)?;
                let end = reader.seek(SeekFrom::End(0)).map_err(local)?;
                reader.seek(SeekFrom::Start(start)).map_err(local)?;
                let length = end.saturating_sub(start);
                if length <= HOLD {
                    let mut held = Vec::with_capacity(HOLD as usize);
                    reader.read_to_end(&mut held).map_err(local)?;
                    Self::Held(held)
                } else {
                    Self::Seekable { reader, start, length }
                }
            }
        })
    }

    /// Whether it can be sent (again).
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::None | Self::Bytes(_) | Self::Held(_) | Self::Seekable { .. } => true,
            Self::Once { reader, .. } => !reader.used,
        }
    }

    /// Whether a node should be asked before it is sent.
    pub(crate) fn ask_first(&self) -> bool {
        match self {
            Self::None | Self::Held(_) => false,
            Self::Bytes(bytes) => bytes.len() as u64 >= ASK_FIRST,
            Self::Seekable { length, .. } => *length >= ASK_FIRST,
            Self::Once { .. } => true,
        }
    }

    /// Ready to be sent from its start.
    pub(crate) fn body(&mut self) -> io::Result<SendBody<'_>> {
        Ok(match self {
            Self::None => SendBody::None,
            Self::Bytes(bytes) => SendBody::Bytes(bytes),
            Self::Held(bytes) => SendBody::Bytes(bytes),
            Self::Seekable { reader, start, length } => {
                reader.seek(SeekFrom::Start(*start))?;
                SendBody::Reader(reader, Some(*length))
            }
            Self::Once { reader, length } => SendBody::Reader(reader, *length),
        })
    }
}
