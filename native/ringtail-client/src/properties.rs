//! The properties of buckets that decide where objects live, as Riak tells them, and a cache of them.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use hashbrown::{DefaultHashBuilder, Equivalent, HashMap};
use ringtail_core::{Keyfun, KeyfunError, NVal};

/// What a bucket's properties say of its objects' places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketProperties {
    /// How many primaries a key has.
    pub n_val: NVal,
    /// What is hashed; a function of the cluster's own by its name.
    pub keyfun: Result<Keyfun, String>,
}

impl BucketProperties {
    /// From Riak's JSON.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, String> {
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
        let Document { props } = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let Function { r#mod: module, fun } = props.chash_keyfun;
        // A function of the same name in a module of one's own is another function.
        let keyfun = match module.as_str() {
            "riak_core_util" => fun.parse::<Keyfun>().map_err(|KeyfunError::Custom { name }| name),
            _ => Err(fun),
        };
        Ok(Self {
            n_val: NVal::new(props.n_val).map_err(|error| error.to_string())?,
            keyfun: keyfun.map_err(|fun| format!("{module}:{fun}")),
        })
    }
}

/// Properties by bucket, believed for a while.
#[derive(Debug)]
pub(crate) struct PropertyCache {
    shards: [RwLock<HashMap<Bucket, Entry>>; SHARDS],
    hasher: DefaultHashBuilder,
    ttl: Duration,
}

const SHARDS: usize = 16;
/// Buckets kept a shard. Whoever uses more than this pays with questions, not with memory.
const SHARD_LIMIT: usize = 4096;

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

impl Equivalent<Bucket> for BucketRef<'_> {
    fn equivalent(&self, key: &Bucket) -> bool {
        self.bucket_type == key.bucket_type && self.bucket == key.bucket
    }
}

#[derive(Debug)]
struct Entry {
    properties: Arc<BucketProperties>,
    until: Instant,
}

impl PropertyCache {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { shards: Default::default(), hasher: DefaultHashBuilder::default(), ttl }
    }

    pub(crate) fn get(
        &self,
        bucket_type: &[u8],
        bucket: &[u8],
        now: Instant,
    ) -> Option<Arc<BucketProperties>> {
        let key = BucketRef { bucket_type, bucket };
        let shard = self.shard(&key).read().unwrap_or_else(PoisonError::into_inner);
        shard.get(&key).filter(|entry| now < entry.until).map(|entry| Arc::clone(&entry.properties))
    }

    pub(crate) fn put(
        &self,
        bucket_type: &[u8],
        bucket: &[u8],
        properties: Arc<BucketProperties>,
        now: Instant,
    ) {
        let key = BucketRef { bucket_type, bucket };
        let mut shard = self.shard(&key).write().unwrap_or_else(PoisonError::into_inner);
        if shard.len() >= SHARD_LIMIT {
            shard.retain(|_, entry| now < entry.until);
            if shard.len() >= SHARD_LIMIT {
                shard.clear();
            }
        }
        let key = Bucket { bucket_type: bucket_type.to_vec(), bucket: bucket.to_vec() };
        shard.insert(key, Entry { properties, until: now + self.ttl });
    }

    /// Forgets a bucket.
    pub(crate) fn drop(&self, bucket_type: &[u8], bucket: &[u8]) {
        let key = BucketRef { bucket_type, bucket };
        self.shard(&key).write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    fn shard(&self, key: &BucketRef<'_>) -> &RwLock<HashMap<Bucket, Entry>> {
        let mut hasher = self.hasher.build_hasher();
        key.hash(&mut hasher);
        // The high bits: the map inside uses the low ones.
        &self.shards[(hasher.finish() >> 32) as usize % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyfun(module: &str, fun: &str) -> Result<Keyfun, String> {
        let json =
            format!(r#"{{"props":{{"n_val":3,"x":[],"chash_keyfun":{{"mod":"{module}","fun":"{fun}"}}}}}}"#);
        BucketProperties::parse(json.as_bytes()).unwrap().keyfun
    }

    #[test]
    fn keyfuns() {
        assert_eq!(keyfun("riak_core_util", "chash_std_keyfun"), Ok(Keyfun::Std));
        assert_eq!(keyfun("riak_core_util", "chash_bucketonly_keyfun"), Ok(Keyfun::BucketOnly));
        assert_eq!(keyfun("mine", "chash_std_keyfun"), Err("mine:chash_std_keyfun".into()), "never guessed");
        assert_eq!(keyfun("riak_core_util", "other"), Err("riak_core_util:other".into()));
        assert!(BucketProperties::parse(b"<html>").is_err());
        assert!(
            BucketProperties::parse(br#"{"props":{"n_val":0,"chash_keyfun":{"mod":"a","fun":"b"}}}"#)
                .is_err()
        );
    }

    #[test]
    fn properties_are_forgotten_in_time_or_when_told() {
        let cache = PropertyCache::new(Duration::from_secs(60));
        let now = Instant::now();
        let properties = Arc::new(BucketProperties { n_val: NVal::new(3).unwrap(), keyfun: Ok(Keyfun::Std) });
        cache.put(b"t", b"b", Arc::clone(&properties), now);
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
        let properties = Arc::new(BucketProperties { n_val: NVal::new(3).unwrap(), keyfun: Ok(Keyfun::Std) });
        for at in 0..2 * SHARDS * SHARD_LIMIT {
            cache.put(b"t", &at.to_be_bytes(), Arc::clone(&properties), now);
        }
        let kept: usize = cache.shards.iter().map(|shard| shard.read().unwrap().len()).sum();
        assert!(kept <= SHARDS * SHARD_LIMIT, "{kept}");
    }
}
