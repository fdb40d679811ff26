//! Counters, readable at any time.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: AtomicU64,)* }

        /// What a client has done so far.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats { $($(#[$doc])* pub $name: u64,)* }

        impl Counters {
            pub(crate) fn read(&self) -> Stats {
                Stats { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Object requests answered by the node they were sent to first.
    hits,
    /// Object requests that a node refused as not its own (421).
    misdirections,
    /// Topologies fetched because of a change or a suspicion of one.
    refreshes,
    /// Topologies fetched because the client was idle.
    polls,
    /// Object requests sent again, for whatever reason.
    retries,
    /// Answers that came from another node than expected.
    identity_mismatches,
    /// Older topologies that were offered and not taken.
    older_refused,
    /// Times the client had to go back to its seeds.
    reseeds,
    /// Connections opened.
    connections,
    /// Bucket properties fetched.
    properties_fetched,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
