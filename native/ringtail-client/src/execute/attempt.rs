//! One attempt: one request to one node.

use std::io;
use std::sync::Arc;

use ringtail_core::topology::{Endpoint, MemberEntry, Protocol};

use super::{Answer, Call};
use crate::content::Source;
use crate::event::{Event, Why};
use crate::http::{AUTHORIZATION, BodyReader, Connection, Deadline, ResponseHead, SendError};
use crate::identity::{Bearing, Identity};
use crate::net::OpenError;
use crate::paths::Base;
use crate::pool::NodePool;
use crate::retry::Kind;
use crate::seed::url;
use crate::shared::Shared;
use crate::view::View;

/// Why a node gave no response.
pub(super) enum Failed {
    /// Nothing of the request was carried out, nor will be.
    NotSent(String),
    /// Something of it went out.
    Lost(String),
    /// What came back is no answer. Asked again, the node would say the same.
    Bad(String),
    /// The content could not be read on this side.
    Local(io::Error),
}

pub(super) struct Attempt<'a> {
    pub(super) shared: &'a Arc<Shared>,
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
            return Err(Failed::NotSent("it has left the cluster".into()));
        };
        let mut why = String::from("it publishes no endpoint");
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
                    shared.failed(&self.member.name, &error);
                    why = error.to_string();
                }
            }
        }
        pool.suspect();
        Err(Failed::NotSent(why))
    }

    fn identity(&self) -> Identity {
        Identity { cluster: self.view.snapshot().cluster().uuid, node: self.member.uuid }
    }

    fn open(&self, endpoint: &Endpoint) -> Result<Connection, OpenError> {
        let shared = self.shared;
        let identity = self.identity();
        let (connection, token) = shared.net.open(
            endpoint,
            identity,
            self.view.token(),
            self.patience,
            &shared.counters,
        )?;
        shared.heard(identity.node, Some(identity.cluster), Some(token));
        Ok(connection)
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
            return Err(Failed::NotSent("no time was left".into()));
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
                SendError::Protocol(what) => Failed::Bad(what.to_owned()),
                SendError::Connection(error) => {
                    pool.suspect();
                    Failed::Lost(error.to_string())
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
            self.shared.heard(self.member.uuid, bearing.cluster, bearing.token);
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
            return Err(Failed::Bad(
                "it has no /explore there: its 'prefixes' leave that out, or Ringtail does not \
                 run there any more"
                    .to_owned(),
            ));
        }
        pool.suspect();
        // Without our headers a 404 is webmachine's, which knows no such route.
        if is_webmachines_404 {
            let why = "Ringtail does not run there any more; type ringtail:start(). in riak attach"
                .to_owned();
            self.shared.failed(&self.member.name, &OpenError::NoAnswer(why.clone()));
            return Err(Failed::NotSent(why));
        }
        let why = mismatch.to_string();
        self.shared.failed(&self.member.name, &OpenError::Identity(mismatch));
        Err(Failed::Lost(why))
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
            .map_err(|what| Failed::Bad(what.to_owned()))?;
        let (pool, endpoint) = (Arc::clone(pool), endpoint.clone());
        let max = self.shared.config.max_idle_per_node;
        let give_back = Box::new(move |connection| pool.give_back(&endpoint, connection, max));
        let body =
            BodyReader::new(connection, framing, response.keep_alive, self.deadline, give_back);
        Ok(Answer { node: self.member.name.clone(), head: response, body })
    }
}
