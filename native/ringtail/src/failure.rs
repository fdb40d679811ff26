//! Why a command ended without an answer: an exit status for scripts, a code for programs, a
//! message for people.

use std::io::{self, Write};
use std::process::ExitCode;

use ringtail_client::ErrorKind;

/// Exit statuses of every command (`--help` documents them). Statuses 3 (not found) and 4
/// (unavailable) are kept for answers about objects and nodes: a missing local file is a plain
/// failure, so that a script never takes it for a missing object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command could not do its work.
    Failed = 1,
    /// The command line, or a value on it, makes no sense.
    Usage = 2,
    /// What was asked for is not there.
    NotFound = 3,
    /// The cluster cannot serve it now.
    Unavailable = 4,
}

/// What ended a command early.
#[derive(Debug)]
pub enum Failure {
    /// Something to tell the user.
    Said {
        /// Exit status.
        exit: Exit,
        /// Stable name of what went wrong, in snake case.
        code: &'static str,
        /// What went wrong and how to put it right.
        message: String,
    },
    /// The reader of our output went away (`ringtail keys ... | head`): it had enough, nothing
    /// failed.
    PipeClosed,
}

impl Failure {
    /// The work could not be done.
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::Said { exit: Exit::Failed, code, message: message.into() }
    }

    /// The command line makes no sense.
    pub fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::Said { exit: Exit::Usage, code, message: message.into() }
    }

    /// What was asked for is not there.
    pub fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::Said { exit: Exit::NotFound, code, message: message.into() }
    }

    /// Writing the answer failed.
    pub fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::PipeClosed;
        }
        Self::failed("write_failed", format!("cannot write the output: {error}"))
    }

    /// Tells it on `stderr`, as one line of JSON or as text, and gives the exit status. Nobody can
    /// be told that stderr is closed, so failing to write there is ignored.
    pub fn report(self, json: bool, stderr: &mut dyn Write) -> ExitCode {
        match self {
            Self::PipeClosed => ExitCode::SUCCESS,
            Self::Said { exit, code, message } => {
                let _ = if json {
                    writeln!(stderr, "{}", serde_json::json!({"error": code, "message": message}))
                } else {
                    writeln!(stderr, "error: {message}")
                };
                ExitCode::from(exit as u8)
            }
        }
    }
}

impl From<ringtail_client::Error> for Failure {
    fn from(error: ringtail_client::Error) -> Self {
        let exit = match error.kind() {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::NotFound => Exit::NotFound,
            ErrorKind::Unavailable => Exit::Unavailable,
            ErrorKind::Failed => Exit::Failed,
        };
        Self::Said { exit, code: error.code(), message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_error_is_one_line_with_code_and_message() {
        let mut text = Vec::new();
        let _ = Failure::usage("unknown_node", "no \"x\"\nhere").report(true, &mut text);
        assert_eq!(text.iter().filter(|&&b| b == b'\n').count(), 1);
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"error": "unknown_node", "message": "no \"x\"\nhere"})
        );
    }

    #[test]
    fn a_closed_pipe_is_silent_and_other_write_errors_are_not() {
        assert!(matches!(Failure::output(io::ErrorKind::BrokenPipe.into()), Failure::PipeClosed));
        assert!(matches!(
            Failure::output(io::ErrorKind::StorageFull.into()),
            Failure::Said { exit: Exit::Failed, code: "write_failed", .. }
        ));
    }
}
