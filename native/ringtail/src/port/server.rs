//! What becomes of each frame.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use ringtail_core::term::Term;
use ringtail_port_codec::{Received, Request, answer, id_of_head};

use super::clusters::{self, Clusters};
use super::fault::Fault;
use super::lane::{Cancel, Lane, Running};
use super::operations::{Operation, perform};
use super::output::Output;
use super::process::{Ending, exit};
use super::rings::Rings;

/// Requests that wait for a worker.
const WAITING: usize = 256;
const WAITING_BYTES: usize = 128 * 1024 * 1024;

/// Answers of the reader are written when so much has come together, or when no request is left in
/// its buffer.
const BATCH: usize = 256 * 1024;

/// The reader's side of the server.
pub struct Server {
    output: Output,
    rings: Arc<Rings>,
    running: Running,
    /// Work that grows with a ring or a batch.
    slow: Lane<Job>,
    /// Work that waits for other machines.
    clusters: Clusters,
    /// Answers of the reader not written yet.
    answers: Vec<u8>,
}

/// A request on its way to a worker: its frame, because the arguments are views of it.
struct Job {
    id: u64,
    frame: Vec<u8>,
    cancel: Cancel,
}

impl Server {
    /// Starts the workers.
    pub fn start(output: Output) -> io::Result<Self> {
        let rings = Arc::new(Rings::default());
        let running = Running::default();
        let workers = thread::available_parallelism().map_or(2, usize::from).clamp(2, 4);
        let (work_rings, work_output, work_running) =
            (rings.clone(), output.clone(), running.clone());
        let slow = Lane::start("worker", workers, WAITING, WAITING_BYTES, move |job: Job| {
            let mut frame = Vec::new();
            work(&work_rings, &job, &mut frame);
            work_running.end(job.id);
            work_output.send(frame);
        })?;
        let clusters = Clusters::new(output.clone(), running.clone());
        Ok(Self { clusters, output, rings, running, slow, answers: Vec::new() })
    }

    /// Answers a frame, or sees to it that it will be answered.
    pub fn receive(&mut self, received: Received<'_>) {
        match received {
            Received::Frame(frame) => match Request::parse(frame) {
                Ok(Request::Call { id, operation, arguments }) => {
                    self.call(id, &operation, &arguments, frame)
                }
                Ok(Request::Cancel { id }) => {
                    self.running.cancel(id);
                    self.clusters.piece(id, |pipe| pipe.cancel());
                }
                Ok(Request::Ack { id, count }) => self.clusters.piece(id, |pipe| pipe.taken(count)),
                Ok(Request::Data { id, bytes }) => self.clusters.piece(id, |pipe| pipe.data(bytes)),
                Ok(Request::Eof { id }) => self.clusters.piece(id, |pipe| pipe.eof()),
                Err(error) => exit(Ending::Garbage(error.to_string())),
            },
            Received::TooLarge { length, head } => match id_of_head(head) {
                Some(id) => self.refuse(id, &Fault::FrameTooLarge(length)),
                None => exit(Ending::Garbage(format!(
                    "a frame of {length} bytes begins like no request"
                ))),
            },
        }
        if self.answers.len() >= BATCH {
            self.flush();
        }
    }

    /// Writes the answers that were put together.
    pub fn flush(&mut self) {
        if !self.answers.is_empty() {
            self.output.write(&self.answers);
            self.answers.clear();
            self.answers.shrink_to(2 * BATCH);
        }
    }

    fn call(&mut self, id: u64, operation: &str, arguments: &[Term], frame: &[u8]) {
        if let Some(known) = clusters::Operation::named(operation) {
            if let Err(fault) = self.clusters.call(id, known, arguments, &mut self.answers) {
                self.refuse(id, &fault);
            }
            return;
        }
        let Some(known) = Operation::named(operation) else {
            return self.refuse(id, &Fault::UnknownOperation(operation.to_owned()));
        };
        if known.is_quick(arguments, frame.len()) {
            return answer_call(&self.rings, id, known, arguments, &mut self.answers);
        }
        let Some(cancel) = self.running.begin(id) else {
            return self.refuse(id, &Fault::IdInUse);
        };
        let job = Job { id, frame: frame.to_vec(), cancel };
        if self.slow.offer(job, frame.len()).is_err() {
            self.running.end(id);
            self.refuse(id, &Fault::Busy("a worker of the companion"));
        }
    }

    fn refuse(&mut self, id: u64, fault: &Fault) {
        answer::error(&mut self.answers, id, fault.code(), &fault.detail());
    }
}

fn work(rings: &Rings, job: &Job, out: &mut Vec<u8>) {
    if job.cancel.is_cancelled() {
        return answer::error(out, job.id, Fault::Cancelled.code(), &Fault::Cancelled.detail());
    }
    // It was read once to find the worker; the views do not travel, so it is read again.
    if let Ok(Request::Call { id, operation, arguments }) = Request::parse(&job.frame)
        && let Some(known) = Operation::named(&operation)
    {
        answer_call(rings, id, known, &arguments, out);
    }
}

/// Writes the answer of an operation, whatever happens in it.
fn answer_call(
    rings: &Rings,
    id: u64,
    operation: Operation,
    arguments: &[Term],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let performed = catch_unwind(AssertUnwindSafe(|| {
        answer::ok(
            out,
            id,
            |writer| perform(rings, operation, arguments, writer),
            Fault::AnswerTooLarge,
        )
    }));
    let fault = match performed {
        Ok(Ok(())) => return,
        Ok(Err(fault)) => fault,
        Err(panic) => Fault::of_panic(&*panic),
    };
    out.truncate(start);
    answer::error(out, id, fault.code(), &fault.detail());
}
