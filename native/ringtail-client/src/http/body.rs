//! Bodies of responses: where they end, and a reader that gives the connection back there.

use std::io::{self, Read};

use super::{Connection, Deadline};

/// How the end of a body is told, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes are to come.
    Length(u64),
    /// In chunks.
    Chunked(Chunk),
    /// All until the connection closes.
    UntilClose,
}

/// Where in a chunked body we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// In the line that says the length; what of it was read.
    Size(Vec<u8>),
    /// In the chunk; bytes to come.
    Data(u64),
    /// In the line end after the chunk; bytes to come.
    DataEnd(u8),
    /// In the lines after the last chunk; length of the line so far, and how much there may still
    /// be of all of them.
    Trailer(usize, usize),
    /// After it all.
    Done,
}

const LINE_LIMIT: usize = 4096;
const TRAILER_LIMIT: usize = 64 * 1024;

impl Framing {
    pub(crate) fn chunked() -> Self {
        Self::Chunked(Chunk::Size(Vec::new()))
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Done))
    }

    /// Takes from `input` what belongs to the body: how many bytes were consumed, and how many
    /// bytes of content those were, copied to `output`.
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(usize, usize), &'static str> {
        let copy = |input: &[u8], output: &mut [u8], limit: u64| {
            let length =
                input.len().min(output.len()).min(usize::try_from(limit).unwrap_or(usize::MAX));
            output[..length].copy_from_slice(&input[..length]);
            length
        };
        match self {
            Self::UntilClose => {
                let length = copy(input, output, u64::MAX);
                Ok((length, length))
            }
            Self::Length(left) => {
                let length = copy(input, output, *left);
                *left -= length as u64;
                Ok((length, length))
            }
            Self::Chunked(chunk) => {
                let mut consumed = 0;
                while consumed < input.len() {
                    if let Chunk::Data(left) = chunk {
                        let length = copy(&input[consumed..], output, *left);
                        *left -= length as u64;
                        if *left == 0 {
                            *chunk = Chunk::DataEnd(2);
                        }
                        return Ok((consumed + length, length));
                    }
                    if *chunk == Chunk::Done {
                        break;
                    }
                    chunk.byte(input[consumed])?;
                    consumed += 1;
                }
                Ok((consumed, 0))
            }
        }
    }
}

impl Chunk {
    fn byte(&mut self, byte: u8) -> Result<(), &'static str> {
        match self {
            Self::Size(line) if byte == b'\n' => {
                let digits = line.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
                let size = std::str::from_utf8(digits)
                    .ok()
                    .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
                    .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                    .ok_or("a chunk without a length")?;
                *self = if size == 0 { Self::Trailer(0, TRAILER_LIMIT) } else { Self::Data(size) };
            }
            Self::Size(line) if line.len() < LINE_LIMIT => line.push(byte),
            Self::Size(_) => return Err("a chunk without a length"),
            Self::DataEnd(2) if byte == b'\r' => *self = Self::DataEnd(1),
            Self::DataEnd(1) if byte == b'\n' => *self = Self::Size(Vec::new()),
            Self::DataEnd(_) => return Err("a chunk longer than it said"),
            Self::Trailer(0, _) if byte == b'\n' => *self = Self::Done,
            Self::Trailer(_, 0) => return Err("a trailer without an end"),
            Self::Trailer(length, room) => {
                *room -= 1;
                match byte {
                    b'\n' => *length = 0,
                    b'\r' => {}
                    _ => *length += 1,
                }
            }
            Self::Data(_) | Self::Done => {}
        }
        Ok(())
    }
}

/// What becomes of a connection whose response was read to its end.
pub(crate) type GiveBack = Box<dyn FnOnce(Connection) + Send>;

/// Reads the body of a response. At its end the connection goes where it came from; dropped before,
/// it is closed.
pub(crate) struct BodyReader {
    connection: Option<Connection>,
    framing: Framing,
    reusable: bool,
    deadline: Deadline,
    give_back: Option<GiveBack>,
}

impl BodyReader {
    pub(crate) fn new(
        connection: Connection,
        framing: Framing,
        reusable: bool,
        deadline: Deadline,
        give_back: GiveBack,
    ) -> Self {
        let mut reader = Self {
            connection: Some(connection),
            framing,
            reusable,
            deadline,
            give_back: Some(give_back),
        };
        if reader.framing.is_done() {
            reader.end();
        }
        reader
    }

    /// How many bytes are to come, where the response said so.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(left) => Some(left),
            Framing::Chunked(_) | Framing::UntilClose => None,
        }
    }

    /// The whole body.
    ///
    /// # Errors
    /// More than `limit` bytes, or the connection failed.
    pub(crate) fn read_all(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        let too_large =
            || io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} bytes"));
        let expected = self.length().unwrap_or(0);
        if expected > limit {
            return Err(too_large());
        }
        // What a head claims is believed only so far.
        let mut bytes = Vec::with_capacity(expected.min(1024 * 1024) as usize);
        self.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
    }

    fn end(&mut self) {
        if let (Some(connection), Some(give_back)) = (self.connection.take(), self.give_back.take())
            && self.reusable
            && connection.is_drained()
        {
            give_back(connection);
        }
    }
}

impl Read for BodyReader {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        let Some(connection) = &mut self.connection else { return Ok(0) };
        if output.is_empty() {
            return Ok(0);
        }
        loop {
            let invalid = |what: &'static str| io::Error::new(io::ErrorKind::InvalidData, what);
            let (consumed, length) =
                self.framing.take(connection.buffered(), output).map_err(invalid)?;
            connection.consume(consumed);
            if self.framing.is_done() {
                self.end();
                return Ok(length);
            }
            if length > 0 {
                return Ok(length);
            }
            if let Framing::Length(left) = &mut self.framing
                && output.len() >= 16 * 1024
            {
                // Straight to where it is wanted, past our buffer.
                let most = output.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                let length = connection.read_direct(&mut output[..most], self.deadline)?;
                if length == 0 {
                    self.connection = None;
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                *left -= length as u64;
                if *left == 0 {
                    self.end();
                }
                return Ok(length);
            }
            if connection.fill(self.deadline)? == 0 {
                self.connection = None;
                return match self.framing {
                    Framing::UntilClose => Ok(0),
                    Framing::Length(_) | Framing::Chunked(_) => {
                        Err(io::ErrorKind::UnexpectedEof.into())
                    }
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content and what follows it, with the input cut where `cuts` says.
    fn read(
        mut framing: Framing,
        input: &[u8],
        step: usize,
        room: usize,
    ) -> Result<(Vec<u8>, usize), &'static str> {
        let mut content = Vec::new();
        let (mut at, mut end) = (0, 0);
        while !framing.is_done() && (at < end || end < input.len()) {
            end = if at == end { (end + step).min(input.len()) } else { end };
            let mut output = vec![0; room];
            let (consumed, length) = framing.take(&input[at..end], &mut output)?;
            content.extend_from_slice(&output[..length]);
            at += consumed;
        }
        Ok((content, at))
    }

    #[test]
    fn chunks_survive_any_split_of_the_bytes() {
        let body = b"5\r\nhello\r\n00006;x=y\r\n world\r\n0\r\nTrailer: a\r\n\r\nHTTP/1.1 200";
        for step in 1..body.len() {
            for room in [1, 2, 3, 64] {
                let (content, used) = read(Framing::chunked(), body, step, room).unwrap();
                assert_eq!(content, b"hello world");
                assert_eq!(&body[used..], b"HTTP/1.1 200", "nothing of the next response is taken");
            }
        }
    }

    #[test]
    fn broken_chunks_are_refused() {
        for bad in [
            &b"x\r\n"[..],
            b"\r\n",
            b"3\r\nabcd\r\n",
            b"ffffffffffffffffff\r\n",
            b"-1\r\n",
            b"+1\r\na\r\n",
        ] {
            assert!(read(Framing::chunked(), bad, 64, 64).is_err(), "{bad:?}");
        }
        assert!(read(Framing::chunked(), &[b'1'; 2 * LINE_LIMIT], 64, 64).is_err());
        let endless = format!("0\r\n{}", "a: b\r\n".repeat(TRAILER_LIMIT));
        assert!(read(Framing::chunked(), endless.as_bytes(), 64, 64).is_err());
    }
}
