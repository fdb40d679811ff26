//! The answer to a request, on its way to the VM.
//!
//! A small one is a single frame. Of a larger one the window is sent at once; what then has to wait
//! for a client that takes it is work for others than those who carry out requests, for clients may
//! be slow.

use std::io::{self, Read};
use std::sync::Arc;

use ringtail_client::Passed;
use ringtail_port_codec::answer::{self, Writer};

use super::super::fault::Fault;
use super::super::output::Output;
use super::pipe::{Broken, PIECE, Pipe};

/// What is not larger is answered in one frame.
const SMALL: u64 = 64 * 1024;

/// What there is to do about an answer.
pub enum Outcome {
    /// Its only frame is to be written.
    Whole(Box<Passed>, Vec<u8>),
    /// All of it was written.
    Done,
    /// The client has not taken what was written.
    Waiting(Box<Download>),
}

/// An answer that goes out in pieces.
pub struct Download {
    passed: Passed,
    pipe: Arc<Pipe>,
    id: u64,
    output: Output,
    /// A frame with the next piece in it, which is read to where it is written from.
    frame: Vec<u8>,
    /// Where the piece begins in it, and how much of it there is.
    start: usize,
    length: usize,
}

impl Outcome {
    /// Begins with an answer.
    pub fn of(
        passed: Passed,
        is_head: bool,
        pipe: Arc<Pipe>,
        id: u64,
        output: Output,
    ) -> Result<Self, Fault> {
        let mut passed = Box::new(passed);
        let length = passed.length.filter(|_| !is_head);
        if is_head || length.is_some_and(|length| length <= SMALL) {
            let mut body =
                Vec::with_capacity(length.map_or(0, |length| length.min(SMALL) as usize));
            passed.content.read_to_end(&mut body).map_err(Fault::BrokenOff)?;
            return Ok(Self::Whole(passed, body));
        }
        output.write(&progress(id, |out| {
            out.tuple(4);
            out.atom("head");
            head(out, &passed);
        }));
        let mut frame = Vec::new();
        answer::binary_progress(&mut frame, id, "data", PIECE);
        let start = frame.len();
        frame.resize(start + PIECE, 0);
        let mut download = Download { passed: *passed, pipe, id, output, frame, start, length: 0 };
        while download.read()? {
            if !download.pipe.leave().map_err(broken)? {
                return Ok(Self::Waiting(Box::new(download)));
            }
            download.write();
        }
        Ok(Self::Done)
    }
}

impl Download {
    /// Sends all that is left, as fast as it is taken.
    pub fn finish(mut self) -> Result<(), Fault> {
        loop {
            self.pipe.await_leave().map_err(broken)?;
            self.write();
            if !self.read()? {
                return Ok(());
            }
        }
    }

    /// Reads the next piece, if there is one.
    fn read(&mut self) -> Result<bool, Fault> {
        self.length = fill(&mut self.passed.content, &mut self.frame[self.start..])
            .map_err(Fault::BrokenOff)?;
        Ok(self.length > 0)
    }

    fn write(&mut self) {
        if self.length < PIECE {
            // As long as the one for a whole piece.
            let mut head = Vec::with_capacity(self.start);
            answer::binary_progress(&mut head, self.id, "data", self.length);
            self.frame[..self.start].copy_from_slice(&head);
        }
        self.output.write(&self.frame[..self.start + self.length]);
    }
}

fn broken(broken: Broken) -> Fault {
    match broken {
        Broken::TimedOut | Broken::Stalled => Fault::BrokenOff(broken.error()),
        Broken::Cancelled | Broken::Overrun => Fault::Cancelled,
    }
}

/// An answer in one frame.
pub fn whole(out: &mut Writer, passed: &Passed, body: &[u8]) {
    out.tuple(5);
    out.atom("whole");
    head(out, passed);
    out.binary(body);
}

/// Status, fields and length: three terms.
fn head(out: &mut Writer, passed: &Passed) {
    out.u64(u64::from(passed.status));
    let fields = passed.fields.iter();
    let Ok(()) = out.list(fields, |out, (name, value)| {
        out.tuple(2);
        out.binary(name.as_bytes());
        out.binary(value);
        Ok::<(), std::convert::Infallible>(())
    });
    match passed.length {
        Some(length) => out.u64(length),
        None => out.atom("chunked"),
    }
}

/// A frame on the way to the end.
pub fn progress(id: u64, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut frame = Vec::new();
    answer::progress(&mut frame, id, write);
    frame
}

/// As much as fits, or all that is left.
fn fill(reader: &mut impl Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < piece.len() {
        match reader.read(&mut piece[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
