//! No topology is final, however high its ordinal.

use std::time::Duration;

use ringtail_client::{Config, Event, ObjectName};
use ringtail_testcluster::{Cluster, Fault};

use super::{Watched, eventually, put};

fn watched(seeds: &[String]) -> Watched {
    let config = Config::new(seeds).unwrap();
    Watched::with(config.poll_interval(Duration::from_millis(100)))
}

fn agreed(watched: &Watched) -> usize {
    watched.events().iter().filter(|event| matches!(event, Event::Agreed { .. })).count()
}

#[test]
fn one_answer_with_the_highest_ordinal_is_not_final() {
    let cluster = Cluster::start(3);
    let watched = watched(&[cluster.url(0)]);
    let client = &watched.client;
    let bogus = cluster.topology_at(u64::MAX);
    (0..3).for_each(|node| cluster.fault(node, Fault::TopologyJson(bogus.clone())));
    eventually("it is taken, for it seems newer", || {
        client.refresh(Duration::from_secs(1)).token().ordinal == u64::MAX
    });
    (0..3).for_each(|node| cluster.fault(node, Fault::None));
    cluster.rotate();
    eventually("all nodes agree on another", || client.view().token() == cluster.token());
    assert_eq!(agreed(&watched), 1);
    cluster.rotate();
    put(client, &ObjectName::new("b", "k").of_type("n1"), b"x");
    eventually("the client follows again", || client.view().token() == cluster.token());
}

#[test]
fn a_restored_ring_is_followed_while_the_client_is_busy() {
    let cluster = Cluster::start(3);
    for _ in 0..9 {
        cluster.rotate();
    }
    let watched = watched(&[cluster.url(0), cluster.url(1)]);
    let client = &watched.client;
    cluster.restore(2);
    let name = ObjectName::new("b", "k");
    eventually("the restored ring is taken", || {
        put(client, &name, b"x");
        client.view().token() == cluster.token()
    });
    assert_eq!((agreed(&watched), client.view().token().ordinal), (1, 2));
}

#[test]
fn as_long_as_one_node_has_it_the_newest_topology_stays() {
    let cluster = Cluster::start(3);
    let watched = watched(&[cluster.url(0)]);
    let client = &watched.client;
    (0..2).for_each(|node| cluster.lag(node, true));
    cluster.rotate();
    let newest = cluster.token();
    eventually("it is known", || client.refresh(Duration::from_secs(1)).token() == newest);
    let polls = client.stats().polls;
    eventually("there were many polls since", || client.stats().polls >= polls + 8);
    assert_eq!((client.view().token(), agreed(&watched)), (newest, 0));
}
