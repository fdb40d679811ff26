//! One attempt: one request to one node.
#![deny(clippy::wildcard_enum_match_arm)]

use std::io;
use std::sync::Arc;

use ringtail_core::topology::{Endpoint, MemberEntry, Protocol};

use super::call::{Answer, Call};
use crate::content::Source;
use crate::error::{AnswerFault, AttemptError, NoAnswer, NodeError};
use crate::event::{Event, Why};
use crate::greeting::Greeting;
use crate::http::{AUTHORIZATION, BodyReader, Connection, Deadline, ResponseHead, SendError};
use crate::identity::{Bearing, Identity};
use crate::paths::Base;
use crate::pool::NodePool;
use crate::retry::Kind;
use crate::seed::url;
use crate::shared::Shared;
use crate::view::View;

/// Why a node gave no response.
pub(super) enum Failed {
    /// Nothing of the request was carried out, nor will be.
    NotSent(AttemptError),
    /// Something of it went out.
    Lost(AttemptError),
    /// What came back is no answer. Asked again, the node would say the same.
    Bad(AnswerFault),
    /// The content could not be read on this side.
    Local(io::Error),
}

pub(super) struct Attempt<'a> {
    pub(super) shared: &'a Shared,
    pub(super) view: &'a View,
    pub(super) member: &'a MemberEntry,
    pub(super) call: &'a Call,
    pub(super) why: Why,
    /// For the head of the response.
    pub(super) patience: Deadline,
    /// For all of it.
    pub(super) deadline: Deadline,
}

impl Attempt<'_> {
    /// Sends the request at the first endpoint of the node that takes a connection.
    pub(super) fn run(&self, source: &mut Source<'_>) -> Result<Answer, Failed> {
        let shared = self.shared;
        let Some(pool) = shared.pools.of(self.member.uuid) else {
            return Err(Failed::NotSent(AttemptError::Left));
        };
        let mut why = AttemptError::NoEndpoint;
        for endpoint in View::endpoints(self.member, shared.config.protocol()) {
            let is_read = self.call.kind == Kind::Read;
            if let Some(kept) = pool.take(endpoint, shared.config.max_idle, is_read) {
                pool.trust();
                match self.send(kept, endpoint, &pool, source) {
                    // It was closed meanwhile, perhaps, which says nothing of the node.
                    Err(Failed::Lost(_)) if is_read && self.patience.left().is_some() => {}
                    result => return result,
                }
            }
            match self.open(endpoint) {
                Ok(connection) => {
                    pool.trust();
                    return self.send(connection, endpoint, &pool, source);
                }
                Err(error) => {
                    self.tell_failed(&error);
                    why = error.into();
                }
            }
        }
        pool.suspect();
        Err(Failed::NotSent(why))
    }

    fn identity(&self) -> Identity {
        Identity { cluster: self.view.snapshot().cluster().uuid, node: self.member.uuid }
    }

    fn open(&self, endpoint: &Endpoint) -> Result<Connection, NodeError> {
        let shared = self.shared;
        let Identity { cluster, node } = self.identity();
        let greeting = Greeting {
            net: &shared.net,
            counters: &shared.counters,
            endpoint,
            expected: Some(self.identity()),
            from: Some(self.view.token()),
            deadline: self.patience,
        };
        let (connection, token) = greeting.at_any_address(|told| match told.connection {
            Some(connection) => Ok((connection, told.answer.token())),
            None => Err(NoAnswer::ClosesConnections.into()),
        })?;
        self.heard(Bearing { cluster: Some(cluster), node: Some(node), token: Some(token) });
        Ok(connection)
    }

    fn heard(&self, bearing: Bearing) {
        let shared = self.shared;
        shared.news.heard(self.member.uuid, bearing, &shared.view, &shared.counters);
    }

    fn tell_failed(&self, error: &NodeError) {
        self.shared.config.observer.failed(&self.member.name, error, &self.shared.counters);
    }

    fn send(
        &self,
        mut connection: Connection,
        endpoint: &Endpoint,
        pool: &Arc<NodePool>,
        source: &mut Source<'_>,
    ) -> Result<Answer, Failed> {
        let shared = self.shared;
        shared.config.observer.tell(|| Event::Chosen {
            node: self.member.name.clone(),
            address: url(endpoint),
            why: self.why.clone(),
            token: self.view.token(),
        });
        let Some(left) = self.patience.left() else {
            return Err(Failed::NotSent(AttemptError::NoTime));
        };
        let cluster = self.identity().cluster;
        let target = self.call.target(&shared.net.paths, endpoint, cluster, left);
        let mut head = shared.net.head(self.call.method, &target, endpoint);
        for (name, value) in &self.call.fields {
            if name.eq_ignore_ascii_case(AUTHORIZATION) && endpoint.protocol != Protocol::Https {
                // Riak with security on refuses http anyway, and without security asks for none.
                shared.config.observer.tell(|| Event::Withheld {
                    node: self.member.name.clone(),
                    address: url(endpoint),
                });
                continue;
            }
            head.field(name, value);
        }
        if !self.call.is_riaks() {
            let custom = matches!(self.why, Why::CustomKeyfun { .. });
            head.field("X-Ringtail-Route", if custom { b"proxy" } else { b"local" });
        }
        let ask_first = source.ask_first();
        let body = source.body().map_err(Failed::Local)?;
        let mut response = connection.exchange(head, body, ask_first, self.patience).map_err(
            |error| match error {
                SendError::Body(error) => Failed::Local(error),
                SendError::Protocol(what) => Failed::Bad(AnswerFault::Http(what)),
                SendError::Connection(error) => {
                    pool.suspect();
                    Failed::Lost(AttemptError::Connection(error))
                }
            },
        )?;
        self.check(&mut response, endpoint, pool)?;
        self.answer(connection, response, endpoint, pool)
    }

    /// Makes sure that the answer is that of the node asked. The connection was greeted; what comes
    /// over it from somebody else has a proxy in between, or the node has stopped Ringtail.
    fn check(
        &self,
        response: &mut ResponseHead,
        endpoint: &Endpoint,
        pool: &NodePool,
    ) -> Result<(), Failed> {
        let bearing = Bearing::of(&response.headers);
        if bearing.identity().is_none() && matches!(response.status, 400 | 413 | 414 | 431) {
            // Riak's HTTP server closes the connection over what it cannot read, and does not say
            // so.
            response.keep_alive = false;
        }
        if self.call.is_riaks() && bearing.identity().is_none() {
            return Ok(());
        }
        let Err(mismatch) = bearing.check(self.identity(), &url(endpoint)) else {
            self.heard(bearing);
            return Ok(());
        };
        let is_webmachines_404 = bearing.identity().is_none() && response.status == 404;
        // Riak or its HTTP server refused before any resource was asked: nothing was carried out.
        if bearing.identity().is_none()
            && matches!(response.status, 400 | 401 | 403 | 405 | 413 | 414 | 426 | 431)
        {
            return Ok(());
        }
        if self.call.base == Base::Document && is_webmachines_404 {
            return Err(Failed::Bad(AnswerFault::NoDocuments));
        }
        pool.suspect();
        // Without our headers a 404 is webmachine's, which knows no such route.
        if is_webmachines_404 {
            let error = NodeError::NoAnswer(NoAnswer::Stopped);
            self.tell_failed(&error);
            return Err(Failed::NotSent(error.into()));
        }
        self.tell_failed(&NodeError::Identity(mismatch.clone()));
        Err(Failed::Lost(mismatch.into()))
    }

    fn answer(
        &self,
        connection: Connection,
        response: ResponseHead,
        endpoint: &Endpoint,
        pool: &Arc<NodePool>,
    ) -> Result<Answer, Failed> {
        let framing = response
            .framing(self.call.method == "HEAD")
            .map_err(|what| Failed::Bad(AnswerFault::Http(what)))?;
        let (pool, endpoint) = (Arc::clone(pool), endpoint.clone());
        let max = self.shared.config.max_idle_per_node;
        let give_back = Box::new(move |connection| pool.give_back(&endpoint, connection, max));
        let body =
            BodyReader::new(connection, framing, response.keep_alive, self.deadline, give_back);
        Ok(Answer { node: self.member.name.clone(), head: response, body })
    }
}
