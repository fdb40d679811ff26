//! A request for a node, and what comes back.

use std::time::Duration;

use ringtail_core::topology::Endpoint;
use uuid::Uuid;

use crate::error::{Error, ExecutionError};
use crate::http::{BodyReader, ResponseHead};
use crate::paths::{Base, Paths};
use crate::retry::Kind;
use crate::said::{refusal, text_of};

/// A request for a node.
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) kind: Kind,
    pub(crate) base: Base,
    /// What stands after the base, with the query.
    pub(crate) path: String,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    /// How long to wait, all pauses together, for a cluster that cannot serve it now; without a
    /// limit, until the deadline.
    pub(crate) patience: Option<Duration>,
}

impl Call {
    /// A question without header fields of its own.
    pub(crate) fn get(base: Base, path: String, patience: Option<Duration>) -> Self {
        Self { method: "GET", kind: Kind::Read, base, path, fields: Vec::new(), patience }
    }

    pub(super) fn is_riaks(&self) -> bool {
        self.base == Base::Riak
    }

    /// The path and query, with the time that is left for Riak to keep to.
    pub(super) fn target(
        &self,
        paths: &Paths,
        endpoint: &Endpoint,
        cluster: Uuid,
        left: Duration,
    ) -> String {
        let target = paths.target(self.base, endpoint, cluster, &self.path);
        match self.base {
            Base::Riak | Base::Document | Base::Topology => target,
            Base::Object => {
                let mark = if self.path.contains('?') { '&' } else { '?' };
                format!("{target}{mark}timeout={}", left.as_millis().max(1))
            }
        }
    }
}

/// A response whose body is still to be read.
pub(crate) struct Answer {
    pub(crate) node: String,
    pub(crate) head: ResponseHead,
    pub(crate) body: BodyReader,
}

impl Answer {
    /// The text of an error; reading it also lets the connection be used again.
    pub(crate) fn message(&mut self) -> Vec<u8> {
        text_of(&mut self.body)
    }

    /// An answer that nothing else is known to do with.
    pub(crate) fn refusal(mut self) -> Error {
        let text = self.message();
        self.refusal_saying(&text)
    }

    /// The same once its text was read.
    pub(crate) fn refusal_saying(&self, text: &[u8]) -> Error {
        ExecutionError::Refused(refusal(&self.node, self.head.status, text)).into()
    }
}
