//! What can go wrong, told so that the reader knows what to do.

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A seed that is no URL of a node.
    #[error("{url:?} is no address of a node: {what}; write http://HOST:PORT or https://HOST:PORT")]
    BadSeed {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A user and a password, but no https to send them over: nothing was sent.
    #[error(
        "user and password go over https only, and {url} is http: give the https URL of a node \
         (listener.https in its riak.conf), or no user. Riak's security wants https as well"
    )]
    InsecureCredentials {
        /// The first http seed.
        url: String,
    },
    /// Certificates or keys that cannot be used.
    #[error("{0}")]
    BadTls(String),
    /// A request that no node would understand: nothing was sent.
    #[error("{0}")]
    BadRequest(String),
    /// A node answered, but not Ringtail.
    #[error(
        "{address} answers, but Ringtail does not run there ({what}). Unpack the \
         Ringtail archive into the node's patches \
         directory and type ringtail:start(). in riak attach"
    )]
    NotRingtail {
        /// Who answered.
        address: String,
        /// What was answered.
        what: String,
    },
    /// An answer that makes no sense.
    #[error("{address} gave an answer that cannot be used: {what}")]
    BadAnswer {
        /// Who answered.
        address: String,
        /// What is wrong with it.
        what: String,
    },
    /// Another node than expected is at an address. Nothing was sent to it.
    #[error("{0}; it was not used")]
    Identity(#[from] IdentityMismatch),
    /// No node could be reached.
    #[error("no node of the cluster can be reached: {}", Tried(.tried))]
    Unreachable {
        /// Every address that was tried, and what came of it.
        tried: Vec<(String, String)>,
    },
    /// The cluster cannot serve the request now.
    #[error("{message}")]
    Unavailable {
        /// What the last node said, or why none could be asked.
        message: String,
        /// When the node says it is worth to try again.
        retry_after: Option<Duration>,
    },
    /// The time for the request ran out.
    #[error("no answer within {}: {last}", Seconds(.after))]
    Timeout {
        /// The time the request had.
        after: Duration,
        /// What was being waited for, or the last failure.
        last: String,
    },
    /// The connection failed after a write went out: it may have been stored, or not. It was not
    /// sent again.
    #[error(
        "the outcome is unknown: {node} was sent the request and gave no answer ({cause}). \
         Read the object before writing again"
    )]
    UnknownOutcome {
        /// The node it was sent to.
        node: String,
        /// What happened to the connection.
        cause: String,
    },
    /// The node refused the request.
    #[error("{node} refused the request with {status}{}: {message}", Coded(.code))]
    Refused {
        /// The node that answered.
        node: String,
        /// HTTP status.
        status: u16,
        /// Ringtail's code for it, where there is one.
        code: Option<String>,
        /// What it said.
        message: String,
    },
    /// There is no such bucket type.
    #[error(
        "the bucket type {0:?} does not exist; create and activate it with riak admin bucket-type"
    )]
    NoBucketType(String),
    /// More primaries than the ring has partitions, or none.
    #[error(transparent)]
    NVal(#[from] ringtail_core::NValError),
    /// Reading what is to be stored, or writing what was fetched, failed on this side.
    #[error("{what}: {cause}")]
    Local {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        cause: std::io::Error,
    },
}

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

impl Error {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSeed { .. } => "bad_seed",
            Self::InsecureCredentials { .. } => "insecure_credentials",
            Self::BadTls(_) => "bad_tls",
            Self::BadRequest(_) => "bad_request",
            Self::NotRingtail { .. } => "not_ringtail",
            Self::BadAnswer { .. } => "bad_answer",
            Self::Identity(_) => "identity_mismatch",
            Self::Unreachable { .. } => "unreachable",
            Self::Unavailable { .. } => "unavailable",
            Self::Timeout { .. } => "timeout",
            Self::UnknownOutcome { .. } => "unknown_outcome",
            Self::Refused { .. } => "refused",
            Self::NoBucketType(_) => "no_bucket_type",
            Self::NVal(error) => error.code(),
            Self::Local { .. } => "local_io",
        }
    }

    /// What it asks of the caller.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::BadSeed { .. }
            | Self::InsecureCredentials { .. }
            | Self::BadTls(_)
            | Self::BadRequest(_)
            | Self::NVal(_) => ErrorKind::Usage,
            Self::NoBucketType(_) => ErrorKind::NotFound,
            Self::Unreachable { .. } | Self::Unavailable { .. } | Self::Timeout { .. } => {
                ErrorKind::Unavailable
            }
            Self::NotRingtail { .. }
            | Self::BadAnswer { .. }
            | Self::Identity(_)
            | Self::UnknownOutcome { .. }
            | Self::Refused { .. }
            | Self::Local { .. } => ErrorKind::Failed,
        }
    }
}

/// Who was expected at an address, and who is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "at {address} answers {} of {}, not node {expected} of cluster {cluster}",
    Known("node", .found_node),
    Known("cluster", .found_cluster)
)]
pub struct IdentityMismatch {
    /// The address connected to.
    pub address: String,
    /// UUID of the node that should be there.
    pub expected: Uuid,
    /// UUID of its cluster.
    pub cluster: Uuid,
    /// Who answered, if it said so.
    pub found_node: Option<Uuid>,
    /// Of which cluster, if it said so.
    pub found_cluster: Option<Uuid>,
}

struct Known<'a>(&'a str, &'a Option<Uuid>);

impl fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(uuid) => write!(f, "{} {uuid}", self.0),
            None => write!(f, "an unknown {}", self.0),
        }
    }
}

struct Tried<'a>(&'a [(String, String)]);

impl fmt::Display for Tried<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (address, why)) in self.0.iter().enumerate() {
            write!(f, "{}{address}: {why}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

struct Coded<'a>(&'a Option<String>);

impl fmt::Display for Coded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |code| write!(f, " {code}"))
    }
}

struct Seconds<'a>(&'a Duration);

impl fmt::Display for Seconds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.as_millis() < 1000 {
            write!(f, "{} ms", self.0.as_millis())
        } else {
            write!(f, "{} s", self.0.as_secs_f64())
        }
    }
}
