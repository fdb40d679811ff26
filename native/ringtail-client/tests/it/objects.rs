//! Every field and every answer survives the way there and back.

use std::io::{Cursor, Read};
use std::time::Duration;

use ringtail_client::{
    Content, Deleted, Error, ExecutionError, Fetched, Link, Metadata, ObjectName, Quorum,
    ReadOptions, Siblings, Stored, Vclock, WriteOptions,
};
use ringtail_testcluster::Cluster;

use super::{client, content, put, text};

#[test]
fn an_object_comes_back_with_everything_it_bore() {
    let cluster = Cluster::start(4);
    let client = client(&cluster);
    let metadata = Metadata {
        content_type: "application/x-thing; charset=utf-8".into(),
        content_encoding: Some("gzip".into()),
        user: vec![
            ("Colour".into(), b"blue".to_vec()),
            ("MixedCase-Name".into(), b"\xff\xfe raw".to_vec()),
        ],
        indexes: vec![
            ("age_int".into(), b"7".to_vec()),
            ("age_int".into(), b"8".to_vec()),
            ("c_bin".into(), b"x".to_vec()),
        ],
        links: vec![Link { path: "/buckets/b/keys/k%2C2".into(), tag: "friend".into() }],
    };
    let binary: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for key in [&b"plain"[..], b"a/b c+d%e", b"\0\xff\n", "sch\u{f6}n".as_bytes(), &[b'k'; 1000]] {
        let name = ObjectName::new(*b"bu/cket", key).of_type("mult");
        let stored =
            client.put(&name, &metadata, Content::Bytes(&binary), &Default::default()).unwrap();
        assert_eq!(stored, Stored::Done);
        let Fetched::Object(object) = client.get(&name, &Default::default()).unwrap() else {
            panic!()
        };
        assert_eq!(object.content, binary);
        assert_eq!(object.metadata, metadata);
        assert!(object.vclock.is_some() && object.etag.is_some() && object.last_modified.is_some());
        let Fetched::Object(head) = client.head(&name, &Default::default()).unwrap() else {
            panic!()
        };
        assert_eq!((head.content, &head.metadata), (Some(70_000), &metadata));
    }
    assert_eq!(client.stats().misdirections, 0);
    assert_eq!(cluster.served().iter().filter(|(_, logged)| logged.status == 421).count(), 0);
}

#[test]
fn every_request_goes_to_a_primary_and_all_of_them_are_used() {
    let cluster = Cluster::start(4);
    let client = client(&cluster);
    for at in 0..200 {
        let key = format!("k{at}");
        let name = ObjectName::new("b", key.clone());
        put(&client, &name, b"x");
        assert_eq!(content(&client, &name), b"x");
        for (node, logged) in cluster.served() {
            assert!(cluster.primaries("default", "b", &key).contains(&node), "{logged:?}");
        }
        cluster.clear_logs();
    }
    let name = ObjectName::new("b", "one");
    put(&client, &name, b"x");
    (0..100).for_each(|_| drop(content(&client, &name)));
    let mut nodes: Vec<usize> = cluster.served().iter().map(|(node, _)| *node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 3, "load is spread over all three primaries");
    let stats = client.stats();
    assert_eq!((stats.hits, stats.misdirections, stats.retries), (501, 0, 0));
    assert_eq!(stats.properties_fetched, 1, "properties are cached");
}

#[test]
fn siblings_are_told_and_resolved_by_their_vclock() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "s").of_type("mult");
    put(&client, &name, b"one\r\n--x");
    put(&client, &name, b"two");
    let Fetched::Siblings(siblings) = client.get(&name, &Default::default()).unwrap() else {
        panic!()
    };
    let contents: Vec<&[u8]> =
        siblings.siblings.iter().map(|sibling| &sibling.content[..]).collect();
    assert_eq!(contents, [&b"one\r\n--x"[..], b"two"]);
    assert_eq!(siblings.vtags.len(), 2);
    assert_eq!(siblings.siblings[0].metadata, text());

    let vtag = Some(siblings.vtags[1].clone());
    let only = client.get(&name, &ReadOptions { vtag, ..Default::default() }).unwrap();
    assert!(matches!(only, Fetched::Object(object) if object.content == b"two"));
    assert!(matches!(
        client.head(&name, &Default::default()).unwrap(),
        Fetched::Siblings(Siblings { siblings, .. }) if siblings.is_empty()
    ));

    let beside = WriteOptions { return_body: true, ..Default::default() };
    let stored = client.put(&name, &text(), Content::Bytes(b"three"), &beside).unwrap();
    let Stored::Siblings(three) = stored else { panic!("{stored:?}") };
    assert_eq!(three.siblings.len(), 3);
    let resolved = WriteOptions { vclock: three.vclock, return_body: true, ..Default::default() };
    let stored = client.put(&name, &text(), Content::Bytes(b"all"), &resolved).unwrap();
    let Stored::Object(all) = stored else { panic!("{stored:?}") };
    assert!(all.content == b"all" && all.vclock.is_some());
    assert_eq!(content(&client, &name), b"all");
}

#[test]
fn conditions() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    let absent = WriteOptions { if_none_match: Some("*".into()), ..Default::default() };
    assert_eq!(client.put(&name, &text(), Content::Bytes(b"1"), &absent).unwrap(), Stored::Done);
    assert_eq!(
        client.put(&name, &text(), Content::Bytes(b"2"), &absent).unwrap(),
        Stored::PreconditionFailed
    );
    let Fetched::Object(object) = client.get(&name, &Default::default()).unwrap() else { panic!() };
    let same = ReadOptions { if_none_match: object.etag.clone(), ..Default::default() };
    assert_eq!(client.get(&name, &same).unwrap(), Fetched::NotModified);
    let stale = WriteOptions { if_match: Some("other".into()), ..Default::default() };
    assert_eq!(
        client.put(&name, &text(), Content::Bytes(b"3"), &stale).unwrap(),
        Stored::PreconditionFailed
    );
    assert_eq!(client.delete(&name, &stale).unwrap(), Deleted::PreconditionFailed);
    let fresh = WriteOptions { if_match: object.etag, ..Default::default() };
    assert_eq!(client.put(&name, &text(), Content::Bytes(b"4"), &fresh).unwrap(), Stored::Done);
    assert_eq!(content(&client, &name), b"4");
}

#[test]
fn what_is_not_there() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    assert_eq!(
        client.get(&name, &Default::default()).unwrap(),
        Fetched::NotFound { deleted: None }
    );
    assert_eq!(client.delete(&name, &Default::default()).unwrap(), Deleted::NotFound);
    let name = name.of_type("no_such");
    let error = client.get(&name, &Default::default()).unwrap_err();
    assert!(
        matches!(&error, Error::Execution(ExecutionError::NoBucketType(name)) if name == "no_such"),
        "{error}"
    );
    let error = client.put(&name, &text(), Content::Bytes(b""), &Default::default()).unwrap_err();
    assert_eq!(error.code(), "no_bucket_type", "{error}");
}

#[test]
fn large_content_is_streamed_both_ways() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let large: Vec<u8> =
        (0..8_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let name = |key: &str| ObjectName::new("b", key).of_type("n1");
    let store = |key: &str, content: Content<'_>| {
        client.put(&name(key), &text(), content, &Default::default()).unwrap();
    };
    store("bytes", Content::Bytes(&large));
    let mut file = Cursor::new(&large);
    file.set_position(3);
    store("seekable", Content::Seekable(&mut file));
    store("reader", Content::Reader(&mut &large[..], Some(large.len() as u64)));
    store("chunked", Content::Reader(&mut &large[..], None));
    store("small", Content::Seekable(&mut Cursor::new(b"small")));
    store("empty", Content::Seekable(&mut Cursor::new(b"")));
    for (key, expected) in [
        ("bytes", &large[..]),
        ("seekable", &large[3..]),
        ("reader", &large),
        ("chunked", &large),
        ("small", b"small"),
        ("empty", b""),
    ] {
        let fetched = client.get_streamed(&name(key), &Default::default()).unwrap();
        let Fetched::Object(mut object) = fetched else { panic!() };
        assert_eq!(object.content.length(), Some(expected.len() as u64), "{key}");
        let mut content = Vec::new();
        object.content.read_to_end(&mut content).unwrap();
        assert!(content == expected, "{key}");
    }
    assert!(client.idle_connections() > 0, "connections were given back");
}

#[test]
fn a_reader_shorter_than_it_was_said_to_be_is_an_error_on_this_side() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    let short = Content::Reader(&mut &b"abc"[..], Some(10));
    let error = client.put(&name, &text(), short, &Default::default()).unwrap_err();
    assert!(matches!(error, Error::Local(_)), "{error}");
    assert!(error.to_string().contains("7 bytes before"), "{error}");
    assert!(matches!(client.get(&name, &Default::default()).unwrap(), Fetched::NotFound { .. }));
}

#[test]
fn options_reach_riak() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    let options = WriteOptions {
        w: Some(Quorum::All),
        dw: Some(Quorum::Count(1)),
        pw: Some(Quorum::Quorum),
        return_body: true,
        vclock: Some(Vclock::new("a85h/+==").unwrap()),
        timeout: Some(Duration::from_secs(5)),
        ..Default::default()
    };
    client.put(&name, &text(), Content::Bytes(b"x"), &options).unwrap();
    let (_, logged) = cluster.served().pop().unwrap();
    assert!(
        logged.target_without_timeout().ends_with("/keys/k?w=all&dw=1&pw=quorum&returnbody=true"),
        "{logged:?}"
    );
    let timeout: u64 = logged.target.split("timeout=").nth(1).unwrap().parse().unwrap();
    assert!((4000..=5000).contains(&timeout), "Riak is told the time that is left: {timeout}");
    assert!(logged.headers.contains(&("X-Riak-Vclock".to_owned(), b"a85h/+==".to_vec())));
    let options = ReadOptions { pr: Some(Quorum::Count(4)), ..Default::default() };
    let error = client.get(&name, &options).unwrap_err();
    assert!(
        matches!(&error, Error::Execution(ExecutionError::Refused(refusal))
            if refusal.status == 400 && refusal.message.contains("n value of 3")),
        "{error}"
    );
}

#[test]
fn a_custom_keyfun_is_left_to_the_nodes() {
    let cluster = Cluster::start(4);
    let watched = super::Watched::new(&[cluster.url(0)]);
    let name = ObjectName::new("b", "k").of_type("custom");
    put(&watched.client, &name, b"x");
    assert_eq!(content(&watched.client, &name), b"x");
    for (_, logged) in cluster.served() {
        assert!(logged.headers.contains(&("X-Ringtail-Route".to_owned(), b"proxy".to_vec())));
    }
    let told = watched.events().iter().any(|event| event.to_string().contains("mine:keyfun"));
    assert!(told);
}

#[test]
fn what_http_cannot_name_is_refused_here() {
    let cluster = Cluster::start(1);
    let client = client(&cluster);
    for name in
        [ObjectName::new("", "k"), ObjectName::new("b", ""), ObjectName::new("b", "k").of_type("")]
    {
        let error = client.get(&name, &Default::default()).unwrap_err();
        assert!(matches!(error, Error::Request(_)), "{error}");
    }
    assert!(cluster.served().is_empty());
}

#[test]
fn an_object_over_the_limit_is_not_read_into_memory() {
    let cluster = Cluster::start(1);
    let client = ringtail_client::Client::connect(
        ringtail_client::Config::new([cluster.url(0)]).unwrap().object_limit(1000),
    )
    .unwrap();
    cluster.bucket_type("default", ringtail_testcluster::BucketType::of(1, false));
    let name = ObjectName::new("b", "k");
    put(&client, &name, &[0; 1001]);
    let error = client.get(&name, &Default::default()).unwrap_err();
    assert!(error.to_string().contains("get_streamed"), "{error}");
    put(&client, &name, &[0; 1000]);
    assert_eq!(content(&client, &name).len(), 1000);
}
