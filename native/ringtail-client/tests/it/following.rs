//! The topology changes; the client follows.

use std::time::Duration;

use ringtail_client::{Client, Config, DiscoveryError, Error, Event, ObjectName};
use ringtail_testcluster::{Cluster, Layout};

use super::{Watched, client, content, eventually, owned_by, put};

#[test]
fn one_seed_is_enough_to_know_all_nodes_after_one_request() {
    let cluster = Cluster::start(5);
    let client = client(&cluster);
    assert_eq!(client.view().snapshot().canonical(), cluster.canonical());
    assert_eq!(client.view().token(), cluster.token());
    let asked: Vec<usize> = (0..5).map(|node| cluster.log(node).len()).collect();
    assert_eq!(asked, [1, 0, 0, 0, 0]);
}

#[test]
fn a_change_of_owners_costs_one_misdirection_and_no_failure() {
    let cluster = Cluster::start(4);
    let client = client(&cluster);
    let names: Vec<ObjectName> =
        (0..50).map(|at| ObjectName::new("b", format!("k{at}")).of_type("n1")).collect();
    names.iter().for_each(|name| put(&client, name, b"x"));
    for change in 1..=3 {
        cluster.rotate();
        names.iter().for_each(|name| put(&client, name, b"y"));
        assert_eq!(
            client.stats().misdirections,
            change,
            "the first request learns it, the others know"
        );
        assert_eq!(client.view().token(), cluster.token());
    }
    let stats = client.stats();
    assert_eq!((stats.refreshes, stats.retries), (3, 3));
    assert!(cluster.served().iter().all(|(_, logged)| logged.status == 204), "nothing failed");
}

#[test]
fn news_comes_with_an_answer_that_is_not_a_refusal() {
    let cluster = Cluster::start(4);
    let client = client(&cluster);
    let name = owned_by(&cluster, 0);
    put(&client, &name, b"x");
    cluster.assign(&[0, 0, 0, 0]);
    put(&client, &name, b"y");
    eventually("the client follows", || client.view().token() == cluster.token());
    assert_eq!(client.stats().misdirections, 0);
}

#[test]
fn a_node_joins_leaves_and_changes_its_port() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    let name = owned_by(&cluster, 1);
    put(&client, &name, b"x");

    let new = cluster.join();
    let theirs = owned_by(&cluster, new);
    put(&client, &theirs, b"y");
    assert_eq!(cluster.log(new).iter().filter(|logged| logged.is_object()).count(), 1);

    cluster.leave(1);
    assert_eq!(content(&client, &name), b"x");
    assert_eq!(client.view().token(), cluster.token());
    assert!(client.view().snapshot().members().iter().all(|member| member.name != cluster.name(1)));

    let before = cluster.port(2);
    let name = owned_by(&cluster, 2);
    put(&client, &name, b"z");
    cluster.relocate(2);
    assert_ne!(cluster.port(2), before);
    assert_eq!(content(&client, &name), b"z");
    assert_eq!(client.view().snapshot().canonical(), cluster.canonical());
}

#[test]
fn a_difference_is_fetched_and_not_the_whole() {
    let cluster = Cluster::start(4);
    let client = client(&cluster);
    cluster.clear_logs();
    let before = client.view().token();
    cluster.rotate();
    client.refresh(Duration::from_secs(5));
    let asked: Vec<String> =
        (0..4).flat_map(|node| cluster.log(node)).map(|logged| logged.target).collect();
    assert_eq!(asked, [format!("/ringtail/clusters/default/topology?from={before}")]);
    assert_eq!(client.view().snapshot().canonical(), cluster.canonical());
}

#[test]
fn an_idle_client_notices() {
    let cluster = Cluster::start(3);
    let config = Config::new([cluster.url(0)]).unwrap().poll_interval(Duration::from_millis(100));
    let client = Client::connect(config).unwrap();
    cluster.rotate();
    eventually("the poll brings it", || client.view().token() == cluster.token());
    assert!(client.stats().polls >= 1);
}

#[test]
fn a_lagging_node_never_takes_the_client_back() {
    let cluster = Cluster::start(4);
    let watched = Watched::new(&[cluster.url(0)]);
    let client = &watched.client;
    cluster.lag(1, true);
    cluster.rotate();
    cluster.rotate();
    client.refresh(Duration::from_secs(5));
    let newest = cluster.token();
    eventually("the client knows the newest ring", || {
        client.refresh(Duration::from_secs(1));
        client.view().token() == newest
    });
    for at in 0..40 {
        put(client, &ObjectName::new("b", format!("k{at}")), b"x");
        client.refresh(Duration::from_millis(50));
        assert_eq!(client.view().token(), newest);
    }
    assert!(client.stats().older_refused > 0, "it was offered");
    assert_eq!(cluster.served().iter().filter(|(_, logged)| logged.status != 204).count(), 0);
}

#[test]
fn one_dead_seed_of_three_does_not_matter() {
    let cluster = Cluster::start(3);
    let seeds = [cluster.url(0), cluster.url(1), cluster.url(2)];
    cluster.kill(0);
    let watched = Watched::new(&seeds);
    assert_eq!(watched.client.view().token(), cluster.token());
    assert!(matches!(&watched.events()[0], Event::Failed { node, .. } if *node == seeds[0]));
}

#[test]
fn a_name_with_several_addresses_is_tried_at_all_of_them() {
    // "localhost" leads to ::1, too, where nothing or something else listens.
    let cluster = Cluster::with(Layout { host: "localhost".into(), ..Layout::default() });
    let squatter = std::net::TcpListener::bind(("::1", cluster.port(0)));
    if let Ok(listener) = squatter {
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = std::io::Write::write_all(&mut stream, b"220 not HTTP\r\n");
            }
        });
    }
    let client = client(&cluster);
    put(&client, &owned_by(&cluster, 0), b"x");
}

#[test]
fn all_nodes_restarted_on_new_ports_are_found_by_the_seeds() {
    let cluster = Cluster::start(3);
    // As behind a balancer: the seed's address stays and leads to a node of the cluster.
    let entrance = Cluster::start(1);
    let port = entrance.port(0);
    entrance.kill(0);
    let seeds = [cluster.url(0), format!("http://127.0.0.1:{port}")];
    let client = Client::connect(Config::new(seeds).unwrap()).unwrap();
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    let extra = cluster.join();
    (0..3).for_each(|node| cluster.relocate(node));
    cluster.kill(extra);
    cluster.take_over(extra, port);
    assert_eq!(content(&client, &name), b"x");
    assert!(client.stats().reseeds >= 1);
}

#[test]
fn a_cluster_restored_under_another_name_is_accepted() {
    let layout = |name: &str| Layout { name: name.into(), nodes: 1, ..Layout::default() };
    let cluster = Cluster::with(layout("before"));
    for _ in 0..5 {
        cluster.rotate();
    }
    let watched = Watched::new(&[cluster.url(0)]);
    let before = watched.client.view();
    let port = cluster.port(0);
    cluster.kill(0);
    let restored = Cluster::with(layout("after"));
    restored.kill(0);
    restored.take_over(0, port);
    // The endpoint it publishes is the one before it was moved; what counts is that the client
    // takes the topology.
    eventually("the restored cluster is taken", || {
        watched.client.refresh(Duration::from_secs(1)).snapshot().cluster().name == "after"
    });
    assert!(watched.client.view().token().ordinal < before.token().ordinal);
    assert!(
        watched.events().iter().any(|event| matches!(event, Event::Identity(_))),
        "told before it was taken"
    );
}

#[test]
fn refreshes_keep_their_distance_and_only_one_is_in_flight() {
    let cluster = Cluster::start(3);
    let client = client(&cluster);
    cluster.clear_logs();
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while start.elapsed() < Duration::from_millis(1000) {
                    client.refresh(Duration::from_secs(1));
                }
            });
        }
    });
    let asked: usize = (0..3).map(|node| cluster.log(node).len()).sum();
    // One at once, and one for each tenth of a second that it took.
    let most = 1 + usize::try_from(start.elapsed().as_millis()).unwrap() / 100;
    assert!(asked >= 2 && asked <= most, "16 threads asked all the time; {asked} of {most}");
}

#[test]
fn wrong_properties_cost_one_question_more() {
    let cluster = Cluster::start(4);
    let client = client(&cluster);
    cluster.bucket_type("n1", ringtail_testcluster::BucketType::of(3, false));
    let names: Vec<ObjectName> =
        (0..20).map(|at| ObjectName::new("b", format!("k{at}")).of_type("n1")).collect();
    names.iter().for_each(|name| put(&client, name, b"x"));
    cluster.bucket_type("n1", ringtail_testcluster::BucketType::of(1, false));
    names.iter().for_each(|name| put(&client, name, b"y"));
    assert_eq!(client.stats().misdirections, 1);
    assert_eq!(client.stats().properties_fetched, 2);
}

#[test]
fn a_client_that_is_dropped_ends_its_thread() {
    let threads = || {
        std::fs::read_dir("/proc/self/task")
            .unwrap()
            .flatten()
            .filter(|task| {
                std::fs::read_to_string(task.path().join("comm"))
                    .is_ok_and(|name| name.starts_with("ringtail-disc"))
            })
            .count()
    };
    let cluster = Cluster::start(1);
    let clients: Vec<Client> = (0..20).map(|_| client(&cluster)).collect();
    eventually("they run", || threads() >= 20);
    drop(clients);
    // Other tests of this process have clients of their own.
    eventually("they end", || threads() < 20);
}

#[test]
fn nobody_there() {
    let cluster = Cluster::start(2);
    let seeds = [cluster.url(0), cluster.url(1)];
    cluster.kill(0);
    cluster.kill(1);
    let error = Client::connect(Config::new(&seeds).unwrap()).unwrap_err();
    let Error::Discovery(DiscoveryError::Unreachable { tried }) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(tried.len(), 2, "{error}");
    assert!(
        error.to_string().contains(&seeds[1]) && error.to_string().contains("refused"),
        "{error}"
    );
}
