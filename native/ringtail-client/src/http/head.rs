//! Heads of requests, written, and of responses, parsed.

use super::framing::Framing;
use super::headers::Headers;
use super::lenient;

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

/// More than any object has: Riak answers a field an entry of metadata, and a line a value of an
/// index.
const MAX_FIELDS: usize = 32 * 1024;

impl ResponseHead {
    /// The largest head taken. What is stored by Protocol Buffers knows no limit of HTTP: a
    /// thousand entries of metadata of 1 KB each are a head of 1 MB.
    pub(super) const LIMIT: usize = 4 * 1024 * 1024;

    /// Parses the head at the start of `bytes`: with its length, or nothing where it is not all
    /// there yet.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, &'static str> {
        use httparse::Error::{
            HeaderName, HeaderValue, NewLine, Status, Token, TooManyHeaders, Version,
        };
        let mut count = 64;
        loop {
            let mut fields = vec![httparse::EMPTY_HEADER; count];
            let mut response = httparse::Response::new(&mut fields);
            let parsed = response.parse(bytes);
            let line = response.version.zip(response.code);
            match (parsed, line) {
                (Ok(httparse::Status::Complete(length)), Some(line)) => {
                    let mut headers = Headers::new();
                    headers.reserve(response.headers.len());
                    for field in response.headers.iter() {
                        headers.push(field.name, field.value);
                    }
                    return Ok(Some((Self::of(line, headers), length)));
                }
                (Ok(httparse::Status::Partial), _) => return not_yet(bytes),
                (Err(TooManyHeaders), _) if count < MAX_FIELDS => count *= 8,
                (Err(TooManyHeaders), _) => return Err(TOO_MANY),
                // The first line is sound, a field is none by the book.
                (Err(HeaderName | HeaderValue | NewLine | Token), Some(line)) => {
                    return Self::leniently(bytes, line);
                }
                (Err(HeaderName | HeaderValue | NewLine | Token | Status | Version), _)
                | (Ok(httparse::Status::Complete(_)), None) => return Err("what came is not HTTP"),
            }
        }
    }

    fn leniently(bytes: &[u8], line: (u8, u16)) -> Result<Option<(Self, usize)>, &'static str> {
        let start = bytes.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(0);
        let Some(end) = bytes[start..].iter().position(|&byte| byte == b'\n') else {
            return not_yet(bytes);
        };
        let fields = start + end + 1;
        match lenient::fields(&bytes[fields..], MAX_FIELDS)? {
            Some((headers, length)) => Ok(Some((Self::of(line, headers), fields + length))),
            None => not_yet(bytes),
        }
    }

    fn of((version, status): (u8, u16), headers: Headers) -> Self {
        let said = |word: &str| {
            headers.all("Connection").any(|value| {
                value
                    .split(|&b| b == b',')
                    .any(|part| part.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
            })
        };
        let kept = if version == 1 { !said("close") } else { said("keep-alive") && !said("close") };
        let has = |name| headers.get(name).is_some();
        // Where two rules tell the end of the body, those who read and those who wrote it may
        // differ about what comes next.
        let is_doubtful = has("Transfer-Encoding")
            && (version == 0 || has("Content-Length") || matches!(status, 204 | 304));
        Self { status, keep_alive: kept && !is_doubtful, headers }
    }

    /// The length that the answer states.
    pub(crate) fn content_length(&self) -> Result<Option<u64>, &'static str> {
        let mut lengths = self.headers.all("Content-Length");
        match (lengths.next(), lengths.next()) {
            (None, _) => Ok(None),
            (Some(length), None) => std::str::from_utf8(length)
                .ok()
                .filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|text| text.parse().ok())
                .map(Some)
                .ok_or("a Content-Length that is no number"),
            (Some(_), Some(_)) => Err("two Content-Lengths"),
        }
    }

    /// How the body's end is told.
    pub(crate) fn framing(&self, answers_head: bool) -> Result<Framing, &'static str> {
        if answers_head || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::Length(0));
        }
        let mut codings = self.headers.all("Transfer-Encoding");
        match (codings.next(), codings.next()) {
            (None, _) => Ok(self.content_length()?.map_or(Framing::UntilClose, Framing::Length)),
            (Some(coding), None) if coding.trim_ascii().eq_ignore_ascii_case(b"chunked") => {
                Ok(Framing::chunked())
            }
            (Some(_), _) => Err("a transfer coding that was not asked for"),
        }
    }
}

const TOO_MANY: &str = "more header fields than anybody sends";

fn not_yet<T>(bytes: &[u8]) -> Result<Option<T>, &'static str> {
    if bytes.len() >= ResponseHead::LIMIT { Err("a head without an end") } else { Ok(None) }
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
    fn an_object_with_a_thousand_fields_of_a_kilobyte_has_a_head() {
        let mut text = String::from("HTTP/1.1 200 OK\r\n");
        let value = "v".repeat(1024);
        for at in 0..1000 {
            text.push_str(&format!("X-Riak-Meta-{at}: {value}\r\n"));
        }
        assert_eq!(parse(&(text + "\r\n")).headers.iter().count(), 1000);
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        for bad in [
            "Content-Length: x",
            "Content-Length: -1",
            "Content-Length: +5",
            "Content-Length: 0x5",
            "Content-Length: 5, 5",
            "Content-Length: 5 5",
            "Content-Length:",
            "Content-Length: 99999999999999999999",
            "Content-Length: 1\r\nContent-Length: 2",
            "Content-Length: 5\r\nContent-Length: 5",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        ] {
            let head = parse(&format!("HTTP/1.1 200 OK\r\n{bad}\r\n\r\n"));
            assert!(head.framing(false).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_answer_framed_twice_is_the_last_of_its_connection() {
        for (head, kept) in [
            ("1.1 200 OK\r\nTransfer-Encoding: chunked", true),
            ("1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5", false),
            ("1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", false),
            ("1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked", false),
            ("1.1 204 No Content\r\nTransfer-Encoding: chunked", false),
        ] {
            let head = parse(&format!("HTTP/{head}\r\n\r\n"));
            assert_eq!(head.keep_alive, kept, "{head:?}");
            assert!(head.status == 204 || head.framing(false) == Ok(Framing::chunked()));
        }
    }

    #[test]
    fn metadata_that_no_http_client_could_have_stored_is_read_as_it_stands() {
        let text = b"HTTP/1.1 200 OK\r\nX-Riak-Meta-my name: a\r\n\
                     X-Riak-Meta-gr\xc3\xbcn: \x01\x7f b\r\nX-Riak-Meta-two: lines\r\nof it\r\n\
                     X-Riak-Meta-cr: a\rb\r\nContent-Length : 3\r\n\r\nabc";
        for end in 0..text.len() - 3 {
            assert!(ResponseHead::parse(&text[..end]).unwrap().is_none(), "{end}");
        }
        let (head, length) = ResponseHead::parse(text).unwrap().unwrap();
        assert_eq!((head.status, length, head.keep_alive), (200, text.len() - 3, true));
        let fields: Vec<(&str, &[u8])> = head.headers.iter().collect();
        assert_eq!(
            fields,
            [
                ("X-Riak-Meta-my name", &b"a"[..]),
                ("X-Riak-Meta-gr\u{fc}n", b"\x01\x7f b"),
                ("X-Riak-Meta-two", b"lines of it"),
                ("X-Riak-Meta-cr", b"a b"),
                ("Content-Length", b"3"),
            ]
        );
        assert_eq!(head.framing(false), Ok(Framing::Length(3)));
    }

    #[test]
    fn heads_have_an_end_also_where_they_are_read_leniently() {
        let endless = format!("HTTP/1.1 200 OK\r\na b: {}", "a".repeat(ResponseHead::LIMIT));
        assert!(ResponseHead::parse(endless.as_bytes()).is_err());
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a b: c\r\n".repeat(MAX_FIELDS + 1));
        assert_eq!(ResponseHead::parse(many.as_bytes()).unwrap_err(), TOO_MANY);
        assert!(ResponseHead::parse(b"HTTP/1.1 200 OK\r\nno field\r\n\r\n").is_err());
    }
}
