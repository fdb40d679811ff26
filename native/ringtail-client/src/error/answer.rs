//! Answers that are of no use.

use std::fmt;
use std::io;

use ringtail_core::NValError;
use ringtail_core::topology::DocumentError;
use uuid::Uuid;

/// An answer that makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{address} gave an answer that cannot be used: {fault}")]
pub struct BadAnswer {
    /// Who answered.
    pub address: String,
    /// What is wrong with it.
    #[source]
    pub fault: AnswerFault,
}

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerFault {
    /// It is no HTTP, or where it ends is not clear.
    #[error("{0}")]
    Http(&'static str),
    /// Webmachine's 404, where Ringtail should be.
    #[error(
        "it has no /explore there: its 'prefixes' leave that out, or Ringtail does not run there \
         any more"
    )]
    NoDocuments,
    /// The connection failed within a topology.
    #[error("its topology breaks off: {0}")]
    TopologyBrokenOff(#[source] io::Error),
    /// What should be a topology is something else.
    #[error("its topology is no JSON of that kind: {cause}{}", if *.html { ", HTML" } else { "" })]
    NoTopology {
        /// Where it is another text.
        #[source]
        cause: serde_json::Error,
        /// Whether it looks like a web page.
        html: bool,
    },
    /// A topology that contradicts itself.
    #[error(transparent)]
    Contradiction(DocumentError),
    /// A topology of another cluster than that of the node.
    #[error("a node of cluster {teller} tells the topology of cluster {told}")]
    OtherCluster {
        /// The cluster of the node, as its headers say.
        teller: Uuid,
        /// That of the topology.
        told: Uuid,
    },
    /// A topology that was left behind already.
    #[error("its topology is older than ours")]
    Older,
    /// Less than what was asked for.
    #[error("it answers a difference where the whole topology was asked for")]
    OnlyDifference,
    /// What should be properties of a bucket.
    #[error("the properties of the bucket: {0}")]
    Properties(#[source] PropertiesFault),
    /// What should be siblings of an object.
    #[error("{0}")]
    Siblings(String),
}

/// What is wrong with the properties of a bucket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PropertiesFault {
    /// The connection failed within them.
    #[error("{0}")]
    BrokenOff(#[source] io::Error),
    /// They are something else.
    #[error("{0}")]
    NoJson(#[source] serde_json::Error),
    /// Their n_val is none.
    #[error("{0}")]
    NVal(#[source] NValError),
}

/// A node refused the request.
#[derive(Debug, thiserror::Error)]
#[error("{node} refused the request with {status}{}: {message}", Coded(.code))]
pub struct Refusal {
    /// The node that answered.
    pub node: String,
    /// HTTP status.
    pub status: u16,
    /// Ringtail's code for it, where there is one.
    pub code: Option<String>,
    /// What it said.
    pub message: String,
}

struct Coded<'a>(&'a Option<String>);

impl fmt::Display for Coded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |code| write!(f, " {code}"))
    }
}
