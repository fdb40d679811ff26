//! One module per command. Each takes its parsed arguments and writes its answer; what it shows is
//! rendered by pure functions.

mod checks;
mod delete;
mod get;
mod head;
mod keys;
mod object;
mod preflist;
mod put;
mod remote;
mod ring;
mod topology;

use crate::args::Command;
use crate::failure::Failure;
use crate::output::Output;

/// Runs a command.
pub fn run(command: &Command, out: &mut Output) -> Result<(), Failure> {
    match command {
        Command::Ring(args) => ring::run(args, out),
        Command::Preflist(args) => preflist::run(args, out),
        Command::Keys(args) => keys::run(args, out),
        Command::Topology(args) => topology::run(args, out),
        Command::Get(args) => get::run(args, out),
        Command::Head(args) => head::run(args, out),
        Command::Put(args) => put::run(args, out),
        Command::Delete(args) => delete::run(args, out),
        Command::Port => crate::port::run(),
    }
}
