//! The JSON form of a routing table.

use serde::de::Deserializer;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

use super::{MAX_CLUSTERS, RoutingTable, TableError};
use crate::nursery::bounded;
use crate::nursery::cluster::{Cluster, ClusterError, ClusterName, MAX_SEEDS, SeedUrl};
use crate::nursery::key::Key;

#[derive(Serialize)]
struct Written<'t> {
    clusters: Entries<'t>,
}

struct Entries<'t>(&'t RoutingTable);

#[derive(Serialize)]
struct WrittenEntry<'t> {
    begin: Option<&'t Key>,
    name: &'t ClusterName,
    seeds: &'t [SeedUrl],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    #[serde(deserialize_with = "bounded::list::<MAX_CLUSTERS, _, _>")]
    clusters: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(deserialize_with = "Option::deserialize")]
    begin: Option<Key>,
    name: ClusterName,
    #[serde(deserialize_with = "bounded::list::<MAX_SEEDS, _, _>")]
    seeds: Vec<SeedUrl>,
}

impl Serialize for RoutingTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { clusters: Entries(self) }.serialize(serializer)
    }
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Entries(table) = self;
        let mut list = serializer.serialize_seq(Some(table.clusters().len()))?;
        for (place, cluster) in table.clusters().iter().enumerate() {
            let begin = place.checked_sub(1).map(|before| &table.separators()[before]);
            let (name, seeds) = (cluster.name(), cluster.seeds());
            list.serialize_element(&WrittenEntry { begin, name, seeds })?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for RoutingTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Read::deserialize(deserializer)?;
        let mut clusters = Vec::with_capacity(read.clusters.len());
        let mut separators = Vec::with_capacity(read.clusters.len());
        for (place, Entry { begin, name, seeds }) in read.clusters.into_iter().enumerate() {
            if begin.is_none() != (place == 0) {
                return Err(serde::de::Error::custom(TableError::Begin { name }));
            }
            separators.extend(begin);
            let cluster = Cluster::new(name, seeds);
            clusters.push(cluster.map_err(|e: ClusterError| serde::de::Error::custom(e))?);
        }
        RoutingTable::new(clusters, separators).map_err(serde::de::Error::custom)
    }
}
