//! Values of arguments.

use std::error::Error;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use ringtail_core::{NVal, keys};

/// Where a ring comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingSource {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// An address of a node.
    Node(String),
}

impl From<OsString> for RingSource {
    fn from(argument: OsString) -> Self {
        match argument.to_str() {
            Some("-") => Self::Stdin,
            Some(url) if ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) => {
                Self::Node(url.to_owned())
            }
            _ => Self::File(argument.into()),
        }
    }
}

/// Bytes given in percent notation, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

pub fn percent_notation() -> impl TypedValueParser<Value = Bytes> {
    OsStringValueParser::new().try_map(|text| keys::percent_decode(text.as_bytes()).map(Bytes))
}

pub fn n_val(text: &str) -> Result<NVal, Box<dyn Error + Send + Sync>> {
    Ok(NVal::new(text.parse()?)?)
}
