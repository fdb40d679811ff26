//! One version of an object, or several.

use std::fmt;

use crate::error::Error;

/// The causal context of an object: opaque, to be given back with the next write of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Vclock(pub(crate) String);

impl Vclock {
    /// As Riak wrote it (`X-Riak-Vclock`).
    ///
    /// # Errors
    /// Anything that is not base64.
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        let sound = |b: u8| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b);
        if text.is_empty() || !text.bytes().all(sound) {
            return Err(Error::invalid(
                "the vclock is not base64: give it as Riak did in X-Riak-Vclock",
            ));
        }
        Ok(Self(text))
    }

    /// As Riak wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Vclock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vclock({})", self.0)
    }
}

/// What an object bears besides its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Content type, with charset if there is one.
    pub content_type: String,
    /// Content encoding, such as `gzip`. Content is passed on as it is stored.
    pub content_encoding: Option<String>,
    /// User metadata: the names are what follows `X-Riak-Meta-`, as Riak spells them. In what it is
    /// sent by HTTP, the Erlang VM spells short field names (by release, up to 20 or 50 bytes) with
    /// capitals at the start of words, `Like-This`.
    pub user: Vec<(String, Vec<u8>)>,
    /// Secondary indexes: field (`age_int`, `city_bin`) and value, one entry a value.
    pub indexes: Vec<(String, Vec<u8>)>,
    /// Links to other objects.
    pub links: Vec<Link>,
}

impl Metadata {
    /// Of that content type, and nothing else.
    pub fn of_type(content_type: impl Into<String>) -> Self {
        Self { content_type: content_type.into(), ..Self::default() }
    }
}

/// A link to another object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The path of the other object as Riak writes it, percent-encoded: `/buckets/B/keys/K`.
    pub path: String,
    /// The tag, percent-encoded.
    pub tag: String,
}

/// An object, or one of its siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<C = Vec<u8>> {
    /// The content.
    pub content: C,
    /// What it bears besides.
    pub metadata: Metadata,
    /// To be given back with the next write.
    pub vclock: Option<Vclock>,
    /// The entity tag, without quotes; of a sibling, its vtag.
    pub etag: Option<String>,
    /// When it was stored, as an HTTP date.
    pub last_modified: Option<String>,
    /// Whether this is the tombstone of a deleted object.
    pub deleted: bool,
}

/// Concurrent versions of an object. Resolve them by storing one with their vclock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Siblings {
    /// To be given back with the write that resolves them.
    pub vclock: Option<Vclock>,
    /// The versions; none where only their vtags were asked for (head).
    pub siblings: Vec<Object>,
    /// Their vtags, where the node told them apart from the versions.
    pub vtags: Vec<String>,
}
