//! Connections to nodes: opened, greeted, and their topologies fetched.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use ringtail_core::topology::{Endpoint, Protocol, Token, TopologyAnswer};
use rustls::ClientConfig;

use crate::config::Config;
use crate::error::{Error, IdentityMismatch};
use crate::http::{
    AUTHORIZATION, BodyReader, Connection, Deadline, Dial, RequestHead, ResponseHead, SendBody,
    SendError,
};
use crate::identity::{Bearing, Identity};
use crate::paths::Paths;
use crate::seed::url;
use crate::stats::{Counters, count};

/// The largest topology taken, in bytes: some ten times that of the largest ring Riak allows.
const TOPOLOGY_LIMIT: u64 = 32 * 1024 * 1024;
/// The largest error text taken.
pub(crate) const MESSAGE_LIMIT: u64 = 64 * 1024;
/// How long a new connection's node has to say who it is.
const GREETING_TIME: Duration = Duration::from_secs(5);

/// How connections are made.
pub(crate) struct Net {
    tls: Option<Arc<ClientConfig>>,
    authorization: Option<Vec<u8>>,
    connect_timeout: Duration,
    pub(crate) paths: Paths,
}

/// Why there is no connection to a node. In every case nothing but a question for its name was sent
/// to it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("{0}")]
    NoAnswer(String),
    #[error(transparent)]
    Identity(#[from] IdentityMismatch),
    #[error("{0}")]
    NoTopology(Error),
}

/// What a question for a topology came to.
enum Asked {
    Told(Option<Connection>, Told),
    /// There is no such path; the connection, where it is still open.
    NotThere(Option<Connection>, Error),
}

/// A topology with who told it.
pub(crate) struct Told {
    pub(crate) by: Identity,
    pub(crate) answer: TopologyAnswer,
}

impl Net {
    pub(crate) fn new(config: &Config) -> Result<Self, Error> {
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

    fn dial<'a>(&'a self, endpoint: &'a Endpoint) -> Dial<'a> {
        Dial {
            host: &endpoint.host,
            port: endpoint.port,
            tls: self.tls.as_ref().filter(|_| endpoint.protocol == Protocol::Https),
            timeout: self.connect_timeout,
        }
    }

    /// Every address behind an endpoint.
    pub(crate) fn addresses(
        &self,
        endpoint: &Endpoint,
        deadline: Deadline,
    ) -> Result<Vec<SocketAddr>, OpenError> {
        self.dial(endpoint)
            .addresses(deadline)
            .map_err(|error| OpenError::NoAnswer(error.to_string()))
    }

    fn connect(
        &self,
        endpoint: &Endpoint,
        address: SocketAddr,
        deadline: Deadline,
        counters: &Counters,
    ) -> Result<Connection, OpenError> {
        let connection = self
            .dial(endpoint)
            .connect(address, deadline)
            .map_err(|error| OpenError::NoAnswer(error.to_string()))?;
        count(&counters.connections);
        Ok(connection)
    }

    /// Opens a connection and makes sure who is at the other end before anything else is sent
    /// there: asks for what changed since `token`, which also shows early that something did.
    pub(crate) fn open(
        &self,
        endpoint: &Endpoint,
        expected: Identity,
        token: Token,
        deadline: Deadline,
        counters: &Counters,
    ) -> Result<(Connection, Token), OpenError> {
        let mut last = OpenError::NoAnswer("its name has no address".into());
        for address in self.addresses(endpoint, deadline)? {
            let greeted = self
                .greet(endpoint, address, Some(expected), Some(token), deadline, counters)
                .and_then(|(connection, told)| match connection {
                    Some(connection) => Ok((connection, told.answer.token())),
                    None => {
                        Err(OpenError::NoAnswer("it closes connections after one request".into()))
                    }
                });
            match greeted {
                Ok(greeted) => return Ok(greeted),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Opens a connection and asks over it for a topology. Checks who answers if someone is
    /// expected.
    pub(crate) fn greet(
        &self,
        endpoint: &Endpoint,
        address: SocketAddr,
        expected: Option<Identity>,
        from: Option<Token>,
        deadline: Deadline,
        counters: &Counters,
    ) -> Result<(Option<Connection>, Told), OpenError> {
        let mut missing = None;
        for _ in 0..2 {
            let connection = self.connect(endpoint, address, deadline, counters)?;
            match self.ask_at_both(connection, endpoint, expected, from, deadline)? {
                Asked::Told(connection, told) => return Ok((connection, told)),
                Asked::NotThere(Some(_), error) => return Err(OpenError::NoTopology(error)),
                // It closed the connection over the first path: the other one over another.
                Asked::NotThere(None, error) => missing = Some(error),
            }
        }
        Err(missing
            .map_or_else(|| OpenError::NoAnswer("it was not asked".into()), OpenError::NoTopology))
    }

    /// The same over a connection that was used before.
    pub(crate) fn topology(
        &self,
        connection: Connection,
        endpoint: &Endpoint,
        expected: Option<Identity>,
        from: Option<Token>,
        deadline: Deadline,
    ) -> Result<(Option<Connection>, Told), OpenError> {
        match self.ask_at_both(connection, endpoint, expected, from, deadline)? {
            Asked::Told(connection, told) => Ok((connection, told)),
            Asked::NotThere(_, error) => Err(OpenError::NoTopology(error)),
        }
    }

    /// Asks at the path that is thought to be the node's, then at the other.
    fn ask_at_both(
        &self,
        connection: Connection,
        endpoint: &Endpoint,
        expected: Option<Identity>,
        from: Option<Token>,
        deadline: Deadline,
    ) -> Result<Asked, OpenError> {
        let asked = self.ask(connection, endpoint, expected, from, deadline)?;
        let (connection, error) = match asked {
            Asked::Told(..) => return Ok(asked),
            Asked::NotThere(connection, error) => (connection, error),
        };
        self.paths.turn(endpoint);
        let Some(connection) = connection else { return Ok(Asked::NotThere(None, error)) };
        let asked = match self.ask(connection, endpoint, expected, from, deadline) {
            // It has closed the connection without saying so.
            Err(OpenError::NoAnswer(_)) => return Ok(Asked::NotThere(None, error)),
            asked => asked?,
        };
        if matches!(asked, Asked::NotThere(..)) {
            self.paths.turn(endpoint);
        }
        Ok(asked)
    }

    fn ask(
        &self,
        mut connection: Connection,
        endpoint: &Endpoint,
        expected: Option<Identity>,
        from: Option<Token>,
        deadline: Deadline,
    ) -> Result<Asked, OpenError> {
        let deadline = deadline.or_after(GREETING_TIME);
        let target = self.paths.topology(endpoint, from);
        let head = self.head("GET", &target, endpoint);
        let address = url(endpoint);
        let bad = |what: String| {
            OpenError::NoTopology(Error::BadAnswer { address: address.clone(), what })
        };
        let response = connection.exchange(head, SendBody::None, false, deadline).map_err(
            |error| match error {
                SendError::Connection(error) | SendError::Body(error) => {
                    OpenError::NoAnswer(error.to_string())
                }
                SendError::Protocol(what) => bad(what.to_owned()),
            },
        )?;
        let bearing = Bearing::of(&response.headers);
        let framing = response.framing(false).map_err(|what| bad(what.to_owned()))?;
        let (sender, kept) = crossbeam_channel::bounded(1);
        let mut body = BodyReader::new(
            connection,
            framing,
            response.keep_alive,
            deadline,
            Box::new(move |connection| {
                let _ = sender.try_send(connection);
            }),
        );
        let Some(by) = bearing.identity() else {
            let text = body.read_all(MESSAGE_LIMIT).unwrap_or_default();
            let error = not_ringtail(&address, &response, &text);
            return match response.status {
                404 => Ok(Asked::NotThere(kept.try_recv().ok(), error)),
                _ => Err(OpenError::NoTopology(error)),
            };
        };
        if let Some(expected) = expected {
            bearing.check(expected, &address)?;
        }
        if response.status != 200 {
            let text = body.read_all(MESSAGE_LIMIT).unwrap_or_default();
            return Err(OpenError::NoTopology(refusal(&address, response.status, &text)));
        }
        let bytes = body
            .read_all(TOPOLOGY_LIMIT)
            .map_err(|error| bad(format!("its topology breaks off: {error}")))?;
        let answer: TopologyAnswer = serde_json::from_slice(&bytes).map_err(|error| {
            bad(format!("its topology is no JSON of that kind: {error}{}", html_hint(&bytes)))
        })?;
        Ok(Asked::Told(kept.try_recv().ok(), Told { by, answer }))
    }
}

/// The answer of something that is no Ringtail node, or one with security in the way.
fn not_ringtail(address: &str, response: &ResponseHead, text: &[u8]) -> Error {
    let status = response.status;
    let message = match status {
        401 => "it wants user and password: write them into the URL, or use --user",
        403 => "the user may not do that: grant it in riak admin security",
        426 => "Riak's security is on and wants https: use the node's https listener",
        _ => {
            return Error::NotRingtail {
                address: address.to_owned(),
                what: match (status, response.headers.text("Server")) {
                    (404, Some(server)) if server.contains("WebMachine") => {
                        "a Riak node without it".to_owned()
                    }
                    (_, Some(server)) => {
                        format!(
                            "HTTP status {status} from {}{}",
                            printable(server),
                            html_hint(text)
                        )
                    }
                    (_, None) => format!("HTTP status {status}{}", html_hint(text)),
                },
            };
        }
    };
    Error::Refused { node: address.to_owned(), status, code: None, message: message.to_owned() }
}

fn html_hint(text: &[u8]) -> &'static str {
    if text.trim_ascii_start().first() == Some(&b'<') { ", HTML" } else { "" }
}

/// What Riak's HTTP server means that gives no reason.
const TOO_MUCH: &str = "its HTTP server refused the request as it stands, nothing was done: a \
    line of the head (key and query, or one field) has 8 KB at most, the head 1000 fields";

/// An error answer as an error, with Ringtail's code and message if it is JSON.
pub(crate) fn refusal(node: &str, status: u16, text: &[u8]) -> Error {
    let (code, message) = match status {
        400 | 413 | 414 | 431 if text.trim_ascii().is_empty() => (None, TOO_MUCH.to_owned()),
        _ => said(text),
    };
    Error::Refused { node: node.to_owned(), status, code, message }
}

/// Code and message of an error body: JSON of Ringtail, or text of Riak.
pub(crate) fn said(text: &[u8]) -> (Option<String>, String) {
    #[derive(serde::Deserialize)]
    struct Said {
        error: String,
        message: String,
    }
    match serde_json::from_slice::<Said>(text) {
        Ok(said) => (Some(said.error), said.message),
        Err(_) => {
            let text = String::from_utf8_lossy(&text[..text.len().min(400)]);
            let text = printable(text.trim());
            (None, if text.is_empty() { "it gave no reason".to_owned() } else { text })
        }
    }
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nodes_say() {
        assert_eq!(
            said(br#"{"error":"no_primary","message":"m"}"#),
            (Some("no_primary".into()), "m".into())
        );
        assert_eq!(
            said(b"PR-value unsatisfied: 0/1\n"),
            (None, "PR-value unsatisfied: 0/1".into())
        );
        assert_eq!(said(b"\x1b[2J\xff").1, " [2J\u{fffd}");
        assert_eq!(said(b"").1, "it gave no reason");
    }
}
