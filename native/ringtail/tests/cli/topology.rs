//! topology, and ring, preflist and keys with the URL of a node.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use ringtail_testcluster::Cluster;
use serde_json::Value;

use crate::support::Dir;

#[test]
fn a_topology_is_shown_to_programs_and_scripts() {
    let (dir, cluster) = (Dir::new(), Cluster::start(4));
    let url = cluster.url(2);
    let document = dir.json(&["topology", "http://127.0.0.1:1", &url, "--json"]);
    assert_eq!(document["token"], cluster.token().to_string());
    assert_eq!(document["owners"].as_object().unwrap().len(), 64);
    let text = dir.says(&["topology", &url]);
    assert!(text.starts_with(&format!("token\t{}\ncluster\ttest\n", cluster.token())), "{text}");
    let member = format!(
        "member\t{}\t{}\tvalid\tup\t16\t{}",
        cluster.name(1),
        cluster.uuid(1),
        cluster.url(1)
    );
    assert!(text.lines().any(|line| line == member), "{member:?} is not in {text}");
}

#[test]
fn a_difference_tells_what_has_changed() {
    let (dir, cluster) = (Dir::new(), Cluster::start(3));
    let before = cluster.token().to_string();
    let url = cluster.url(0);
    assert_eq!(dir.says(&["topology", &url, "--from", &before]), format!("token\t{before}\n"));
    let new = cluster.join();
    cluster.leave(1);
    let text = dir.says(&["topology", &url, "--from", &before]);
    assert!(text.contains(&format!("joined\t{}\t", cluster.name(new))), "{text}");
    assert!(text.contains(&format!("left\t{}\n", cluster.uuid(1))), "{text}");
    assert!(text.lines().filter(|line| line.starts_with("owner\t")).count() > 20, "{text}");
    let document = dir.json(&["--json", "topology", &url, "--from", "1-0000000000000000"]);
    assert_eq!(document["full"], true, "what no node knows is answered whole");
}

#[test]
fn a_watcher_is_told_every_change_as_it_comes() {
    let (dir, cluster) = (Dir::new(), Cluster::start(3));
    let mut command = dir.ringtail(&["topology", &cluster.url(0), "--watch", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["full"], true);
    let before = cluster.token().to_string();
    cluster.relocate(1);
    let change = next();
    assert_eq!(
        (&change["full"], change["from"].as_str()),
        (&Value::Bool(false), Some(before.as_str()))
    );
    assert_eq!(change["changed"][0]["endpoints"][0]["port"], cluster.port(1));
    cluster.leave(2);
    assert_eq!(next()["left"][0], cluster.uuid(2).to_string());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_ring_of_a_running_cluster() {
    let (dir, cluster) = (Dir::new(), Cluster::start(4));
    let url = cluster.url(0);
    let text = dir.says(&["ring", &url, "--owners"]);
    assert!(text.contains("ring_size\t64\n"), "{text}");
    assert!(
        text.contains(&format!(
            "member\t{}\tvalid\tup\t16\t25.00\t{}\n",
            cluster.name(3),
            cluster.url(3)
        )),
        "{text}"
    );
    assert_eq!(text.lines().filter(|line| line.starts_with("owner\t")).count(), 64);
    cluster.kill(3);
    let document = dir.json(&["--json", "ring", &cluster.url(3), &url]);
    assert_eq!(document["members"][3]["up"], false);
    assert!(document.get("owners").is_none());
}

#[test]
fn the_preflist_of_a_key_by_a_node_and_by_its_topology() {
    let (dir, cluster) = (Dir::new(), Cluster::start(4));
    let url = cluster.url(0);
    let by_node = dir.says(&["preflist", &url, "--type", "mult", "--bucket", "b", "--key", "k"]);
    let names: Vec<&str> = by_node.lines().map(|line| line.split('\t').next().unwrap()).collect();
    let expected: Vec<String> =
        cluster.primaries("mult", "b", "k").iter().map(|&node| cluster.name(node)).collect();
    assert_eq!(names, expected);
    let ring = ["preflist", "--ring", &url, "--type", "mult", "--bucket", "b", "--key", "k"];
    assert_eq!(dir.says(&ring), by_node);
    let keys = ["keys", "--ring", &url, "--type", "mult", "--bucket", "b"];
    let line = dir.says_of(&keys, b"k\n");
    assert!(line.ends_with(&format!("\t{}\n", names.join(","))), "{line}");
}
