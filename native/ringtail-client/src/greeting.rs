//! The question that every new connection begins with: which topology its node has. What answers it
//! says who it is before anything else is sent there.
#![deny(clippy::wildcard_enum_match_arm)]

use std::net::SocketAddr;
use std::time::Duration;

use ringtail_core::topology::{Endpoint, Token, TopologyAnswer};

use crate::error::{AnswerFault, BadAnswer, DialError, NoAnswer, NodeError, TopologyError};
use crate::http::{BodyReader, Connection, Deadline, SendBody, SendError};
use crate::identity::{Bearing, Identity};
use crate::net::Net;
use crate::said::{is_html, not_ringtail, refusal, text_of};
use crate::seed::url;
use crate::stats::{Counters, count};

/// The largest topology taken, in bytes: some ten times that of the largest ring Riak allows.
const TOPOLOGY_LIMIT: u64 = 32 * 1024 * 1024;
/// How long a new connection's node has to say who it is.
const GREETING_TIME: Duration = Duration::from_secs(5);

/// A question for the topology of a node.
#[derive(Clone, Copy)]
pub(crate) struct Greeting<'a> {
    pub(crate) net: &'a Net,
    pub(crate) counters: &'a Counters,
    pub(crate) endpoint: &'a Endpoint,
    /// Who must be there, where somebody is expected.
    pub(crate) expected: Option<Identity>,
    /// The topology since which changes are asked for; without it, the whole.
    pub(crate) from: Option<Token>,
    pub(crate) deadline: Deadline,
}

/// A topology with who told it.
pub(crate) struct Told {
    pub(crate) by: Identity,
    pub(crate) answer: TopologyAnswer,
    /// The connection it was told over, where it carries other requests.
    pub(crate) connection: Option<Connection>,
}

/// What a question came to.
enum Asked {
    Told(Told),
    /// There is no such path; the connection, where it is still open.
    NotThere(Option<Connection>, TopologyError),
}

impl Greeting<'_> {
    /// Connects to each address behind the endpoint until one tells what `take` takes.
    pub(crate) fn at_any_address<T>(
        &self,
        mut take: impl FnMut(Told) -> Result<T, NodeError>,
    ) -> Result<T, NodeError> {
        let mut last = NodeError::NoAnswer(NoAnswer::NoAddress);
        let addresses = self.net.addresses(self.endpoint, self.deadline).map_err(no_connection)?;
        for address in addresses {
            match self.at(address).and_then(&mut take) {
                Ok(taken) => return Ok(taken),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Asks over a connection that was used before.
    pub(crate) fn over(&self, connection: Connection) -> Result<Told, NodeError> {
        match self.at_both_paths(connection)? {
            Asked::Told(told) => Ok(told),
            Asked::NotThere(_, error) => Err(error.into()),
        }
    }

    fn at(&self, address: SocketAddr) -> Result<Told, NodeError> {
        match self.at_both_paths(self.connect(address)?)? {
            Asked::Told(told) => Ok(told),
            Asked::NotThere(Some(_), error) => Err(error.into()),
            // It closed the connection over the first path: the other one over another.
            Asked::NotThere(None, _) => self.over(self.connect(address)?),
        }
    }

    fn connect(&self, address: SocketAddr) -> Result<Connection, NodeError> {
        let connection =
            self.net.connect(self.endpoint, address, self.deadline).map_err(no_connection)?;
        count(&self.counters.connections);
        Ok(connection)
    }

    /// Asks at the path that is thought to be the node's, then at the other.
    fn at_both_paths(&self, connection: Connection) -> Result<Asked, NodeError> {
        let (connection, error) = match self.ask(connection)? {
            Asked::NotThere(connection, error) => (connection, error),
            told @ Asked::Told(_) => return Ok(told),
        };
        self.net.paths.turn(self.endpoint);
        let Some(connection) = connection else { return Ok(Asked::NotThere(None, error)) };
        let asked = match self.ask(connection) {
            // It has closed the connection without saying so.
            Err(NodeError::NoAnswer(_)) => return Ok(Asked::NotThere(None, error)),
            asked => asked?,
        };
        if matches!(asked, Asked::NotThere(..)) {
            self.net.paths.turn(self.endpoint);
        }
        Ok(asked)
    }

    fn ask(&self, mut connection: Connection) -> Result<Asked, NodeError> {
        let deadline = self.deadline.or_after(GREETING_TIME);
        let target = self.net.paths.topology(self.endpoint, self.from);
        let head = self.net.head("GET", &target, self.endpoint);
        let address = url(self.endpoint);
        let bad = |fault| bad_answer(&address, fault);
        let response = connection.exchange(head, SendBody::None, false, deadline).map_err(
            |error| match error {
                SendError::Connection(error) | SendError::Body(error) => {
                    NoAnswer::Lost(error).into()
                }
                SendError::Protocol(what) => bad(AnswerFault::Http(what)),
            },
        )?;
        let bearing = Bearing::of(&response.headers);
        let framing = response.framing(false).map_err(|what| bad(AnswerFault::Http(what)))?;
        let (sender, kept) = crossbeam_channel::bounded(1);
        let give_back = Box::new(move |connection| {
            let _ = sender.try_send(connection);
        });
        let mut body =
            BodyReader::new(connection, framing, response.keep_alive, deadline, give_back);
        let Some(by) = bearing.identity() else {
            let error = not_ringtail(&address, &response, &text_of(&mut body));
            return match response.status {
                404 => Ok(Asked::NotThere(kept.try_recv().ok(), error)),
                _ => Err(error.into()),
            };
        };
        if let Some(expected) = self.expected {
            bearing.check(expected, &address)?;
        }
        if response.status != 200 {
            let refusal = refusal(&address, response.status, &text_of(&mut body));
            return Err(TopologyError::Refused(refusal).into());
        }
        let bytes = body
            .read_all(TOPOLOGY_LIMIT)
            .map_err(|error| bad(AnswerFault::TopologyBrokenOff(error)))?;
        let answer = serde_json::from_slice(&bytes)
            .map_err(|cause| bad(AnswerFault::NoTopology { cause, html: is_html(&bytes) }))?;
        Ok(Asked::Told(Told { by, answer, connection: kept.try_recv().ok() }))
    }
}

fn no_connection(error: DialError) -> NodeError {
    NoAnswer::Dial(error).into()
}

/// What the node at an address told is of no use.
pub(crate) fn bad_answer(address: &str, fault: AnswerFault) -> NodeError {
    TopologyError::BadAnswer(BadAnswer { address: address.to_owned(), fault }).into()
}
