//! The view at hand.

use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use ringtail_core::topology::Token;

use crate::view::View;

/// Replaced whole by the follower, read by everybody. There is none only until the first topology
/// was told, which is before anybody has the client.
#[derive(Default)]
pub(crate) struct CurrentView(ArcSwapOption<View>);

impl CurrentView {
    pub(crate) fn get(&self) -> Arc<View> {
        self.0.load_full().expect("a client is made only once it has a topology")
    }

    /// For a moment, without counting another reader.
    pub(crate) fn peek(&self) -> Guard<Option<Arc<View>>> {
        self.0.load()
    }

    pub(crate) fn if_any(&self) -> Option<Arc<View>> {
        self.0.load_full()
    }

    pub(crate) fn token(&self) -> Option<Token> {
        self.peek().as_ref().map(|view| view.token())
    }

    pub(crate) fn replace(&self, view: Arc<View>) {
        self.0.store(Some(view));
    }

    /// Takes over who is up, unless the topology has changed since.
    pub(crate) fn seen_up(&self, view: View) {
        let view = Arc::new(view);
        self.0.rcu(|current| match current {
            Some(current) if current.token() == view.token() => Some(Arc::clone(&view)),
            other => other.clone(),
        });
    }
}
