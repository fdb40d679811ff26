//! The operations on clusters that the VM is no part of: found by seed URLs, asked through ringtail-client.
//!
//! | arguments | answer |
//! |---|---|
//! | `cluster_open {Handle, [Seed], [{Option, Binary}]}` | `opened`; connects to nothing yet |
//! | `cluster_close {Handle}` | `closed` |
//! | `cluster_topology {Handle, KnownToken, Ms}` | `{Token, Cluster, Node, [Up], same}`, or in place of `same` `{Name, Size, Resizing, Canonical, Preflist, [Member]}` |
//! | `cluster_locate {Handle, Type, Bucket, Key, Ms}` | `{primaries, [{Index, Member, Up}]}`, or `{any, [{undefined, Member, Up}]}` where only nodes can tell |
//! | `cluster_request {Handle, Method, Goal, Query, [{Name, Value}], Body, Ms}` | see [`request`] |
//!
//! Member is `{Name, Uuid, Status, [{http | https | pb, Host, Port}]}`. A handle is the digest of a cluster's configuration,
//! made by the VM; one that is not open here is `no_such_cluster`.

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

use ringtail_core::term::Term;
use ringtail_port_codec::answer::{self, Writer};

use super::arguments as args;
use super::fault::Fault;
use super::lane::Running;
use super::output::Output;
use super::rings::Handle;
use super::server::panic_message;
use crew::Crew;
use pipe::Pipe;
use request::Job;
use session::Session;

/// More than anybody names in a configuration; each costs connections.
const MOST_CLUSTERS: usize = 64;
/// No request takes longer.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How much of its time a request may wait for a cluster that cannot serve it: whoever sent it can wait, too.
const PATIENCE: Duration = Duration::from_secs(1);

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
                    self.sessions.insert(handle, Arc::new(Session::new(options::config(seeds, options)?)));
                }
                done(answers, id, "opened")
            }
            (Operation::Close, [handle]) => {
                self.sessions.remove(&handle_of(handle)?);
                done(answers, id, "closed")
            }
            (Operation::Topology, [handle, known, time]) => {
                let session = self.session(handle)?;
                let known = args::text(known, "token")?.to_owned();
                let deadline = deadline(time)?;
                let asked = Arc::clone(&session);
                self.begin(id, &session.watch, move |out| documents::topology(&asked, &known, deadline, out))
            }
            (Operation::Locate, [handle, bucket_type, bucket, key, time]) => {
                let session = self.session(handle)?;
                let name = request::object_name(bucket_type, bucket, key)?;
                let deadline = deadline(time)?;
                let asked = Arc::clone(&session);
                self.begin(id, &session.requests, move |out| documents::locate(&asked, &name, deadline, out))
            }
            (Operation::Request, [handle, method, goal, query, fields, body, time]) => {
                let session = self.session(handle)?;
                let job = Job::parse(method, goal, query, fields, body, deadline(time)?)?;
                let stream = self.streams.list(id, Pipe::new(job.deadline())).ok_or(Fault::IdInUse)?;
                let (asked, output) = (Arc::clone(&session), self.output.clone());
                self.begin(id, &session.requests, move |out| job.run(&asked, &stream.pipe, id, &output, out))
            }
            (_, arguments) => Err(Fault::Arity(arguments.len())),
        }
    }

    /// A frame about the pieces of a request that is under way; of one that is over it does not matter any more.
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
        let cancel = self.running.begin(id).ok_or(Fault::IdInUse)?;
        let (running, output) = (self.running.clone(), self.output.clone());
        let offered = crew.offer(move || {
            let mut frame = Vec::new();
            let performed = catch_unwind(AssertUnwindSafe(|| match cancel.is_cancelled() {
                true => Err(Fault::Cancelled),
                false => answer::ok(&mut frame, id, perform, Fault::AnswerTooLarge),
            }));
            let performed = performed.unwrap_or_else(|panic| Err(Fault::Internal(panic_message(&*panic))));
            if let Err(fault) = performed {
                frame.clear();
                answer::error(&mut frame, id, fault.code(), &fault.detail());
            }
            running.end(id);
            output.write(&frame);
        });
        if offered {
            return Ok(());
        }
        self.running.end(id);
        Err(Fault::Busy("this cluster"))
    }
}

fn handle_of(term: &Term) -> Result<Handle, Fault> {
    let digest = term.binary().and_then(|bytes| bytes.try_into().ok());
    digest.ok_or(Fault::Argument("cluster handle", "a binary of 20 bytes"))
}

fn deadline(time: &Term) -> Result<Instant, Fault> {
    let time = time.u64().ok_or(Fault::Argument("time", "a number of milliseconds"))?;
    Ok(Instant::now() + Duration::from_millis(time).min(LONGEST))
}

fn done(answers: &mut Vec<u8>, id: u64, word: &str) -> Result<(), Fault> {
    let write = |out: &mut Writer| {
        out.atom(word);
        Ok(())
    };
    answer::ok(answers, id, write, Fault::AnswerTooLarge)
}
