//! The cluster's ring: what is changed by the script, and what of it is published.

use std::fmt::Write as _;
use std::sync::Arc;

use ringtail_core::topology::{Snapshot, Token, Topology, TopologyAnswer, cluster_uuid, node_uuid};
use ringtail_core::{Keyfun, Position, RingSize, hash_key};
use uuid::Uuid;

use crate::layout::Layout;

/// One published state.
pub(crate) struct Published {
    pub(crate) snapshot: Snapshot,
    pub(crate) token: Token,
}

impl Published {
    /// The partitions of a key: position, index, owner.
    pub(crate) fn preflist(
        &self,
        bucket_type: &[u8],
        bucket: &[u8],
        key: &[u8],
        n: u32,
    ) -> Vec<(u32, String, String)> {
        let size = RingSize::new(self.snapshot.ring_size()).expect("a ring has partitions");
        let first = size.position_of(&hash_key(bucket_type, bucket, key, Keyfun::Std)).0;
        let positions = (0..n.min(size.get())).map(|step| Position((first + step) % size.get()));
        positions
            .map(|at| (at.0, size.index_of(at).to_string(), self.snapshot.owner(at).name.clone()))
            .collect()
    }

    /// The names of a key's primaries, each once.
    pub(crate) fn primaries(
        &self,
        bucket_type: &[u8],
        bucket: &[u8],
        key: &[u8],
        n: u32,
    ) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (_, _, name) in self.preflist(bucket_type, bucket, key, n) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

struct Member {
    name: String,
    endpoint: String,
    up: bool,
}

pub(crate) struct Ring {
    name: String,
    uuid: Uuid,
    members: Vec<Member>,
    owners: Vec<String>,
    ordinal: u64,
    history: Vec<Arc<Published>>,
}

impl Ring {
    pub(crate) fn new(name: &str, size: usize) -> Self {
        Self {
            name: name.to_owned(),
            uuid: cluster_uuid(name),
            members: Vec::new(),
            owners: vec![String::new(); size],
            ordinal: 0,
            history: Vec::new(),
        }
    }

    pub(crate) fn uuid(&self, node: &str) -> Uuid {
        node_uuid(self.uuid, node)
    }

    fn endpoint(layout: &Layout, port: u16) -> String {
        format!("{} {} {port}", if layout.tls.is_some() { "https" } else { "http" }, layout.host)
    }

    pub(crate) fn join(&mut self, name: &str, layout: &Layout, port: u16) {
        self.members.push(Member {
            name: name.to_owned(),
            endpoint: Self::endpoint(layout, port),
            up: true,
        });
        self.members.sort_by(|a, b| a.name.cmp(&b.name));
        self.ordinal += 1;
    }

    pub(crate) fn share_out(&mut self) {
        let names: Vec<String> = self.members.iter().map(|member| member.name.clone()).collect();
        self.assign(&names);
    }

    pub(crate) fn assign(&mut self, names: &[String]) {
        for (at, owner) in self.owners.iter_mut().enumerate() {
            owner.clone_from(&names[at % names.len()]);
        }
        self.ordinal += 1;
    }

    pub(crate) fn leave(&mut self, name: &str) {
        self.members.retain(|member| member.name != name);
        let others: Vec<String> = self.members.iter().map(|member| member.name.clone()).collect();
        for (at, owner) in self.owners.iter_mut().enumerate().filter(|(_, owner)| *owner == name) {
            owner.clone_from(&others[at % others.len()]);
        }
        self.ordinal += 1;
    }

    pub(crate) fn rotate(&mut self) {
        for owner in &mut self.owners {
            let at =
                self.members.iter().position(|member| member.name == *owner).unwrap_or_default();
            owner.clone_from(&self.members[(at + 1) % self.members.len()].name);
        }
        self.ordinal += 1;
    }

    /// Metadata of a member: as in Riak, the ordinal stays.
    pub(crate) fn listen_at(&mut self, name: &str, layout: &Layout, port: u16) {
        for member in self.members.iter_mut().filter(|member| member.name == name) {
            member.endpoint = Self::endpoint(layout, port);
        }
    }

    pub(crate) fn set_up(&mut self, name: &str, up: bool) {
        self.members
            .iter_mut()
            .filter(|member| member.name == name)
            .for_each(|member| member.up = up);
    }

    pub(crate) fn is_up(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name && member.up)
    }

    fn up(&self) -> Vec<Uuid> {
        self.members
            .iter()
            .filter(|member| member.up)
            .map(|member| self.uuid(&member.name))
            .collect()
    }

    pub(crate) fn publish(&mut self) -> Arc<Published> {
        let mut text = format!(
            "ringtail-topology 1\ncluster {} {}\nring {} settled\n",
            self.uuid,
            self.name,
            self.owners.len()
        );
        for member in &self.members {
            let _ = writeln!(
                text,
                "member {} valid {} {}",
                self.uuid(&member.name),
                member.name,
                member.endpoint
            );
        }
        text.push_str("owners");
        for owner in &self.owners {
            let at =
                self.members.iter().position(|member| member.name == *owner).unwrap_or_default();
            let _ = write!(text, " {at}");
        }
        text.push('\n');
        let snapshot = Snapshot::parse(&text).expect("the script makes sound topologies");
        let token = snapshot.token(self.ordinal);
        self.history.push(Arc::new(Published { snapshot, token }));
        let surplus = self.history.len().saturating_sub(256);
        self.history.drain(..surplus);
        self.published()
    }

    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(self.history.last().expect("a cluster publishes when it starts"))
    }

    pub(crate) fn restore(&mut self, ordinal: u64) {
        self.ordinal = ordinal;
        self.history.clear();
    }

    pub(crate) fn topology_at(&self, ordinal: u64) -> String {
        let snapshot = &self.published().snapshot;
        let topology = Topology::of(snapshot, snapshot.token(ordinal), self.up());
        let answer = TopologyAnswer::Full(topology);
        serde_json::to_string(&answer).expect("topologies are JSON")
    }

    /// What a node that sees `to` answers.
    pub(crate) fn answer(&self, from: Option<Token>, to: &Published) -> TopologyAnswer {
        let known = from.and_then(|from| self.history.iter().find(|known| known.token == from));
        let difference = known.and_then(|known| {
            known.snapshot.difference(known.token, &to.snapshot, to.token, self.up())
        });
        match difference {
            Some(difference) => TopologyAnswer::Difference(difference),
            None => TopologyAnswer::Full(Topology::of(&to.snapshot, to.token, self.up())),
        }
    }
}
