//! Runs the real executable, each test in a directory of its own.

mod errors;
mod keys;
mod objects;
mod pipes;
mod preflist;
mod ring;
mod support;
mod terminal;
mod topology;
