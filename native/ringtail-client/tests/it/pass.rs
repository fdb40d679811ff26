//! Requests passed on, and asking who is there.

use std::io::Read;
use std::time::{Duration, Instant};

use ringtail_client::{Content, Error, ObjectName, Pass, PassTo, Passed};
use ringtail_testcluster::{BucketType, Cluster};

use crate::client;

fn pass<'a>(method: &'a str, to: PassTo<'a>) -> Pass<'a> {
    Pass {
        method,
        to,
        query: "",
        fields: Vec::new(),
        timeout: Duration::from_secs(10),
        patience: Duration::from_millis(300),
    }
}

fn body(mut passed: Passed) -> Vec<u8> {
    let mut body = Vec::new();
    passed.content.read_to_end(&mut body).unwrap();
    body
}

#[test]
fn what_is_passed_on_arrives_as_it_came_and_so_does_the_answer() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k/ey");
    let mut put = pass("PUT", PassTo::Object(&name));
    put.fields = vec![
        ("Content-Type".into(), b"text/x".to_vec()),
        ("X-Riak-Meta-Colour".into(), b"blue".to_vec()),
        ("Host".into(), b"elsewhere".to_vec()),
        ("content-length".into(), b"1".to_vec()),
        ("X-Ringtail-Route".into(), b"redirect".to_vec()),
    ];
    assert_eq!(client.pass(put, Some(Content::Bytes(b"hello"))).unwrap().status, 204);
    let got = client.pass(pass("GET", PassTo::Object(&name)), None).unwrap();
    let field = |name: &str| {
        got.fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.clone())
    };
    assert_eq!((got.status, got.length), (200, Some(5)));
    assert_eq!(field("X-Riak-Meta-Colour").as_deref(), Some(&b"blue"[..]));
    assert!(
        cluster
            .primaries("default", "b", "k/ey")
            .iter()
            .any(|&node| cluster.name(node) == got.node)
    );
    assert_eq!(body(got), b"hello");
    let head = client.pass(pass("HEAD", PassTo::Object(&name)), None).unwrap();
    assert_eq!((head.status, head.length, body(head)), (200, Some(5), vec![]));
    let missing = ObjectName::new("b", "none");
    assert_eq!(client.pass(pass("GET", PassTo::Object(&missing)), None).unwrap().status, 404);
    let document = client.pass(pass("GET", PassTo::Document("/topology")), None).unwrap();
    assert!(body(document).starts_with(b"{"));
}

#[test]
fn a_streamed_body_is_passed_on() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "large");
    let bytes: Vec<u8> = (0..3_000_000u32).map(|number| number as u8).collect();
    for length in [Some(bytes.len() as u64), None] {
        let mut put = pass("PUT", PassTo::Object(&name));
        put.fields = vec![("Content-Type".into(), b"a/b".to_vec())];
        let mut reader = &bytes[..];
        assert_eq!(
            client.pass(put, Some(Content::Reader(&mut reader, length))).unwrap().status,
            204
        );
    }
    assert_eq!(body(client.pass(pass("GET", PassTo::Object(&name)), None).unwrap()), bytes);
}

#[test]
fn what_http_cannot_carry_is_not_sent() {
    let cluster = Cluster::start(1);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    let bad_query = |query| Pass { query, ..pass("GET", PassTo::Object(&name)) };
    let bad_field = |name: &str, value: &[u8]| Pass {
        fields: vec![(name.into(), value.to_vec())],
        ..pass("GET", PassTo::Document("/topology"))
    };
    cluster.clear_logs();
    for bad in [
        pass("PATCH", PassTo::Object(&name)),
        pass("GET", PassTo::Document("topology")),
        pass("GET", PassTo::Document("/a b")),
        pass("GET", PassTo::Document("/a\r\nX: y")),
        bad_query("r=1"),
        bad_query("?r=1 HTTP/1.1\r\n"),
        bad_field("X Y", b"z"),
        bad_field("X", b"y\r\nZ: a"),
    ] {
        let shown = format!("{bad:?}");
        assert!(matches!(client.pass(bad, None), Err(Error::Request(_))), "{shown}");
    }
    assert_eq!(cluster.served().len(), 0);
}

#[test]
fn a_cluster_that_cannot_serve_is_not_waited_for_longer_than_patience() {
    let cluster = Cluster::start(3);
    cluster.bucket_type("one", BucketType::of(1, false));
    let client = client(&cluster);
    let name = ObjectName::new("b", "k").of_type("one");
    assert_eq!(client.pass(pass("GET", PassTo::Object(&name)), None).unwrap().status, 404);
    cluster.kill(cluster.primaries("one", "b", "k")[0]);
    let begun = Instant::now();
    for method in ["GET", "PUT"] {
        let content = (method == "PUT").then_some(Content::Bytes(b"x"));
        let error = client.pass(pass(method, PassTo::Object(&name)), content).unwrap_err();
        assert_eq!(error.code(), "unavailable", "{error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(19), "{:?}", begun.elapsed());
    (0..3).for_each(|node| cluster.kill(node));
    assert!(client.pass(pass("GET", PassTo::Document("/topology")), None).is_err());
    let unknown = client.properties_within(
        b"default",
        b"other",
        Duration::from_secs(10),
        Duration::from_millis(300),
    );
    assert!(unknown.is_err());
    assert!(begun.elapsed() < Duration::from_secs(39), "{:?}", begun.elapsed());
}

#[test]
fn checking_says_who_told_or_why_nobody_did() {
    let cluster = Cluster::start(2);
    let client = client(&cluster);
    let (view, teller) = client.check(Duration::from_secs(10)).unwrap();
    assert_eq!(view.token(), cluster.token());
    assert!((0..2).any(|node| cluster.uuid(node) == teller));
    cluster.rotate();
    let (view, _) = client.check(Duration::from_secs(10)).unwrap();
    assert_eq!(view.token(), cluster.token(), "what is told is what is known then");
    cluster.kill(0);
    assert_eq!(client.check(Duration::from_secs(10)).unwrap().1, cluster.uuid(1));
    cluster.kill(1);
    let error = client.check(Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.code(), "unreachable", "{error}");
    assert_eq!(client.view().token(), view.token(), "what was known still is");
    cluster.revive(1);
    assert_eq!(client.check(Duration::from_secs(10)).unwrap().1, cluster.uuid(1));
}

#[test]
fn what_a_field_means_for_this_hop_ends_here() {
    let cluster = Cluster::start(1);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    let mut put = pass("PUT", PassTo::Object(&name));
    put.query = "?timeout=99999999999999999999&w=1";
    let fields = [
        ("Connection", "if-none-match, x-other"),
        ("If-None-Match", "\"none\""),
        ("X-Other", "x"),
        ("Content-Type", "text/plain"),
        ("Referer", "http://explorer/"),
        ("Origin", "http://explorer"),
        ("X-Forwarded-For", "8.8.8.8"),
        ("Forwarded", "for=8.8.8.8"),
        ("Transfer-Encoding", "gzip"),
    ];
    put.fields =
        fields.iter().map(|(name, value)| ((*name).into(), value.as_bytes().to_vec())).collect();
    assert_eq!(client.pass(put, Some(Content::Bytes(b"x"))).unwrap().status, 204);
    let (_, logged) = cluster.served().pop().unwrap();
    let names: Vec<&str> = logged.headers.iter().map(|(name, _)| name.as_str()).collect();
    let sent = ["Host", "If-None-Match", "Content-Type", "X-Ringtail-Route", "Content-Length"];
    assert_eq!(names, sent);
    let (before, timeout) = logged.target.rsplit_once("timeout=").unwrap();
    assert!(before.ends_with("?w=1&"), "{logged:?}");
    assert!(timeout.parse::<u64>().unwrap() <= 10_000);
}
