//! The client against a cluster whose nodes do what the test says.
#![allow(missing_docs)]

mod agreement;
mod bad_answers;
mod following;
mod framing;
mod identity;
mod objects;
mod outcomes;
mod pass;
mod paths;
mod secrets;
mod soak;
mod tls;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringtail_client::{Client, Config, Content, Event, Fetched, Metadata, ObjectName, Stored};
use ringtail_testcluster::Cluster;

/// A client that tells what it does.
pub struct Watched {
    pub client: Client,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Watched {
    pub fn new(seeds: &[String]) -> Self {
        Self::with(Config::new(seeds).unwrap())
    }

    pub fn with(config: Config) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&events);
        let config = config.observer(move |event| told.lock().unwrap().push(event.clone()));
        Self { client: Client::connect(config).unwrap(), events }
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }
}

pub fn client(cluster: &Cluster) -> Client {
    Client::connect(Config::new([cluster.url(0)]).unwrap().timeout(Duration::from_secs(10)))
        .unwrap()
}

pub fn text() -> Metadata {
    Metadata::of_type("text/plain")
}

pub fn put(client: &Client, name: &ObjectName, content: &[u8]) {
    let stored = client.put(name, &text(), Content::Bytes(content), &Default::default()).unwrap();
    assert_eq!(stored, Stored::Done);
}

pub fn content(client: &Client, name: &ObjectName) -> Vec<u8> {
    match client.get(name, &Default::default()).unwrap() {
        Fetched::Object(object) => object.content,
        other => panic!("{other:?}"),
    }
}

/// The name of an object whose only primary (bucket type n1) is that node.
pub fn owned_by(cluster: &Cluster, node: usize) -> ObjectName {
    let key = (0..10_000)
        .map(|at| format!("k{at}"))
        .find(|key| cluster.primaries("n1", "b", key) == [node]);
    ObjectName::new("b", key.expect("every node owns something")).of_type("n1")
}

/// Waits until something holds.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
}
