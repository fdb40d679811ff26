//! Whether a response is the answer, or a reason to go on.

use std::time::Duration;

use ringtail_core::topology::Token;

use super::call::{Answer, Call};
use crate::http::LONGEST;
use crate::identity::Bearing;
use crate::retry::Kind;
use crate::said::said;

/// What a response means.
pub(super) enum Weighed {
    /// It is the answer.
    Final(Answer),
    /// The node is no primary, by the topology it has (421).
    Misdirected { token: Option<Token>, message: String },
    /// The node cannot serve it now (503).
    Unavailable { nothing_done: bool, retry_after: Option<Duration>, message: String },
    /// The node that sent it on for us did not get through (502, 504).
    NotForwarded { message: String },
}

/// `left`: nodes that could be tried instead.
pub(super) fn weigh(call: &Call, mut answer: Answer, left: usize) -> Weighed {
    // Whoever passes the request on passes on what the last node said of it.
    if call.patience.is_some()
        && !call.is_riaks()
        && matches!(answer.head.status, 502..=504)
        && (left == 0 || call.kind == Kind::Write)
    {
        return Weighed::Final(answer);
    }
    match answer.head.status {
        421 => {
            let (_, message) = said(&answer.message());
            Weighed::Misdirected { token: Bearing::of(&answer.head.headers).token, message }
        }
        503 => {
            let retry_after = answer.head.headers.text("Retry-After");
            let retry_after =
                retry_after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
            let (code, message) = said(&answer.message());
            Weighed::Unavailable {
                // Ringtail refuses before Riak is asked. What Riak itself says so may come after it
                // has stored something.
                nothing_done: code.is_some(),
                retry_after: retry_after.map(|time| time.min(LONGEST)),
                message,
            }
        }
        502 | 504 => {
            let (_, message) = said(&answer.message());
            Weighed::NotForwarded { message }
        }
        _ => Weighed::Final(answer),
    }
}
