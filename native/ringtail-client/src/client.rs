//! The client.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ringtail_core::hash_key;
use uuid::Uuid;

use crate::config::Config;
use crate::content::Source;
use crate::current::CurrentView;
use crate::error::Error;
use crate::execute::{AnyNode, Call, Executor, properties_of};
use crate::follower::Follower;
use crate::http::Deadline;
use crate::net::Net;
use crate::news::{News, Wake};
use crate::object::ObjectName;
use crate::paths::Base;
use crate::pool::Pools;
use crate::properties::{BucketProperties, PropertyCache};
use crate::shared::Shared;
use crate::stats::{Counters, Stats};
use crate::view::View;

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
/// let user = vec![("Colour".into(), b"blue".to_vec())];
/// let metadata = Metadata { user, ..Metadata::of_type("text/plain") };
/// client.put(&name, &metadata, Content::Bytes(b"hello"), &WriteOptions::default())?;
///
/// let fetched = client.get(&name, &Default::default())?;
/// let Fetched::Object(object) = fetched else { panic!("it was just stored") };
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
        let (news, woken) = News::new();
        let shared = Arc::new(Shared {
            net: Net::new(&config)?,
            view: CurrentView::default(),
            pools: Pools::default(),
            properties: PropertyCache::new(config.properties_ttl),
            counters: Counters::default(),
            news,
            config,
        });
        let mut follower = Follower::new();
        follower.refresh(&shared, Wake::default())?;
        let (poll, pause) = (shared.config.poll_interval, shared.config.min_refresh_interval);
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        std::thread::Builder::new()
            .name("ringtail-discovery".into())
            .spawn(move || follower.run(&weak, &woken, poll, pause))
            .map_err(Error::local("cannot start the discovery thread"))?;
        Ok(Self { shared })
    }

    /// What is known of the cluster now. It never changes; ask again for news.
    pub fn view(&self) -> Arc<View> {
        self.shared.view.get()
    }

    /// n_val and keyfun of a bucket, as every request uses them.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn properties(&self, bucket_type: &[u8], bucket: &[u8]) -> Result<BucketProperties, Error> {
        let deadline = Deadline::after(self.shared.config.timeout);
        properties_of(&self.shared, bucket_type, bucket, deadline, None)
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
        properties_of(&self.shared, bucket_type, bucket, Deadline::after(time), Some(patience))
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
        let deadline = Deadline::after(shared.config.timeout);
        let properties = properties_of(shared, bucket_type, bucket, deadline, None)?;
        let Ok(keyfun) = properties.keyfun else { return Ok(None) };
        let hash = hash_key(bucket_type, bucket, name.key(), keyfun);
        let view = shared.view.get();
        let choice = view.choose(
            &hash,
            properties.n_val,
            shared.config.protocol(),
            |node| shared.pools.is_suspect(node),
            &[],
            &mut fastrand::Rng::new(),
        )?;
        Ok(choice.member.map(|place| view.member(place).uuid))
    }

    /// Asks for news now, unless somebody did a moment ago, and waits for it at most this long.
    pub fn refresh(&self, time: Duration) -> Arc<View> {
        let deadline = Deadline::after(time);
        let token = self.view().token();
        let news = &self.shared.news;
        news.refresh_and_wait(&self.shared.view, token, Wake::default(), deadline);
        self.view()
    }

    /// Asks a node now, and waits at most this long for what it says: what is known then, and who
    /// told it.
    ///
    /// # Errors
    /// None of the nodes told a topology that can be used. What was known before still is.
    pub fn check(&self, time: Duration) -> Result<(Arc<View>, Uuid), Arc<Error>> {
        self.shared.news.ask_and_wait(time).map(|teller| (self.view(), teller))
    }

    /// A document of Ringtail as the node that was asked gives it: `path` is what follows
    /// `/explore/clusters/UUID`, with its query.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn document(&self, path: &str) -> Result<Vec<u8>, Error> {
        let call = Call::get(Base::of_document(path), path.to_owned(), None);
        let time = self.shared.config.timeout;
        let executor = Executor::new(&self.shared, &AnyNode, &call, time);
        let mut answer = executor.run(&mut Source::None)?;
        if answer.head.status != 200 {
            return Err(answer.refusal());
        }
        answer
            .body
            .read_all(self.shared.config.object_limit)
            .map_err(Error::local("the document broke off"))
    }

    /// What this client has done so far.
    pub fn stats(&self) -> Stats {
        self.shared.counters.read()
    }

    /// Connections that wait for their next request.
    pub fn idle_connections(&self) -> usize {
        self.shared.pools.idle()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("token", &self.view().token()).finish_non_exhaustive()
    }
}
