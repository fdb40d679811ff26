//! Stdout: whole frames from many threads.
//!
//! Workers of the slow lane hand their answers to one thread through a bounded queue; it writes as
//! many at once as are there. The reader writes its own answers itself, many at once where many
//! requests came at once, which saves two changes of threads on the way of the shortest requests;
//! so do those who carry out the requests of a cluster. A VM that does not read makes all of them
//! wait; a VM that is gone ends the process.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::process::{Ending, exit, widen};

/// Answers that wait to be written, each at most a frame and few of them large.
const QUEUE: usize = 64;

/// As much is put together for one write.
const BATCH: usize = 256 * 1024;

/// The way out for answers.
#[derive(Clone)]
pub struct Output {
    sink: Arc<Mutex<File>>,
    queue: Sender<Vec<u8>>,
}

impl Output {
    /// Takes stdout, and starts the thread that writes to it.
    pub fn start() -> io::Result<Self> {
        let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        widen(&stdout);
        let sink = Arc::new(Mutex::new(stdout));
        let (queue, waiting) = bounded(QUEUE);
        let output = Self { sink, queue };
        let sink = output.sink.clone();
        thread::Builder::new().name("writer".into()).spawn(move || write_from(&waiting, &sink))?;
        Ok(output)
    }

    /// Writes whole frames; waits until they are written.
    pub fn write(&self, frames: &[u8]) {
        write(&self.sink, frames);
    }

    /// Leaves whole frames to be written; waits only while too much is left already.
    pub fn send(&self, frames: Vec<u8>) {
        // The writer lives as long as the process.
        let _ = self.queue.send(frames);
    }
}

fn write_from(waiting: &Receiver<Vec<u8>>, sink: &Mutex<File>) {
    while let Ok(mut frames) = waiting.recv() {
        while frames.len() < BATCH {
            let Ok(more) = waiting.try_recv() else { break };
            frames.extend_from_slice(&more);
        }
        write(sink, &frames);
    }
}

fn write(sink: &Mutex<File>, frames: &[u8]) {
    let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
    match sink.write_all(frames) {
        Ok(()) => {}
        // Nobody is left to be served.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit(Ending::VmGone),
        Err(error) => exit(Ending::Failed(format!("cannot write to stdout: {error}"))),
    }
}
