//! Who is who: UUIDs that any node can work out for any other, and the token that versions a
//! topology.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha1::{Digest as _, Sha1};
use uuid::Uuid;

/// The namespace of all cluster UUIDs. Made once, at random, and never to change: every UUID hangs
/// on it.
const CLUSTERS: Uuid = Uuid::from_u128(0x5b0c_77c1_94b9_4c0b_9e3f_2d6a_c1f0_8e57);

/// The UUID of a cluster: version 5 of the ring's cluster name as Erlang's `~w` prints it.
pub fn cluster_uuid(cluster_name: &str) -> Uuid {
    Uuid::new_v5(&CLUSTERS, cluster_name.as_bytes())
}

/// The UUID of a node: version 5 of its name, in the namespace of its cluster.
///
/// So a node of another cluster that took over an address, even under the same node name, is
/// another node.
pub fn node_uuid(cluster: Uuid, node: &str) -> Uuid {
    Uuid::new_v5(&cluster, node.as_bytes())
}

/// The version of a topology: `ordinal-digest`, for example `4-9f3ac21b77d0e1aa`.
///
/// Equal tokens mean equal topologies. The ordinal never falls while a cluster lives, so it tells
/// an older ring; it may stay the same while the content changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// Sum of the counters of the ring's `rvsn` vclock (of its `vclock` in a legacy ring).
    pub ordinal: u64,
    /// What the canonical form hashes to.
    pub digest: TopologyDigest,
}

/// The first 8 bytes of the SHA-1 of a snapshot's canonical form, shown as 16 lower-case hex
/// digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopologyDigest(u64);

impl TopologyDigest {
    /// The digest of a canonical form.
    pub fn of(canonical: &str) -> Self {
        let hash = Sha1::digest(canonical.as_bytes());
        Self(hash.iter().take(8).fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }
}

impl fmt::Display for TopologyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ordinal, self.digest)
    }
}

/// A text that is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a topology token: {0:?} (a token looks like 4-9f3ac21b77d0e1aa)")]
pub struct TokenError(String);

impl TokenError {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        "bad_token"
    }
}

impl FromStr for Token {
    type Err = TokenError;

    /// Takes exactly what `Display` writes: a token has one spelling, so that texts can be compared
    /// too.
    fn from_str(text: &str) -> Result<Self, TokenError> {
        let refuse = || TokenError(text.chars().take(64).collect());
        let (ordinal, digest) = text.split_once('-').ok_or_else(refuse)?;
        let ordinal = ordinal.parse().map_err(|_| refuse())?;
        let digest = u64::from_str_radix(digest, 16).map_err(|_| refuse())?;
        let token = Self { ordinal, digest: TopologyDigest(digest) };
        if token.to_string() == text { Ok(token) } else { Err(refuse()) }
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_one_spelling() {
        let token: Token = "4-9f3ac21b77d0e1aa".parse().unwrap();
        assert_eq!((token.ordinal, token.to_string()), (4, "4-9f3ac21b77d0e1aa".to_owned()));
        for bad in [
            "",
            "4",
            "-1",
            "4-",
            "-9f3ac21b77d0e1aa",
            "4-9f3ac21b77d0e1a",
            "4-9F3AC21B77D0E1AA",
            "+4-9f3ac21b77d0e1aa",
            "04-9f3ac21b77d0e1aa",
            "4-9f3ac21b77d0e1aa ",
            "99999999999999999999-9f3ac21b77d0e1aa",
        ] {
            assert!(bad.parse::<Token>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn node_uuids_depend_on_the_cluster() {
        let (one, two) = (cluster_uuid("one"), cluster_uuid("two"));
        assert_ne!(node_uuid(one, "riak@10.0.0.1"), node_uuid(two, "riak@10.0.0.1"));
        assert_eq!(node_uuid(one, "riak@10.0.0.1").get_version_num(), 5);
    }
}
