//! Requests about an object go to its primaries.

use ringtail_core::hash_key;

use super::bucket::properties_of;
use super::goal::{Goal, Search, Target};
use crate::error::Error;
use crate::event::Why;
use crate::object::ObjectName;
use crate::shared::Shared;

/// To a primary of an object; where only nodes can tell which those are, to any.
pub(crate) struct PrimaryOf<'a>(pub(crate) &'a ObjectName);

impl Goal for PrimaryOf<'_> {
    fn target(&self, search: Search<'_>) -> Result<Option<Target>, Error> {
        let (shared, name) = (search.shared, self.0);
        let (bucket_type, bucket) = (name.bucket_type(), name.bucket());
        let properties =
            properties_of(shared, bucket_type, bucket, search.deadline, search.patience)?;
        let keyfun = match properties.keyfun {
            Ok(keyfun) => keyfun,
            Err(custom) => return Ok(search.any(Why::CustomKeyfun { name: custom.to_string() })),
        };
        let choice = search.view.choose(
            &hash_key(bucket_type, bucket, name.key(), keyfun),
            properties.n_val,
            shared.config.protocol(),
            |node| shared.pools.is_suspect(node),
            search.excluded,
            search.chance,
        )?;
        let why = Why::Primary { primaries: choice.primaries, up: choice.up };
        Ok(choice.member.map(|place| Target { place, why, left: choice.left }))
    }

    /// With an equal topology it is n_val or keyfun that we know wrongly.
    fn misdirected(&self, shared: &Shared) {
        shared.properties.drop(self.0.bucket_type(), self.0.bucket());
    }
}
