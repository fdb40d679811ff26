//! The documents people and programs read, as JSON through serde. Indices are strings.

use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::index::{Index, KeyHash, NVal, NValError, Position};
use crate::node::{NodeId, NodeName};
use crate::preflist::{PreflistKind, UpNodes};
use crate::ring::{Member, NextOwner, Ring};
use crate::status::{MemberStatus, PendingStatus};

/// The cluster preflist: a JSON object with one member per partition in ring order, from index to
/// name of the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPreflist {
    /// Index and owner, in ring order.
    pub owners: Vec<(Index, NodeName)>,
}

impl ClusterPreflist {
    /// Of a whole ring.
    pub fn of(ring: &Ring) -> ClusterPreflist {
        let owner = |(index, node)| (index, name(ring, node));
        ClusterPreflist { owners: ring.owners().map(owner).collect() }
    }
}

impl Serialize for ClusterPreflist {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.owners.len()))?;
        for (index, owner) in &self.owners {
            map.serialize_entry(index, owner)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ClusterPreflist {
    /// Keeps the order. An index that occurs twice is refused, wherever it stands.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ClusterPreflist, D::Error> {
        struct Owners;
        impl<'de> Visitor<'de> for Owners {
            type Value = ClusterPreflist;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of indices and the names of their owners")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ClusterPreflist, A::Error> {
                let mut owners = Vec::new();
                while let Some(entry) = map.next_entry::<Index, NodeName>()? {
                    owners.push(entry);
                }
                let mut indices: Vec<Index> = owners.iter().map(|&(index, _)| index).collect();
                indices.sort_unstable();
                match indices.windows(2).find(|pair| pair[0] == pair[1]) {
                    Some(pair) => {
                        Err(A::Error::custom(format_args!("index {} occurs twice", pair[0])))
                    }
                    None => Ok(ClusterPreflist { owners }),
                }
            }
        }
        deserializer.deserialize_map(Owners)
    }
}

/// What a ring says, for people and monitoring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RingSummary {
    /// As [`Ring::cluster_name`].
    pub cluster_name: Option<String>,
    /// As [`Ring::claimant`].
    pub claimant: Option<String>,
    /// As [`Ring::nodename`].
    pub nodename: Option<String>,
    /// Number of partitions.
    pub ring_size: u32,
    /// As [`Ring::resizing`].
    pub resizing: bool,
    /// As [`Ring::rvsn_sum`].
    pub rvsn_sum: u64,
    /// As [`Ring::vclock_sum`].
    pub vclock_sum: u64,
    /// As the ring lists them.
    pub members: Vec<MemberSummary>,
    /// Transfers under way, in the ring's order.
    pub pending: Vec<PendingSummary>,
    /// All partitions in ring order, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<Vec<OwnerSummary>>,
}

/// A member in a [`RingSummary`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberSummary {
    /// Its name.
    pub node: NodeName,
    /// What it is in the cluster.
    pub status: MemberStatus,
    /// How many partitions it owns.
    pub partitions: u32,
    /// The same in percent of the ring, rounded to two decimals.
    pub share: f64,
    /// The percentage it will own once the pending transfers are done, as the column `Pending` of
    /// `riak admin member-status`; null if no partition is going to another node.
    pub pending: Option<f64>,
}

/// A transfer in a [`RingSummary`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSummary {
    /// The partition.
    pub index: Index,
    /// Who hands it over.
    pub owner: NodeName,
    /// Who gets it: a node's name, `$resize` or `$delete`.
    pub next_owner: NodeName,
    /// How far that has come.
    pub status: PendingStatus,
}

/// A partition in a [`RingSummary`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerSummary {
    /// The partition.
    pub index: Index,
    /// Its owner.
    pub node: NodeName,
}

impl RingSummary {
    /// Of a ring, with or without the table of owners.
    pub fn of(ring: &Ring, with_owners: bool) -> RingSummary {
        let future = future_partitions(ring);
        let member = |member: &Member| {
            let partitions = ring.partitions_of(member.node);
            MemberSummary {
                node: name(ring, member.node),
                status: member.status,
                partitions,
                share: percent(partitions, ring.size()),
                pending: future
                    .as_ref()
                    .map(|future| percent(future[usize::from(member.node.0)], ring.size())),
            }
        };
        let pending = ring.pending().iter().map(|pending| PendingSummary {
            index: pending.index,
            owner: name(ring, pending.owner),
            next_owner: match pending.next_owner {
                NextOwner::Node(node) => name(ring, node),
                other => NodeName::from(ring.next_owner_name(other)),
            },
            status: pending.status,
        });
        let owners = || {
            ring.owners()
                .map(|(index, node)| OwnerSummary { index, node: name(ring, node) })
                .collect()
        };
        RingSummary {
            cluster_name: ring.cluster_name().map(str::to_owned),
            claimant: ring.claimant().map(str::to_owned),
            nodename: ring.nodename().map(str::to_owned),
            ring_size: ring.size(),
            resizing: ring.resizing(),
            rvsn_sum: ring.rvsn_sum(),
            vclock_sum: ring.vclock_sum(),
            members: ring.members().iter().map(member).collect(),
            pending: pending.collect(),
            owners: with_owners.then(owners),
        }
    }
}

/// A key's preflist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPreflist {
    /// In preflist order.
    pub preflist: Vec<KeyPreflistEntry>,
}

/// One line of a [`KeyPreflist`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPreflistEntry {
    /// Who answers for the partition.
    pub node: NodeName,
    /// The partition's position.
    pub partition: Position,
    /// The partition's index.
    pub index: Index,
    /// Whether the node owns the partition; otherwise it is a fallback.
    pub primary: bool,
    /// Whether the node is up.
    pub up: bool,
}

impl KeyPreflist {
    /// What [`Ring::preflist`] says: up primaries, then fallbacks; all of them up.
    pub fn of(
        ring: &Ring,
        hash: &KeyHash,
        n: NVal,
        up: &UpNodes,
    ) -> Result<KeyPreflist, NValError> {
        let preflist = ring.preflist(hash, n, up)?.into_iter().map(|entry| KeyPreflistEntry {
            node: name(ring, entry.node),
            partition: entry.position,
            index: ring.index(entry.position),
            primary: entry.kind == PreflistKind::Primary,
            up: true,
        });
        Ok(KeyPreflist { preflist: preflist.collect() })
    }

    /// What [`Ring::primaries`] says: the owners, up or not.
    pub fn primaries_of(
        ring: &Ring,
        hash: &KeyHash,
        n: NVal,
        up: &UpNodes,
    ) -> Result<KeyPreflist, NValError> {
        let preflist = ring.primaries(hash, n)?.map(|owned| KeyPreflistEntry {
            node: name(ring, owned.node),
            partition: owned.position,
            index: ring.index(owned.position),
            primary: true,
            up: up.contains(owned.node),
        });
        Ok(KeyPreflist { preflist: preflist.collect() })
    }
}

fn name(ring: &Ring, node: NodeId) -> NodeName {
    ring.nodes()[usize::from(node.0)].clone()
}

/// By node, the partitions it will own once partitions on their way to nodes have arrived; `None`
/// if none is.
fn future_partitions(ring: &Ring) -> Option<Vec<u32>> {
    let mut owners = ring.owners.to_vec();
    let mut any = false;
    for pending in ring.pending() {
        let position = ring.position_of_index(&pending.index);
        if let (Some(position), NextOwner::Node(next)) = (position, pending.next_owner) {
            owners[position.0 as usize] = next;
            any = true;
        }
    }
    let mut future = vec![0; ring.nodes().len()];
    for owner in owners {
        future[usize::from(owner.0)] += 1;
    }
    any.then_some(future)
}

/// Two decimals are exact enough for a ring of any size, and stay themselves through JSON.
fn percent(part: u32, whole: u32) -> f64 {
    (f64::from(part) * 10_000.0 / f64::from(whole)).round() / 100.0
}
