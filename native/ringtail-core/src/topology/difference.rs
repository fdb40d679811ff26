//! What changed between two snapshots, and how a client takes it in.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{ClusterRef, MemberEntry, OwnerMap, Snapshot, Token};
use crate::{Index, Position};

/// The way from one snapshot to a later one. What came and went in between leaves no trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The token of the snapshot it starts from.
    pub from: Token,
    /// The token of the snapshot it leads to.
    pub token: Token,
    /// Whose topology it is.
    pub cluster: ClusterRef,
    /// Number of partitions, the same on both sides.
    pub ring_size: u32,
    /// Whether the later ring is being resized.
    pub resizing: bool,
    /// Members that the later snapshot has and the earlier has not.
    pub joined: Vec<MemberEntry>,
    /// Members that the later snapshot has no more.
    pub left: Vec<Uuid>,
    /// Members whose status or endpoints differ, as they are in the later snapshot.
    pub changed: Vec<MemberEntry>,
    /// Partitions whose owner differs, with the later owner.
    pub owners: OwnerMap,
    /// The nodes that the answering node sees up now.
    pub up: Vec<Uuid>,
}

/// Why a difference does not fit a snapshot. The way out is always to fetch the whole topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// It starts from another snapshot.
    #[error(
        "the difference starts from {from}, not from the snapshot at hand; fetch the full topology"
    )]
    OtherStart {
        /// Where it starts.
        from: Token,
    },
    /// It tells of a member or partition that the snapshot cannot have.
    #[error("the difference does not fit the snapshot: {0}; fetch the full topology")]
    Misfit(&'static str),
    /// The result is not what the token says.
    #[error("the difference does not lead to {token}; fetch the full topology")]
    OtherEnd {
        /// Where it should have led.
        token: Token,
    },
}

impl ApplyError {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OtherStart { .. } => "other_start",
            Self::Misfit(_) => "misfit",
            Self::OtherEnd { .. } => "other_end",
        }
    }
}

impl Snapshot {
    /// What leads from this snapshot to `later`; nothing where only the whole topology tells it:
    /// another cluster, another ring size.
    pub fn difference(
        &self,
        from: Token,
        later: &Self,
        token: Token,
        up: Vec<Uuid>,
    ) -> Option<Difference> {
        if self.cluster != later.cluster || self.owners.len() != later.owners.len() {
            return None;
        }
        let mut joined = Vec::new();
        let mut changed = Vec::new();
        for member in &later.members {
            match self.member(member.uuid) {
                None => joined.push(member.clone()),
                Some(known) if known != member => changed.push(member.clone()),
                Some(_) => {}
            }
        }
        let left = self
            .members
            .iter()
            .map(|known| known.uuid)
            .filter(|&uuid| later.member(uuid).is_none())
            .collect();
        let owners = self
            .owners()
            .zip(later.owners())
            .filter(|((_, before), (_, after))| before.uuid != after.uuid)
            .map(|(_, (index, owner))| (index, owner.uuid))
            .collect();
        Some(Difference {
            from,
            token,
            cluster: later.cluster.clone(),
            ring_size: later.ring_size(),
            resizing: later.resizing,
            joined,
            left,
            changed,
            owners: OwnerMap(owners),
            up,
        })
    }

    /// The snapshot that a difference leads to.
    ///
    /// # Errors
    /// A difference that starts elsewhere, tells of what is not there, or does not lead to the
    /// content that its token names. The snapshot itself stays as it is.
    pub fn apply(&self, difference: &Difference) -> Result<Self, ApplyError> {
        if difference.from.digest != self.digest() {
            return Err(ApplyError::OtherStart { from: difference.from });
        }
        if difference.ring_size != self.ring_size() || difference.cluster != self.cluster {
            return Err(ApplyError::Misfit("another cluster or ring size"));
        }
        let mut members: Vec<MemberEntry> = self
            .members
            .iter()
            .filter(|member| !difference.left.contains(&member.uuid))
            .cloned()
            .collect();
        for entry in &difference.changed {
            match members.iter_mut().find(|member| member.uuid == entry.uuid) {
                Some(member) => member.clone_from(entry),
                None => return Err(ApplyError::Misfit("a changed member is unknown")),
            }
        }
        members.extend(difference.joined.iter().cloned());
        let mut owners: Vec<Uuid> = self.owners().map(|(_, owner)| owner.uuid).collect();
        for (index, owner) in &difference.owners.0 {
            let position =
                self.position_of(index).ok_or(ApplyError::Misfit("an index is off the grid"))?;
            owners[position.0 as usize] = *owner;
        }
        let snapshot = Self::assemble(self.cluster.clone(), difference.resizing, members, &owners)
            .ok_or(ApplyError::Misfit("an owner is no member"))?;
        if snapshot.digest() == difference.token.digest {
            Ok(snapshot)
        } else {
            Err(ApplyError::OtherEnd { token: difference.token })
        }
    }

    fn position_of(&self, index: &Index) -> Option<Position> {
        self.size().position_of_index(index)
    }
}
