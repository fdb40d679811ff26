//! What requests about objects come to.

use super::version::{Object, Siblings, Vclock};
use crate::error::Error;

/// What reading an object comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched<C = Vec<u8>> {
    /// The object.
    Object(Object<C>),
    /// Concurrent versions of it.
    Siblings(Siblings),
    /// There is none.
    NotFound {
        /// That of the tombstone, where there was one until a short while ago.
        deleted: Option<Vclock>,
    },
    /// It is still the one that the condition names.
    NotModified,
}

impl<C> Fetched<C> {
    pub(crate) fn try_map<D>(
        self,
        f: impl FnOnce(C) -> Result<D, Error>,
    ) -> Result<Fetched<D>, Error> {
        Ok(match self {
            Self::Object(Object { content, metadata, vclock, etag, last_modified, deleted }) => {
                Fetched::Object(Object {
                    content: f(content)?,
                    metadata,
                    vclock,
                    etag,
                    last_modified,
                    deleted,
                })
            }
            Self::Siblings(siblings) => Fetched::Siblings(siblings),
            Self::NotFound { deleted } => Fetched::NotFound { deleted },
            Self::NotModified => Fetched::NotModified,
        })
    }
}

/// What storing an object comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It was stored.
    Done,
    /// It was stored; this is it, as `return_body` asked for.
    Object(Box<Object>),
    /// It was stored beside concurrent versions; these are they, as `return_body` asked for.
    Siblings(Siblings),
    /// It was not stored: the condition does not hold.
    PreconditionFailed,
}

/// What deleting an object comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It was deleted.
    Done,
    /// There was none.
    NotFound,
    /// It was not deleted: the condition does not hold.
    PreconditionFailed,
}
