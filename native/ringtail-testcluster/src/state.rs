//! What all nodes of a cluster share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::layout::Layout;
use crate::ring::Ring;
use crate::store::Store;

pub(crate) struct State {
    pub(crate) layout: Layout,
    pub(crate) ring: Mutex<Ring>,
    pub(crate) store: Mutex<Store>,
}

impl State {
    pub(crate) fn of(layout: Layout) -> Self {
        let ring = Mutex::new(Ring::new(&layout.name, layout.ring_size));
        Self { layout, ring, store: Mutex::default() }
    }
}

/// Whatever a thread that panicked has left behind: its test has failed anyway.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
