//! What errors ask for.

/// What an error asks of the one who gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Correct the request or the configuration.
    Usage,
    /// What was named is not there.
    NotFound,
    /// Try again later.
    Unavailable,
    /// Find out what happened.
    Failed,
}
