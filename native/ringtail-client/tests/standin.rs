//! The client against the application itself, in a cluster of stand-in Riak nodes that this test
//! starts. Needs what `make test` has built or builds it: the application's beams with the NIF, and
//! the stand-in.
#![allow(missing_docs)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringtail_client::{
    Client, Config, Content, Deleted, Error, ExecutionError, Fetched, Metadata, ObjectName,
    ReadOptions, Stored, WriteOptions,
};
use ringtail_core::{Keyfun, NVal, hash_key};
use ringtail_testcluster::StandIn;

fn eventually<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(40);
    while Instant::now() < end {
        if let Some(found) = found() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("never: {what}");
}

fn text() -> Metadata {
    Metadata::of_type("text/plain")
}

fn connect(urls: &[String]) -> Client {
    eventually("a node tells its topology", || {
        Client::connect(Config::new(urls).unwrap().timeout(Duration::from_secs(20))).ok()
    })
}

/// Waits until so many nodes listen, are up, and are valid members.
fn all_there(client: &Client, nodes: usize) {
    eventually("all nodes are known with their endpoints", || {
        let view = client.refresh(Duration::from_secs(2));
        let members = view.snapshot().members();
        let there = members.iter().enumerate().filter(|(at, member)| {
            view.is_up(*at) && !member.endpoints.is_empty() && member.status.as_str() == "valid"
        });
        (there.count() == nodes && members.len() == nodes).then_some(())
    });
}

#[test]
fn the_client_and_the_application_in_a_running_cluster() {
    let mut standin = StandIn::start();
    let nodes = standin.nodes();
    assert_eq!(nodes.len(), 4);
    nodes.iter().for_each(|(node, _)| standin.begin(node));
    let urls: Vec<String> = nodes.iter().map(|(_, url)| url.clone()).collect();
    let client = connect(&urls[..1]);
    all_there(&client, 4);

    objects_survive(&client);
    every_request_goes_to_a_primary(&client);
    the_ring_moves_under_load(&mut standin, &client, &nodes);
    a_node_joins_and_leaves(&mut standin, &client);
    a_primary_dies_and_comes_back_elsewhere(&mut standin, &client, &nodes);
}

fn objects_survive(client: &Client) {
    let name = ObjectName::new("b/c", *b"k \xff+%/1").of_type("mult");
    let metadata = Metadata {
        // The Erlang VM capitalises the words of short names.
        user: vec![
            ("Colour".into(), b"blue".to_vec()),
            (format!("mixedCASE-{}", "x".repeat(60)), b"1".to_vec()),
        ],
        indexes: vec![("age_int".into(), b"7".to_vec()), ("city_bin".into(), b"Rome".to_vec())],
        ..Metadata::of_type("application/x-thing")
    };
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_eq!(
        client.put(&name, &metadata, Content::Bytes(&binary), &Default::default()).unwrap(),
        Stored::Done
    );
    let Fetched::Object(object) = client.get(&name, &Default::default()).unwrap() else { panic!() };
    assert!(object.content == binary);
    let mut stored = object.metadata.clone();
    stored.indexes.sort();
    stored.user.sort();
    assert_eq!(stored, metadata);
    let Fetched::Object(head) = client.head(&name, &Default::default()).unwrap() else { panic!() };
    assert_eq!((head.content, head.etag.as_ref()), (Some(100_000), object.etag.as_ref()));

    let same = ReadOptions { if_none_match: object.etag.clone(), ..Default::default() };
    assert_eq!(client.get(&name, &same).unwrap(), Fetched::NotModified);
    let absent = WriteOptions { if_none_match: Some("*".into()), ..Default::default() };
    let refused = client.put(&name, &text(), Content::Bytes(b"x"), &absent).unwrap();
    assert_eq!(refused, Stored::PreconditionFailed);

    client.put(&name, &text(), Content::Bytes(b"other"), &Default::default()).unwrap();
    let Fetched::Siblings(siblings) = client.get(&name, &Default::default()).unwrap() else {
        panic!()
    };
    let mut contents: Vec<usize> =
        siblings.siblings.iter().map(|sibling| sibling.content.len()).collect();
    contents.sort_unstable();
    assert_eq!(contents, [5, 100_000]);
    let resolve = WriteOptions { vclock: siblings.vclock, return_body: true, ..Default::default() };
    let stored = client.put(&name, &text(), Content::Bytes(b"one"), &resolve).unwrap();
    assert!(matches!(&stored, Stored::Object(object) if object.content == b"one"), "{stored:?}");
    assert_eq!(client.delete(&name, &Default::default()).unwrap(), Deleted::Done);
    let gone = client.get(&name, &Default::default()).unwrap();
    assert!(matches!(gone, Fetched::NotFound { .. }), "{gone:?}");

    let large: Vec<u8> = (0..20_000_000u32).map(|at| (at >> 9) as u8).collect();
    let name = ObjectName::new("b", "large");
    client
        .put(
            &name,
            &text(),
            Content::Reader(&mut &large[..], Some(large.len() as u64)),
            &Default::default(),
        )
        .unwrap();
    let Fetched::Object(mut object) = client.get_streamed(&name, &Default::default()).unwrap()
    else {
        panic!()
    };
    let mut back = Vec::new();
    std::io::copy(&mut object.content, &mut back).unwrap();
    assert!(back == large);

    let error =
        client.get(&ObjectName::new("b", "k").of_type("none"), &Default::default()).unwrap_err();
    assert!(
        matches!(&error, Error::Execution(ExecutionError::NoBucketType(name)) if name == "none"),
        "{error}"
    );
    let pr = ReadOptions { pr: Some(ringtail_client::Quorum::Count(9)), ..Default::default() };
    let error = client.get(&ObjectName::new("b", "k"), &pr).unwrap_err();
    let Error::Execution(ExecutionError::Refused(refusal)) = &error else { panic!("{error:?}") };
    assert_eq!(refusal.status, 400, "{error}");
}

fn every_request_goes_to_a_primary(client: &Client) {
    let before = client.stats();
    for at in 0..300 {
        let name = ObjectName::new("b", format!("k{at}")).of_type(if at % 2 == 0 {
            "n1"
        } else {
            "default"
        });
        client.put(&name, &text(), Content::Bytes(b"x"), &Default::default()).unwrap();
        assert!(matches!(client.get(&name, &Default::default()).unwrap(), Fetched::Object(_)));
    }
    let after = client.stats();
    assert_eq!(after.misdirections - before.misdirections, 0, "{after:?}");
    assert_eq!(after.hits - before.hits, 600, "{after:?}");
}

fn the_ring_moves_under_load(standin: &mut StandIn, client: &Client, nodes: &[(String, String)]) {
    let (over, requests) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = client.stats();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|thread| {
                let (over, requests) = (&over, &requests);
                scope.spawn(move || {
                    let mut failures = Vec::new();
                    for at in 0u32.. {
                        if over.load(Ordering::Relaxed) {
                            return failures;
                        }
                        let name = ObjectName::new("moving", format!("{thread}-{}", at % 20))
                            .of_type("n1");
                        let content = at.to_be_bytes();
                        if let Err(error) = client.put(
                            &name,
                            &text(),
                            Content::Bytes(&content),
                            &Default::default(),
                        ) {
                            failures.push(error.to_string());
                        }
                        match client.get(&name, &Default::default()) {
                            Ok(_) => {}
                            Err(error) => failures.push(error.to_string()),
                        }
                        requests.fetch_add(2, Ordering::Relaxed);
                    }
                    unreachable!()
                })
            })
            .collect();
        standin.ok(&format!(
            "standin:ring_storm(C, '{}', #{{kind => owners, rate => 3, duration => 4000}})",
            nodes[0].0
        ));
        std::thread::sleep(Duration::from_millis(5000));
        over.store(true, Ordering::Relaxed);
        let failures: Vec<String> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert!(failures.is_empty(), "{} failures, such as {}", failures.len(), failures[0]);
    });
    let (stats, elapsed) = (client.stats(), start.elapsed().as_secs_f64());
    eprintln!(
        "{} requests in {elapsed:.1} s while partitions moved: {stats:?}",
        requests.load(Ordering::Relaxed)
    );
    let refreshes = stats.refreshes - before.refreshes;
    assert!(refreshes >= 1, "the ring did move");
    assert!(refreshes as f64 <= elapsed * 10.0 + 1.0, "{stats:?}");
}

fn a_node_joins_and_leaves(standin: &mut StandIn, client: &Client) {
    let new = standin.eval("{ok, N} = standin:add_node(C, #{}), N");
    let new = new.trim_matches('\'').to_owned();
    standin.begin(&new);
    let joined = standin.eval(&format!("standin:join(C, '{new}'), standin:settle(C)"));
    assert_eq!(joined, "ok");
    let view = eventually("the new node owns partitions", || {
        let view = client.refresh(Duration::from_secs(2));
        let owns = view
            .snapshot()
            .owners()
            .any(|(_, owner)| owner.name == new && !owner.endpoints.is_empty());
        owns.then_some(view)
    });
    assert_eq!(view.snapshot().members().len(), 5);
    every_request_works(client, "joined");
    let left = standin.eval(&format!("standin:leave(C, '{new}'), standin:settle(C)"));
    assert_eq!(left, "ok");
    every_request_works(client, "left");
    eventually("the client knows that it has left", || {
        let view = client.refresh(Duration::from_secs(2));
        view.snapshot().members().iter().all(|member| member.name != new).then_some(())
    });
}

fn every_request_works(client: &Client, key: &str) {
    for at in 0..100 {
        let name = ObjectName::new("b", format!("{key}{at}")).of_type("n1");
        client.put(&name, &text(), Content::Bytes(b"x"), &Default::default()).unwrap();
        assert!(matches!(client.get(&name, &Default::default()).unwrap(), Fetched::Object(_)));
    }
}

fn a_primary_dies_and_comes_back_elsewhere(
    standin: &mut StandIn,
    client: &Client,
    nodes: &[(String, String)],
) {
    let (victim, old_url) = &nodes[3];
    let uuid = client
        .view()
        .snapshot()
        .members()
        .iter()
        .find(|member| member.name == *victim)
        .unwrap()
        .uuid;
    let names = (0..).map(|at| ObjectName::new("b", format!("mine{at}")).of_type("n1"));
    let name = names.into_iter().find(|name| client.choose(name).unwrap() == Some(uuid)).unwrap();
    client.put(&name, &text(), Content::Bytes(b"kept"), &Default::default()).unwrap();
    standin.ok(&format!("standin:kill(C, '{victim}')"));
    let soon = WriteOptions { timeout: Some(Duration::from_secs(2)), ..Default::default() };
    let error = client.put(&name, &text(), Content::Bytes(b"y"), &soon).unwrap_err();
    assert_eq!(error.kind(), ringtail_client::ErrorKind::Unavailable, "{error}");
    // With three replicas the others serve, where there is another: a ring that nodes joined and
    // left may name one thrice.
    let view = client.view();
    let elsewhere = |key: &str| {
        let hash = hash_key(b"default", b"b", key.as_bytes(), Keyfun::Std);
        let mut primaries = view.snapshot().primaries(&hash, NVal::new(3).unwrap()).unwrap();
        primaries.any(|place| view.snapshot().members()[place].uuid != uuid)
    };
    for key in (0..).map(|at| format!("three{at}")).filter(|key| elsewhere(key)).take(50) {
        client
            .put(&ObjectName::new("b", key), &text(), Content::Bytes(b"x"), &Default::default())
            .unwrap();
    }
    standin.ok(&format!("standin:restart(C, '{victim}', #{{ports => new}})"));
    standin.begin(victim);
    eventually("the node is found at its new port", || {
        match client.get(&name, &Default::default()) {
            Ok(Fetched::Object(object)) if object.content == b"kept" => Some(()),
            _ => None,
        }
    });
    let view = client.view();
    let port = view.snapshot().member(uuid).unwrap().endpoints[0].port;
    assert!(!old_url.ends_with(&format!(":{port}")), "{old_url} {port}");
}
