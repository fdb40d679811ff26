//! Whether a response is the answer, or a reason to go on; and the calls every request needs.

use std::sync::Arc;
use std::time::Duration;

use ringtail_core::keys::percent_encode;

use super::trouble::Trouble;
use super::{Answer, Call, Goal};
use crate::content::Source;
use crate::error::Error;
use crate::event::Event;
use crate::http::LONGEST;
use crate::identity::Bearing;
use crate::net::{MESSAGE_LIMIT, refusal, said};
use crate::paths::Base;
use crate::properties::BucketProperties;
use crate::retry::{Happened, Kind};
use crate::shared::Shared;
use crate::stats::count;
use crate::view::View;

pub(super) enum Weighed {
    Final(Answer),
    Again(Happened),
}

/// The largest document of bucket properties taken.
const PROPERTIES_LIMIT: u64 = 1024 * 1024;

impl Shared {
    pub(super) fn weigh(
        &self,
        view: &View,
        call: &Call,
        mut answer: Answer,
        goal: Goal<'_>,
        left: usize,
        last: &mut Trouble,
    ) -> Result<Weighed, Error> {
        // Whoever passes the request on passes on what the last node said of it.
        if call.patience.is_some()
            && !call.is_riaks()
            && matches!(answer.head.status, 502..=504)
            && (left == 0 || call.kind == Kind::Write)
        {
            return Ok(Weighed::Final(answer));
        }
        match (answer.head.status, call.kind) {
            (421, _) => {
                let (_, message) = said(&answer.message());
                let token = Bearing::of(&answer.head.headers).token;
                count(&self.counters.misdirections);
                self.config
                    .observer
                    .tell(|| Event::Misdirected { node: answer.node.clone(), token });
                if let Goal::Primary(name) = goal {
                    // With an equal topology it is n_val or keyfun that we know wrongly.
                    self.properties.drop(name.bucket_type(), name.bucket());
                }
                last.note(&answer.node, message);
                let ours = view.token();
                let newer =
                    token.is_some_and(|token| token != ours && token.ordinal >= ours.ordinal);
                Ok(Weighed::Again(Happened::Misdirected { newer }))
            }
            (503, _) => {
                let retry_after = answer.head.headers.text("Retry-After");
                let retry_after =
                    retry_after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
                let retry_after = retry_after.map(|time| time.min(LONGEST));
                let (code, message) = said(&answer.message());
                self.config.observer.tell(|| Event::Unavailable {
                    node: answer.node.clone(),
                    why: message.clone(),
                });
                last.note(&answer.node, message);
                last.retry_after(retry_after);
                // Ringtail refuses before Riak is asked. What Riak itself says so may come after it
                // has stored something.
                Ok(Weighed::Again(Happened::Unavailable {
                    nothing_done: code.is_some(),
                    retry_after,
                }))
            }
            // The node that sent it on for us did not get through.
            (502 | 504, Kind::Read) => {
                let (_, message) = said(&answer.message());
                last.note(&answer.node, message);
                Ok(Weighed::Again(Happened::Lost))
            }
            (502 | 504, Kind::Write) => {
                let (_, cause) = said(&answer.message());
                Err(Error::UnknownOutcome { node: answer.node, cause })
            }
            _ => Ok(Weighed::Final(answer)),
        }
    }

    pub(super) fn no_endpoint(&self, view: &View) -> Error {
        let protocol = self.config.protocol();
        let others = if view.snapshot().members().iter().any(|member| !member.endpoints.is_empty())
        {
            "; use seeds of a protocol that they publish"
        } else {
            ""
        };
        Error::Unavailable {
            message: format!(
                "no node that could serve this publishes an {protocol} endpoint: \
                 configure listener.{protocol} there{others}"
            ),
            retry_after: None,
        }
    }

    pub(super) fn ask_properties(
        self: &Arc<Self>,
        bucket_type: &[u8],
        bucket: &[u8],
        time: Duration,
        patience: Option<Duration>,
    ) -> Result<BucketProperties, Error> {
        let bucket = percent_encode(bucket);
        let path = if bucket_type == ringtail_core::keys::DEFAULT_TYPE {
            format!("/buckets/{bucket}/props")
        } else {
            format!("/types/{}/buckets/{bucket}/props", percent_encode(bucket_type))
        };
        let call = Call {
            method: "GET",
            kind: Kind::Read,
            base: Base::Riak,
            path,
            fields: Vec::new(),
            patience,
        };
        let mut answer = self.execute(Goal::Any, &call, &mut Source::None, time)?;
        match answer.head.status {
            200 => {
                count(&self.counters.properties_fetched);
                let bad = |what: String| Error::BadAnswer {
                    address: answer.node.clone(),
                    what: format!("the properties of the bucket: {what}"),
                };
                let text = answer
                    .body
                    .read_all(PROPERTIES_LIMIT)
                    .map_err(|error| bad(error.to_string()))?;
                BucketProperties::parse(&text).map_err(bad)
            }
            404 => Err(Error::NoBucketType(String::from_utf8_lossy(bucket_type).into_owned())),
            _ => Err(answer.refusal()),
        }
    }
}

impl Answer {
    /// The text of an error; reading it also lets the connection be used again.
    pub(crate) fn message(&mut self) -> Vec<u8> {
        self.body.read_all(MESSAGE_LIMIT).unwrap_or_default()
    }

    /// An answer that nothing else is known to do with.
    pub(crate) fn refusal(mut self) -> Error {
        let text = self.message();
        refusal(&self.node, self.head.status, &text)
    }
}
