//! One module per command. Each takes its parsed arguments and writes its answer; what it shows is
//! rendered by pure functions.

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

use std::os::unix::ffi::OsStrExt;

use ringtail_core::{KeyTextError, NVal, Ring, keys as key_bytes};

use crate::args::{Command, PreflistArgs};
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

/// Refuses more primaries than the ring has partitions, before any work is done.
fn check_n(ring: &Ring, n: NVal) -> Result<(), Failure> {
    ring.check_n(n).map_err(|error| Failure::usage(error.code(), format!("--n: {error}")))
}

/// The key of `preflist`. Here and not among clap's parsers, because `--hex` decides how it is
/// read.
fn key(args: &PreflistArgs) -> Result<Vec<u8>, Failure> {
    let text = args.key.as_bytes();
    let key = if args.hex { hex(text) } else { key_bytes::percent_decode(text) };
    key.map_err(|error| Failure::usage(error.code(), format!("--key: {error}")))
}

/// Decodes hexadecimal text; blanks around it, such as a carriage return, are no part of it.
fn hex(text: &[u8]) -> Result<Vec<u8>, KeyTextError> {
    match std::str::from_utf8(text.trim_ascii()) {
        Ok(text) => key_bytes::parse_hex(text),
        Err(error) => Err(KeyTextError::NotHex { at: error.valid_up_to() }),
    }
}
