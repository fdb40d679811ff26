//! How nodes are reached: over which connections, and with what every request to them bears.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use ringtail_core::topology::{Endpoint, Protocol};
use rustls::ClientConfig;

use crate::config::Config;
use crate::error::{ConfigError, DialError};
use crate::http::{AUTHORIZATION, Connection, Deadline, Dial, RequestHead};
use crate::paths::Paths;

/// How connections are made.
pub(crate) struct Net {
    tls: Option<Arc<ClientConfig>>,
    authorization: Option<Vec<u8>>,
    connect_timeout: Duration,
    pub(crate) paths: Paths,
}

impl Net {
    pub(crate) fn new(config: &Config) -> Result<Self, ConfigError> {
        config.check_secrecy()?;
        let tls = match config.protocol() {
            Protocol::Https => Some(config.tls.config()?),
            Protocol::Http | Protocol::Pb => None,
        };
        let authorization = config.credentials.as_ref().map(|credentials| {
            let pair = format!("{}:{}", credentials.user, credentials.password);
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)).into_bytes()
        });
        Ok(Self {
            tls,
            authorization,
            connect_timeout: config.connect_timeout,
            paths: Paths::default(),
        })
    }

    /// A request's head with what every request bears.
    pub(crate) fn head(&self, method: &str, target: &str, endpoint: &Endpoint) -> RequestHead {
        let mut head = RequestHead::new(method, target, &endpoint.authority());
        if let (Some(authorization), Protocol::Https) = (&self.authorization, endpoint.protocol) {
            head.field(AUTHORIZATION, authorization);
        }
        head
    }

    /// Every address behind an endpoint.
    pub(crate) fn addresses(
        &self,
        endpoint: &Endpoint,
        deadline: Deadline,
    ) -> Result<Vec<SocketAddr>, DialError> {
        self.dial(endpoint).addresses(deadline)
    }

    /// A connection to one of them.
    pub(crate) fn connect(
        &self,
        endpoint: &Endpoint,
        address: SocketAddr,
        deadline: Deadline,
    ) -> Result<Connection, DialError> {
        self.dial(endpoint).connect(address, deadline)
    }

    fn dial<'a>(&'a self, endpoint: &'a Endpoint) -> Dial<'a> {
        Dial {
            host: &endpoint.host,
            port: endpoint.port,
            tls: self.tls.as_ref().filter(|_| endpoint.protocol == Protocol::Https),
            timeout: self.connect_timeout,
        }
    }
}
