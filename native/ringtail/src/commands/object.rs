//! Objects shown: as JSON documents and as lines.

use base64::Engine as _;
use ringtail_client::{Metadata, Object, ObjectName, Siblings, Vclock};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::keytext::shown;
use crate::output::{Output, Style};

/// Text as it is; other bytes in percent notation.
fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| shown(bytes), str::to_owned)
}

fn named(name: &ObjectName) -> Map<String, Value> {
    let mut document = Map::new();
    for (field, bytes) in
        [("bucket_type", name.bucket_type()), ("bucket", name.bucket()), ("key", name.key())]
    {
        document.insert(field.to_owned(), shown(bytes).into());
    }
    document
}

fn add_fields<C>(document: &mut Map<String, Value>, object: &Object<C>) {
    let Metadata { content_type, content_encoding, user, indexes, links } = &object.metadata;
    let mut add = |name: &str, value: Value| document.insert(name.to_owned(), value);
    add("content_type", content_type.as_str().into());
    add("content_encoding", json!(content_encoding));
    add("vclock", json!(object.vclock.as_ref().map(Vclock::as_str)));
    add("etag", json!(object.etag));
    add("last_modified", json!(object.last_modified));
    add("deleted", object.deleted.into());
    let user: Map<String, Value> =
        user.iter().map(|(name, value)| (name.clone(), text(value).into())).collect();
    add("meta", user.into());
    let indexes =
        indexes.iter().map(|(field, value)| json!({"field": field, "value": text(value)}));
    add("indexes", indexes.collect());
    add("links", links.iter().map(|link| json!({"path": link.path, "tag": link.tag})).collect());
}

fn add_content(document: &mut Map<String, Value>, content: &[u8]) {
    match std::str::from_utf8(content) {
        Ok(text) => document.insert("content".to_owned(), text.into()),
        Err(_) => {
            let text = base64::engine::general_purpose::STANDARD.encode(content);
            document.insert("content_base64".to_owned(), text.into())
        }
    };
}

/// An object as JSON, with its content if there is one to show.
pub fn document<C>(
    name: &ObjectName,
    object: &Object<C>,
    length: Option<u64>,
    content: Option<&[u8]>,
) -> Value {
    let mut document = named(name);
    add_fields(&mut document, object);
    document.insert("length".to_owned(), json!(length));
    if let Some(content) = content {
        add_content(&mut document, content);
    }
    document.into()
}

/// Siblings as JSON.
pub fn siblings_document(name: &ObjectName, siblings: &Siblings) -> Value {
    let mut document = named(name);
    document.insert("vclock".to_owned(), json!(siblings.vclock.as_ref().map(Vclock::as_str)));
    document.insert("vtags".to_owned(), json!(siblings.vtags));
    let siblings = siblings.siblings.iter().map(|sibling| {
        let mut document = Map::new();
        add_fields(&mut document, sibling);
        document.insert("length".to_owned(), sibling.content.len().into());
        add_content(&mut document, &sibling.content);
        Value::from(document)
    });
    document.insert("siblings".to_owned(), siblings.collect());
    document.into()
}

/// The fields of an object, name and value, safe to show.
pub fn lines<C>(object: &Object<C>, length: Option<u64>) -> Vec<(String, String)> {
    let mut lines =
        vec![("content_type".to_owned(), shown(object.metadata.content_type.as_bytes()))];
    let mut add = |name: String, value: Option<String>| {
        if let Some(value) = value {
            lines.push((shown(name.as_bytes()), shown(value.as_bytes())));
        }
    };
    add("content_encoding".into(), object.metadata.content_encoding.clone());
    add("length".into(), length.map(|length| length.to_string()));
    add("vclock".into(), object.vclock.as_ref().map(|vclock| vclock.as_str().to_owned()));
    add("etag".into(), object.etag.clone());
    add("last_modified".into(), object.last_modified.clone());
    add("deleted".into(), object.deleted.then(|| "true".to_owned()));
    for link in &object.metadata.links {
        add(format!("link.{}", link.tag), Some(link.path.clone()));
    }
    for (prefix, pairs) in [("meta", &object.metadata.user), ("index", &object.metadata.indexes)] {
        for (name, value) in pairs {
            lines.push((format!("{prefix}.{}", shown(name.as_bytes())), shown(value)));
        }
    }
    lines
}

/// It is still the one that the condition names: no failure, and nothing to show.
pub fn not_modified(out: &mut Output) -> Result<(), Failure> {
    match out.style {
        Style::Json => out.json(&json!({"not_modified": true})).map_err(Failure::output),
        Style::Plain | Style::Table => {
            eprintln!("ringtail: not modified");
            Ok(())
        }
    }
}
