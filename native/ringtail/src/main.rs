//! The companion executable: parses the command line, runs the command, turns its outcome into an
//! exit status.

mod args;
mod clustersummary;
mod commands;
mod failure;
mod keytext;
mod output;
mod port;
mod records;
mod ringfile;
mod table;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use failure::Failure;
use output::Output;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            return not_parsed(&error, arguments.iter().any(|argument| argument == "--json"));
        }
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(cli.json, &mut io::stderr()),
    }
}

/// Runs the command. What it wrote before it failed is shown, too.
fn run(cli: &Cli) -> Result<(), Failure> {
    let mut out = Output::stdout(cli.json).map_err(Failure::output)?;
    let outcome = commands::run(&cli.command, &mut out);
    let flushed = out.flush().map_err(Failure::output);
    outcome.and(flushed)
}

/// clap's error, which is also how it says `--help` and `--version`.
fn not_parsed(error: &clap::Error, json: bool) -> ExitCode {
    if !error.use_stderr() {
        return match error.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Failure::output(error).report(json, &mut io::stderr()),
        };
    }
    if json {
        let text = error.render().to_string();
        let text = text.split("\n\nFor more information").next().unwrap_or_default().trim();
        let message = text.strip_prefix("error: ").unwrap_or(text).to_owned();
        return Failure::usage(args::error_code(error), message).report(true, &mut io::stderr());
    }
    // Nobody is left to be told if stderr is closed.
    let _ = error.print();
    ExitCode::from(failure::Exit::Usage as u8)
}
