//! Heads of requests, written, and of responses, parsed.

use super::{Framing, Headers};

/// A request's head, written as it goes out.
pub(crate) struct RequestHead {
    bytes: Vec<u8>,
}

impl RequestHead {
    /// `target` is a path with its query, percent-encoded.
    pub(crate) fn new(method: &str, target: &str, host: &str) -> Self {
        let mut bytes = Vec::with_capacity(512);
        for part in [method, " ", target, " HTTP/1.1\r\nHost: ", host, "\r\n"] {
            bytes.extend_from_slice(part.as_bytes());
        }
        Self { bytes }
    }

    /// Adds a field. Name and value are checked where they come in from outside.
    pub(crate) fn field(&mut self, name: &str, value: &[u8]) {
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b": ");
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// The head with its empty line.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(b"\r\n");
        self.bytes
    }
}

/// A response's head.
#[derive(Clone, Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    /// Whether the connection may carry another request after the body.
    pub(crate) keep_alive: bool,
}

const MAX_FIELDS: usize = 8192;

impl ResponseHead {
    /// The largest head taken. Riak answers an index field a value; objects with thousands of them
    /// exist.
    pub(super) const LIMIT: usize = 1024 * 1024;

    /// Parses the head at the start of `bytes`: with its length, or nothing where it is not all
    /// there yet.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, &'static str> {
        let mut count = 64;
        loop {
            let mut fields = vec![httparse::EMPTY_HEADER; count];
            let mut response = httparse::Response::new(&mut fields);
            match response.parse(bytes) {
                Ok(httparse::Status::Complete(length)) => {
                    return Ok(Some((Self::of(&response), length)));
                }
                Ok(httparse::Status::Partial) if bytes.len() >= Self::LIMIT => {
                    return Err("a head without an end");
                }
                Ok(httparse::Status::Partial) => return Ok(None),
                Err(httparse::Error::TooManyHeaders) if count < MAX_FIELDS => count *= 8,
                Err(httparse::Error::TooManyHeaders) => {
                    return Err("more header fields than anybody sends");
                }
                Err(_) => return Err("what came is not HTTP"),
            }
        }
    }

    fn of(response: &httparse::Response<'_, '_>) -> Self {
        let mut headers = Headers::new();
        headers.reserve(response.headers.len());
        for field in response.headers.iter() {
            headers.push(field.name, field.value);
        }
        let said = |word: &str| {
            headers.all("Connection").any(|value| {
                value
                    .split(|&b| b == b',')
                    .any(|part| part.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
            })
        };
        let keep_alive = if response.version == Some(1) {
            !said("close")
        } else {
            said("keep-alive") && !said("close")
        };
        Self { status: response.code.unwrap_or_default(), headers, keep_alive }
    }

    /// How the body's end is told.
    pub(crate) fn framing(&self, answers_head: bool) -> Result<Framing, &'static str> {
        if answers_head || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::Length(0));
        }
        if let Some(coding) = self.headers.get("Transfer-Encoding") {
            return match coding.trim_ascii() {
                coding if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::chunked()),
                _ => Err("a transfer coding that was not asked for"),
            };
        }
        let mut lengths = self.headers.all("Content-Length");
        match (lengths.next(), lengths.next()) {
            (None, _) => Ok(Framing::UntilClose),
            (Some(length), None) => std::str::from_utf8(length)
                .ok()
                .filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|text| text.parse().ok())
                .map(Framing::Length)
                .ok_or("a Content-Length that is no number"),
            (Some(_), Some(_)) => Err("two Content-Lengths"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ResponseHead {
        ResponseHead::parse(text.as_bytes()).unwrap().unwrap().0
    }

    #[test]
    fn heads() {
        let head =
            parse("HTTP/1.1 300 Multiple Choices\r\nX-A: b\r\nContent-Length: 7\r\n\r\nmore");
        assert_eq!(
            (head.status, head.headers.text("x-a"), head.keep_alive),
            (300, Some("b"), true)
        );
        assert_eq!(head.framing(false), Ok(Framing::Length(7)));
        assert_eq!(head.framing(true), Ok(Framing::Length(0)));
        assert!(ResponseHead::parse(b"HTTP/1.1 200 OK\r\nX-A: b\r\n").unwrap().is_none());
        assert!(!parse("HTTP/1.1 200 OK\r\nConnection: x, Close\r\n\r\n").keep_alive);
        assert!(!parse("HTTP/1.0 200 OK\r\n\r\n").keep_alive);
    }

    #[test]
    fn junk_is_refused_before_it_fills_memory() {
        assert!(ResponseHead::parse(b"\x15\x03\x01\x00\x02").is_err());
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(ResponseHead::LIMIT));
        assert!(ResponseHead::parse(endless.as_bytes()).is_err());
    }

    #[test]
    fn an_object_with_a_thousand_fields_has_a_head() {
        let mut text = String::from("HTTP/1.1 200 OK\r\n");
        for at in 0..1000 {
            text.push_str(&format!("X-Riak-Meta-{at}: v\r\n"));
        }
        assert_eq!(parse(&(text + "\r\n")).headers.iter().count(), 1000);
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        for bad in
            ["Content-Length: x", "Content-Length: -1", "Content-Length: 1\r\nContent-Length: 2"]
        {
            assert!(
                parse(&format!("HTTP/1.1 200 OK\r\n{bad}\r\n\r\n")).framing(false).is_err(),
                "{bad}"
            );
        }
    }
}
