//! Siblings in a multipart/mixed body.

use super::fields::object_of;
use super::version::{Object, Siblings, Vclock};
use crate::http::{Headers, lenient_fields};

/// Fields of one sibling.
const MOST_FIELDS: usize = 32 * 1024;
/// Of RFC 2046. Every byte of the body is compared with it.
const LONGEST_BOUNDARY: usize = 70;

/// The siblings in the body of a 300.
pub(crate) fn siblings_of(headers: &Headers, body: &[u8]) -> Result<Siblings, String> {
    let vclock = headers.text("X-Riak-Vclock").map(|text| Vclock(text.to_owned()));
    let content_type = headers.text("Content-Type").unwrap_or_default();
    if !content_type.starts_with("multipart/mixed") {
        // The list of vtags that Riak gives to those who take no multipart, and to HEAD nothing.
        let text = String::from_utf8_lossy(body);
        let mut lines = text.lines();
        return match lines.next() {
            Some("Siblings:") => {
                let vtags = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
                Ok(Siblings { vclock, siblings: Vec::new(), vtags })
            }
            None => Ok(Siblings { vclock, siblings: Vec::new(), vtags: Vec::new() }),
            Some(_) => Err(format!("siblings as {content_type}")),
        };
    }
    let boundary = content_type
        .split(';')
        .find_map(|part| part.trim().strip_prefix("boundary="))
        .map(|text| text.trim_matches('"'))
        .filter(|text| (1..=LONGEST_BOUNDARY).contains(&text.len()))
        .ok_or("multipart without a boundary")?;
    let mut siblings = Vec::new();
    if !body.is_empty() {
        for part in parts(body, boundary)? {
            let mut sibling = sibling(part)?;
            sibling.vclock.clone_from(&vclock);
            siblings.push(sibling);
        }
    }
    let vtags = siblings.iter().filter_map(|sibling| sibling.etag.clone()).collect();
    Ok(Siblings { vclock, siblings, vtags })
}

/// What is between the delimiters.
fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<&'a [u8]>, String> {
    let delimiter = format!("\r\n--{boundary}");
    let delimiter = delimiter.as_bytes();
    let find = |from: usize| {
        body[from..]
            .windows(delimiter.len())
            .position(|window| window == delimiter)
            .map(|at| from + at)
    };
    // The line end before the first delimiter may be missing.
    let mut at = if body.starts_with(&delimiter[2..]) {
        delimiter.len() - 2
    } else {
        find(0).ok_or("multipart without its boundary")? + delimiter.len()
    };
    let mut parts = Vec::new();
    loop {
        if body[at..].starts_with(b"--") {
            return Ok(parts);
        }
        let start = at + 2;
        if !body[at..].starts_with(b"\r\n") {
            return Err("a boundary that does not end".into());
        }
        // A part without header fields and content would let the next delimiter begin at our line
        // end.
        let end = find(at).ok_or("multipart without an end")?;
        parts.push(&body[start.min(end)..end]);
        at = end + delimiter.len();
    }
}

fn sibling(part: &[u8]) -> Result<Object, String> {
    match lenient_fields(part, MOST_FIELDS) {
        Ok(Some((headers, length))) => Ok(object_of(&headers, part[length..].to_vec())),
        Ok(None) => Err("a sibling without content".into()),
        Err(error) => Err(format!("a sibling's fields: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn siblings(content_type: &str, body: &str) -> Result<Siblings, String> {
        let mut headers = Headers::new();
        headers.push("X-Riak-Vclock", *b"a85h");
        headers.push("Content-Type", content_type);
        siblings_of(&headers, body.as_bytes())
    }

    #[test]
    fn siblings_as_riak_writes_them() {
        let body = "\r\n--WxrstcQz\r\nContent-Type: text/plain\r\n\
                    Link: </buckets/rec>; rel=\"up\"\r\nEtag: 2aMs\r\n\
                    Last-Modified: Sun, 29 Nov 2026 18:12:36 GMT\r\nX-Riak-Meta-A: 1\r\n\r\n\
                    one\r\n--WxrstcQz\r\nContent-Type: text/plain\r\nEtag: lEIu\r\n\
                    X-Riak-Deleted: true\r\n\r\n\r\n--WxrstcQz--\r\n";
        let found = siblings("multipart/mixed; boundary=WxrstcQz", body).unwrap();
        assert_eq!(found.vtags, ["2aMs", "lEIu"]);
        assert_eq!(found.siblings[0].content, b"one");
        assert_eq!(found.siblings[0].metadata.user, [("A".to_owned(), b"1".to_vec())]);
        assert!(found.siblings[0].metadata.links.is_empty());
        assert_eq!((found.siblings[1].deleted, found.siblings[1].content.len()), (true, 0));
        assert_eq!(found.siblings[1].vclock, found.vclock);
    }

    #[test]
    fn a_sibling_with_metadata_that_http_cannot_carry_is_read_as_it_stands() {
        let body = "--b\r\nX-Riak-Meta-my n\u{e4}me: \u{1}x\r\nEtag: e\r\n\r\nc\r\n--b--";
        let found = siblings("multipart/mixed; boundary=b", body).unwrap();
        assert_eq!(found.siblings[0].metadata.user, [("my n\u{e4}me".into(), b"\x01x".to_vec())]);
        assert_eq!(found.siblings[0].content, b"c");
    }

    #[test]
    fn content_that_looks_like_a_boundary_is_content() {
        let body = "--b\r\nEtag: x\r\n\r\n--b\r\n--bb\r\n\r\n--b--";
        // "--bb" begins like the delimiter; Riak picks boundaries that do not occur in the content,
        // so this is refused.
        assert!(siblings("multipart/mixed; boundary=b", body).is_err());
        let body = "--bnd\r\nEtag: x\r\n\r\n--b\r\n\r\n--bnd--";
        assert_eq!(
            siblings("multipart/mixed; boundary=\"bnd\"", body).unwrap().siblings[0].content,
            b"--b\r\n"
        );
    }

    #[test]
    fn lists_of_vtags_and_broken_bodies() {
        assert_eq!(siblings("text/plain", "Siblings:\na\nb\n").unwrap().vtags, ["a", "b"]);
        assert!(siblings("text/plain", "").unwrap().vtags.is_empty());
        for (content_type, body) in [
            ("text/html", "<html>"),
            ("multipart/mixed", "--b"),
            ("multipart/mixed; boundary=b", "x"),
            ("multipart/mixed; boundary=b", "--b\r\nEtag: x\r\n\r\ny"),
            ("multipart/mixed; boundary=b", "--b\r\n--b--"),
        ] {
            assert!(siblings(content_type, body).is_err(), "{content_type} {body}");
        }
    }
}
