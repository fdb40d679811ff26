//! Answers whose end or head is told in odd ways.

use ringtail_client::{Client, Content, Error, ExecutionError, Fetched, ObjectName, WriteOptions};
use ringtail_testcluster::{BucketType, Cluster, Fault};

use super::{client, content, put, text};

/// A cluster of one node, which answers requests for objects with a head and a body.
fn answering(head: &str, body: &[u8]) -> (Cluster, Client) {
    let cluster = Cluster::start(1);
    cluster.bucket_type("default", BucketType::of(1, false));
    let client = client(&cluster);
    put(&client, &name(), b"x");
    cluster.fault(0, answer(&cluster, head, body));
    (cluster, client)
}

fn answer(cluster: &Cluster, head: &str, body: &[u8]) -> Fault {
    let uuid = ringtail_core::topology::cluster_uuid("test");
    let (token, node) = (cluster.token(), cluster.uuid(0));
    let mut bytes = format!(
        "HTTP/1.1 200 OK\r\nX-Ringtail-Topology: {token}\r\nX-Ringtail-Cluster: {uuid}\r\n\
         X-Ringtail-Node: {node}\r\n{head}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Fault::ObjectBytes(bytes)
}

fn name() -> ObjectName {
    ObjectName::new("b", "k")
}

fn requests(cluster: &Cluster) -> usize {
    cluster.log(0).iter().filter(|logged| logged.is_object()).count()
}

#[test]
fn an_answer_with_two_ends_is_the_last_of_its_connection() {
    let chunked = b"5\r\nhello\r\n0\r\n\r\n";
    let (_cluster, client) =
        answering("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", chunked);
    let before = client.stats().connections;
    for _ in 0..3 {
        assert_eq!(content(&client, &name()), b"hello");
    }
    let opened = client.stats().connections - before;
    assert!(opened >= 2, "the connection of the first is not used again: {opened}");
}

#[test]
fn an_answer_that_makes_no_sense_is_told_at_once_and_not_asked_for_again() {
    for head in [
        "Content-Length: 5, 5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Transfer-Encoding: gzip\r\n",
    ] {
        let (cluster, client) = answering(head, b"hello");
        cluster.clear_logs();
        let error = client.get(&name(), &Default::default()).unwrap_err();
        assert_eq!(error.code(), "bad_answer", "{head}: {error}");
        assert_eq!(requests(&cluster), 1, "{head}");
        let error = client
            .put(&name(), &text(), Content::Bytes(b"y"), &WriteOptions::default())
            .unwrap_err();
        assert_eq!(error.code(), "unknown_outcome", "{head}: {error}");
        assert_eq!(requests(&cluster), 2, "{head}");
    }
}

#[test]
fn an_object_whose_metadata_no_http_client_could_store_is_read() {
    let (_cluster, client) = answering(
        "X-Riak-Meta-my name: a\r\nX-Riak-Meta-sch\u{f6}n: \u{1}b\r\nContent-Length: 5\r\n",
        b"hello",
    );
    let Fetched::Object(object) = client.get(&name(), &Default::default()).unwrap() else {
        panic!()
    };
    assert_eq!(object.content, b"hello");
    let user =
        [("my name".to_owned(), b"a".to_vec()), ("sch\u{f6}n".to_owned(), b"\x01b".to_vec())];
    assert_eq!(object.metadata.user, user);
}

#[test]
fn an_object_with_a_head_of_a_megabyte_is_read() {
    let value = "v".repeat(1000);
    let mut head: String = (0..1100).map(|at| format!("X-Riak-Meta-M{at}: {value}\r\n")).collect();
    head.push_str("Content-Length: 5\r\n");
    let (_cluster, client) = answering(&head, b"hello");
    let Fetched::Object(object) = client.get(&name(), &Default::default()).unwrap() else {
        panic!()
    };
    assert_eq!((object.metadata.user.len(), object.content), (1100, b"hello".to_vec()));
}

#[test]
fn an_answer_before_the_body_was_sent_is_the_last_of_its_connection() {
    let (cluster, client) = answering("Content-Length: 0\r\n", b"");
    let large = vec![7; 1_000_000];
    let before = client.stats().connections;
    for _ in 0..3 {
        client.put(&name(), &text(), Content::Bytes(&large), &Default::default()).unwrap();
    }
    assert_eq!(client.stats().connections - before, 2, "each but the last costs a connection");
    assert!(cluster.log(0).iter().filter(|logged| logged.status == 0).all(|log| log.body == 0));
}

#[test]
fn a_refusal_by_the_http_server_means_that_nothing_was_done() {
    for status in [400, 413, 414, 431] {
        let cluster = Cluster::start(1);
        cluster.bucket_type("default", BucketType::of(1, false));
        let client = client(&cluster);
        put(&client, &name(), b"x");
        cluster.fault(0, Fault::RefuseUnread(status));
        for body in [&b"y"[..], &[b'y'; 200_000]] {
            cluster.clear_logs();
            let error = client
                .put(&name(), &text(), Content::Bytes(body), &WriteOptions::default())
                .unwrap_err();
            let Error::Execution(ExecutionError::Refused(refusal)) = &error else {
                panic!("{status}: {error:?}")
            };
            assert_eq!(refusal.status, status, "{error}");
            assert!(error.to_string().contains("8 KB"), "{error}");
            assert_eq!(requests(&cluster), 1, "{status}");
        }
    }
}
