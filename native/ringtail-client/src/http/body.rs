//! Bodies of responses: a reader that gives the connection back at their end.

use std::io::{self, Read};

use super::connection::Connection;
use super::deadline::Deadline;
use super::framing::Framing;

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
