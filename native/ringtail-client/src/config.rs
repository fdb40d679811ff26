//! Configuration of a client.

use std::sync::Arc;
use std::time::Duration;

use ringtail_core::topology::Protocol;

use crate::error::{ConfigError, Error};
use crate::event::{Event, Observer};
use crate::http::LONGEST;
use crate::seed::{Credentials, Seed};
use crate::tls::TlsOptions;

/// What a client is given to start from.
///
/// ```
/// use std::time::Duration;
/// use ringtail_client::Config;
///
/// let config = Config::new(["http://10.0.0.1:8098", "http://10.0.0.2:8098"])?;
/// let config = config.timeout(Duration::from_secs(5));
/// assert!(Config::new(["10.0.0.1:8098"]).is_err(), "a URL has a scheme");
/// # Ok::<(), ringtail_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) seeds: Vec<Seed>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) tls: TlsOptions,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) min_refresh_interval: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) properties_ttl: Duration,
    pub(crate) max_idle: Duration,
    pub(crate) max_idle_per_node: usize,
    pub(crate) object_limit: u64,
    pub(crate) observer: Observer,
}

impl Config {
    /// A client of the cluster that these nodes belong to. Any one of them is enough to find the
    /// others.
    ///
    /// # Errors
    /// No seed, one that is no URL, http and https mixed, different users, or a password in an http
    /// URL.
    pub fn new<S: AsRef<str>>(seeds: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let seeds: Vec<Seed> =
            seeds.into_iter().map(|seed| seed.as_ref().parse()).collect::<Result<_, _>>()?;
        let Some(first) = seeds.first() else {
            return Err(ConfigError::NoSeed.into());
        };
        if let Some(other) = seeds.iter().find(|seed| seed.protocol() != first.protocol()) {
            let what = "seeds are either all http or all https";
            return Err(ConfigError::BadSeed { url: other.to_string(), what }.into());
        }
        let mut credentials = seeds.iter().filter_map(|seed| seed.credentials.clone());
        let given = credentials.next();
        if credentials.any(|other| Some(other) != given) {
            return Err(ConfigError::DifferentUsers.into());
        }
        let config = Self {
            seeds,
            credentials: given,
            tls: TlsOptions::default(),
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(2),
            min_refresh_interval: Duration::from_millis(100),
            poll_interval: Duration::from_secs(10),
            properties_ttl: Duration::from_secs(60),
            // Below the idle time after which Riak closes a connection.
            max_idle: Duration::from_secs(30),
            max_idle_per_node: 64,
            object_limit: 1024 * 1024 * 1024,
            observer: Observer::default(),
        };
        config.check_secrecy()?;
        Ok(config)
    }

    /// Over http whoever is at an address can read what is sent there, before it is known who that
    /// is.
    pub(crate) fn check_secrecy(&self) -> Result<(), ConfigError> {
        match self.seeds.iter().find(|seed| !seed.is_https()) {
            Some(seed) if self.credentials.is_some() => {
                Err(ConfigError::InsecureCredentials { url: seed.to_string() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The time a request has by default, retries included. 30 s. Like every time here a week at
    /// most.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(LONGEST);
        self
    }

    /// The time one address has to take a connection. 2 s.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout.min(LONGEST);
        self
    }

    /// User and password, sent by basic authentication with every request. They go over https only:
    /// with http seeds no client connects ([`ConfigError::InsecureCredentials`]). Riak with
    /// security on takes them over https only, too.
    pub fn credentials(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.credentials = Some(Credentials { user: user.into(), password: password.into() });
        self
    }

    /// Whom to trust, and who we are.
    pub fn tls(mut self, tls: TlsOptions) -> Self {
        self.tls = tls;
        self
    }

    /// How long an idle client waits before it asks for news, give or take 20 %. 10 s.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval.min(LONGEST);
        self
    }

    /// How long n_val and keyfun of a bucket are believed. 60 s.
    pub fn properties_ttl(mut self, ttl: Duration) -> Self {
        self.properties_ttl = ttl.min(LONGEST);
        self
    }

    /// Idle connections kept to one node. 64.
    pub fn max_idle_per_node(mut self, connections: usize) -> Self {
        self.max_idle_per_node = connections;
        self
    }

    /// The largest object that is read into memory, in bytes. 1 GiB. What is streamed has no limit.
    pub fn object_limit(mut self, bytes: u64) -> Self {
        self.object_limit = bytes;
        self
    }

    /// Who is told what the client does. Called from any thread, so it should return soon.
    pub fn observer(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer = Observer(Some(Arc::new(observer)));
        self
    }

    /// The seeds.
    pub fn seeds(&self) -> &[Seed] {
        &self.seeds
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.seeds[0].protocol()
    }
}
