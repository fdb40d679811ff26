//! What the client knows of its cluster at one moment, and the choice of a node from it. Pure: no
//! sockets, no clock; knows nothing of HTTP.

use std::sync::Arc;

use ringtail_core::topology::{Endpoint, MemberEntry, Protocol, Snapshot, Token};
use ringtail_core::{KeyHash, NVal, NValError};
use uuid::Uuid;

/// A topology with its version and with who was up. Immutable; a new one replaces it whole.
#[derive(Clone, Debug)]
pub struct View {
    snapshot: Arc<Snapshot>,
    token: Token,
    /// By place in the snapshot's members: what the node that was asked last saw.
    up: Vec<bool>,
}

impl View {
    pub(crate) fn new(snapshot: Arc<Snapshot>, token: Token, up: &[Uuid]) -> Self {
        let up = snapshot.members().iter().map(|member| up.contains(&member.uuid)).collect();
        Self { snapshot, token, up }
    }

    /// Members, owners, endpoints.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(crate) fn shared_snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// Its version.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Whether a member (by its place) was up when a node was asked last.
    pub fn is_up(&self, member: usize) -> bool {
        self.up.get(member).copied().unwrap_or(false)
    }

    /// A member by its place.
    pub fn member(&self, member: usize) -> &MemberEntry {
        &self.snapshot.members()[member]
    }

    /// Chooses the node for a key: among its primaries, each counted once, one that is up and not
    /// suspect; failing that, one of the others, for what is known of liveness may be out of date.
    /// Chance spreads the load.
    ///
    /// # Errors
    /// A ring without partitions; there is none.
    pub fn choose(
        &self,
        hash: &KeyHash,
        n: NVal,
        protocol: Protocol,
        is_suspect: impl Fn(Uuid) -> bool,
        excluded: &[Uuid],
        chance: &mut fastrand::Rng,
    ) -> Result<Choice, NValError> {
        let mut good = Few::default();
        let mut doubtful = Few::default();
        let mut primaries = 0;
        // A bucket may want more replicas than there are partitions; Riak makes as many as there
        // are.
        let n = NVal::new(n.get().min(self.snapshot.ring_size()))?;
        for place in self.snapshot.primaries(hash, n)? {
            if good.contains(place) || doubtful.contains(place) {
                continue;
            }
            primaries += 1;
            let member = self.member(place);
            if member.endpoint(protocol).is_none() || excluded.contains(&member.uuid) {
                continue;
            }
            if self.is_up(place) && !is_suspect(member.uuid) { &mut good } else { &mut doubtful }
                .push(place);
        }
        let among = if good.is_empty() { &doubtful } else { &good };
        Ok(Choice {
            member: among.pick(chance),
            primaries,
            up: good.len(),
            left: (good.len() + doubtful.len()).saturating_sub(1),
        })
    }

    /// Members to ask for a topology, in a good order: those up first, otherwise by chance.
    pub(crate) fn to_ask(
        &self,
        protocol: Protocol,
        first: Option<Uuid>,
        is_suspect: impl Fn(Uuid) -> bool,
        chance: &mut fastrand::Rng,
    ) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.snapshot.members().len())
            .filter(|&place| self.member(place).endpoint(protocol).is_some())
            .collect();
        chance.shuffle(&mut places);
        places.sort_by_key(|&place| {
            let uuid = self.member(place).uuid;
            (Some(uuid) != first, is_suspect(uuid), !self.is_up(place))
        });
        places
    }

    pub(crate) fn endpoints(
        member: &MemberEntry,
        protocol: Protocol,
    ) -> impl Iterator<Item = &Endpoint> {
        member.endpoints.iter().filter(move |endpoint| endpoint.protocol == protocol)
    }
}

/// What [`View::choose`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The place of the chosen member; nothing where every primary is excluded or has no endpoint.
    pub member: Option<usize>,
    /// How many distinct nodes are primaries.
    pub primaries: usize,
    /// How many of those that could be chosen were up.
    pub up: usize,
    /// How many others could have been chosen.
    pub left: usize,
}

/// A set of places that needs no allocation for the usual n_val.
#[derive(Default)]
struct Few {
    first: [usize; 8],
    count: usize,
    rest: Vec<usize>,
}

impl Few {
    fn push(&mut self, place: usize) {
        if self.count < self.first.len() {
            self.first[self.count] = place;
        } else {
            self.rest.push(place);
        }
        self.count += 1;
    }

    fn contains(&self, place: usize) -> bool {
        self.first[..self.count.min(self.first.len())].contains(&place)
            || self.rest.contains(&place)
    }

    fn pick(&self, chance: &mut fastrand::Rng) -> Option<usize> {
        match self.count {
            0 => None,
            1 => Some(self.first[0]),
            count => {
                let at = chance.usize(..count);
                Some(*self.first.get(at).unwrap_or_else(|| &self.rest[at - self.first.len()]))
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringtail_core::{Keyfun, hash_key};

    /// Four nodes in turn over 16 partitions.
    fn view(up: &[usize]) -> View {
        let mut text = String::from("ringtail-topology 1\n");
        let cluster = Uuid::from_u128(9);
        text.push_str(&format!("cluster {cluster} c\nring 16 settled\n"));
        for at in 0..4 {
            text.push_str(&format!("member {} valid n{at} http h{at} 8098\n", Uuid::from_u128(at)));
        }
        text.push_str("owners");
        (0..16).for_each(|at| text.push_str(&format!(" {}", at % 4)));
        text.push('\n');
        let snapshot = Snapshot::parse(&text).unwrap();
        let token = snapshot.token(1);
        let up: Vec<Uuid> = up.iter().map(|&at| Uuid::from_u128(at as u128)).collect();
        View::new(Arc::new(snapshot), token, &up)
    }

    fn choose(view: &View, n: u32, suspect: &[u128], excluded: &[u128], seed: u64) -> Choice {
        let hash = hash_key(b"default", b"b", b"k", Keyfun::Std);
        let excluded: Vec<Uuid> = excluded.iter().map(|&at| Uuid::from_u128(at)).collect();
        view.choose(
            &hash,
            NVal::new(n).unwrap(),
            Protocol::Http,
            |uuid| suspect.contains(&uuid.as_u128()),
            &excluded,
            &mut fastrand::Rng::with_seed(seed),
        )
        .unwrap()
    }

    #[test]
    fn load_is_spread_over_all_primaries_that_are_up() {
        let view = view(&[0, 1, 2, 3]);
        let mut counts = [0; 4];
        (0..1000).for_each(|seed| counts[choose(&view, 3, &[], &[], seed).member.unwrap()] += 1);
        assert_eq!(counts.iter().filter(|&&count| count > 250).count(), 3, "{counts:?}");
        assert_eq!(counts.iter().filter(|&&count| count == 0).count(), 1, "{counts:?}");
    }

    #[test]
    fn a_primary_that_is_down_or_suspect_is_taken_only_when_no_other_is_left() {
        let all = view(&[0, 1, 2, 3]);
        let only = choose(&all, 1, &[], &[], 0).member.unwrap();
        let others: Vec<usize> = (0..4).filter(|&at| at != only).collect();
        for seed in 0..50 {
            assert_ne!(choose(&view(&others), 2, &[], &[], seed).member, Some(only));
            assert_ne!(choose(&all, 2, &[only as u128], &[], seed).member, Some(only));
        }
        assert_eq!(
            choose(&view(&others), 1, &[], &[], 0).member,
            Some(only),
            "rather that than none"
        );
        assert_eq!(choose(&all, 1, &[], &[only as u128], 0).member, None);
    }

    #[test]
    fn a_bucket_that_wants_more_replicas_than_there_are_partitions_has_primaries() {
        let choice = choose(&view(&[0, 1, 2, 3]), 100, &[], &[], 0);
        assert_eq!((choice.primaries, choice.up), (4, 4));
    }

    #[test]
    fn a_node_that_is_primary_twice_counts_once() {
        let choice = choose(&view(&[0, 1, 2, 3]), 16, &[], &[], 0);
        assert_eq!((choice.primaries, choice.up, choice.left), (4, 4, 3));
    }
}
