//! Metadata in header fields, both ways.

use super::version::{Link, Metadata, Object, Vclock};
use crate::error::Error;
use crate::http::{Headers, is_name, is_value};

const META: &str = "X-Riak-Meta-";
const INDEX: &str = "X-Riak-Index-";

fn after_prefix<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = name.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The object that header fields tell of, of a whole response or of one part of it.
pub(crate) fn object_of<C>(headers: &Headers, content: C) -> Object<C> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
    let mut metadata = Metadata {
        content_type: text("Content-Type").unwrap_or_default(),
        content_encoding: text("Content-Encoding"),
        ..Metadata::default()
    };
    for (name, value) in headers.iter() {
        if let Some(name) = after_prefix(name, META) {
            metadata.user.push((name.to_owned(), value.to_vec()));
        } else if let Some(field) = after_prefix(name, INDEX) {
            // Riak joins the values of a field with ", " and splits at the same.
            let mut rest = value;
            while let Some(at) = rest.windows(2).position(|pair| pair == b", ") {
                metadata.indexes.push((field.to_owned(), rest[..at].to_vec()));
                rest = &rest[at + 2..];
            }
            metadata.indexes.push((field.to_owned(), rest.to_vec()));
        } else if name.eq_ignore_ascii_case("Link") {
            metadata.links.extend(String::from_utf8_lossy(value).split(',').filter_map(link));
        }
    }
    Object {
        content,
        metadata,
        vclock: text("X-Riak-Vclock").map(Vclock),
        etag: text("ETag").map(|etag| etag.trim_matches('"').to_owned()),
        last_modified: text("Last-Modified"),
        deleted: headers.get("X-Riak-Deleted").is_some(),
    }
}

/// `</buckets/B/keys/K>; riaktag="T"`.
/// The link to the bucket (`rel="up"`) is made by Riak and no part of the object. Within
/// paths and tags Riak percent-encodes commas.
fn link(text: &str) -> Option<Link> {
    let (path, rest) = text.trim().strip_prefix('<')?.split_once('>')?;
    let tag = rest.trim().strip_prefix(';')?.trim().strip_prefix("riaktag=")?.trim_matches('"');
    Some(Link { path: path.to_owned(), tag: tag.to_owned() })
}

/// Writes metadata into a request.
///
/// # Errors
/// Names or values that no header can carry.
pub(crate) fn write_metadata(
    metadata: &Metadata,
    fields: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Error> {
    let bad = |what: String| Error::invalid(what);
    if metadata.content_type.is_empty() {
        return Err(bad(
            "the content type is empty: Riak wants one, such as application/octet-stream".into(),
        ));
    }
    let mut push = |name: String, value: &[u8]| {
        if !is_name(name.as_bytes()) {
            return Err(bad(format!("{name:?} is no name that an HTTP header can have")));
        }
        if !is_value(value) {
            return Err(bad(format!(
                "the value of {name} has control characters, which no HTTP header can carry"
            )));
        }
        // What a header cannot keep would come back changed.
        if value.trim_ascii().len() != value.len() {
            return Err(bad(format!(
                "the value of {name} begins or ends with a space, which HTTP drops"
            )));
        }
        fields.push((name, value.to_vec()));
        Ok(())
    };
    push("Content-Type".to_owned(), metadata.content_type.as_bytes())?;
    if let Some(encoding) = &metadata.content_encoding {
        push("Content-Encoding".to_owned(), encoding.as_bytes())?;
    }
    for (at, (name, value)) in metadata.user.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::invalid("metadata without a name"));
        }
        if metadata.user[..at].iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Err(Error::invalid(format!(
                "the metadata {name:?} is given twice: Riak keeps one value"
            )));
        }
        push(format!("{META}{name}"), value)?;
    }
    // A line each: together they would be longer than the 8 KB that Riak's HTTP server takes.
    for (field, value) in &metadata.indexes {
        if value.windows(2).any(|pair| pair == b", ") {
            return Err(Error::invalid(format!(
                "a value of index {field} has a comma followed by a space, where Riak's HTTP \
                 interface splits values"
            )));
        }
        push(format!("{INDEX}{field}"), value)?;
    }
    for link in &metadata.links {
        push("Link".to_owned(), format!("<{}>; riaktag=\"{}\"", link.path, link.tag).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(metadata: &Metadata) -> Metadata {
        let mut fields = Vec::new();
        write_metadata(metadata, &mut fields).unwrap();
        let mut headers = Headers::new();
        fields.into_iter().for_each(|(name, value)| headers.push(name, value));
        headers.push("Link", *b"</buckets/b>; rel=\"up\"");
        object_of(&headers, ()).metadata
    }

    #[test]
    fn metadata_survives_with_its_spelling() {
        let metadata = Metadata {
            content_type: "text/plain; charset=utf-8".into(),
            content_encoding: Some("gzip".into()),
            user: vec![
                ("Colour".into(), b"blue".to_vec()),
                ("x-Y".into(), "gr\u{fc}n".as_bytes().to_vec()),
            ],
            indexes: vec![
                ("age_int".into(), b"7".to_vec()),
                ("age_int".into(), b"8".to_vec()),
                ("city_bin".into(), b"a,b".to_vec()),
            ],
            links: vec![
                Link { path: "/buckets/b/keys/k%2C1".into(), tag: "t".into() },
                Link { path: "/buckets/b/keys/l".into(), tag: "u".into() },
            ],
        };
        assert_eq!(round_trip(&metadata), metadata);
    }

    #[test]
    fn a_hundred_values_are_a_hundred_lines_and_not_one_that_is_too_long() {
        let value = |at: usize| format!("{at:0100}").into_bytes();
        let link = |at| Link { path: format!("/buckets/b/keys/{at:0100}"), tag: "t".into() };
        let metadata = Metadata {
            indexes: (0..100).map(|at| ("a_bin".into(), value(at))).collect(),
            links: (0..100).map(link).collect(),
            ..Metadata::of_type("text/plain")
        };
        let mut fields = Vec::new();
        write_metadata(&metadata, &mut fields).unwrap();
        assert!(fields.iter().all(|(name, value)| name.len() + value.len() < 200));
        assert_eq!(round_trip(&metadata), metadata);
    }

    #[test]
    fn what_a_header_cannot_carry_is_refused_before_anything_is_sent() {
        let plain = Metadata::of_type("text/plain");
        let meta = |name: &str, value: &[u8]| Metadata {
            user: vec![(name.into(), value.to_vec())],
            ..plain.clone()
        };
        let index = |value: &[u8]| Metadata {
            indexes: vec![("a_bin".into(), value.to_vec())],
            ..plain.clone()
        };
        let twice =
            Metadata { user: vec![("a".into(), vec![]), ("A".into(), vec![])], ..plain.clone() };
        let bad = [
            Metadata::default(),
            meta("a b", b"x"),
            meta("", b"x"),
            meta("a", b"x\r\nX-Evil: y"),
            meta("a", b" x"),
            index(b"a, b"),
            twice,
        ];
        for metadata in bad {
            assert!(
                matches!(write_metadata(&metadata, &mut Vec::new()), Err(Error::Request(_))),
                "{metadata:?}"
            );
        }
    }
}
