//! A request passed on to a node: `cluster_request`.
//!
//! `{Handle, Method, Goal, Query, [{Name, Value}], Body, Idle, Ms}`: Idle is how long, in ms, the
//! client may let a piece of its body, or one of the answer, wait.
//!
//! Goal is `{object, Type, Bucket, Key}`, for a primary, or `{document, Path}`, for any node. Body
//! is `none`, a binary, or `{stream, Length | chunked}`: then its pieces come as `{data, Id,
//! Binary}`, as many as `{Id, progress, {more, Count}}` asked for, and `{eof, Id}` ends it.
//!
//! A small answer comes as `{Id, ok, {whole, Status, [{Name, Value}], Length | chunked, Body}}`.
//! Another begins with `{Id, progress, {head, Status, [{Name, Value}], Length | chunked}}`, goes on
//! with `{Id, progress, {data, Binary}}`, no more of them unacknowledged than the window has, and
//! ends with `{Id, ok, done}`.

use std::sync::Arc;
use std::time::Instant;

use ringtail_client::{Content, ObjectName, Pass, PassTo};
use ringtail_core::question;
use ringtail_core::term::Term;
use ringtail_port_codec::answer::Writer;

use super::super::fault::Fault;
use super::super::output::Output;
use super::answering::{Outcome, progress};
use super::pipe::Pipe;
use super::session::{PATIENCE, Session};

/// A request as it came, no longer tied to its frame.
pub struct Job {
    method: String,
    goal: Goal,
    query: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Body,
    deadline: Instant,
}

enum Goal {
    Object(ObjectName),
    Document(String),
}

enum Body {
    None,
    Whole(Vec<u8>),
    Stream(Option<u64>),
}

/// An object's name from three binaries.
pub fn object_name(bucket_type: &Term, bucket: &Term, key: &Term) -> Result<ObjectName, Fault> {
    let name = ObjectName::new(question::bytes(bucket, "bucket")?, question::bytes(key, "key")?);
    Ok(name.of_type(question::bytes(bucket_type, "type")?))
}

impl Job {
    /// Reads the arguments.
    pub fn parse(
        method: &Term,
        goal: &Term,
        query: &Term,
        fields: &Term,
        body: &Term,
        deadline: Instant,
    ) -> Result<Self, Fault> {
        Ok(Self {
            method: question::text(method, "method")?.to_owned(),
            goal: parse_goal(goal)?,
            query: question::text(query, "query")?.to_owned(),
            fields: parse_fields(fields)?,
            body: parse_body(body)?,
            deadline,
        })
    }

    /// Whether it waits for its body, at the pace of whoever sends it.
    pub fn is_upload(&self) -> bool {
        matches!(self.body, Body::Stream(_))
    }

    /// When it must be over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Carries it out. What comes before the last frame goes to `output`.
    pub fn run(
        mut self,
        session: &Session,
        pipe: Arc<Pipe>,
        id: u64,
        output: Output,
    ) -> Result<Outcome, Fault> {
        let client = session.client(self.deadline)?;
        let request = Pass {
            method: &self.method,
            to: match &self.goal {
                Goal::Object(name) => PassTo::Object(name),
                Goal::Document(path) => PassTo::Document(path),
            },
            query: &self.query,
            fields: std::mem::take(&mut self.fields),
            timeout: self.deadline.saturating_duration_since(Instant::now()),
            patience: PATIENCE,
        };
        let passed = match &self.body {
            Body::None => client.pass(request, None),
            Body::Whole(bytes) => client.pass(request, Some(Content::Bytes(bytes))),
            Body::Stream(length) => {
                let ask =
                    |count| output.write(&progress(id, |out| word(out, "more", count as u64)));
                let mut body = pipe.body(ask);
                client.pass(request, Some(Content::Reader(&mut body, *length)))
            }
        };
        Outcome::of(passed?, self.method == "HEAD", pipe, id, output)
    }
}

fn word(out: &mut Writer, word: &str, number: u64) {
    out.tuple(2);
    out.atom(word);
    out.u64(number);
}

fn parse_goal(goal: &Term) -> Result<Goal, Fault> {
    const EXPECTED: Fault =
        Fault::argument("goal", "{object, Type, Bucket, Key} or {document, Path}");
    if let Some([kind, bucket_type, bucket, key]) = goal.tuple()
        && kind.is_atom("object")
    {
        return Ok(Goal::Object(object_name(&bucket_type, &bucket, &key)?));
    }
    match goal.tuple() {
        Some([kind, path]) if kind.is_atom("document") => {
            Ok(Goal::Document(question::text(&path, "path")?.to_owned()))
        }
        _ => Err(EXPECTED),
    }
}

fn parse_fields(fields: &Term) -> Result<Vec<(String, Vec<u8>)>, Fault> {
    const EXPECTED: Fault = Fault::argument("fields", "a list of {Name, Value}");
    fields
        .list()
        .ok_or(EXPECTED)?
        .map(|field| {
            let [name, value] = field.tuple().ok_or(EXPECTED)?;
            Ok((
                question::text(&name, "a field's name")?.to_owned(),
                question::bytes(&value, "a field's value")?.to_vec(),
            ))
        })
        .collect()
}

fn parse_body(body: &Term) -> Result<Body, Fault> {
    const EXPECTED: Fault = Fault::argument("body", "none, a binary or {stream, Length | chunked}");
    if body.is_atom("none") {
        return Ok(Body::None);
    }
    if let Some(bytes) = body.binary() {
        return Ok(Body::Whole(bytes.to_vec()));
    }
    match body.tuple() {
        Some([kind, length]) if kind.is_atom("stream") && length.is_atom("chunked") => {
            Ok(Body::Stream(None))
        }
        Some([kind, length]) if kind.is_atom("stream") => {
            Ok(Body::Stream(Some(length.u64().ok_or(EXPECTED)?)))
        }
        _ => Err(EXPECTED),
    }
}
