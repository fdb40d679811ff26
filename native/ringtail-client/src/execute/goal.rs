//! Which nodes may answer a request.

use std::time::Duration;

use uuid::Uuid;

use crate::error::Error;
use crate::event::Why;
use crate::http::Deadline;
use crate::shared::Shared;
use crate::view::View;

/// Who is asked for a node, and what with.
pub(crate) struct Search<'a> {
    pub(super) shared: &'a Shared,
    pub(super) view: &'a View,
    /// Nodes that were tried.
    pub(super) excluded: &'a [Uuid],
    pub(super) deadline: Deadline,
    pub(super) patience: Option<Duration>,
    pub(super) chance: &'a mut fastrand::Rng,
}

/// The node an attempt goes to.
pub(crate) struct Target {
    /// Its place among the members.
    pub(super) place: usize,
    pub(super) why: Why,
    /// How many others there are.
    pub(super) left: usize,
}

/// Where a request goes.
pub(crate) trait Goal {
    /// The node to try; nothing where none is left.
    fn target(&self, search: Search<'_>) -> Result<Option<Target>, Error>;

    /// A node has said that it is not for it to answer.
    fn misdirected(&self, shared: &Shared);
}

/// To any node.
pub(crate) struct AnyNode;

impl Goal for AnyNode {
    fn target(&self, search: Search<'_>) -> Result<Option<Target>, Error> {
        Ok(search.any(Why::Primary { primaries: 0, up: 0 }))
    }

    fn misdirected(&self, _: &Shared) {}
}

impl Search<'_> {
    /// Any node.
    pub(super) fn any(self, why: Why) -> Option<Target> {
        let protocol = self.shared.config.protocol();
        let is_suspect = |node| self.shared.pools.is_suspect(node);
        let asked = self.view.to_ask(protocol, None, is_suspect, self.chance);
        let mut asked = asked
            .into_iter()
            .filter(|&place| !self.excluded.contains(&self.view.member(place).uuid));
        let place = asked.next()?;
        Some(Target { place, why, left: asked.count() })
    }
}
