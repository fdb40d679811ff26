//! The clusters of a nursery, and where each can be found.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::bounded;

/// How many seed addresses a cluster may have.
pub const MAX_SEEDS: usize = 64;
const MAX_NAME_BYTES: usize = 64;
const MAX_URL_BYTES: usize = 512;

macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = ClusterError;

            fn try_from(text: String) -> Result<$name, ClusterError> {
                $check(&text)?;
                Ok($name(text))
            }
        }

        impl FromStr for $name {
            type Err = ClusterError;

            fn from_str(text: &str) -> Result<$name, ClusterError> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(checked: $name) -> String {
                checked.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

checked_text! {
    /// What people call a cluster: 1 to 64 letters, digits, `-`, `_` and `.`.
    ClusterName, check_name
}

checked_text! {
    /// Where a node of a cluster listens: `http://HOST[:PORT]` or `https://HOST[:PORT]`.
    SeedUrl, check_url
}

fn check_name(name: &str) -> Result<(), ClusterError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(fits) {
        Ok(())
    } else {
        Err(ClusterError::Name { name: cut(name) })
    }
}

/// Enough that it can be put into a document or a header; the client that connects parses it.
fn check_url(url: &str) -> Result<(), ClusterError> {
    let authority = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    let authority = authority.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    match authority {
        Some(host) if url.len() <= MAX_URL_BYTES && !host.is_empty() && host.bytes().all(fits) => {
            Ok(())
        }
        _ => Err(ClusterError::Seed { url: cut(url) }),
    }
}

/// As much as an error says of a text that may have any length.
fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

/// A cluster of a nursery: its name, and addresses of some of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields")]
pub struct Cluster {
    name: ClusterName,
    seeds: Vec<SeedUrl>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    name: ClusterName,
    #[serde(deserialize_with = "bounded::list::<MAX_SEEDS, _, _>")]
    seeds: Vec<SeedUrl>,
}

impl TryFrom<Fields> for Cluster {
    type Error = ClusterError;

    fn try_from(fields: Fields) -> Result<Cluster, ClusterError> {
        Cluster::new(fields.name, fields.seeds)
    }
}

impl Cluster {
    /// Refuses a cluster without seeds, or with more than [`MAX_SEEDS`].
    pub fn new(name: ClusterName, seeds: Vec<SeedUrl>) -> Result<Cluster, ClusterError> {
        match seeds.len() {
            0 => Err(ClusterError::NoSeed { name }),
            1..=MAX_SEEDS => Ok(Cluster { name, seeds }),
            _ => Err(ClusterError::TooManySeeds { name }),
        }
    }

    /// Its name.
    pub fn name(&self) -> &ClusterName {
        &self.name
    }

    /// Addresses of some of its nodes, at least one.
    pub fn seeds(&self) -> &[SeedUrl] {
        &self.seeds
    }
}

/// What is no cluster of a nursery.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClusterError {
    /// No name.
    #[error(
        "{name:?} is no cluster name: give 1 to {MAX_NAME_BYTES} letters, digits, -, _ and . only"
    )]
    Name {
        /// How it begins.
        name: String,
    },
    /// No address.
    #[error(
        "{url:?} is no seed address: give http://HOST:PORT or https://HOST:PORT of a node, at most \
         {MAX_URL_BYTES} bytes, without a path"
    )]
    Seed {
        /// How it begins.
        url: String,
    },
    /// Nobody could find it.
    #[error("cluster {name} has no seed address: give http://HOST:PORT of one of its nodes")]
    NoSeed {
        /// The cluster.
        name: ClusterName,
    },
    /// More addresses than anybody would try.
    #[error("cluster {name} has more than {MAX_SEEDS} seed addresses: a few of its nodes suffice")]
    TooManySeeds {
        /// The cluster.
        name: ClusterName,
    },
}

impl ClusterError {
    /// `bad_cluster_name`, `bad_seed`, `no_seed` or `too_many_seeds`.
    pub fn code(&self) -> &'static str {
        match self {
            ClusterError::Name { .. } => "bad_cluster_name",
            ClusterError::Seed { .. } => "bad_seed",
            ClusterError::NoSeed { .. } => "no_seed",
            ClusterError::TooManySeeds { .. } => "too_many_seeds",
        }
    }
}
