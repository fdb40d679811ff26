//! Nodes that fail while they are asked: what is tried again, and what never is.

use std::io::Read;
use std::time::{Duration, Instant};

use ringtail_client::{
    AttemptError, Client, Config, Content, Error, ExecutionError, Fetched, ObjectName, WriteOptions,
};
use ringtail_testcluster::{BucketType, Cluster, Fault};

use super::{client, content, owned_by, put, text};

#[test]
fn a_write_is_never_replayed_after_it_went_out() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    (0..3).for_each(|node| cluster.fault(node, Fault::DropObjects));
    cluster.clear_logs();
    let error = client.put(&name, &text(), Content::Bytes(b"y"), &Default::default()).unwrap_err();
    assert!(matches!(error, Error::Execution(ExecutionError::UnknownOutcome { .. })), "{error}");
    let sent: usize = (0..3)
        .map(|node| cluster.log(node).iter().filter(|logged| logged.is_object()).count())
        .sum();
    assert_eq!(sent, 1);
}

/// The first cause of its kind behind an error.
fn cause<E: std::error::Error + 'static>(error: &Error) -> Option<&E> {
    let first: Option<&(dyn std::error::Error + 'static)> = Some(error);
    std::iter::successors(first, |error| error.source()).find_map(|error| error.downcast_ref())
}

#[test]
fn what_the_system_said_is_the_source_of_an_error_and_not_only_text() {
    let cluster = Cluster::start(1);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    cluster.fault(0, Fault::DropObjects);
    let error = client.put(&name, &text(), Content::Bytes(b"y"), &Default::default()).unwrap_err();
    let lost = cause::<std::io::Error>(&error).map(std::io::Error::kind);
    assert_eq!(lost, Some(std::io::ErrorKind::UnexpectedEof), "{error:?}");
    cluster.fault(0, Fault::TopologyJson("[".into()));
    let error = Client::connect(Config::new([cluster.url(0)]).unwrap()).unwrap_err();
    assert!(cause::<serde_json::Error>(&error).is_some_and(|error| error.is_eof()), "{error:?}");
}

#[test]
fn a_read_goes_on_to_the_next_primary() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    cluster.fault(0, Fault::DropObjects);
    cluster.fault(1, Fault::Refuse(503, "overload".into()));
    for _ in 0..20 {
        assert_eq!(content(&client, &name), b"x");
    }
}

#[test]
fn a_write_goes_on_to_the_next_primary_only_if_nothing_was_sent_or_done() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let names: Vec<ObjectName> = (0..20).map(|at| ObjectName::new("b", format!("k{at}"))).collect();
    cluster.kill(0);
    names.iter().for_each(|name| put(&client, name, b"x"));
    cluster.fault(1, Fault::Refuse(503, r#"{"error":"no_ring","message":"starting"}"#.into()));
    names.iter().for_each(|name| put(&client, name, b"y"));
    (1..3).for_each(|node| cluster.fault(node, Fault::Refuse(503, "request timed out\n".into())));
    let error =
        client.put(&names[0], &text(), Content::Bytes(b"z"), &Default::default()).unwrap_err();
    let Error::Execution(ExecutionError::Unavailable { tried, .. }) = &error else {
        panic!("{error:?}")
    };
    assert!(
        tried
            .iter()
            .any(|(_, why)| matches!(why, AttemptError::Said(text) if text.contains("timed out"))),
        "{error}"
    );
}

#[test]
fn a_slow_node_does_not_use_up_the_time_of_a_read() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    cluster.fault(0, Fault::SlowObjects(Duration::from_secs(60)));
    let options = ringtail_client::ReadOptions {
        timeout: Some(Duration::from_secs(1)),
        ..Default::default()
    };
    for _ in 0..6 {
        assert!(matches!(client.get(&name, &options).unwrap(), Fetched::Object(_)));
    }
}

#[test]
fn the_deadline_holds() {
    let cluster = Cluster::start(1);
    cluster.bucket_type("default", BucketType::of(1, false));
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    cluster.fault(0, Fault::SlowObjects(Duration::from_secs(60)));
    let timeout = Some(Duration::from_millis(300));
    let start = Instant::now();
    let read = client.get(&name, &ringtail_client::ReadOptions { timeout, ..Default::default() });
    assert!(matches!(read, Err(Error::Execution(ExecutionError::Timeout { .. }))), "{read:?}");
    let written = client.put(
        &name,
        &text(),
        Content::Bytes(b"y"),
        &WriteOptions { timeout, ..Default::default() },
    );
    assert!(
        matches!(written, Err(Error::Execution(ExecutionError::UnknownOutcome { .. }))),
        "{written:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(50), "{:?}", start.elapsed());
}

#[test]
fn with_its_only_primary_down_a_key_is_unavailable_and_served_again_when_it_is_back() {
    let cluster = Cluster::start(3);
    let client =
        Client::connect(Config::new([cluster.url(0)]).unwrap().timeout(Duration::from_secs(2)))
            .unwrap();
    let name = owned_by(&cluster, 1);
    put(&client, &name, b"x");
    cluster.kill(1);
    let error = client.put(&name, &text(), Content::Bytes(b"y"), &Default::default()).unwrap_err();
    assert_eq!(error.kind(), ringtail_client::ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains(&cluster.name(1)), "{error}");
    let options = ringtail_client::ReadOptions {
        timeout: Some(Duration::from_secs(10)),
        ..Default::default()
    };
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| client.get(&name, &options));
        std::thread::sleep(Duration::from_millis(300));
        cluster.revive(1);
        let back = Instant::now();
        let fetched = waiting.join().unwrap().unwrap();
        assert!(matches!(fetched, Fetched::Object(object) if object.content == b"x"));
        assert!(back.elapsed() < Duration::from_secs(9), "{:?}", back.elapsed());
    });
}

#[test]
fn a_restarted_node_costs_nobody_a_failed_request() {
    // Idle connections are closed by the restart: they must not be taken for living ones.
    let cluster = Cluster::start(1);
    cluster.bucket_type("default", BucketType::of(1, false));
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    for _ in 0..5 {
        put(&client, &name, b"x");
        cluster.kill(0);
        cluster.revive(0);
    }
    assert_eq!(content(&client, &name), b"x");
}

#[test]
fn a_node_where_ringtail_was_stopped_has_not_lost_the_object() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    cluster.fault(0, Fault::NoRingtail);
    for _ in 0..20 {
        assert_eq!(content(&client, &name), b"x", "webmachine's 404 is no answer about the object");
        put(&client, &name, b"x");
    }
}

/// Yields its bytes once, and tells how many were taken.
struct OneWay<'a>(&'a [u8], usize);

impl Read for OneWay<'_> {
    fn read(&mut self, output: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(output)?;
        self.1 += read;
        Ok(read)
    }
}

#[test]
fn a_stream_survives_a_misdirection_because_the_node_is_asked_first() {
    let cluster = Cluster::start(4);
    let client = client(&cluster);
    let large = vec![7; 3_000_000];
    let name = ObjectName::new("b", "k").of_type("n1");
    put(&client, &name, b"x");
    cluster.rotate();
    let mut stream = OneWay(&large, 0);
    let content_of = Content::Reader(&mut stream, Some(large.len() as u64));
    client.put(&name, &text(), content_of, &Default::default()).unwrap();
    assert_eq!(stream.1, large.len());
    assert_eq!(client.stats().misdirections, 1);
    assert!(content(&client, &name) == large);
    let refused =
        (0..4).flat_map(|node| cluster.log(node)).find(|logged| logged.status == 421).unwrap();
    assert_eq!(refused.body, 0, "the wrong node was sent no content");
}

#[test]
fn a_refusal_in_the_middle_of_a_body_is_told_and_not_lost_in_a_broken_pipe() {
    let cluster = Cluster::start(1);
    cluster.bucket_type("default", BucketType::of(1, false));
    let client = client(&cluster);
    cluster.fault(
        0,
        Fault::Refuse(413, r#"{"error":"body_too_large","message":"at most 1 MiB"}"#.into()),
    );
    let large = vec![7; 3_000_000];
    let error = client
        .put(&ObjectName::new("b", "k"), &text(), Content::Bytes(&large), &Default::default())
        .unwrap_err();
    assert!(
        matches!(&error, Error::Execution(ExecutionError::Refused(refusal))
            if refusal.code.as_deref() == Some("body_too_large")),
        "{error}"
    );
    cluster.fault(0, Fault::DropWithin(1000));
    let error = client
        .put(&ObjectName::new("b", "k"), &text(), Content::Bytes(&large), &Default::default())
        .unwrap_err();
    assert!(matches!(error, Error::Execution(ExecutionError::UnknownOutcome { .. })), "{error}");
}

#[test]
fn the_longest_times_there_are_overflow_nothing() {
    let cluster = Cluster::start(2);
    let config = Config::new([cluster.url(0)])
        .unwrap()
        .timeout(Duration::MAX)
        .connect_timeout(Duration::MAX)
        .poll_interval(Duration::MAX)
        .properties_ttl(Duration::MAX);
    let client = Client::connect(config).unwrap();
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    assert_eq!(content(&client, &name), b"x");
    let timeout = Some(Duration::MAX);
    let options = ringtail_client::ReadOptions { timeout, ..Default::default() };
    assert!(matches!(client.get(&name, &options).unwrap(), Fetched::Object(_)));
    client.refresh(Duration::MAX);
    client.check(Duration::MAX).unwrap();
    client.properties_within(b"default", b"c", Duration::MAX, Duration::MAX).unwrap();
    for (_, logged) in cluster.served() {
        let (_, timeout) = logged.target.rsplit_once("timeout=").unwrap();
        assert!(timeout.parse::<u64>().unwrap() < 1 << 32, "Riak's timers hold it: {logged:?}");
    }
}
