//! Carrying out a request: choose a node, send, look at what came, and by the retry policy once
//! more.

mod attempt;
mod trouble;
mod weigh;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringtail_core::hash_key;
use ringtail_core::topology::Endpoint;
use uuid::Uuid;

use crate::content::Source;
use crate::discovery::Wake;
use crate::error::Error;
use crate::event::Why;
use crate::http::{BodyReader, Deadline, ResponseHead};
use crate::object::ObjectName;
use crate::paths::{Base, Paths};
use crate::properties::BucketProperties;
use crate::retry::{Happened, Kind, Next, Retry};
use crate::shared::Shared;
use crate::stats::count;
use crate::view::View;
use attempt::{Attempt, Failed};
use trouble::Trouble;
use weigh::Weighed;

/// A request for a node.
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) kind: Kind,
    pub(crate) base: Base,
    /// What stands after the base, with the query.
    pub(crate) path: String,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    /// How long to wait, all pauses together, for a cluster that cannot serve it now; without a
    /// limit, until the deadline.
    pub(crate) patience: Option<Duration>,
}

impl Call {
    fn is_riaks(&self) -> bool {
        self.base == Base::Riak
    }

    /// The path and query, with the time that is left for Riak to keep to.
    fn target(&self, paths: &Paths, endpoint: &Endpoint, cluster: Uuid, left: Duration) -> String {
        let target = paths.target(self.base, endpoint, cluster, &self.path);
        match self.base {
            Base::Riak | Base::Document | Base::Topology => target,
            Base::Object => {
                let mark = if self.path.contains('?') { '&' } else { '?' };
                format!("{target}{mark}timeout={}", left.as_millis().max(1))
            }
        }
    }
}

/// Where a request goes.
#[derive(Clone, Copy)]
pub(crate) enum Goal<'a> {
    /// To a primary of an object.
    Primary(&'a ObjectName),
    /// To any node.
    Any,
}

/// A response whose body is still to be read.
pub(crate) struct Answer {
    pub(crate) node: String,
    pub(crate) head: ResponseHead,
    pub(crate) body: BodyReader,
}

/// The node an attempt goes to.
struct Target {
    place: usize,
    why: Why,
    left: usize,
}

impl Shared {
    /// Carries out a request until the deadline.
    pub(crate) fn execute(
        self: &Arc<Self>,
        goal: Goal<'_>,
        call: &Call,
        source: &mut Source<'_>,
        time: Duration,
    ) -> Result<Answer, Error> {
        let deadline = Deadline::after(time);
        let enough = call.patience.map(Deadline::after);
        let is_enough = || enough.is_some_and(|enough| enough.left().is_none());
        let mut chance = fastrand::Rng::new();
        let mut retry = Retry::new(call.kind);
        let mut view = self.view();
        let mut excluded: Vec<Uuid> = Vec::new();
        // Whoever has given an answer that is none would give it again.
        let mut useless: Vec<Uuid> = Vec::new();
        let mut last = Trouble::default();
        let mut first = true;
        loop {
            if deadline.left().is_none() {
                return Err(last.timed_out(time));
            }
            let target =
                self.target(&view, goal, &excluded, deadline, call.patience, &mut chance)?;
            let (happened, left) = match target {
                None => {
                    if excluded.is_empty() {
                        return Err(self.no_endpoint(&view));
                    }
                    (Happened::NoneLeft, 0)
                }
                Some(Target { place, why, left }) => {
                    let member = view.member(place);
                    if !first {
                        count(&self.counters.retries);
                    }
                    // A read has others to turn to: one slow node must not use up all the time.
                    let patience = match (call.kind, left, deadline.left()) {
                        (Kind::Read, 1.., Some(time_left)) => deadline.or_after(time_left / 2),
                        _ => deadline,
                    };
                    let attempt = Attempt {
                        shared: self,
                        view: &view,
                        member,
                        call,
                        why,
                        patience,
                        deadline,
                    };
                    let happened = match attempt.run(source) {
                        Ok(answer) => {
                            match self.weigh(&view, call, answer, goal, left, &mut last)? {
                                Weighed::Final(answer) => {
                                    if first && matches!(goal, Goal::Primary(_)) {
                                        count(&self.counters.hits);
                                    }
                                    return Ok(answer);
                                }
                                Weighed::Again(happened) => happened,
                            }
                        }
                        Err(Failed::Local(cause)) => {
                            return Err(Error::Local {
                                what: "cannot read what is to be stored",
                                cause,
                            });
                        }
                        Err(Failed::NotSent(why)) => {
                            last.note(&member.name, why);
                            self.wake(Wake { node: None, token: None });
                            Happened::NotSent
                        }
                        Err(Failed::Lost(why)) => {
                            last.lost(self, call.kind, &member.name, why)?;
                            Happened::Lost
                        }
                        Err(Failed::Bad(why)) => {
                            useless.push(member.uuid);
                            last.lost(self, call.kind, &member.name, why)?;
                            Happened::BadAnswer
                        }
                    };
                    excluded.push(member.uuid);
                    (happened, left)
                }
            };
            first = false;
            match retry.next(happened, source.is_whole(), left, &mut chance) {
                Next::Another => {}
                Next::GiveUp => return Err(last.given_up(happened)),
                Next::Wait(_) | Next::Refresh(_) if is_enough() => return Err(last.unavailable()),
                Next::Wait(pause) => {
                    last.rest(pause, deadline, time)?;
                    excluded.clone_from(&useless);
                }
                Next::Refresh(pause) => {
                    let node = match happened {
                        Happened::Misdirected { .. } => excluded.last().copied(),
                        _ => None,
                    };
                    self.refresh_and_wait(view.token(), Wake { node, token: None }, deadline);
                    if self.view().token() == view.token() && left == 0 {
                        last.rest(pause, deadline, time)?;
                        excluded.clone_from(&useless);
                    }
                }
            }
            let now = self.view();
            if now.token() != view.token() {
                excluded.clone_from(&useless);
            }
            view = now;
        }
    }

    fn target(
        self: &Arc<Self>,
        view: &View,
        goal: Goal<'_>,
        excluded: &[Uuid],
        deadline: Deadline,
        patience: Option<Duration>,
        chance: &mut fastrand::Rng,
    ) -> Result<Option<Target>, Error> {
        let any = |why: Why, chance: &mut fastrand::Rng| {
            let asked =
                view.to_ask(self.config.protocol(), None, |node| self.is_suspect(node), chance);
            let mut asked =
                asked.into_iter().filter(|&place| !excluded.contains(&view.member(place).uuid));
            let place = asked.next();
            place.map(|place| Target { place, why, left: asked.count() })
        };
        let name = match goal {
            Goal::Any => return Ok(any(Why::Primary { primaries: 0, up: 0 }, chance)),
            Goal::Primary(name) => name,
        };
        let properties =
            self.properties_of(name.bucket_type(), name.bucket(), deadline, patience)?;
        let keyfun = match &properties.keyfun {
            Ok(keyfun) => *keyfun,
            Err(custom) => return Ok(any(Why::CustomKeyfun { name: custom.to_string() }, chance)),
        };
        let hash = hash_key(name.bucket_type(), name.bucket(), name.key(), keyfun);
        let protocol = self.config.protocol();
        let choice = view.choose(
            &hash,
            properties.n_val,
            protocol,
            |node| self.is_suspect(node),
            excluded,
            chance,
        )?;
        Ok(choice.member.map(|place| Target {
            place,
            why: Why::Primary { primaries: choice.primaries, up: choice.up },
            left: choice.left,
        }))
    }

    /// The properties of a bucket, known or asked for.
    pub(crate) fn properties_of(
        self: &Arc<Self>,
        bucket_type: &[u8],
        bucket: &[u8],
        deadline: Deadline,
        patience: Option<Duration>,
    ) -> Result<BucketProperties, Error> {
        if let Some(properties) = self.properties.get(bucket_type, bucket, Instant::now()) {
            return Ok(properties);
        }
        let time = deadline.left().unwrap_or_default();
        let properties = self.ask_properties(bucket_type, bucket, time, patience)?;
        self.properties.put(bucket_type, bucket, &properties, Instant::now());
        Ok(properties)
    }
}
