//! The rings the VM has sent.
//!
//! A ring goes by the digest of its bytes, given by the VM: a digest can never come to mean another
//! ring, whichever of the two programs was restarted in between. Who holds a ring on the Erlang
//! side holds its bytes, too, and sends them again when they are not here. So only the rings in use
//! need to be kept, and nobody has to say when one is no longer wanted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ringtail_core::Ring;

/// Riak has one ring at a time; a migration or a console may have a few more.
const MOST_RINGS: usize = 16;

/// What the VM calls a ring.
pub type Handle = [u8; 20];

struct Held {
    ring: Arc<Ring>,
    last_use: AtomicU64,
}

/// A bounded number of rings; the one unused for longest makes room.
#[derive(Default)]
pub struct Rings {
    held: RwLock<HashMap<Handle, Held>>,
    uses: AtomicU64,
}

impl Rings {
    pub fn get(&self, handle: &Handle) -> Option<Arc<Ring>> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let found = held.get(handle)?;
        found.last_use.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(found.ring.clone())
    }

    pub fn insert(&self, handle: Handle, ring: Ring) {
        let last_use = AtomicU64::new(self.uses.fetch_add(1, Ordering::Relaxed));
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.insert(handle, Held { ring: Arc::new(ring), last_use });
        if held.len() > MOST_RINGS {
            let oldest = held.iter().min_by_key(|(_, ring)| ring.last_use.load(Ordering::Relaxed));
            if let Some(handle) = oldest.map(|(handle, _)| *handle) {
                held.remove(&handle);
            }
        }
    }

    pub fn remove(&self, handle: &Handle) {
        self.held.write().unwrap_or_else(PoisonError::into_inner).remove(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringtail_core::{RingParts, RingSize};

    fn ring() -> Ring {
        let size = RingSize::new(1).unwrap();
        let owners =
            size.positions().map(|position| (size.index_of(position), "n@h".into())).collect();
        Ring::from_parts(RingParts { owners, ..RingParts::default() }).unwrap()
    }

    #[test]
    fn the_ring_unused_for_longest_makes_room() {
        let rings = Rings::default();
        let handle = |n: usize| [n as u8; 20];
        for n in 0..MOST_RINGS {
            rings.insert(handle(n), ring());
        }
        assert!(rings.get(&handle(0)).is_some());
        rings.insert(handle(MOST_RINGS), ring());
        assert!(rings.get(&handle(1)).is_none());
        assert!([0, 2, MOST_RINGS].iter().all(|&n| rings.get(&handle(n)).is_some()));
        rings.remove(&handle(0));
        assert!(rings.get(&handle(0)).is_none());
    }
}
