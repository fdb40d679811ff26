//! Who answered: the three headers that every Ringtail answer bears.

use ringtail_core::topology::Token;
use uuid::Uuid;

use crate::error::IdentityMismatch;
use crate::http::Headers;

/// A node by UUID, and its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) cluster: Uuid,
    pub(crate) node: Uuid,
}

/// What an answer says of its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bearing {
    pub(crate) cluster: Option<Uuid>,
    pub(crate) node: Option<Uuid>,
    pub(crate) token: Option<Token>,
}

impl Bearing {
    pub(crate) fn of(headers: &Headers) -> Self {
        fn header<T: std::str::FromStr>(headers: &Headers, name: &str) -> Option<T> {
            // The last: a value with line ends in it, stored by Protocol Buffers, may show another
            // one before it, and Riak's heads are in the order of their names.
            let value = headers.all(name).last()?;
            std::str::from_utf8(value).ok()?.trim().parse().ok()
        }
        Self {
            cluster: header(headers, "X-Ringtail-Cluster"),
            node: header(headers, "X-Ringtail-Node"),
            token: header(headers, "X-Ringtail-Topology"),
        }
    }

    /// The sender; nothing where Ringtail does not run.
    pub(crate) fn identity(&self) -> Option<Identity> {
        Some(Identity { cluster: self.cluster?, node: self.node? })
    }

    /// Makes sure that it is the one expected.
    pub(crate) fn check(
        &self,
        expected: Identity,
        address: &str,
    ) -> Result<(), Box<IdentityMismatch>> {
        if self.identity() == Some(expected) {
            return Ok(());
        }
        Err(Box::new(IdentityMismatch {
            address: address.to_owned(),
            expected: expected.node,
            cluster: expected.cluster,
            found_node: self.node,
            found_cluster: self.cluster,
        }))
    }
}
