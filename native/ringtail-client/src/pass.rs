//! Requests passed on as they came, and answers as they come: for a program that is itself asked
//! over HTTP.

use std::time::Duration;

use ringtail_core::keys::percent_decode;

use crate::calls::object_path;
use crate::client::Client;
use crate::content::{Content, Source};
use crate::error::Error;
use crate::execute::{AnyNode, Call, Executor, Goal, PrimaryOf};
use crate::hop::{end_to_end, onward};
use crate::http::{AUTHORIZATION, is_name};
use crate::object::{ContentReader, ObjectName};
use crate::paths::Base;
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
    /// The query with its question mark, percent-encoded. A `timeout` in that of an object is no
    /// longer than the time the request has; Riak is told what is left of it.
    pub query: &'a str,
    /// Header fields. Those that frame the body, name the host or choose the route are this
    /// client's to set; what was meant for this hop or speaks of who asked is left out, and
    /// `Authorization` goes over https only.
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
    /// Header fields as they came, but for those that were meant for this hop.
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
    /// Nobody answered, or a request that HTTP cannot carry
    /// ([`RequestError::Invalid`](crate::RequestError::Invalid): nothing was sent).
    pub fn pass(&self, request: Pass<'_>, content: Option<Content<'_>>) -> Result<Passed, Error> {
        let (method, kind) = method(request.method)?;
        if !is_target(request.query)
            || !(request.query.is_empty() || request.query.starts_with('?'))
        {
            return Err(Error::invalid(format!("{:?} is no query", request.query)));
        }
        let (query, own_time) = match request.to {
            PassTo::Object(_) => without_timeout(request.query),
            PassTo::Document(_) => (request.query.to_owned(), None),
        };
        let time = own_time.map_or(request.timeout, |time| time.min(request.timeout));
        let primary;
        let (goal, base, path): (&dyn Goal, _, _) = match request.to {
            PassTo::Object(name) => {
                name.check()?;
                primary = PrimaryOf(name);
                (&primary, Base::Object, object_path(name, &query))
            }
            PassTo::Document(path) if is_target(path) && path.starts_with('/') => {
                (&AnyNode, Base::of_document(path), format!("{path}{query}"))
            }
            PassTo::Document(path) => {
                return Err(Error::invalid(format!("{path:?} is no path")));
            }
        };
        let call = Call {
            method,
            kind,
            base,
            path,
            fields: self.fields(request.fields)?,
            patience: Some(request.patience),
        };
        let mut source = match content {
            None => Source::None,
            Some(content) => Source::new(content)?,
        };
        let answer = Executor::new(&self.shared, goal, &call, time).run(&mut source)?;
        let fields = answer.head.headers.iter();
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
        let fields = end_to_end(fields);
        let length = match method {
            "HEAD" => answer.head.content_length().ok().flatten(),
            _ => answer.body.length(),
        };
        let (node, status) = (answer.node, answer.head.status);
        Ok(Passed { node, status, fields, length, content: ContentReader::new(answer.body) })
    }

    fn fields(&self, given: Vec<(String, Vec<u8>)>) -> Result<Vec<(String, Vec<u8>)>, Error> {
        if let Some((name, _)) =
            given.iter().find(|(name, value)| !is_name(name.as_bytes()) || !is_line(value))
        {
            return Err(Error::invalid(format!("the field {name:?} is none that HTTP can carry")));
        }
        let mut fields = onward(given);
        if self.shared.config.credentials.is_some() {
            fields.retain(|(name, _)| !name.eq_ignore_ascii_case(AUTHORIZATION));
        }
        Ok(fields)
    }
}

fn method(name: &str) -> Result<(&'static str, Kind), Error> {
    match name {
        "GET" => Ok(("GET", Kind::Read)),
        "HEAD" => Ok(("HEAD", Kind::Read)),
        "PUT" => Ok(("PUT", Kind::Write)),
        "POST" => Ok(("POST", Kind::Write)),
        "DELETE" => Ok(("DELETE", Kind::Write)),
        _ => Err(Error::invalid(format!("{name:?} is no method that objects know"))),
    }
}

/// The query without the times in it that we bound, and the shortest of them. What is no number
/// Riak refuses itself.
fn without_timeout(query: &str) -> (String, Option<Duration>) {
    let mut shortest = None;
    let is_kept = |pair: &&str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = percent_decode(name.as_bytes()).unwrap_or_default();
        if name != b"timeout" || value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
            return true;
        }
        let time = Duration::from_millis(value.parse().unwrap_or(u64::MAX));
        shortest = Some(shortest.map_or(time, |known: Duration| known.min(time)));
        false
    };
    let pairs: Vec<&str> = query.trim_start_matches('?').split('&').filter(is_kept).collect();
    let mark = if pairs.iter().all(|pair| pair.is_empty()) { "" } else { "?" };
    (format!("{mark}{}", pairs.join("&")), shortest)
}

/// Whether it stays in its line. Riak stores what else an HTTP server lets through, also control
/// characters that no book of HTTP knows in a field.
fn is_line(value: &[u8]) -> bool {
    !value.iter().any(|byte| b"\r\n".contains(byte))
}

/// Whether it may stand in a request's first line: printable and without spaces.
fn is_target(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_of_a_caller_reaches_riak_unbounded() {
        let ms = |ms| Some(Duration::from_millis(ms));
        for (query, left, time) in [
            ("", "", None),
            ("?timeout=99999999999999999999", "", ms(u64::MAX)),
            ("?timeout=5&r=1&timeout=7", "?r=1", ms(5)),
            ("?r=1&time%6fut=7&pr=2", "?r=1&pr=2", ms(7)),
            ("?timeout=-1", "?timeout=-1", None),
            ("?timeout=&timeouts=5", "?timeout=&timeouts=5", None),
        ] {
            assert_eq!(without_timeout(query), (left.to_owned(), time), "{query}");
        }
    }
}
