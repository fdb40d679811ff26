//! The JSON documents of the topology route, in both directions.

use std::collections::BTreeSet;

use serde::de;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use super::{CanonicalError, ClusterRef, Difference, MemberEntry, OwnerMap, Snapshot, Token};
use crate::{Position, RingSize};

/// The whole topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Its version.
    pub token: Token,
    /// Whose topology it is.
    pub cluster: ClusterRef,
    /// Number of partitions.
    pub ring_size: u32,
    /// Whether the ring is being resized.
    pub resizing: bool,
    /// Every member, sorted by name.
    pub members: Vec<MemberEntry>,
    /// Every partition with its owner, in ring order.
    pub owners: OwnerMap,
    /// The nodes that the answering node sees up now.
    pub up: Vec<Uuid>,
}

/// What the topology route answers: everything, or what changed since. Told apart by the field
/// `full`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyAnswer {
    /// `"full": true`
    Full(Topology),
    /// `"full": false`
    Difference(Difference),
}

/// Why a topology document cannot be believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Partitions are missing, doubled or off the grid.
    #[error("the topology does not list each of the {size} partitions once, in ring order")]
    Owners {
        /// The ring size it claims.
        size: u32,
    },
    /// An owner is not listed as a member, or a member is listed twice.
    #[error("the topology names an owner that is no member, or a member twice")]
    Members,
    /// The content is not what the token says.
    #[error("the topology is not what its token {token} says; ask again, or another node")]
    OtherContent {
        /// The token it bears.
        token: Token,
    },
}

impl DocumentError {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Owners { .. } => "bad_owners",
            Self::Members => "bad_members",
            Self::OtherContent { .. } => "other_content",
        }
    }
}

impl Topology {
    /// The document of a snapshot.
    pub fn of(snapshot: &Snapshot, token: Token, up: Vec<Uuid>) -> Self {
        Self {
            token,
            cluster: snapshot.cluster().clone(),
            ring_size: snapshot.ring_size(),
            resizing: snapshot.resizing(),
            members: snapshot.members().to_vec(),
            owners: OwnerMap(snapshot.owners().map(|(index, owner)| (index, owner.uuid)).collect()),
            up,
        }
    }

    /// The snapshot that it tells of.
    ///
    /// # Errors
    /// A document that contradicts itself or its token.
    pub fn snapshot(&self) -> Result<Snapshot, DocumentError> {
        let size = self.ring_size;
        let refuse = DocumentError::Owners { size };
        let grid = RingSize::new(size).map_err(|_| refuse.clone())?;
        if self.owners.0.len() != size as usize
            || self
                .owners
                .0
                .iter()
                .zip(0..)
                .any(|((index, _), at)| *index != grid.index_of(Position(at)))
        {
            return Err(refuse);
        }
        let owners: Vec<Uuid> = self.owners.0.iter().map(|(_, owner)| *owner).collect();
        let snapshot =
            Snapshot::assemble(self.cluster.clone(), self.resizing, self.members.clone(), &owners)
                .ok_or(DocumentError::Members)?;
        if snapshot.is_of(self.token.digest) {
            Ok(snapshot)
        } else {
            Err(DocumentError::OtherContent { token: self.token })
        }
    }
}

impl TopologyAnswer {
    /// Everything, from a snapshot kept in canonical form. `up` are node names.
    ///
    /// # Errors
    /// A text that is no canonical form.
    pub fn full(token: Token, canonical: &str, up: &[&str]) -> Result<Self, CanonicalError> {
        let snapshot = Snapshot::parse(canonical)?;
        Ok(Self::Full(Topology::of(&snapshot, token, up_members(&snapshot, up))))
    }

    /// What changed between two snapshots kept in canonical form; everything where a difference
    /// cannot tell it.
    ///
    /// # Errors
    /// A text that is no canonical form.
    pub fn since(
        from: (Token, &str),
        to: (Token, &str),
        up: &[&str],
    ) -> Result<Self, CanonicalError> {
        let (earlier, later) = (Snapshot::parse(from.1)?, Snapshot::parse(to.1)?);
        let up = up_members(&later, up);
        Ok(match earlier.difference(from.0, &later, to.0, up.clone()) {
            Some(difference) => Self::Difference(difference),
            None => Self::Full(Topology::of(&later, to.0, up)),
        })
    }

    /// The version it leads to.
    pub fn token(&self) -> Token {
        match self {
            Self::Full(topology) => topology.token,
            Self::Difference(difference) => difference.token,
        }
    }
}

/// The members that are up, in the snapshot's order.
fn up_members(snapshot: &Snapshot, up: &[&str]) -> Vec<Uuid> {
    let up: BTreeSet<&str> = up.iter().copied().collect();
    snapshot
        .members()
        .iter()
        .filter(|member| up.contains(member.name.as_str()))
        .map(|member| member.uuid)
        .collect()
}

impl Serialize for TopologyAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Marked<'a, T> {
            full: bool,
            #[serde(flatten)]
            content: &'a T,
        }
        match self {
            Self::Full(content) => Marked { full: true, content }.serialize(serializer),
            Self::Difference(content) => Marked { full: false, content }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TopologyAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Both shapes at once: which one it is shows only after `full` was met, anywhere in the
        /// object.
        #[derive(Deserialize)]
        struct Either {
            full: bool,
            from: Option<Token>,
            token: Token,
            cluster: ClusterRef,
            ring_size: u32,
            resizing: bool,
            members: Option<Vec<MemberEntry>>,
            joined: Option<Vec<MemberEntry>>,
            left: Option<Vec<Uuid>>,
            changed: Option<Vec<MemberEntry>>,
            owners: OwnerMap,
            up: Vec<Uuid>,
        }
        let Either {
            full,
            from,
            token,
            cluster,
            ring_size,
            resizing,
            members,
            joined,
            left,
            changed,
            owners,
            up,
        } = Either::deserialize(deserializer)?;
        if full {
            let members = members.ok_or_else(|| de::Error::missing_field("members"))?;
            return Ok(Self::Full(Topology {
                token,
                cluster,
                ring_size,
                resizing,
                members,
                owners,
                up,
            }));
        }
        Ok(Self::Difference(Difference {
            from: from.ok_or_else(|| de::Error::missing_field("from"))?,
            token,
            cluster,
            ring_size,
            resizing,
            joined: joined.ok_or_else(|| de::Error::missing_field("joined"))?,
            left: left.ok_or_else(|| de::Error::missing_field("left"))?,
            changed: changed.ok_or_else(|| de::Error::missing_field("changed"))?,
            owners,
            up,
        }))
    }
}
