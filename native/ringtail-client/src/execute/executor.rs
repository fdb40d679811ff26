//! The rounds of one request, until there is an answer or no use in another round.
#![deny(clippy::wildcard_enum_match_arm)]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::attempt::{Attempt, Failed};
use super::call::{Answer, Call};
use super::goal::{Goal, Search, Target};
use super::trouble::Trouble;
use super::weigh::{Weighed, weigh};
use crate::content::Source;
use crate::error::{AttemptError, Error, ExecutionError};
use crate::event::Event;
use crate::http::Deadline;
use crate::news::Wake;
use crate::paths::Base;
use crate::retry::{Happened, Kind, Next, Retry};
use crate::shared::Shared;
use crate::stats::count;
use crate::view::View;

/// When so little is left, another attempt is of no use.
const TOO_LITTLE: Duration = Duration::from_millis(20);

/// Carries out one request.
pub(crate) struct Executor<'a> {
    shared: &'a Shared,
    goal: &'a dyn Goal,
    call: &'a Call,
    time: Duration,
    deadline: Deadline,
    /// When waiting for the cluster is over.
    enough: Option<Deadline>,
    chance: fastrand::Rng,
    retry: Retry,
    view: Arc<View>,
    excluded: Vec<Uuid>,
    /// Whoever has given an answer that is none would give it again.
    useless: Vec<Uuid>,
    trouble: Trouble,
    is_first: bool,
}

impl<'a> Executor<'a> {
    /// From now on the request has that time.
    pub(crate) fn new(
        shared: &'a Shared,
        goal: &'a dyn Goal,
        call: &'a Call,
        time: Duration,
    ) -> Self {
        Self {
            shared,
            goal,
            call,
            time,
            deadline: Deadline::after(time),
            enough: call.patience.map(Deadline::after),
            chance: fastrand::Rng::new(),
            retry: Retry::new(call.kind),
            view: shared.view.get(),
            excluded: Vec::new(),
            useless: Vec::new(),
            trouble: Trouble::default(),
            is_first: true,
        }
    }

    /// Carries out the request until the deadline.
    pub(crate) fn run(mut self, source: &mut Source<'_>) -> Result<Answer, Error> {
        loop {
            if self.deadline.left().is_none() {
                return Err(self.trouble.timed_out(self.time).into());
            }
            let (happened, left) = match self.target()? {
                None if self.excluded.is_empty() => return Err(self.no_endpoint().into()),
                None => (Happened::NoneLeft, 0),
                Some(target) => {
                    let left = target.left;
                    match self.attempt(target, source)? {
                        ControlFlow::Break(answer) => return Ok(answer),
                        ControlFlow::Continue(happened) => (happened, left),
                    }
                }
            };
            self.is_first = false;
            self.go_on(happened, left, source.is_whole())?;
        }
    }

    fn target(&mut self) -> Result<Option<Target>, Error> {
        self.goal.target(Search {
            shared: self.shared,
            view: &self.view,
            excluded: &self.excluded,
            deadline: self.deadline,
            patience: self.call.patience,
            chance: &mut self.chance,
        })
    }

    /// One attempt: the answer, or what happened.
    fn attempt(
        &mut self,
        target: Target,
        source: &mut Source<'_>,
    ) -> Result<ControlFlow<Answer, Happened>, Error> {
        if !self.is_first {
            count(&self.shared.counters.retries);
        }
        let view = Arc::clone(&self.view);
        let member = view.member(target.place);
        let attempt = Attempt {
            shared: self.shared,
            view: &view,
            member,
            call: self.call,
            why: target.why,
            patience: self.patience(target.left),
            deadline: self.deadline,
        };
        let happened = match attempt.run(source) {
            Ok(answer) => match weigh(self.call, answer, target.left) {
                Weighed::Final(answer) => {
                    if self.is_first && self.call.base == Base::Object {
                        count(&self.shared.counters.hits);
                    }
                    return Ok(ControlFlow::Break(answer));
                }
                Weighed::Misdirected { token, message } => {
                    count(&self.shared.counters.misdirections);
                    let node = || member.name.clone();
                    self.tell(|| Event::Misdirected { node: node(), token });
                    self.goal.misdirected(self.shared);
                    self.trouble.note(&member.name, AttemptError::Said(message));
                    let ours = view.token();
                    let newer =
                        token.is_some_and(|token| token != ours && token.ordinal >= ours.ordinal);
                    Happened::Misdirected { newer }
                }
                Weighed::Unavailable { nothing_done, retry_after, message } => {
                    let (node, why) = (&member.name, &message);
                    self.tell(|| Event::Unavailable { node: node.clone(), why: why.clone() });
                    self.trouble.note(&member.name, AttemptError::Said(message));
                    self.trouble.retry_after(retry_after);
                    Happened::Unavailable { nothing_done, retry_after }
                }
                Weighed::NotForwarded { message } => {
                    self.lost(&member.name, AttemptError::Said(message))?;
                    Happened::Lost
                }
            },
            Err(Failed::Local(cause)) => {
                return Err(Error::local("cannot read what is to be stored")(cause));
            }
            Err(Failed::NotSent(why)) => {
                self.trouble.note(&member.name, why);
                self.shared.news.wake(Wake::default());
                Happened::NotSent
            }
            Err(Failed::Lost(why)) => {
                self.tell_lost(&member.name, &why);
                self.lost(&member.name, why)?;
                Happened::Lost
            }
            Err(Failed::Bad(fault)) => {
                self.useless.push(member.uuid);
                let why = AttemptError::Answer(fault);
                self.tell_lost(&member.name, &why);
                self.lost(&member.name, why)?;
                Happened::BadAnswer
            }
        };
        self.excluded.push(member.uuid);
        Ok(ControlFlow::Continue(happened))
    }

    /// A read has others to turn to: one slow node must not use up all the time.
    fn patience(&self, left: usize) -> Deadline {
        match self.deadline.left() {
            Some(time_left) if self.call.kind == Kind::Read && left > 0 => {
                self.deadline.or_after(time_left / 2)
            }
            Some(_) | None => self.deadline,
        }
    }

    /// The connection failed, or what came over it was no answer. A write is over by that: whether
    /// it was carried out is unknown.
    fn lost(&mut self, node: &str, cause: AttemptError) -> Result<(), ExecutionError> {
        match self.call.kind {
            Kind::Write => Err(ExecutionError::UnknownOutcome { node: node.to_owned(), cause }),
            Kind::Read => {
                self.trouble.note(node, cause);
                Ok(())
            }
        }
    }

    /// What the retry policy says.
    fn go_on(
        &mut self,
        happened: Happened,
        left: usize,
        repeatable: bool,
    ) -> Result<(), ExecutionError> {
        let is_enough = self.enough.is_some_and(|enough| enough.left().is_none());
        match self.retry.next(happened, repeatable, left, &mut self.chance) {
            Next::Another => {}
            Next::GiveUp => {
                return Err(match happened {
                    Happened::BadAnswer => self.trouble.bad_answer(),
                    Happened::NotSent
                    | Happened::Lost
                    | Happened::Misdirected { .. }
                    | Happened::Unavailable { .. }
                    | Happened::NoneLeft => self.trouble.unavailable(),
                });
            }
            Next::Wait(_) | Next::Refresh(_) if is_enough => {
                return Err(self.trouble.unavailable());
            }
            Next::Wait(pause) => self.start_over_after(pause)?,
            Next::Refresh(pause) => {
                let node = match happened {
                    Happened::Misdirected { .. } => self.excluded.last().copied(),
                    Happened::NotSent
                    | Happened::Lost
                    | Happened::BadAnswer
                    | Happened::Unavailable { .. }
                    | Happened::NoneLeft => None,
                };
                let (view, used) = (&self.shared.view, self.view.token());
                let wake = Wake { node, token: None };
                self.shared.news.refresh_and_wait(view, used, wake, self.deadline);
                if view.token() == Some(used) && left == 0 {
                    self.start_over_after(pause)?;
                }
            }
        }
        let now = self.shared.view.get();
        if now.token() != self.view.token() {
            self.excluded.clone_from(&self.useless);
        }
        self.view = now;
        Ok(())
    }

    /// Pauses, but leaves time for another attempt; where there is none, it is over.
    fn start_over_after(&mut self, pause: Duration) -> Result<(), ExecutionError> {
        match self.deadline.left() {
            Some(left) if left > TOO_LITTLE => std::thread::sleep(pause.min(left / 2)),
            Some(_) | None => return Err(self.trouble.timed_out(self.time)),
        }
        self.excluded.clone_from(&self.useless);
        Ok(())
    }

    fn no_endpoint(&self) -> ExecutionError {
        let members = self.view.snapshot().members();
        ExecutionError::NoEndpoint {
            protocol: self.shared.config.protocol(),
            others: members.iter().any(|member| !member.endpoints.is_empty()),
        }
    }

    fn tell_lost(&self, node: &str, why: &AttemptError) {
        self.tell(|| Event::Failed { node: node.to_owned(), why: why.to_string() });
    }

    fn tell(&self, event: impl FnOnce() -> Event) {
        self.shared.config.observer.tell(event);
    }
}
