//! One connection: sends a request, reads a response.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use super::deadline::Deadline;
use super::head::{RequestHead, ResponseHead};
use super::stream::Stream;

const BUFFER: usize = 16 * 1024;
/// Heads with bodies up to this size go out in one piece.
const ONE_PIECE: usize = 64 * 1024;
/// How long a node is waited for to say whether it wants the body. Older servers say nothing.
const CONTINUE_WAIT: Duration = Duration::from_secs(1);

/// A connection with what was read from it and not yet used.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    /// What was read and not yet used is from `start` to `end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    pub(crate) idle_since: Instant,
}

/// The body of a request.
pub(crate) enum SendBody<'a> {
    None,
    Bytes(&'a [u8]),
    /// So many bytes from a reader; without a number, all of it, in chunks.
    Reader(&'a mut dyn Read, Option<u64>),
}

/// Why no response came.
#[derive(Debug)]
pub(crate) enum SendError {
    /// The connection failed. Whether the request was carried out is unknown.
    Connection(io::Error),
    /// What came back is no HTTP response.
    Protocol(&'static str),
    /// The body could not be read at its source, or has another length than said. The request was
    /// cut off.
    Body(io::Error),
}

impl From<io::Error> for SendError {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl Connection {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, buffer: Vec::new(), start: 0, end: 0, idle_since: Instant::now() }
    }

    /// Sends a request and reads the head of its response. `expect` asks the node before the body
    /// is sent.
    pub(crate) fn exchange(
        &mut self,
        mut head: RequestHead,
        body: SendBody<'_>,
        expect: bool,
        deadline: Deadline,
    ) -> Result<ResponseHead, SendError> {
        match &body {
            SendBody::None => {}
            SendBody::Bytes(bytes) => {
                head.field("Content-Length", bytes.len().to_string().as_bytes())
            }
            SendBody::Reader(_, Some(length)) => {
                head.field("Content-Length", length.to_string().as_bytes())
            }
            SendBody::Reader(_, None) => head.field("Transfer-Encoding", b"chunked"),
        }
        if expect {
            head.field("Expect", b"100-continue");
        }
        let mut bytes = head.finish();
        if let SendBody::Bytes(body) = body
            && !expect
            && body.len() <= ONE_PIECE
        {
            bytes.extend_from_slice(body);
            return match self.stream.write_all(&bytes, deadline) {
                Ok(()) => self.read_head(deadline),
                Err(error) => self.read_refusal(error, deadline),
            };
        }
        if let Err(error) = self.stream.write_all(&bytes, deadline) {
            return self.read_refusal(error, deadline);
        }
        if expect {
            match self.read_interim(deadline.or_after(CONTINUE_WAIT)) {
                Ok(Some(mut refusal)) => {
                    // Who answers before the body may still wait for it: what comes next would be
                    // taken for it.
                    refusal.keep_alive = false;
                    return Ok(refusal);
                }
                Ok(None) => {}
                Err(SendError::Connection(error))
                    if error.kind() == io::ErrorKind::TimedOut && deadline.left().is_some() => {}
                Err(error) => return Err(error),
            }
        }
        match self.send_body(body, deadline) {
            Ok(()) => self.read_head(deadline),
            Err(SendError::Connection(error)) => self.read_refusal(error, deadline),
            Err(error @ (SendError::Protocol(_) | SendError::Body(_))) => Err(error),
        }
    }

    /// A node that refuses may close before it has read everything: what it said is worth more than
    /// our error.
    fn read_refusal(
        &mut self,
        error: io::Error,
        deadline: Deadline,
    ) -> Result<ResponseHead, SendError> {
        match self.read_head(deadline.or_after(CONTINUE_WAIT)) {
            Ok(mut head) => {
                head.keep_alive = false;
                Ok(head)
            }
            Err(_) => Err(SendError::Connection(error)),
        }
    }

    fn send_body(&mut self, body: SendBody<'_>, deadline: Deadline) -> Result<(), SendError> {
        let (reader, length) = match body {
            SendBody::None => return Ok(()),
            SendBody::Bytes(bytes) => return Ok(self.stream.write_all(bytes, deadline)?),
            SendBody::Reader(reader, length) => (reader, length),
        };
        let mut piece = vec![0; ONE_PIECE];
        let mut left = length;
        loop {
            let room = match left {
                Some(left) => piece.len().min(usize::try_from(left).unwrap_or(usize::MAX)),
                None => piece.len(),
            };
            if room == 0 {
                return Ok(());
            }
            let read = match reader.read(&mut piece[..room]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(SendError::Body)?,
            };
            match &mut left {
                Some(left) if read == 0 => {
                    let what =
                        format!("the body ended {left} bytes before the length it was given");
                    return Err(SendError::Body(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        what,
                    )));
                }
                Some(left) => {
                    *left -= read as u64;
                    self.stream.write_all(&piece[..read], deadline)?;
                }
                None if read == 0 => return Ok(self.stream.write_all(b"0\r\n\r\n", deadline)?),
                None => {
                    self.stream.write_all(format!("{read:x}\r\n").as_bytes(), deadline)?;
                    self.stream.write_all(&piece[..read], deadline)?;
                    self.stream.write_all(b"\r\n", deadline)?;
                }
            }
        }
    }

    /// The final answer where one comes at once, nothing where the node wants the body.
    fn read_interim(&mut self, deadline: Deadline) -> Result<Option<ResponseHead>, SendError> {
        loop {
            let head = self.read_any_head(deadline)?;
            match head.status {
                100 => return Ok(None),
                102..=199 => {}
                _ => return Ok(Some(head)),
            }
        }
    }

    /// The head of the response; interim ones are passed over.
    fn read_head(&mut self, deadline: Deadline) -> Result<ResponseHead, SendError> {
        loop {
            let head = self.read_any_head(deadline)?;
            if !(100..200).contains(&head.status) {
                return Ok(head);
            }
        }
    }

    fn read_any_head(&mut self, deadline: Deadline) -> Result<ResponseHead, SendError> {
        let mut looked_at = 0_usize;
        loop {
            // Parsed at first sight, for junk is no HTTP from its first byte on, and then once it
            // has an end: what comes in small pieces is not parsed again with each of them.
            let buffered = self.buffered();
            let worth_it = looked_at == 0
                || buffered.len() >= ResponseHead::LIMIT
                || buffered[looked_at.saturating_sub(3)..]
                    .windows(2)
                    .any(|pair| pair == b"\n\r" || pair == b"\n\n");
            if buffered.len() > looked_at
                && worth_it
                && let Some((head, length)) =
                    ResponseHead::parse(buffered).map_err(SendError::Protocol)?
            {
                self.consume(length);
                return match head.status {
                    101 => Err(SendError::Protocol("a change of protocol that was not asked for")),
                    _ => Ok(head),
                };
            }
            looked_at = self.buffered().len();
            if self.fill(deadline)? == 0 {
                return Err(SendError::Connection(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(super) fn consume(&mut self, length: usize) {
        self.start += length;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads more into the buffer; 0 at the end.
    pub(super) fn fill(&mut self, deadline: Deadline) -> io::Result<usize> {
        if self.buffer.len() - self.end < BUFFER / 2 {
            self.buffer.resize(self.end + BUFFER, 0);
        }
        let read = self.stream.read(&mut self.buffer[self.end..], deadline)?;
        self.end += read;
        Ok(read)
    }

    /// Reads past the buffer, which must be empty.
    pub(super) fn read_direct(
        &mut self,
        output: &mut [u8],
        deadline: Deadline,
    ) -> io::Result<usize> {
        debug_assert!(self.buffered().is_empty());
        self.stream.read(output, deadline)
    }

    /// Whether nothing is left of the last response.
    pub(super) fn is_drained(&self) -> bool {
        self.buffered().is_empty()
    }

    /// An idle connection holds no more than it needs for the next head.
    pub(crate) fn rest(&mut self) {
        self.idle_since = Instant::now();
        self.buffer.truncate(BUFFER);
        self.buffer.shrink_to(BUFFER);
    }

    /// Whether it can carry another request.
    pub(crate) fn is_usable(&self) -> bool {
        self.is_drained() && self.stream.is_quiet()
    }
}
