//! Objects as Riak's HTTP interface carries them.

mod fields;
mod multipart;

use std::fmt;
use std::io::{self, Read};

use crate::error::Error;
use crate::http::BodyReader;

pub(crate) use fields::{object_of, write_metadata};
pub(crate) use multipart::siblings_of;

/// The name of an object: bucket type, bucket, key. All are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName {
    bucket_type: Vec<u8>,
    bucket: Vec<u8>,
    key: Vec<u8>,
}

impl ObjectName {
    /// An object of the bucket type `default`.
    pub fn new(bucket: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self { bucket_type: b"default".to_vec(), bucket: bucket.into(), key: key.into() }
    }

    /// The same bucket and key under another bucket type.
    pub fn of_type(mut self, bucket_type: impl Into<Vec<u8>>) -> Self {
        self.bucket_type = bucket_type.into();
        self
    }

    /// The bucket type.
    pub fn bucket_type(&self) -> &[u8] {
        &self.bucket_type
    }

    /// The bucket.
    pub fn bucket(&self) -> &[u8] {
        &self.bucket
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Riak's HTTP interface has no place for empty names.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (what, bytes) in
            [("bucket type", &self.bucket_type), ("bucket", &self.bucket), ("key", &self.key)]
        {
            if bytes.is_empty() {
                return Err(Error::BadRequest(format!(
                    "the {what} is empty: Riak's HTTP interface cannot name it"
                )));
            }
        }
        Ok(())
    }
}

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
            return Err(Error::BadRequest(
                "the vclock is not base64: give it as Riak did in X-Riak-Vclock".to_owned(),
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

/// The content of an object as it comes in.
pub struct ContentReader {
    body: BodyReader,
    length: Option<u64>,
}

impl ContentReader {
    pub(crate) fn new(body: BodyReader) -> Self {
        Self { length: body.length(), body }
    }

    pub(crate) fn read_all(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        self.body.read_all(limit)
    }

    /// How many bytes the whole content has, where the node said so.
    pub fn length(&self) -> Option<u64> {
        self.length
    }
}

impl Read for ContentReader {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        self.body.read(output)
    }
}

impl fmt::Debug for ContentReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentReader").field("length", &self.length).finish_non_exhaustive()
    }
}
