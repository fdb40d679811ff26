//! A scripted cluster in one process, for tests of the client.
//!
//! Its nodes listen on loopback and speak as much of Ringtail's and Riak's HTTP as the client uses.
//! It is not Riak and proves nothing of it; what it can do and Riak cannot is change its ring, die,
//! lie and lag on command. How it answers object requests follows exchanges recorded from Riak
//! (`test/vectors/http`).
//!
//! All nodes share one store, so that ownership may move without data having to.
#![forbid(unsafe_code)]

mod http;
mod layout;
mod node;
mod ring;
mod standin;
mod state;
mod store;

use std::sync::{Arc, Mutex};

use ringtail_core::topology::Token;
use uuid::Uuid;

pub use http::serve_bytes;
pub use layout::Layout;
use node::Node;
pub use node::{Fault, Logged};
use ring::Published;
pub use standin::StandIn;
use state::{State, lock};
pub use store::BucketType;

/// A running cluster. Nodes are numbered from 0 in the order they joined; numbers are not used
/// again.
pub struct Cluster {
    state: Arc<State>,
    nodes: Mutex<Vec<Arc<Node>>>,
}

impl Cluster {
    /// So many nodes, 64 partitions.
    pub fn start(nodes: usize) -> Self {
        Self::with(Layout { nodes, ..Layout::default() })
    }

    /// As laid out.
    pub fn with(layout: Layout) -> Self {
        let state = Arc::new(State::of(layout));
        let cluster = Self { state, nodes: Mutex::default() };
        for _ in 0..cluster.state.layout.nodes {
            cluster.add_node();
        }
        lock(&cluster.state.ring).share_out();
        cluster.publish();
        cluster
    }

    fn add_node(&self) -> usize {
        let mut nodes = lock(&self.nodes);
        let number = nodes.len();
        let node = Node::start(format!("n{number}@{}", self.state.layout.host), 0, &self.state);
        lock(&self.state.ring).join(&node.name, &self.state.layout, node.port());
        nodes.push(node);
        number
    }

    fn node(&self, node: usize) -> Arc<Node> {
        Arc::clone(&lock(&self.nodes)[node])
    }

    /// Makes the ring's present state the one that nodes which do not lag tell.
    fn publish(&self) {
        let published = lock(&self.state.ring).publish();
        for node in lock(&self.nodes).iter() {
            node.see(&published);
        }
    }

    /// A node's URL.
    pub fn url(&self, node: usize) -> String {
        let scheme = if self.state.layout.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.state.layout.host, self.port(node))
    }

    /// A node's port.
    pub fn port(&self, node: usize) -> u16 {
        self.node(node).port()
    }

    /// A node's name.
    pub fn name(&self, node: usize) -> String {
        self.node(node).name.clone()
    }

    /// A node's UUID.
    pub fn uuid(&self, node: usize) -> Uuid {
        lock(&self.state.ring).uuid(&self.name(node))
    }

    /// The token of the newest topology.
    pub fn token(&self) -> Token {
        lock(&self.state.ring).published().token
    }

    /// The newest topology's canonical form.
    pub fn canonical(&self) -> String {
        lock(&self.state.ring).published().snapshot.canonical()
    }

    /// Another node joins and gets its share.
    pub fn join(&self) -> usize {
        let number = self.add_node();
        lock(&self.state.ring).share_out();
        self.publish();
        number
    }

    /// A node leaves; its partitions go to the others. It runs on, as Riak nodes do for a moment.
    pub fn leave(&self, node: usize) {
        lock(&self.state.ring).leave(&self.name(node));
        self.publish();
    }

    /// Every partition goes to the next node: everything a client knew of owners is wrong.
    pub fn rotate(&self) {
        lock(&self.state.ring).rotate();
        self.publish();
    }

    /// Owners change so that these nodes (by number) own the partitions in turn.
    pub fn assign(&self, nodes: &[usize]) {
        let names: Vec<String> = nodes.iter().map(|&node| self.name(node)).collect();
        lock(&self.state.ring).assign(&names);
        self.publish();
    }

    /// A node stops: its listener closes, its connections break.
    pub fn kill(&self, node: usize) {
        self.node(node).stop();
        lock(&self.state.ring).set_up(&self.name(node), false);
    }

    /// A node that was killed comes back at the same port.
    pub fn revive(&self, node: usize) {
        self.restart(node, self.port(node));
    }

    /// A node comes back at a port of its own choosing and publishes it.
    pub fn relocate(&self, node: usize) {
        self.node(node).stop();
        self.restart(node, 0);
        let port = self.port(node);
        lock(&self.state.ring).listen_at(&self.name(node), &self.state.layout, port);
        self.publish();
    }

    fn restart(&self, node: usize, port: u16) {
        let name = self.name(node);
        self.node(node).stop();
        let new = Node::start(name.clone(), port, &self.state);
        new.see(&lock(&self.state.ring).published());
        lock(&self.nodes)[node] = new;
        lock(&self.state.ring).set_up(&name, true);
    }

    /// Starts a node of this cluster at the port of another node (of whatever cluster), which must
    /// have been killed.
    pub fn take_over(&self, node: usize, port: u16) {
        self.restart(node, port);
    }

    /// A node keeps to the topology it has now, whatever is published later, until told otherwise.
    pub fn lag(&self, node: usize, lag: bool) {
        let node = self.node(node);
        node.lag(lag);
        node.see(&lock(&self.state.ring).published());
    }

    /// From now on a node misbehaves in this way.
    pub fn fault(&self, node: usize, fault: Fault) {
        *lock(&self.node(node).fault) = fault;
    }

    /// What a node was asked, oldest first.
    pub fn log(&self, node: usize) -> Vec<Logged> {
        lock(&self.node(node).log).clone()
    }

    /// Forgets what nodes were asked.
    pub fn clear_logs(&self) {
        lock(&self.nodes).iter().for_each(|node| lock(&node.log).clear());
    }

    /// The cluster is brought back from a copy: what nodes tell from now on has this ordinal.
    pub fn restore(&self, ordinal: u64) {
        lock(&self.state.ring).restore(ordinal);
        self.publish();
    }

    /// The document of the newest topology as if it had this ordinal.
    pub fn topology_at(&self, ordinal: u64) -> String {
        lock(&self.state.ring).topology_at(ordinal)
    }

    /// Every object request that any node answered other than 421, with the node's number.
    pub fn served(&self) -> Vec<(usize, Logged)> {
        let nodes = lock(&self.nodes);
        let logs = nodes.iter().enumerate().flat_map(|(number, node)| {
            lock(&node.log).clone().into_iter().map(move |logged| (number, logged))
        });
        logs.filter(|(_, logged)| logged.is_object() && logged.status != 421).collect()
    }

    /// Changes a bucket type, or makes it.
    pub fn bucket_type(&self, name: &str, bucket_type: BucketType) {
        lock(&self.state.store).types.insert(name.as_bytes().to_vec(), bucket_type);
    }

    /// The numbers of a key's primaries by the newest ring.
    pub fn primaries(&self, bucket_type: &str, bucket: &str, key: &str) -> Vec<usize> {
        let n = lock(&self.state.store).types[bucket_type.as_bytes()].n_val;
        let published: Arc<Published> = lock(&self.state.ring).published();
        let names =
            published.primaries(bucket_type.as_bytes(), bucket.as_bytes(), key.as_bytes(), n);
        let nodes = lock(&self.nodes);
        names.iter().filter_map(|name| nodes.iter().position(|node| node.name == *name)).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        lock(&self.nodes).iter().for_each(|node| node.stop());
    }
}
