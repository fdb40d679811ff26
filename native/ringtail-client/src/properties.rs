//! The properties of buckets that decide where objects live, as Riak tells them, and a cache of
//! them.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use hashbrown::{DefaultHashBuilder, Equivalent, HashMap};
use ringtail_core::{Keyfun, KeyfunError, NVal};

use crate::error::PropertiesFault;

/// What a bucket's properties say of its objects' places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketProperties {
    /// How many primaries a key has.
    pub n_val: NVal,
    /// What is hashed; a function of the cluster's own by its name.
    pub keyfun: Result<Keyfun, Arc<str>>,
}

impl BucketProperties {
    /// From Riak's JSON.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, PropertiesFault> {
        #[derive(serde::Deserialize)]
        struct Document {
            props: Props,
        }
        #[derive(serde::Deserialize)]
        struct Props {
            n_val: u32,
            chash_keyfun: Function,
        }
        #[derive(serde::Deserialize)]
        struct Function {
            r#mod: String,
            fun: String,
        }
        let Document { props } = serde_json::from_slice(json).map_err(PropertiesFault::NoJson)?;
        let Function { r#mod: module, fun } = props.chash_keyfun;
        // A function of the same name in a module of one's own is another function.
        let keyfun = match module.as_str() {
            "riak_core_util" => fun.parse::<Keyfun>().map_err(|KeyfunError::Custom { name }| name),
            _ => Err(fun),
        };
        Ok(Self {
            n_val: NVal::new(props.n_val).map_err(PropertiesFault::NVal)?,
            keyfun: keyfun.map_err(|fun| format!("{module}:{fun}").into()),
        })
    }
}

/// Properties by bucket, believed for a while. Read with every request and written once a minute
/// and bucket: readers take no lock and share no counter, writers copy a shard.
#[derive(Debug)]
pub(crate) struct PropertyCache {
    shards: [ArcSwap<Shard>; SHARDS],
    hasher: DefaultHashBuilder,
    ttl: Duration,
}

type Shard = HashMap<Arc<Bucket>, Entry>;

const SHARDS: usize = 64;
/// Buckets kept a shard. Whoever uses more than this pays with questions, not with memory.
const SHARD_LIMIT: usize = 1024;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Bucket {
    bucket_type: Vec<u8>,
    bucket: Vec<u8>,
}

#[derive(Hash)]
struct BucketRef<'a> {
    bucket_type: &'a [u8],
    bucket: &'a [u8],
}

impl Equivalent<Arc<Bucket>> for BucketRef<'_> {
    fn equivalent(&self, key: &Arc<Bucket>) -> bool {
        self.bucket_type == key.bucket_type && self.bucket == key.bucket
    }
}

#[derive(Clone, Debug)]
struct Entry {
    properties: BucketProperties,
    until: Instant,
}

impl PropertyCache {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self {
            shards: std::array::from_fn(|_| ArcSwap::default()),
            hasher: DefaultHashBuilder::default(),
            ttl,
        }
    }

    pub(crate) fn get(
        &self,
        bucket_type: &[u8],
        bucket: &[u8],
        now: Instant,
    ) -> Option<BucketProperties> {
        let key = BucketRef { bucket_type, bucket };
        let shard = self.shard(&key).load();
        shard.get(&key).filter(|entry| now < entry.until).map(|entry| entry.properties.clone())
    }

    pub(crate) fn put(
        &self,
        bucket_type: &[u8],
        bucket: &[u8],
        properties: &BucketProperties,
        now: Instant,
    ) {
        let key = BucketRef { bucket_type, bucket };
        let entry = Entry { properties: properties.clone(), until: now + self.ttl };
        let owned = Arc::new(Bucket { bucket_type: bucket_type.to_vec(), bucket: bucket.to_vec() });
        self.shard(&key).rcu(|shard| {
            let mut shard = Shard::clone(shard);
            if shard.len() >= SHARD_LIMIT {
                shard.retain(|_, entry| now < entry.until);
                if shard.len() >= SHARD_LIMIT {
                    shard.clear();
                }
            }
            shard.insert(Arc::clone(&owned), entry.clone());
            shard
        });
    }

    /// Forgets a bucket.
    pub(crate) fn drop(&self, bucket_type: &[u8], bucket: &[u8]) {
        let key = BucketRef { bucket_type, bucket };
        let shard = self.shard(&key);
        if shard.load().contains_key(&key) {
            shard.rcu(|shard| {
                let mut shard = Shard::clone(shard);
                shard.remove(&key);
                shard
            });
        }
    }

    fn shard(&self, key: &BucketRef<'_>) -> &ArcSwap<Shard> {
        // The high bits: the map inside uses the low ones.
        &self.shards[(self.hasher.hash_one(key) >> 32) as usize % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyfun(module: &str, fun: &str) -> Result<Keyfun, Arc<str>> {
        let json = format!(
            r#"{{"props":{{"n_val":3,"x":[],"chash_keyfun":{{"mod":"{module}","fun":"{fun}"}}}}}}"#
        );
        BucketProperties::parse(json.as_bytes()).unwrap().keyfun
    }

    #[test]
    fn keyfuns() {
        assert_eq!(keyfun("riak_core_util", "chash_std_keyfun"), Ok(Keyfun::Std));
        assert_eq!(keyfun("riak_core_util", "chash_bucketonly_keyfun"), Ok(Keyfun::BucketOnly));
        assert_eq!(
            keyfun("mine", "chash_std_keyfun"),
            Err("mine:chash_std_keyfun".into()),
            "never guessed"
        );
        assert_eq!(keyfun("riak_core_util", "other"), Err("riak_core_util:other".into()));
        assert!(BucketProperties::parse(b"<html>").is_err());
        assert!(
            BucketProperties::parse(
                br#"{"props":{"n_val":0,"chash_keyfun":{"mod":"a","fun":"b"}}}"#
            )
            .is_err()
        );
    }

    #[test]
    fn properties_are_forgotten_in_time_or_when_told() {
        let cache = PropertyCache::new(Duration::from_secs(60));
        let now = Instant::now();
        let properties = BucketProperties { n_val: NVal::new(3).unwrap(), keyfun: Ok(Keyfun::Std) };
        cache.put(b"t", b"b", &properties, now);
        assert!(cache.get(b"t", b"b", now).is_some());
        assert!(cache.get(b"tb", b"", now).is_none());
        assert!(cache.get(b"t", b"b", now + Duration::from_secs(60)).is_none());
        cache.drop(b"t", b"b");
        assert!(cache.get(b"t", b"b", now).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let cache = PropertyCache::new(Duration::from_secs(60));
        let now = Instant::now();
        let properties = BucketProperties { n_val: NVal::new(3).unwrap(), keyfun: Ok(Keyfun::Std) };
        for at in 0..2 * SHARDS * SHARD_LIMIT {
            cache.put(b"t", &at.to_be_bytes(), &properties, now);
        }
        let kept: usize = cache.shards.iter().map(|shard| shard.load().len()).sum();
        assert!(kept <= SHARDS * SHARD_LIMIT, "{kept}");
    }
}
