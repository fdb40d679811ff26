//! Requests passed on as they came, and answers as they come: for a program that is itself asked
//! over HTTP.

use std::time::Duration;

use crate::Client;
use crate::client::{OBJECTS, object_path};
use crate::content::{Content, Source};
use crate::error::Error;
use crate::execute::{Call, Goal};
use crate::http::{is_name, is_value};
use crate::object::{ContentReader, ObjectName};
use crate::retry::Kind;

/// Where a request is passed to.
#[derive(Clone, Copy, Debug)]
pub enum PassTo<'a> {
    /// To a primary of an object, which answers as Riak's object resource does.
    Object(&'a ObjectName),
    /// To any node: what follows `/explore/clusters/UUID` in the path, percent-encoded.
    Document(&'a str),
}

/// A request to be passed on.
#[derive(Clone, Debug)]
pub struct Pass<'a> {
    /// GET, HEAD, PUT, POST or DELETE.
    pub method: &'a str,
    /// Where to.
    pub to: PassTo<'a>,
    /// The query with its question mark, percent-encoded; `timeout` is added to that of an object.
    pub query: &'a str,
    /// Header fields. Those that frame the body, name the host or choose the route are this
    /// client's to set.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The time the request has.
    pub timeout: Duration,
    /// How much of it may be spent on waiting until the cluster can serve the request.
    pub patience: Duration,
}

/// The answer to a request that was passed on.
#[derive(Debug)]
pub struct Passed {
    /// The node that answered.
    pub node: String,
    /// HTTP status.
    pub status: u16,
    /// Header fields as they came.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The length that the answer states, also one to HEAD; without one it comes in chunks.
    pub length: Option<u64>,
    /// The body.
    pub content: ContentReader,
}

impl Client {
    /// Passes a request on, and gives back what was answered, whatever its status. The rules are
    /// those of every request: a node that says it is no primary is not the last word, and a write
    /// is sent again only where it surely did nothing.
    ///
    /// # Errors
    /// Nobody answered, or a request that HTTP cannot carry ([`Error::BadRequest`]: nothing was
    /// sent).
    pub fn pass(&self, request: Pass<'_>, content: Option<Content<'_>>) -> Result<Passed, Error> {
        let (method, kind) = method(request.method)?;
        if !is_target(request.query)
            || !(request.query.is_empty() || request.query.starts_with('?'))
        {
            return Err(Error::BadRequest(format!("{:?} is no query", request.query)));
        }
        let (goal, before_cluster, after_cluster) = match request.to {
            PassTo::Object(name) => {
                name.check()?;
                (Goal::Primary(name), OBJECTS, object_path(name, request.query))
            }
            PassTo::Document(path) if is_target(path) && path.starts_with('/') => {
                (Goal::Any, "/explore/clusters/", format!("{path}{}", request.query))
            }
            PassTo::Document(path) => {
                return Err(Error::BadRequest(format!("{path:?} is no path")));
            }
        };
        let call = Call {
            method,
            kind,
            before_cluster,
            after_cluster,
            fields: self.fields(request.fields)?,
            patience: Some(request.patience),
        };
        let mut source = match content {
            None => Source::None,
            Some(content) => Source::new(content)?,
        };
        let answer = self.shared.execute(goal, &call, &mut source, request.timeout)?;
        let fields = answer
            .head
            .headers
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_vec()))
            .collect();
        let length = match method {
            "HEAD" => {
                answer.head.headers.text("Content-Length").and_then(|text| text.trim().parse().ok())
            }
            _ => answer.body.length(),
        };
        let (node, status) = (answer.node, answer.head.status);
        Ok(Passed { node, status, fields, length, content: ContentReader::new(answer.body) })
    }

    fn fields(&self, given: Vec<(String, Vec<u8>)>) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let mut fields = Vec::with_capacity(given.len());
        for (name, value) in given {
            if !is_name(name.as_bytes()) || !is_value(&value) {
                return Err(Error::BadRequest(format!(
                    "the field {name:?} is none that HTTP can carry"
                )));
            }
            if !self.is_ours(&name) {
                fields.push((name, value));
            }
        }
        Ok(fields)
    }

    fn is_ours(&self, name: &str) -> bool {
        const OURS: [&str; 6] = [
            "Host",
            "Connection",
            "Content-Length",
            "Transfer-Encoding",
            "Expect",
            "X-Ringtail-Route",
        ];
        OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours))
            || (self.shared.config.credentials.is_some()
                && name.eq_ignore_ascii_case("Authorization"))
    }
}

fn method(name: &str) -> Result<(&'static str, Kind), Error> {
    match name {
        "GET" => Ok(("GET", Kind::Read)),
        "HEAD" => Ok(("HEAD", Kind::Read)),
        "PUT" => Ok(("PUT", Kind::Write)),
        "POST" => Ok(("POST", Kind::Write)),
        "DELETE" => Ok(("DELETE", Kind::Write)),
        _ => Err(Error::BadRequest(format!("{name:?} is no method that objects know"))),
    }
}

/// Whether it may stand in a request's first line: printable and without spaces.
fn is_target(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}
