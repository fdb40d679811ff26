//! Why a node could not be used. In every case nothing but a question for its topology was sent to
//! it.

use std::fmt;
use std::io;

use rustls::{CertificateError, Error as RustlsError};
use uuid::Uuid;

use super::answer::{BadAnswer, Refusal};

/// Why a node could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// It said nothing.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    /// Another one is at its address.
    #[error(transparent)]
    Identity(#[from] Box<IdentityMismatch>),
    /// It told no topology.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// Why a node said nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoAnswer {
    /// There is no connection.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The connection failed.
    #[error("{0}")]
    Lost(#[source] io::Error),
    /// There is nothing to connect to.
    #[error("its name has no address")]
    NoAddress,
    /// A connection that was greeted carries no request.
    #[error("it closes connections after one request")]
    ClosesConnections,
    /// It does not know its own routes any more.
    #[error("Ringtail does not run there any more; type ringtail:start(). in riak attach")]
    Stopped,
}

/// Why no connection stands.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// Its name.
    #[error("cannot find the address of {host}: {cause}")]
    Resolve {
        /// The name.
        host: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Its socket.
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    /// Its certificate, or ours.
    #[error("no TLS: {}", tls_hint(.0))]
    Tls(#[source] io::Error),
}

/// What a node told in place of its topology.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A node answered, but not Ringtail.
    #[error(
        "{address} answers, but Ringtail does not run there ({what}). Unpack the Ringtail archive \
         into the node's patches directory and type ringtail:start(). in riak attach"
    )]
    NotRingtail {
        /// Who answered.
        address: String,
        /// What was answered.
        what: String,
    },
    /// An answer that makes no sense.
    #[error(transparent)]
    BadAnswer(#[from] BadAnswer),
    /// It refuses to tell.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl TopologyError {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::NotRingtail { .. } => "not_ringtail",
            Self::BadAnswer(_) => "bad_answer",
            Self::Refused(_) => "refused",
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

fn tls_hint(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<RustlsError>());
    let hint = match cause {
        Some(RustlsError::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => "; give the CA that issued the node's certificate (--cacert, Config::ca)",
        Some(RustlsError::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "; the certificate is another host's: connect by a name that it bears",
        Some(RustlsError::InvalidMessage(_)) => "; is that an http listener? Then write http://",
        Some(_) | None => "",
    };
    format!("{error}{hint}")
}
