//! One node: its listener, what it believes, how it misbehaves.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ringtail_core::topology::Token;

use crate::http::{Peer, Request, Response, duplex};
use crate::ring::Published;
use crate::state::{State, lock};

/// How a node misbehaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Not at all.
    #[default]
    None,
    /// It takes this long for every answer.
    Slow(Duration),
    /// It takes this long for answers about objects.
    SlowObjects(Duration),
    /// It knows no Ringtail route, as Riak without Ringtail.
    NoRingtail,
    /// It knows the topology under `/explore` only, as older versions, and closes the connection
    /// after it has said so or not.
    OldPaths {
        /// Whether it closes.
        closes: bool,
    },
    /// Its `prefixes` leave out `/explore`.
    OtherPrefixes,
    /// It answers these bytes to every request for an object, and goes on. The body is read first,
    /// unless the client waits to be asked for it.
    ObjectBytes(Vec<u8>),
    /// It answers these bytes to every question for a topology.
    TopologyBytes(Vec<u8>),
    /// It answers this JSON to every question for a topology, under its own headers.
    TopologyJson(String),
    /// It closes the connection after it has read an object request, without an answer.
    DropObjects,
    /// It answers object requests with this status and body, before it reads their bodies.
    Refuse(u16, String),
    /// It answers object requests with this status, without a body or headers of its own, and
    /// closes the connection with whatever came and was not read.
    RefuseUnread(u16),
    /// It reads this many bytes of an object request's body, then closes.
    DropWithin(usize),
}

/// A request that a node took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Method.
    pub method: String,
    /// Path and query as they came.
    pub target: String,
    /// What was answered; 0 for no answer.
    pub status: u16,
    /// Header fields as they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Bytes of its body that were read.
    pub body: usize,
}

impl Logged {
    /// Whether it was about an object.
    pub fn is_object(&self) -> bool {
        self.target.starts_with("/riak/primary/")
    }

    /// The path and query without the time that was left.
    pub fn target_without_timeout(&self) -> String {
        match self.target.split_once("timeout=") {
            Some((before, _)) => before.trim_end_matches(['?', '&']).to_owned(),
            None => self.target.clone(),
        }
    }
}

pub(crate) struct Node {
    pub(crate) name: String,
    port: u16,
    stopped: Arc<AtomicBool>,
    seen: Mutex<Option<Arc<Published>>>,
    lags: AtomicBool,
    pub(crate) fault: Mutex<Fault>,
    pub(crate) log: Mutex<Vec<Logged>>,
    streams: Mutex<Vec<TcpStream>>,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl Node {
    pub(crate) fn start(name: String, port: u16, state: &Arc<State>) -> Arc<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let node = Arc::new(Self {
            name,
            port,
            stopped: Arc::default(),
            seen: Mutex::default(),
            lags: AtomicBool::default(),
            fault: Mutex::default(),
            log: Mutex::default(),
            streams: Mutex::default(),
            accepting: Mutex::default(),
        });
        let (accepting, state) = (Arc::clone(&node), Arc::downgrade(state));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), Some(state), false) =
                    (stream, state.upgrade(), accepting.stopped.load(Ordering::SeqCst))
                else {
                    return;
                };
                let node = Arc::clone(&accepting);
                if let Ok(clone) = stream.try_clone() {
                    lock(&node.streams).push(clone);
                }
                std::thread::spawn(move || {
                    // However a connection ends: the client must cope with it.
                    let _ = node.serve(stream, &state);
                });
            }
        });
        *lock(&node.accepting) = Some(thread);
        node
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Closes the listener and every connection, and waits until the port is free.
    pub(crate) fn stop(&self) {
        if !self.stopped.swap(true, Ordering::SeqCst) {
            let _ = TcpStream::connect(("127.0.0.1", self.port));
        }
        if let Some(thread) = lock(&self.accepting).take() {
            let _ = thread.join();
        }
        for stream in lock(&self.streams).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn lag(&self, lag: bool) {
        self.lags.store(lag, Ordering::SeqCst);
    }

    pub(crate) fn see(&self, published: &Arc<Published>) {
        let mut seen = lock(&self.seen);
        if !self.lags.load(Ordering::SeqCst) || seen.is_none() {
            *seen = Some(Arc::clone(published));
        }
    }

    fn serve(&self, stream: TcpStream, state: &State) -> io::Result<()> {
        let closing = stream.try_clone()?;
        let result = self.converse(stream, state);
        // The clone that `stop` holds would keep it open.
        let _ = closing.shutdown(Shutdown::Both);
        result
    }

    fn converse(&self, stream: TcpStream, state: &State) -> io::Result<()> {
        let mut peer = Peer::new(duplex(stream, state.layout.tls.as_ref())?);
        while let Some(mut request) = peer.request()? {
            if self.stopped.load(Ordering::SeqCst) {
                return Ok(());
            }
            let fault = lock(&self.fault).clone();
            let is_object = request.target.starts_with("/riak/primary/");
            let is_ringtails = is_object
                || ["/explore/", "/ringtail/"].iter().any(|path| request.target.starts_with(path));
            match &fault {
                Fault::Slow(time) => std::thread::sleep(*time),
                Fault::SlowObjects(time) if is_object => std::thread::sleep(*time),
                Fault::TopologyBytes(bytes) if request.target.contains("/topology") => {
                    peer.write(bytes)?;
                    return Ok(());
                }
                Fault::ObjectBytes(bytes) if is_object => {
                    if !request.waits() {
                        peer.read_body(&mut request, usize::MAX)?;
                    }
                    self.note(&request, 0);
                    peer.write(bytes)?;
                    continue;
                }
                Fault::DropObjects if is_object => {
                    peer.read_body(&mut request, usize::MAX)?;
                    self.note(&request, 0);
                    return Ok(());
                }
                Fault::RefuseUnread(status) if is_object => {
                    self.note(&request, *status);
                    let head = format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n");
                    return peer.write(head.as_bytes());
                }
                Fault::DropWithin(bytes) if is_object => {
                    peer.read_body(&mut request, *bytes)?;
                    self.note(&request, 0);
                    return Ok(());
                }
                _ => {}
            }
            let published =
                lock(&self.seen).clone().expect("a node sees a topology before it is asked");
            let early = match &fault {
                Fault::Refuse(status, body) if is_object => {
                    Some(Response::new(*status, "application/json", body.as_str()))
                }
                Fault::NoRingtail if is_ringtails => Some(not_found()),
                Fault::OldPaths { .. } if request.target.starts_with("/ringtail/") => {
                    Some(not_found())
                }
                Fault::OtherPrefixes if request.target.starts_with("/explore/") => {
                    Some(not_found())
                }
                _ if is_object => self.refuse(&request, &published, state),
                _ => None,
            };
            let response = match early {
                Some(response) => {
                    // A body that comes unasked is read, or the connection could not go on.
                    if !request.waits() {
                        peer.read_body(&mut request, usize::MAX)?;
                    }
                    response
                }
                None => {
                    peer.read_body(&mut request, usize::MAX)?;
                    self.answer(&request, &published, &fault, state)
                }
            };
            let is_webmachines = response.headers.contains(&webmachine());
            let response = if is_ringtails && !is_webmachines {
                response
                    .with("X-Ringtail-Topology", published.token.to_string())
                    .with("X-Ringtail-Cluster", published.snapshot.cluster().uuid.to_string())
                    .with("X-Ringtail-Node", lock(&state.ring).uuid(&self.name).to_string())
            } else {
                response
            };
            self.note(&request, response.status);
            peer.respond(&request, &response)?;
            if response.status == 404 && matches!(fault, Fault::OldPaths { closes: true }) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn note(&self, request: &Request, status: u16) {
        lock(&self.log).push(Logged {
            method: request.method.clone(),
            target: request.target.clone(),
            status,
            headers: request.headers.clone(),
            body: request.body.len(),
        });
    }

    /// Why an object request is not served here, by what this node believes.
    fn refuse(&self, request: &Request, published: &Published, state: &State) -> Option<Response> {
        let path = request.path();
        let [_, _, _, cluster, _, bucket_type, _, bucket, _, key] = &path[..] else {
            return Some(json(400, "bad_path", "not the path of an object"));
        };
        let uuid = published.snapshot.cluster().uuid.to_string();
        if cluster != b"default" && cluster != uuid.as_bytes() {
            return Some(json(404, "unknown_cluster", "no such cluster here"));
        }
        let n = lock(&state.store).types.get(bucket_type)?.n_val;
        let primaries = published.primaries(bucket_type, bucket, key, n);
        if request.header("X-Ringtail-Route") == Some("proxy") || primaries.contains(&self.name) {
            return None;
        }
        if primaries.iter().any(|name| lock(&state.ring).is_up(name)) {
            return Some(json(421, "not_primary", "this node is no primary of the key"));
        }
        Some(json(503, "no_primary", "no primary of the key is up").with("Retry-After", "1"))
    }

    fn answer(
        &self,
        request: &Request,
        published: &Published,
        fault: &Fault,
        state: &State,
    ) -> Response {
        let path = request.path();
        let words: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
        match &words[..] {
            [b"explore" | b"ringtail", b"clusters", _, b"topology"] => {
                if let Fault::TopologyJson(text) = fault {
                    return Response::new(200, "application/json", text.as_str());
                }
                let from = request.query("from");
                match from.map(|from| from.parse::<Token>()).transpose() {
                    Err(_) => json(400, "bad_token", "not a token"),
                    Ok(from) => {
                        let answer = lock(&state.ring).answer(from, published);
                        let text = serde_json::to_vec(&answer).expect("topologies are JSON");
                        Response::new(200, "application/json", text)
                    }
                }
            }
            [
                b"riak",
                b"primary",
                b"clusters",
                _,
                b"types",
                bucket_type,
                b"buckets",
                bucket,
                b"keys",
                key,
            ] => {
                let name = (bucket_type.to_vec(), bucket.to_vec(), key.to_vec());
                lock(&state.store).object(request, name)
            }
            [
                b"explore",
                b"clusters",
                _,
                b"bucket_types",
                kind,
                b"buckets",
                bucket,
                b"keys",
                key,
                b"preflist",
            ] => {
                let n = lock(&state.store).types.get(*kind).map_or(3, |kind| kind.n_val);
                let entries = published.preflist(kind, bucket, key, n).into_iter();
                let entries = entries.map(|(position, index, node)| {
                    let up = lock(&state.ring).is_up(&node);
                    serde_json::json!({
                        "node": node, "partition": position, "index": index, "primary": true,
                        "up": up
                    })
                });
                let document = serde_json::json!({"preflist": entries.collect::<Vec<_>>()});
                Response::new(200, "application/json", document.to_string())
            }
            [b"buckets", bucket, b"props"] => lock(&state.store).properties(b"default", bucket),
            [b"types", bucket_type, b"buckets", bucket, b"props"] => {
                lock(&state.store).properties(bucket_type, bucket)
            }
            _ => not_found(),
        }
    }
}

/// As webmachine answers where no route is.
fn not_found() -> Response {
    let mut response = Response::new(404, "text/html", "<html><h1>Not Found</h1></html>");
    response.headers.push(webmachine());
    response
}

fn webmachine() -> (String, Vec<u8>) {
    ("Server".to_owned(), b"MochiWeb/3.0.0 WebMachine/1.11.1".to_vec())
}

fn json(status: u16, code: &str, message: &str) -> Response {
    Response::new(
        status,
        "application/json",
        serde_json::json!({"error": code, "message": message}).to_string(),
    )
}
