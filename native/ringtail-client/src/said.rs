//! What nodes say of why they do not do something: JSON of Ringtail, text of Riak, pages of others.

use crate::error::{Refusal, TopologyError};
use crate::http::{BodyReader, ResponseHead};

/// The largest error text taken.
const LIMIT: u64 = 64 * 1024;

/// What Riak's HTTP server means that gives no reason.
const TOO_MUCH: &str = "its HTTP server refused the request as it stands, nothing was done: a \
    line of the head (key and query, or one field) has 8 KB at most, the head 1000 fields";

/// The text of an error; reading it also lets the connection be used again.
pub(crate) fn text_of(body: &mut BodyReader) -> Vec<u8> {
    body.read_all(LIMIT).unwrap_or_default()
}

/// Code and message of an error's text.
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

/// An error answer as an error.
pub(crate) fn refusal(node: &str, status: u16, text: &[u8]) -> Refusal {
    let (code, message) = match status {
        400 | 413 | 414 | 431 if text.trim_ascii().is_empty() => (None, TOO_MUCH.to_owned()),
        _ => said(text),
    };
    Refusal { node: node.to_owned(), status, code, message }
}

/// The answer of something that is no Ringtail node, or one with security in the way.
pub(crate) fn not_ringtail(address: &str, response: &ResponseHead, text: &[u8]) -> TopologyError {
    let status = response.status;
    let message = match status {
        401 => "it wants user and password: write them into the URL, or use --user",
        403 => "the user may not do that: grant it in riak admin security",
        426 => "Riak's security is on and wants https: use the node's https listener",
        _ => {
            let html = if is_html(text) { ", HTML" } else { "" };
            let what = match (status, response.headers.text("Server")) {
                (404, Some(server)) if server.contains("WebMachine") => {
                    "a Riak node without it".to_owned()
                }
                (_, Some(server)) => {
                    format!("HTTP status {status} from {}{html}", printable(server))
                }
                (_, None) => format!("HTTP status {status}{html}"),
            };
            return TopologyError::NotRingtail { address: address.to_owned(), what };
        }
    };
    let (node, message) = (address.to_owned(), message.to_owned());
    TopologyError::Refused(Refusal { node, status, code: None, message })
}

pub(crate) fn is_html(text: &[u8]) -> bool {
    text.trim_ascii_start().first() == Some(&b'<')
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
