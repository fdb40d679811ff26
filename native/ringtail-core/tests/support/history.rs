//! Clusters with a random history, and what their topologies must be.

use proptest::prelude::*;
use ringtail_core::topology::{
    ClusterRef, Endpoint, MemberEntry, OwnerMap, Protocol, Snapshot, Token, Topology,
    TopologyDigest, cluster_uuid, node_uuid,
};
use ringtail_core::{MemberStatus, RingSize};

/// What a history may do to a cluster between two snapshots.
#[derive(Clone, Debug)]
pub enum Change {
    Join(u8),
    Leave(u8),
    Status(u8, MemberStatus),
    Endpoints(u8, Vec<Endpoint>),
    Own(u8, u16),
    Resizing(bool),
}

pub fn endpoints() -> impl Strategy<Value = Vec<Endpoint>> {
    let protocol = prop_oneof![Just(Protocol::Http), Just(Protocol::Https), Just(Protocol::Pb)];
    let host = prop_oneof![Just("10.0.0.1".to_owned()), Just("::1".to_owned()), "[a-zé %]{0,8}"];
    let endpoint = (protocol, host, 1..=u16::MAX).prop_map(|(protocol, host, port)| Endpoint {
        protocol,
        host,
        port,
    });
    prop::collection::btree_set(endpoint, 0..4).prop_map(|set| set.into_iter().collect())
}

pub fn status() -> impl Strategy<Value = MemberStatus> {
    prop::sample::select(vec![
        MemberStatus::Joining,
        MemberStatus::Valid,
        MemberStatus::Leaving,
        MemberStatus::Exiting,
        MemberStatus::Down,
        MemberStatus::Invalid,
    ])
}

pub fn change() -> impl Strategy<Value = Change> {
    let node = 0..12u8;
    prop_oneof![
        node.clone().prop_map(Change::Join),
        node.clone().prop_map(Change::Leave),
        (node.clone(), status()).prop_map(|(node, status)| Change::Status(node, status)),
        (node.clone(), endpoints())
            .prop_map(|(node, endpoints)| Change::Endpoints(node, endpoints)),
        (node, any::<u16>()).prop_map(|(node, at)| Change::Own(node, at)),
        any::<bool>().prop_map(Change::Resizing),
    ]
}

pub fn changes(most: usize) -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(change(), 0..most)
}

pub fn name(node: u8) -> String {
    format!("riak{node}@10.0.0.{node}")
}

/// A model of a cluster that knows nothing of a snapshot's inner form.
#[derive(Clone, Debug)]
pub struct Model {
    pub cluster: ClusterRef,
    pub resizing: bool,
    pub members: Vec<MemberEntry>,
    pub owners: Vec<String>,
}

impl Model {
    pub fn new(size: usize) -> Self {
        let cluster = "{'riak0@10.0.0.0',{1795,975713,485939}}".to_owned();
        let mut model = Self {
            cluster: ClusterRef { uuid: cluster_uuid(&cluster), name: cluster },
            resizing: false,
            members: Vec::new(),
            owners: vec![name(0); size],
        };
        model.change(&Change::Join(0));
        model
    }

    pub fn of(size: usize, changes: &[Change]) -> Self {
        let mut model = Self::new(size);
        changes.iter().for_each(|change| model.change(change));
        model
    }

    pub fn member(&mut self, node: u8) -> Option<&mut MemberEntry> {
        self.members.iter_mut().find(|member| member.name == name(node))
    }

    pub fn change(&mut self, change: &Change) {
        match change {
            Change::Join(node) if self.member(*node).is_none() => self.members.push(MemberEntry {
                uuid: node_uuid(self.cluster.uuid, &name(*node)),
                name: name(*node),
                status: MemberStatus::Valid,
                endpoints: Vec::new(),
            }),
            Change::Leave(node) if *node != 0 => {
                self.members.retain(|member| member.name != name(*node));
                for owner in self.owners.iter_mut().filter(|owner| **owner == name(*node)) {
                    *owner = name(0);
                }
            }
            Change::Own(node, at) if self.member(*node).is_some() => {
                let size = self.owners.len();
                self.owners[usize::from(*at) % size] = name(*node);
            }
            Change::Status(node, status) => {
                if let Some(member) = self.member(*node) {
                    member.status = *status;
                }
            }
            Change::Endpoints(node, endpoints) => {
                if let Some(member) = self.member(*node) {
                    member.endpoints.clone_from(endpoints);
                }
            }
            Change::Resizing(resizing) => self.resizing = *resizing,
            Change::Join(_) | Change::Leave(_) | Change::Own(..) => {}
        }
    }

    /// The snapshot, by way of the document; its token is worked out from the model's own canonical
    /// form.
    pub fn snapshot(&self) -> Snapshot {
        let size = RingSize::new(self.owners.len() as u32).unwrap();
        let owners = size
            .positions()
            .zip(&self.owners)
            .map(|(position, owner)| (size.index_of(position), node_uuid(self.cluster.uuid, owner)))
            .collect();
        let canonical = self.canonical();
        let topology = Topology {
            token: Token { ordinal: 0, digest: TopologyDigest::of(&canonical) },
            cluster: self.cluster.clone(),
            ring_size: size.get(),
            resizing: self.resizing,
            members: self.members.clone(),
            owners: OwnerMap(owners),
            up: Vec::new(),
        };
        let snapshot = topology.snapshot().expect("the model's canonical form is the crate's");
        assert_eq!(snapshot.canonical(), canonical);
        snapshot
    }

    /// The canonical form as `docs/topology.md` tells it, written a second time.
    pub fn canonical(&self) -> String {
        let word = |text: &str| -> String {
            if text.is_empty() {
                return "%".to_owned();
            }
            text.bytes()
                .map(|byte| match byte {
                    b'%' | 0..=b' ' | 0x7f.. => format!("%{byte:02x}"),
                    _ => char::from(byte).to_string(),
                })
                .collect()
        };
        let mut members = self.members.clone();
        members.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        let mut lines = vec![
            "ringtail-topology 1".to_owned(),
            format!("cluster {} {}", self.cluster.uuid, word(&self.cluster.name)),
            format!(
                "ring {} {}",
                self.owners.len(),
                if self.resizing { "resizing" } else { "settled" }
            ),
        ];
        for member in &members {
            let mut line =
                format!("member {} {} {}", member.uuid, member.status, word(&member.name));
            for endpoint in &member.endpoints {
                line +=
                    &format!(" {} {} {}", endpoint.protocol, word(&endpoint.host), endpoint.port);
            }
            lines.push(line);
        }
        let number = |owner: &String| {
            members.iter().position(|member| member.name == *owner).unwrap().to_string()
        };
        lines.push(format!(
            "owners {}",
            self.owners.iter().map(number).collect::<Vec<_>>().join(" ")
        ));
        lines.join("\n") + "\n"
    }
}
