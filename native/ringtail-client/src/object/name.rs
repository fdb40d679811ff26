//! Names of objects.

use crate::error::Error;

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
                return Err(Error::invalid(format!(
                    "the {what} is empty: Riak's HTTP interface cannot name it"
                )));
            }
        }
        Ok(())
    }
}
