//! Objects as Riak's HTTP interface carries them.

mod fields;
mod multipart;
mod name;
mod outcome;
mod reader;
mod version;

pub(crate) use fields::{object_of, write_metadata};
pub(crate) use multipart::siblings_of;
pub use name::ObjectName;
pub use outcome::{Deleted, Fetched, Stored};
pub use reader::ContentReader;
pub use version::{Link, Metadata, Object, Siblings, Vclock};
