//! Partitions and their owners as a JSON object.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::Index;

/// Index to owner, a JSON object in ring order; indices are decimal strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerMap(pub Vec<(Index, Uuid)>);

impl Serialize for OwnerMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (index, owner) in &self.0 {
            map.serialize_entry(index, owner)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for OwnerMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = OwnerMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of partition index to node UUID")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OwnerMap, A::Error> {
                let mut owners = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    owners.push(entry);
                }
                Ok(OwnerMap(owners))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
