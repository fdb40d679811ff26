//! The process: its pipes and its end.

use std::fs::File;

/// How the process ends.
pub enum Ending {
    /// The VM closed stdin or no longer reads.
    VmGone,
    /// What came in was no request: who sends it speaks another language.
    Garbage(String),
    /// Something else went wrong.
    Failed(String),
}

/// Ends the process at once, whatever its threads are doing. Nothing here outlives the process that
/// matters.
pub fn exit(ending: Ending) -> ! {
    let (status, message) = match ending {
        Ending::VmGone => (0, None),
        Ending::Garbage(what) => {
            (2, Some(format!("{what}. This command is for the Erlang application, not for typing")))
        }
        Ending::Failed(what) => (1, Some(what)),
    };
    if let Some(message) = message {
        eprintln!("ringtail port: {message}");
    }
    std::process::exit(status)
}

/// Lets a pipe hold as much as the system allows anybody, so that a piece of an object crosses it
/// at one go and not by turns of two programs. What cannot be widened works as well, more slowly.
pub fn widen(pipe: &File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1024 * 1024);
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}
