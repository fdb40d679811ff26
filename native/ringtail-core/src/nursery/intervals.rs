//! What a cluster serves and holds, and whether it admits a request.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fence::Fence;
use super::interval::Interval;

/// The intervals of one cluster of a nursery, as its ring's metadata carries them.
///
/// Always true: `frozen` is a part of `public`, `public` is a part of `private`, `importing` is a
/// part of `private` that has nothing in common with `public`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
pub struct Intervals {
    epoch: u64,
    fence: Fence,
    public: Interval,
    frozen: Interval,
    private: Interval,
    importing: Interval,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    pub(super) epoch: u64,
    pub(super) fence: Fence,
    pub(super) public: Interval,
    pub(super) frozen: Interval,
    pub(super) private: Interval,
    pub(super) importing: Interval,
}

impl TryFrom<Fields> for Intervals {
    type Error = IntervalsError;

    fn try_from(fields: Fields) -> Result<Intervals, IntervalsError> {
        let Fields { epoch, fence, public, frozen, private, importing } = fields;
        if !private.covers(&public) {
            return Err(IntervalsError::PublicBeyondPrivate { public, private });
        }
        if !public.covers(&frozen) {
            return Err(IntervalsError::FrozenBeyondPublic { frozen, public });
        }
        if !private.covers(&importing) {
            return Err(IntervalsError::ImportingBeyondPrivate { importing, private });
        }
        if public.intersects(&importing) {
            return Err(IntervalsError::ImportingPublic { importing, public });
        }
        Ok(Intervals { epoch, fence, public, frozen, private, importing })
    }
}

/// What a migrating client does to the keys of a cluster, other than reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// Puts an object that comes from the source, or takes out one that the source has no more.
    Import,
    /// Deletes what the cluster serves no more, or never came to serve.
    Erase,
}

impl Intervals {
    /// A cluster that serves these keys, before any migration. A cluster that is new to a nursery
    /// serves [`Interval::EMPTY`].
    pub fn serving(public: Interval) -> Intervals {
        let (private, fence) = (public.clone(), Fence::default());
        let (frozen, importing) = (Interval::EMPTY, Interval::EMPTY);
        Intervals { epoch: 0, fence, public, frozen, private, importing }
    }

    /// Grows with each change.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Who may change them, and under which plan.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// What is served.
    pub fn public(&self) -> &Interval {
        &self.public
    }

    /// The part of it where reads are served and writes are refused for now.
    pub fn frozen(&self) -> &Interval {
        &self.frozen
    }

    /// What data the cluster may contain.
    pub fn private(&self) -> &Interval {
        &self.private
    }

    /// The part of it that takes imports.
    pub fn importing(&self) -> &Interval {
        &self.importing
    }

    /// Whether these are to be believed where others say something else: the greater fence, then
    /// the greater epoch. A change of a fenced client that reaches one member while the fence
    /// reaches another is so undone.
    pub fn is_newer_than(&self, other: &Intervals) -> bool {
        (self.fence, self.epoch) > (other.fence, other.epoch)
    }

    /// Whether a read of the key is admitted.
    pub fn admit_read(&self, key: &[u8]) -> Result<(), Refusal> {
        if self.public.contains(key) { Ok(()) } else { Err(Refusal::OutOfInterval) }
    }

    /// Whether a write of the key is admitted.
    pub fn admit_write(&self, key: &[u8]) -> Result<(), Refusal> {
        self.admit_read(key)?;
        if self.frozen.contains(key) { Err(Refusal::Frozen) } else { Ok(()) }
    }

    /// Whether work on the key is admitted that was ordered under this fence and epoch. Only for
    /// the running plan and only outside of what is served: a late import could raise what has been
    /// deleted since, a late delete could kill what has come back.
    pub fn admit_work(
        &self,
        fence: Fence,
        epoch: u64,
        kind: WorkKind,
        key: &[u8],
    ) -> Result<(), Refusal> {
        let place = match kind {
            WorkKind::Import => self.importing.contains(key),
            WorkKind::Erase => {
                let unserved = self.private.contains(key) && !self.public.contains(key);
                unserved && self.importing.is_empty()
            }
        };
        if fence != self.fence || epoch != self.epoch {
            Err(Refusal::Stale)
        } else if place {
            Ok(())
        } else {
            Err(Refusal::OutOfInterval)
        }
    }

    pub(super) fn fields(&self) -> Fields {
        let Intervals { epoch, fence, public, frozen, private, importing } = self.clone();
        Fields { epoch, fence, public, frozen, private, importing }
    }
}

/// Why a request is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Another cluster serves the key.
    #[error("the key lies outside of what this cluster serves: fetch the routing table again")]
    OutOfInterval,
    /// Writes pause while the key migrates.
    #[error("the key is migrating and takes no writes for a moment: try again")]
    Frozen,
    /// Ordered under a plan or an epoch that is over.
    #[error("the order is of another plan or epoch: look at the keeper and the intervals again")]
    Stale,
}

impl Refusal {
    /// `out_of_interval`, `frozen` or `stale`.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::OutOfInterval => "out_of_interval",
            Refusal::Frozen => "frozen",
            Refusal::Stale => "stale",
        }
    }
}

/// Intervals that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IntervalsError {
    /// Served without being held.
    #[error(
        "public {public} is no part of private {private}: a cluster serves only what it may \
         contain; grow private first"
    )]
    PublicBeyondPrivate {
        /// What would be served.
        public: Interval,
        /// What may be contained.
        private: Interval,
    },
    /// Frozen without being served.
    #[error("frozen {frozen} is no part of public {public}: freeze only what is served")]
    FrozenBeyondPublic {
        /// What would be frozen.
        frozen: Interval,
        /// What is served.
        public: Interval,
    },
    /// Imported where it must not be.
    #[error(
        "importing {importing} is no part of private {private}: a cluster imports only what it may \
         contain; grow private first"
    )]
    ImportingBeyondPrivate {
        /// What would be imported.
        importing: Interval,
        /// What may be contained.
        private: Interval,
    },
    /// Imported where it is served.
    #[error("importing {importing} meets public {public}: import only what is not served yet")]
    ImportingPublic {
        /// What would be imported.
        importing: Interval,
        /// What is served.
        public: Interval,
    },
}

impl IntervalsError {
    /// `public_beyond_private`, `frozen_beyond_public`, `importing_beyond_private` or
    /// `importing_public`.
    pub fn code(&self) -> &'static str {
        match self {
            IntervalsError::PublicBeyondPrivate { .. } => "public_beyond_private",
            IntervalsError::FrozenBeyondPublic { .. } => "frozen_beyond_public",
            IntervalsError::ImportingBeyondPrivate { .. } => "importing_beyond_private",
            IntervalsError::ImportingPublic { .. } => "importing_public",
        }
    }
}
