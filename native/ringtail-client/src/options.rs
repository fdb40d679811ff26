//! What can be asked for with a request.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ringtail_core::keys::percent_encode;

use crate::error::Error;
use crate::http::is_value;
use crate::object::Vclock;

/// How many replicas have to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quorum {
    /// One.
    One,
    /// More than half.
    Quorum,
    /// All.
    All,
    /// As the bucket says.
    Default,
    /// So many.
    Count(u32),
}

impl fmt::Display for Quorum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One => f.write_str("one"),
            Self::Quorum => f.write_str("quorum"),
            Self::All => f.write_str("all"),
            Self::Default => f.write_str("default"),
            Self::Count(count) => count.fmt(f),
        }
    }
}

impl FromStr for Quorum {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "one" => Self::One,
            "quorum" => Self::Quorum,
            "all" => Self::All,
            "default" => Self::Default,
            _ => Self::Count(text.parse().map_err(|_| {
                Error::invalid(format!(
                    "{text:?} is no number of replicas: one, quorum, all, default or a number"
                ))
            })?),
        })
    }
}

/// Options of get and head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Replicas that answer.
    pub r: Option<Quorum>,
    /// Primaries that answer. On Ringtail's route one by default.
    pub pr: Option<Quorum>,
    /// Whether a replica without the object counts as an answer.
    pub notfound_ok: Option<bool>,
    /// Give up early once a quorum cannot be had.
    pub basic_quorum: Option<bool>,
    /// Only the sibling of this vtag.
    pub vtag: Option<String>,
    /// Only if the entity tag is another.
    pub if_none_match: Option<String>,
    /// Only if it was stored after this HTTP date.
    pub if_modified_since: Option<String>,
    /// The time the request has, retries included.
    pub timeout: Option<Duration>,
}

/// Options of put and delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The vclock of the version that this write follows.
    pub vclock: Option<Vclock>,
    /// Replicas that take it.
    pub w: Option<Quorum>,
    /// Replicas that have it on disk.
    pub dw: Option<Quorum>,
    /// Primaries that take it. On Ringtail's route one by default.
    pub pw: Option<Quorum>,
    /// Answer what is stored then. (put)
    pub return_body: bool,
    /// Only if the entity tag is this one; `*` for any.
    pub if_match: Option<String>,
    /// Only if the entity tag is another; `*` if there is no object at all.
    pub if_none_match: Option<String>,
    /// Only if it was not stored after this HTTP date.
    pub if_unmodified_since: Option<String>,
    /// The time the request has, retries included.
    pub timeout: Option<Duration>,
}

/// A query under construction.
#[derive(Default)]
pub(crate) struct Query(String);

impl Query {
    fn add(&mut self, name: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            let mark = if self.0.is_empty() { '?' } else { '&' };
            let value = percent_encode(value.to_string().as_bytes());
            self.0.push_str(&format!("{mark}{name}={value}"));
        }
    }

    pub(crate) fn text(self) -> String {
        self.0
    }
}

type Fields = Vec<(String, Vec<u8>)>;

fn condition(
    fields: &mut Fields,
    name: &str,
    value: Option<&String>,
    is_tag: bool,
) -> Result<(), Error> {
    let Some(value) = value else { return Ok(()) };
    if value.is_empty() || !is_value(value.as_bytes()) {
        return Err(Error::invalid(format!("{value:?} is no value that {name} can have")));
    }
    let bare = !is_tag || value == "*" || value.starts_with('"') || value.starts_with("W/");
    fields.push((
        name.to_owned(),
        if bare { value.clone() } else { format!("\"{value}\"") }.into_bytes(),
    ));
    Ok(())
}

impl ReadOptions {
    pub(crate) fn query(&self) -> Query {
        let mut query = Query::default();
        query.add("r", self.r);
        query.add("pr", self.pr);
        query.add("notfound_ok", self.notfound_ok);
        query.add("basic_quorum", self.basic_quorum);
        query.add("vtag", self.vtag.as_ref());
        query
    }

    pub(crate) fn fields(&self) -> Result<Fields, Error> {
        let mut fields = Vec::new();
        // Siblings all at once where there are some; an object of any type where not.
        fields.push(("Accept".to_owned(), b"multipart/mixed, */*;q=0.5".to_vec()));
        condition(&mut fields, "If-None-Match", self.if_none_match.as_ref(), true)?;
        condition(&mut fields, "If-Modified-Since", self.if_modified_since.as_ref(), false)?;
        Ok(fields)
    }
}

impl WriteOptions {
    pub(crate) fn query(&self) -> Query {
        let mut query = Query::default();
        query.add("w", self.w);
        query.add("dw", self.dw);
        query.add("pw", self.pw);
        query.add("returnbody", self.return_body.then_some(true));
        query
    }

    pub(crate) fn fields(&self) -> Result<Fields, Error> {
        let mut fields = Vec::new();
        if let Some(vclock) = &self.vclock {
            condition(&mut fields, "X-Riak-Vclock", Some(&vclock.0), false)?;
        }
        if self.return_body {
            fields.push(("Accept".to_owned(), b"multipart/mixed, */*;q=0.5".to_vec()));
        }
        condition(&mut fields, "If-Match", self.if_match.as_ref(), true)?;
        condition(&mut fields, "If-None-Match", self.if_none_match.as_ref(), true)?;
        condition(&mut fields, "If-Unmodified-Since", self.if_unmodified_since.as_ref(), false)?;
        Ok(fields)
    }
}
