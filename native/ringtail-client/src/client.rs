//! The client.

use std::fmt;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use ringtail_core::hash_key;
use ringtail_core::keys::percent_encode;
use uuid::Uuid;

use crate::config::Config;
use crate::content::{Content, Source};
use crate::discovery::{Discovery, Progress, Wake};
use crate::error::Error;
use crate::execute::{Answer, Call, Goal};
use crate::http::Deadline;
use crate::net::Net;
use crate::object::{
    ContentReader, Deleted, Fetched, Metadata, Object, ObjectName, Stored, Vclock, object_of,
    siblings_of, write_metadata,
};
use crate::options::{ReadOptions, WriteOptions};
use crate::pool::Pools;
use crate::properties::{BucketProperties, PropertyCache};
use crate::retry::Kind;
use crate::shared::Shared;
use crate::stats::{Counters, Stats};
use crate::view::View;

pub(crate) const OBJECTS: &str = "/riak/primary/clusters/";

/// A client of one Riak cluster. Cheap to clone; clones share everything and may be used by many
/// threads at once.
///
/// ```
/// use ringtail_client::{Client, Config, Content, Fetched, Metadata, ObjectName, WriteOptions};
///
/// # let cluster = ringtail_testcluster::Cluster::start(3);
/// # let seed = cluster.url(0);
/// let client = Client::connect(Config::new([seed])?)?;
/// let name = ObjectName::new("users", "user123");
/// let metadata = Metadata { user: vec![("Colour".into(), b"blue".to_vec())], ..Metadata::of_type("text/plain") };
/// client.put(&name, &metadata, Content::Bytes(b"hello"), &WriteOptions::default())?;
///
/// let Fetched::Object(object) = client.get(&name, &Default::default())? else { panic!("it was just stored") };
/// assert_eq!(object.content, b"hello");
/// assert_eq!(object.metadata.user, metadata.user);
///
/// // The next version says which one it follows.
/// let options = WriteOptions { vclock: object.vclock, ..Default::default() };
/// client.put(&name, &metadata, Content::Bytes(b"hello again"), &options)?;
/// client.delete(&name, &Default::default())?;
/// assert!(matches!(client.get(&name, &Default::default())?, Fetched::NotFound { .. }));
/// # Ok::<(), ringtail_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

impl Client {
    /// Finds the cluster behind the seeds.
    ///
    /// # Errors
    /// No seed that answers is a node with Ringtail, or none answers; TLS options that cannot be
    /// used.
    pub fn connect(config: Config) -> Result<Self, Error> {
        let (wakes, woken) = crossbeam_channel::bounded(1);
        let shared = Arc::new(Shared {
            net: Net::new(&config)?,
            view: ArcSwapOption::empty(),
            pools: Pools::default(),
            properties: PropertyCache::new(config.properties_ttl),
            counters: Counters::default(),
            progress: Progress::default(),
            wakes,
            born: Instant::now(),
            last_heard: AtomicU64::new(0),
            config,
        });
        let mut discovery = Discovery::new();
        discovery.refresh(&shared, Wake { node: None, token: None })?;
        let (poll, pause) = (shared.config.poll_interval, shared.config.min_refresh_interval);
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        std::thread::Builder::new()
            .name("ringtail-discovery".into())
            .spawn(move || discovery.run(&weak, &woken, poll, pause))
            .map_err(|cause| Error::Local { what: "cannot start the discovery thread", cause })?;
        Ok(Self { shared })
    }

    /// Reads an object into memory.
    ///
    /// # Errors
    /// As every request: no answer in time ([`Error::Timeout`], [`Error::Unavailable`]), refused by
    /// Riak ([`Error::Refused`]), or no such bucket type. Also an object larger than
    /// [`Config::object_limit`].
    pub fn get(&self, name: &ObjectName, options: &ReadOptions) -> Result<Fetched, Error> {
        let limit = self.shared.config.object_limit;
        self.get_streamed(name, options)?.try_map(|mut content| {
            content.read_all(limit).map_err(|cause| match cause.kind() {
                io::ErrorKind::FileTooLarge => Error::BadRequest(format!(
                    "the object has {cause}, the limit for objects in memory: read it with get_streamed"
                )),
                _ => Error::Local { what: "the object broke off", cause },
            })
        })
    }

    /// Reads an object as it comes. Siblings are read into memory all the same.
    ///
    /// ```
    /// # use ringtail_client::{Client, Config, Content, Fetched, Metadata, ObjectName};
    /// # let cluster = ringtail_testcluster::Cluster::start(3);
    /// # let client = Client::connect(Config::new([cluster.url(0)])?)?;
    /// # let name = ObjectName::new("files", "large");
    /// # let metadata = Metadata::of_type("application/octet-stream");
    /// # client.put(&name, &metadata, Content::Bytes(&[7; 300_000]), &Default::default())?;
    /// if let Fetched::Object(mut object) = client.get_streamed(&name, &Default::default())? {
    ///     let mut file = std::io::sink();
    ///     let bytes = std::io::copy(&mut object.content, &mut file)?;
    ///     assert_eq!(bytes, 300_000);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_streamed(
        &self,
        name: &ObjectName,
        options: &ReadOptions,
    ) -> Result<Fetched<ContentReader>, Error> {
        let answer = self.read("GET", name, options)?;
        self.fetched(answer, |answer| ContentReader::new(answer.body))
    }

    /// Reads everything but the content of an object: that is its length, where the node says it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn head(
        &self,
        name: &ObjectName,
        options: &ReadOptions,
    ) -> Result<Fetched<Option<u64>>, Error> {
        let answer = self.read("HEAD", name, options)?;
        let length = answer.head.headers.text("Content-Length").and_then(|text| text.parse().ok());
        self.fetched(answer, |_| length)
    }

    fn read(
        &self,
        method: &'static str,
        name: &ObjectName,
        options: &ReadOptions,
    ) -> Result<Answer, Error> {
        let call =
            object_call(method, Kind::Read, name, &options.query().text(), options.fields()?)?;
        self.shared.execute(
            Goal::Primary(name),
            &call,
            &mut Source::None,
            self.time(options.timeout),
        )
    }

    fn fetched<C>(
        &self,
        mut answer: Answer,
        content: impl Fn(Answer) -> C,
    ) -> Result<Fetched<C>, Error> {
        match answer.head.status {
            200 => {
                let headers = std::mem::take(&mut answer.head.headers);
                Ok(Fetched::Object(object_of(&headers, content(answer))))
            }
            300 => Ok(Fetched::Siblings(self.siblings(&mut answer)?)),
            304 => Ok(Fetched::NotModified),
            404 => {
                let vclock =
                    answer.head.headers.text("X-Riak-Vclock").map(|text| Vclock(text.to_owned()));
                let text = answer.message();
                not_found_error(&answer, &text)?;
                Ok(Fetched::NotFound { deleted: vclock })
            }
            _ => Err(answer.refusal()),
        }
    }

    fn siblings(&self, answer: &mut Answer) -> Result<crate::object::Siblings, Error> {
        let body = answer
            .body
            .read_all(self.shared.config.object_limit)
            .map_err(|cause| Error::Local { what: "the siblings broke off", cause })?;
        siblings_of(&answer.head.headers, &body)
            .map_err(|what| Error::BadAnswer { address: answer.node.clone(), what })
    }

    /// Stores an object.
    ///
    /// A write whose connection fails half-way is not sent again: [`Error::UnknownOutcome`].
    ///
    /// # Errors
    /// As [`get`](Self::get); also metadata that HTTP cannot carry ([`Error::BadRequest`]: nothing
    /// was sent).
    pub fn put(
        &self,
        name: &ObjectName,
        metadata: &Metadata,
        content: Content<'_>,
        options: &WriteOptions,
    ) -> Result<Stored, Error> {
        let mut fields = options.fields()?;
        write_metadata(metadata, &mut fields)?;
        let call = object_call("PUT", Kind::Write, name, &options.query().text(), fields)?;
        let mut source = Source::new(content)?;
        let mut answer = self.shared.execute(
            Goal::Primary(name),
            &call,
            &mut source,
            self.time(options.timeout),
        )?;
        match answer.head.status {
            200 | 201 => {
                let body =
                    answer.body.read_all(self.shared.config.object_limit).map_err(|cause| {
                        Error::Local { what: "it was stored, but what was stored broke off", cause }
                    })?;
                let object: Object = object_of(&answer.head.headers, body);
                Ok(if options.return_body {
                    Stored::Object(Box::new(object))
                } else {
                    Stored::Done
                })
            }
            204 => Ok(Stored::Done),
            300 => Ok(Stored::Siblings(self.siblings(&mut answer)?)),
            412 => {
                answer.message();
                Ok(Stored::PreconditionFailed)
            }
            404 => {
                let text = answer.message();
                not_found_error(&answer, &text)?;
                Err(crate::net::refusal(&answer.node, 404, &text))
            }
            _ => Err(answer.refusal()),
        }
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn delete(&self, name: &ObjectName, options: &WriteOptions) -> Result<Deleted, Error> {
        let call =
            object_call("DELETE", Kind::Write, name, &options.query().text(), options.fields()?)?;
        let mut answer = self.shared.execute(
            Goal::Primary(name),
            &call,
            &mut Source::None,
            self.time(options.timeout),
        )?;
        match answer.head.status {
            200 | 204 => {
                answer.message();
                Ok(Deleted::Done)
            }
            404 => {
                let text = answer.message();
                not_found_error(&answer, &text)?;
                Ok(Deleted::NotFound)
            }
            412 => {
                answer.message();
                Ok(Deleted::PreconditionFailed)
            }
            _ => Err(answer.refusal()),
        }
    }

    /// What is known of the cluster now. It never changes; ask again for news.
    pub fn view(&self) -> Arc<View> {
        self.shared.view()
    }

    /// n_val and keyfun of a bucket, as every request uses them.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn properties(&self, bucket_type: &[u8], bucket: &[u8]) -> Result<BucketProperties, Error> {
        self.shared.properties_of(
            bucket_type,
            bucket,
            Deadline::after(self.shared.config.timeout),
            None,
        )
    }

    /// The same for whoever has less time, and would rather be told that the cluster cannot be
    /// asked than wait for it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn properties_within(
        &self,
        bucket_type: &[u8],
        bucket: &[u8],
        time: Duration,
        patience: Duration,
    ) -> Result<BucketProperties, Error> {
        self.shared.properties_of(bucket_type, bucket, Deadline::after(time), Some(patience))
    }

    /// The node that a request for this object would be sent to now; nothing where no primary has
    /// an endpoint, or where only nodes can tell the primaries (a `chash_keyfun` of the cluster's
    /// own). Asks a node only for properties of a bucket that are not known.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn choose(&self, name: &ObjectName) -> Result<Option<Uuid>, Error> {
        let shared = &self.shared;
        let (bucket_type, bucket) = (name.bucket_type(), name.bucket());
        let properties = shared.properties_of(
            bucket_type,
            bucket,
            Deadline::after(shared.config.timeout),
            None,
        )?;
        let Ok(keyfun) = properties.keyfun else { return Ok(None) };
        let hash = hash_key(bucket_type, bucket, name.key(), keyfun);
        let view = shared.view.load();
        let view = view.as_ref().expect("a client is made only once it has a topology");
        let choice = view.choose(
            &hash,
            properties.n_val,
            shared.config.protocol(),
            |node| shared.is_suspect(node),
            &[],
            &mut fastrand::Rng::new(),
        )?;
        Ok(choice.member.map(|place| view.member(place).uuid))
    }

    /// Asks for news now, unless somebody did a moment ago, and waits for it at most this long.
    pub fn refresh(&self, time: Duration) -> Arc<View> {
        let deadline = Deadline::after(time);
        let token = self.view().token();
        self.shared.refresh_and_wait(token, Wake { node: None, token: None }, deadline);
        self.view()
    }

    /// Asks a node now, and waits at most this long for what it says: what is known then, and who
    /// told it.
    ///
    /// # Errors
    /// None of the nodes told a topology that can be used. What was known before still is.
    pub fn check(&self, time: Duration) -> Result<(Arc<View>, Uuid), Arc<Error>> {
        self.shared.ask_and_wait(time).map(|teller| (self.view(), teller))
    }

    /// A document of Ringtail as the node that was asked gives it: `path` is what follows
    /// `/explore/clusters/UUID`, with its query.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn document(&self, path: &str) -> Result<Vec<u8>, Error> {
        let call = Call {
            method: "GET",
            kind: Kind::Read,
            before_cluster: "/explore/clusters/",
            after_cluster: path.to_owned(),
            fields: Vec::new(),
            patience: None,
        };
        let mut answer =
            self.shared.execute(Goal::Any, &call, &mut Source::None, self.shared.config.timeout)?;
        if answer.head.status != 200 {
            return Err(answer.refusal());
        }
        answer
            .body
            .read_all(self.shared.config.object_limit)
            .map_err(|cause| Error::Local { what: "the document broke off", cause })
    }

    /// What this client has done so far.
    pub fn stats(&self) -> Stats {
        self.shared.counters.read()
    }

    /// Connections that wait for their next request.
    pub fn idle_connections(&self) -> usize {
        self.shared.pools.idle()
    }

    fn time(&self, given: Option<Duration>) -> Duration {
        given.unwrap_or(self.shared.config.timeout)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("token", &self.view().token()).finish_non_exhaustive()
    }
}

fn object_call(
    method: &'static str,
    kind: Kind,
    name: &ObjectName,
    query: &str,
    fields: Vec<(String, Vec<u8>)>,
) -> Result<Call, Error> {
    name.check()?;
    let after_cluster = object_path(name, query);
    Ok(Call { method, kind, before_cluster: OBJECTS, after_cluster, fields, patience: None })
}

pub(crate) fn object_path(name: &ObjectName, query: &str) -> String {
    format!(
        "/types/{}/buckets/{}/keys/{}{query}",
        percent_encode(name.bucket_type()),
        percent_encode(name.bucket()),
        percent_encode(name.key())
    )
}

/// A 404 that is not about the object.
fn not_found_error(answer: &Answer, text: &[u8]) -> Result<(), Error> {
    if let Some(bucket_type) = text.strip_prefix(b"Unknown bucket type: ") {
        return Err(Error::NoBucketType(
            String::from_utf8_lossy(bucket_type.trim_ascii()).into_owned(),
        ));
    }
    match crate::net::said(text) {
        (Some(_), _) => Err(crate::net::refusal(&answer.node, 404, text)),
        (None, _) => Ok(()),
    }
}
