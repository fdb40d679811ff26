//! `ringtail port`: serves an Erlang VM over stdin and stdout.
//!
//! One thread reads. What is done in microseconds it does itself; the rest goes to workers, and
//! where their queue is full the answer is `busy`. A thread of its own waits for stdin to be
//! closed, so that nothing that keeps the reader can keep the process: the VM is gone then, and so
//! is this.

mod clusters;
mod fault;
mod lane;
mod operations;
mod output;
mod process;
mod rings;
mod server;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::thread;

use ringtail_port_codec::Frames;
use rustix::event::{PollFd, PollFlags, poll};

use crate::failure::Failure;
use output::Output;
use process::{Ending, exit, widen};
use server::Server;

/// Serves until stdin is closed.
pub fn run() -> Result<(), Failure> {
    let serve = || -> io::Result<()> {
        let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        widen(&stdin);
        watch(stdin.try_clone()?)?;
        let server = Server::start(Output::start()?)?;
        read(stdin, server)
    };
    match serve() {
        Ok(()) => exit(Ending::VmGone),
        Err(error) => exit(Ending::Failed(error.to_string())),
    }
}

/// Ends the process when the other end of stdin is closed, even while much of what it sent is
/// unread.
fn watch(stdin: File) -> io::Result<()> {
    thread::Builder::new().name("watcher".into()).spawn(move || {
        loop {
            // Without asking for anything: a hang-up is always told.
            let mut waited = [PollFd::new(&stdin, PollFlags::empty())];
            match poll(&mut waited, None) {
                Ok(_) if waited[0].revents().contains(PollFlags::HUP) => exit(Ending::VmGone),
                // A file or another kind of stdin that knows no hang-up: the reader meets its end.
                Ok(_) => return,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    })?;
    Ok(())
}

fn read(mut stdin: File, mut server: Server) -> io::Result<()> {
    let mut frames = Frames::default();
    loop {
        match stdin.read(frames.spare()) {
            Ok(0) => return Ok(()),
            Ok(count) => frames.filled(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        while let Some(received) = frames.next() {
            server.receive(received);
        }
        server.flush();
    }
}
