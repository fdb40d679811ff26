//! The operations on clusters that the VM is no part of: found by seed URLs, asked through
//! ringtail-client.
//!
//! | arguments | answer |
//! |---|---|
//! | `cluster_open {Handle, [Seed], [{Option, Binary}]}` | `opened`; connects to nothing yet |
//! | `cluster_close {Handle}` | `closed` |
//! | `cluster_topology {Handle, KnownToken, Ms}` | `{Token, Cluster, Node, [Up], same | New}` |
//! | `cluster_locate {Handle, Type, Bucket, Key, Ms}` | `{primaries, [{Index, Member, Up}]}` |
//! | `cluster_request {Handle, Method, Goal, Query, Headers, Body, Idle, Ms}` | see [`request`] |
//!
//! New is `{Name, Size, Resizing, Canonical, Preflist, [Member]}`. Where only nodes can tell the
//! primaries, all members come as `{any, [{undefined, Member, Up}]}`.
//!
//! Member is `{Name, Uuid, Status, [{http | https | pb, Host, Port}]}`. A handle is the digest of a
//! cluster's configuration, made by the VM; one that is not open here is `no_such_cluster`.

mod answering;
mod crew;
mod documents;
mod options;
mod pipe;
mod request;
mod session;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringtail_core::question;
use ringtail_core::term::Term;
use ringtail_port_codec::answer::{self, Writer};

use super::fault::Fault;
use super::lane::{Cancel, Running};
use super::output::Output;
use super::rings::Handle;
use answering::Outcome;
use crew::Crew;
use pipe::Pipe;
use request::Job;
use session::Session;

/// More than anybody names in a configuration; each costs connections.
const MOST_CLUSTERS: usize = 64;
/// No request takes longer.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What can be asked of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Open,
    Close,
    Topology,
    Locate,
    Request,
}

impl Operation {
    /// The operation of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cluster_open" => Some(Self::Open),
            "cluster_close" => Some(Self::Close),
            "cluster_topology" => Some(Self::Topology),
            "cluster_locate" => Some(Self::Locate),
            "cluster_request" => Some(Self::Request),
            _ => None,
        }
    }
}

/// The clusters that are open, and the requests that are under way in pieces.
pub struct Clusters {
    output: Output,
    running: Running,
    sessions: HashMap<Handle, Arc<Session>>,
    streams: Streams,
}

/// Pipes by the id of their request.
#[derive(Clone, Default)]
struct Streams(Arc<Mutex<HashMap<u64, Arc<Pipe>>>>);

/// A pipe that is found by its id as long as this lives.
struct Stream {
    streams: Streams,
    id: u64,
    pipe: Arc<Pipe>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.streams.lock().remove(&self.id);
    }
}

impl Streams {
    /// None where the id is taken.
    fn list(&self, id: u64, pipe: Pipe) -> Option<Stream> {
        let pipe = Arc::new(pipe);
        match self.lock().entry(id) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(Arc::clone(&pipe)),
        };
        Some(Stream { streams: self.clone(), id, pipe })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Pipe>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clusters {
    /// None is open.
    pub fn new(output: Output, running: Running) -> Self {
        Self { output, running, sessions: HashMap::new(), streams: Streams::default() }
    }

    /// Begins an operation. What is done at once is answered into `answers`.
    pub fn call(
        &mut self,
        id: u64,
        operation: Operation,
        arguments: &[Term],
        answers: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        match (operation, arguments) {
            (Operation::Open, [handle, seeds, options]) => {
                let handle = handle_of(handle)?;
                if !self.sessions.contains_key(&handle) {
                    if self.sessions.len() >= MOST_CLUSTERS {
                        return Err(Fault::Busy("clusters: that many are open already"));
                    }
                    self.sessions
                        .insert(handle, Arc::new(Session::new(options::config(seeds, options)?)));
                }
                answer_word(answers, id, "opened")
            }
            (Operation::Close, [handle]) => {
                self.sessions.remove(&handle_of(handle)?);
                answer_word(answers, id, "closed")
            }
            (Operation::Topology, [handle, known, time]) => {
                let session = self.session(handle)?;
                let known = question::text(known, "token")?.to_owned();
                let deadline = deadline(time)?;
                let asked = Arc::clone(&session);
                self.begin(id, &session.watch, move |out| {
                    documents::topology(&asked, &known, deadline, out)
                })
            }
            (Operation::Locate, [handle, bucket_type, bucket, key, time]) => {
                let session = self.session(handle)?;
                let name = request::object_name(bucket_type, bucket, key)?;
                let deadline = deadline(time)?;
                let asked = Arc::clone(&session);
                self.begin(id, &session.requests, move |out| {
                    documents::locate(&asked, &name, deadline, out)
                })
            }
            (Operation::Request, [handle, method, goal, query, fields, body, idle, time]) => {
                let session = self.session(handle)?;
                let job = Job::parse(method, goal, query, fields, body, deadline(time)?)?;
                self.pass(id, session, job, duration(idle, "idle")?)
            }
            (_, arguments) => Err(Fault::Arity(arguments.len())),
        }
    }

    /// A frame about the pieces of a request that is under way; of one that is over it does not
    /// matter any more.
    pub fn piece(&self, id: u64, tell: impl FnOnce(&Pipe)) {
        let pipe = self.streams.lock().get(&id).cloned();
        if let Some(pipe) = pipe {
            tell(&pipe);
        }
    }

    fn session(&self, handle: &Term) -> Result<Arc<Session>, Fault> {
        self.sessions.get(&handle_of(handle)?).cloned().ok_or(Fault::NoSuchCluster)
    }

    /// Has a crew do it, and the answer sent when it is done.
    fn begin(
        &self,
        id: u64,
        crew: &Crew,
        perform: impl FnOnce(&mut Writer) -> Result<(), Fault> + Send + 'static,
    ) -> Result<(), Fault> {
        let reply = self.reply(id)?;
        let given = reply.clone();
        reply.by(crew, move || given.give(perform))
    }

    /// The same for a request passed on. What waits for a client is left to crews of its own, so
    /// that clients that pause, be they ever so many, keep nobody from being served but each other.
    fn pass(&self, id: u64, session: Arc<Session>, job: Job, idle: Duration) -> Result<(), Fault> {
        let pipe = Pipe::new(job.deadline(), idle);
        let stream = self.streams.list(id, pipe).ok_or(Fault::IdInUse)?;
        let reply = self.reply(id)?;
        let (given, asked) = (reply.clone(), Arc::clone(&session));
        let crew = if job.is_upload() { &session.uploads } else { &session.requests };
        reply.by(crew, move || {
            match job.run(&asked, Arc::clone(&stream.pipe), id, given.output.clone())? {
                Outcome::Whole(passed, body) => given.give(|out| {
                    answering::whole(out, &passed, &body);
                    Ok(())
                }),
                Outcome::Done => given.give(done),
                Outcome::Waiting(download) => given.clone().by(&asked.downloads, move || {
                    // It is found by its id for as long as leave is given to it.
                    let _stream = stream;
                    download.finish()?;
                    given.give(done)
                }),
            }
        })
    }

    fn reply(&self, id: u64) -> Result<Reply, Fault> {
        let cancel = self.running.begin(id).ok_or(Fault::IdInUse)?;
        Ok(Reply { id, cancel, running: self.running.clone(), output: self.output.clone() })
    }
}

/// The last frame of a request: there is one, whatever happens.
#[derive(Clone)]
struct Reply {
    id: u64,
    cancel: Cancel,
    running: Running,
    output: Output,
}

impl Reply {
    /// Has a crew do what ends in [`Reply::give`]. Where it does not, the reply is why.
    fn by(
        self,
        crew: &Crew,
        perform: impl FnOnce() -> Result<(), Fault> + Send + 'static,
    ) -> Result<(), Fault> {
        let (id, running) = (self.id, self.running.clone());
        let offered = crew.offer(move || {
            let performed = catch_unwind(AssertUnwindSafe(|| match self.cancel.is_cancelled() {
                true => Err(Fault::Cancelled),
                false => perform(),
            }));
            let performed = performed.unwrap_or_else(|panic| Err(Fault::of_panic(&*panic)));
            if let Err(fault) = performed {
                let mut frame = Vec::new();
                answer::error(&mut frame, self.id, fault.code(), &fault.detail());
                self.end(&frame);
            }
        });
        if offered {
            return Ok(());
        }
        running.end(id);
        Err(Fault::Busy("this cluster"))
    }

    /// The answer, if it can be written.
    fn give(&self, write: impl FnOnce(&mut Writer) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut frame = Vec::new();
        answer::ok(&mut frame, self.id, write, Fault::AnswerTooLarge)?;
        self.end(&frame);
        Ok(())
    }

    fn end(&self, frame: &[u8]) {
        self.running.end(self.id);
        self.output.write(frame);
    }
}

fn done(out: &mut Writer) -> Result<(), Fault> {
    out.atom("done");
    Ok(())
}

fn handle_of(term: &Term) -> Result<Handle, Fault> {
    let digest = term.binary().and_then(|bytes| bytes.try_into().ok());
    digest.ok_or(Fault::argument("cluster handle", "a binary of 20 bytes"))
}

fn deadline(time: &Term) -> Result<Instant, Fault> {
    Ok(Instant::now() + duration(time, "time")?)
}

fn duration(time: &Term, name: &'static str) -> Result<Duration, Fault> {
    let time = time.u64().ok_or(Fault::argument(name, "a number of milliseconds"))?;
    Ok(Duration::from_millis(time).min(LONGEST))
}

fn answer_word(answers: &mut Vec<u8>, id: u64, word: &str) -> Result<(), Fault> {
    let write = |out: &mut Writer| {
        out.atom(word);
        Ok(())
    };
    answer::ok(answers, id, write, Fault::AnswerTooLarge)
}
