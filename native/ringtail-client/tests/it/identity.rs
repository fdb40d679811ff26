//! Addresses that are taken over: seen before a write is sent there, told, not used.

use std::time::Duration;

use ringtail_client::{Client, Config, Event};
use ringtail_testcluster::{Cluster, Layout};

use super::{Watched, content, owned_by, put, text};

fn other(nodes: usize) -> Cluster {
    Cluster::with(Layout { name: "other".into(), nodes, ..Layout::default() })
}

#[test]
fn an_address_taken_over_by_a_node_of_another_cluster_is_sent_no_write() {
    let cluster = Cluster::start(3);
    let watched =
        Watched::with(Config::new([cluster.url(0)]).unwrap().timeout(Duration::from_secs(3)));
    let name = owned_by(&cluster, 1);
    put(&watched.client, &name, b"x");
    let stranger = other(1);
    stranger.kill(0);
    let port = cluster.port(1);
    cluster.kill(1);
    stranger.take_over(0, port);
    let stored = watched.client.put(
        &name,
        &text(),
        ringtail_client::Content::Bytes(b"y"),
        &Default::default(),
    );
    let code = stored.unwrap_err().code();
    assert!(["timeout", "unavailable"].contains(&code), "{code}");
    assert!(
        stranger.log(0).iter().all(|logged| logged.method == "GET" && !logged.is_object()),
        "{:?}",
        stranger.log(0)
    );
    assert!(!stranger.log(0).is_empty(), "it was asked who it is");
    let mismatch = watched.events().into_iter().find_map(|event| match event {
        Event::Identity(mismatch) => Some(mismatch),
        _ => None,
    });
    let mismatch = mismatch.expect("it is told");
    assert_eq!((mismatch.expected, mismatch.found_node), (cluster.uuid(1), Some(stranger.uuid(0))));
    assert!(watched.client.stats().identity_mismatches > 0);
    assert_eq!(
        watched.client.view().snapshot().cluster().name,
        "test",
        "the other cluster is not followed"
    );
}

#[test]
fn an_address_taken_over_by_another_node_of_the_same_cluster_is_sent_no_write() {
    let cluster = Cluster::start(3);
    let watched =
        Watched::with(Config::new([cluster.url(0)]).unwrap().timeout(Duration::from_secs(3)));
    let name = owned_by(&cluster, 1);
    put(&watched.client, &name, b"x");
    let port = cluster.port(1);
    cluster.kill(1);
    cluster.kill(2);
    cluster.take_over(2, port);
    let stored = watched.client.put(
        &name,
        &text(),
        ringtail_client::Content::Bytes(b"y"),
        &Default::default(),
    );
    assert!(stored.is_err());
    assert!(cluster.log(2).iter().all(|logged| !logged.is_object()), "{:?}", cluster.log(2));
    assert!(watched.events().iter().any(|event| matches!(event, Event::Identity(_))));
}

#[test]
fn the_right_node_at_its_new_address_is_found_though_another_has_its_old_one() {
    let cluster = Cluster::start(3);
    let watched = Watched::new(&[cluster.url(0)]);
    let name = owned_by(&cluster, 1);
    put(&watched.client, &name, b"x");
    let port = cluster.port(1);
    cluster.relocate(1);
    let stranger = other(1);
    stranger.kill(0);
    stranger.take_over(0, port);
    put(&watched.client, &name, b"y");
    assert_eq!(content(&watched.client, &name), b"y");
    assert!(stranger.log(0).iter().all(|logged| !logged.is_object()));
}

#[test]
fn a_seed_of_another_cluster_does_not_win_over_one_of_ours() {
    let cluster = Cluster::start(2);
    let stranger = other(1);
    let seeds = [cluster.url(0), stranger.url(0)];
    // All nodes fail at once, and come back: meanwhile only the stranger answers, after that our
    // own does.
    let client = Client::connect(Config::new(&seeds).unwrap()).unwrap();
    let client_view = client.view();
    cluster.relocate(1);
    client.refresh(Duration::from_secs(3));
    assert_eq!(client.view().snapshot().cluster(), client_view.snapshot().cluster());
    assert_eq!(client.view().snapshot().canonical(), cluster.canonical());
}
