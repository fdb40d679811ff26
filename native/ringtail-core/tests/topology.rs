//! Topologies: the difference property, the canonical form and the documents, over random
//! histories.

mod support;

use proptest::prelude::*;
use ringtail_core::topology::{
    ApplyError, ClusterRef, DocumentError, Snapshot, Token, Topology, TopologyAnswer, cluster_uuid,
    node_uuid,
};
use ringtail_core::{Keyfun, MemberStatus, NVal, Ring, RingParts, RingSize, hash_key};

use support::history::{Change, Model, changes};

proptest! {
    #[test]
    fn document_plus_difference_is_the_later_document(
        size in 1usize..80,
        before in changes(40),
        between in changes(40),
        ordinals in any::<(u32, u32)>(),
    ) {
        let mut model = Model::of(size, &before);
        let earlier = model.snapshot();
        between.iter().for_each(|change| model.change(change));
        let later = model.snapshot();
        let (from, to) = (earlier.token(ordinals.0.into()), later.token(ordinals.1.into()));

        let up = later.members().iter().map(|member| member.uuid).collect();
        let difference = earlier.difference(from, &later, to, up).expect("same cluster, same size");
        let json = serde_json::to_string(&TopologyAnswer::Difference(difference.clone())).unwrap();
        prop_assert_eq!(
            serde_json::from_str::<TopologyAnswer>(&json).unwrap(),
            TopologyAnswer::Difference(difference.clone())
        );
        prop_assert_eq!(&earlier.apply(&difference).unwrap(), &later);

        // Minimal: nothing is told that both sides agree on.
        for member in &difference.joined {
            prop_assert!(earlier.member(member.uuid).is_none());
        }
        for member in &difference.changed {
            prop_assert!(earlier.member(member.uuid).is_some_and(|known| known != member));
        }
        let owned: Vec<_> = earlier.owners().map(|(index, owner)| (index, owner.uuid)).collect();
        prop_assert!(difference.owners.0.iter().all(|entry| !owned.contains(entry)));
        if earlier == later {
            prop_assert!(difference.joined.is_empty() && difference.left.is_empty());
            prop_assert!(difference.changed.is_empty() && difference.owners.0.is_empty());
        }
    }

    #[test]
    fn canonical_form_and_document_come_back(size in 1usize..80, changes in changes(40)) {
        let snapshot = Model::of(size, &changes).snapshot();
        prop_assert_eq!(&Snapshot::parse(&snapshot.canonical()).unwrap(), &snapshot);
        let full = TopologyAnswer::Full(Topology::of(&snapshot, snapshot.token(3), Vec::new()));
        let json = serde_json::to_vec(&full).unwrap();
        let read: TopologyAnswer = serde_json::from_slice(&json).unwrap();
        prop_assert_eq!(&read, &full);
        let TopologyAnswer::Full(read) = read else { panic!("not a full document") };
        prop_assert_eq!(read.snapshot().unwrap(), snapshot);
    }

    #[test]
    fn a_damaged_canonical_form_is_refused_or_is_another_canonical_form(
        changes in changes(20),
        at in any::<prop::sample::Index>(),
        damage in any::<char>(),
    ) {
        let mut text: Vec<char> = Model::of(8, &changes).canonical().chars().collect();
        let at = at.index(text.len());
        text[at] = damage;
        let text: String = text.into_iter().collect();
        if let Ok(snapshot) = Snapshot::parse(&text) {
            prop_assert_eq!(snapshot.canonical(), text);
        }
    }
}

fn ring(owners: &[&str], members: &[(&str, MemberStatus)]) -> Ring {
    let size = RingSize::new(owners.len() as u32).unwrap();
    Ring::from_parts(RingParts {
        cluster_name: Some("c".into()),
        owners: size
            .positions()
            .map(|p| (size.index_of(p), owners[p.0 as usize].to_owned()))
            .collect(),
        members: members.iter().map(|(name, status)| ((*name).to_owned(), *status)).collect(),
        rvsn_sum: 5,
        ..RingParts::default()
    })
    .unwrap()
}

#[test]
fn a_removed_member_is_listed_only_while_it_owns_something() {
    use MemberStatus::{Invalid, Valid};
    let names = |ring: Ring| -> Vec<(String, MemberStatus)> {
        Snapshot::of(&ring)
            .members()
            .iter()
            .map(|member| (member.name.clone(), member.status))
            .collect()
    };
    let both = vec![("a".to_owned(), Valid), ("b".to_owned(), Invalid)];
    assert_eq!(names(ring(&["b", "a"], &[("a", Valid), ("b", Invalid)])), both);
    assert_eq!(names(ring(&["b", "a"], &[("a", Valid)])), both);
    assert_eq!(names(ring(&["a", "a"], &[("a", Valid), ("b", Invalid)])), both[..1]);
}

#[test]
fn primaries_of_a_snapshot_are_those_of_its_ring() {
    use MemberStatus::Valid;
    let ring =
        ring(&["b", "a", "c", "a", "b", "c", "c"], &[("a", Valid), ("b", Valid), ("c", Valid)]);
    let snapshot = Snapshot::of(&ring);
    for key in 0..500u32 {
        let hash = hash_key(b"default", b"b", &key.to_be_bytes(), Keyfun::Std);
        let n = NVal::new(key % 7 + 1).unwrap();
        let expected: Vec<&str> =
            ring.primaries(&hash, n).unwrap().map(|owned| ring.node_name(owned.node)).collect();
        let told: Vec<&str> = snapshot
            .primaries(&hash, n)
            .unwrap()
            .map(|at| snapshot.members()[at].name.as_str())
            .collect();
        assert_eq!(told, expected);
    }
    let hash = hash_key(b"default", b"b", b"k", Keyfun::Std);
    assert!(snapshot.primaries(&hash, NVal::new(8).unwrap()).is_err());
}

#[test]
fn no_difference_across_clusters_or_ring_sizes() {
    let small = Model::new(8).snapshot();
    let large = Model::new(16).snapshot();
    let (from, to) = (small.token(1), large.token(2));
    assert_eq!(small.difference(from, &large, to, vec![]), None);
    let mut other = Model::new(8);
    other.cluster = ClusterRef { uuid: cluster_uuid("other"), name: "other".into() };
    for member in &mut other.members {
        member.uuid = node_uuid(other.cluster.uuid, &member.name);
    }
    assert_eq!(small.difference(from, &other.snapshot(), to, vec![]), None);
}

#[test]
fn a_difference_that_does_not_fit_is_refused() {
    let mut model = Model::new(8);
    let one = model.snapshot();
    model.change(&Change::Join(1));
    let two = model.snapshot();
    model.change(&Change::Own(1, 3));
    let three = model.snapshot();
    let token = |snapshot: &Snapshot| snapshot.token(1);
    let step = two.difference(token(&two), &three, token(&three), vec![]).unwrap();
    assert_eq!(one.apply(&step), Err(ApplyError::OtherStart { from: token(&two) }));
    let mut lost = one.difference(token(&one), &three, token(&three), vec![]).unwrap();
    lost.owners.0.clear();
    assert_eq!(one.apply(&lost), Err(ApplyError::OtherEnd { token: token(&three) }));
    lost.joined.clear();
    lost.changed = vec![three.members()[1].clone()];
    assert!(matches!(one.apply(&lost), Err(ApplyError::Misfit(_))));
}

#[test]
fn a_document_that_contradicts_itself_is_not_believed() {
    let snapshot = Model::new(8).snapshot();
    let whole = Topology::of(&snapshot, snapshot.token(1), vec![]);
    let mut short = whole.clone();
    short.owners.0.pop();
    assert_eq!(short.snapshot(), Err(DocumentError::Owners { size: 8 }));
    let mut none = whole.clone();
    none.ring_size = 0;
    none.owners.0.clear();
    assert_eq!(none.snapshot(), Err(DocumentError::Owners { size: 0 }));
    let mut stranger = whole.clone();
    stranger.owners.0[3].1 = cluster_uuid("stranger");
    assert_eq!(stranger.snapshot(), Err(DocumentError::Members));
    let mut twice = whole.clone();
    twice.members.push(twice.members[0].clone());
    assert_eq!(twice.snapshot(), Err(DocumentError::Members));
    let mut other = whole;
    other.resizing = true;
    assert_eq!(other.snapshot(), Err(DocumentError::OtherContent { token: other.token }));
}

#[test]
fn a_token_in_a_document_must_be_one() {
    assert!(serde_json::from_str::<Token>("\"4-9f3ac21b77d0e1aa\"").is_ok());
    assert!(serde_json::from_str::<Token>("\"4\"").is_err());
    assert!(serde_json::from_str::<Token>("4").is_err());
}

#[test]
fn recorded_rings_have_snapshots_whatever_stands_in_their_metadata() {
    let mut rings = 0;
    for entry in
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../test/vectors/rings")).unwrap()
    {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "etf") {
            let ring = Ring::decode(&std::fs::read(&path).unwrap()).unwrap();
            let snapshot = Snapshot::of(&ring);
            assert_eq!(
                Snapshot::parse(&snapshot.canonical()).as_ref(),
                Ok(&snapshot),
                "{}",
                path.display()
            );
            assert_eq!(Snapshot::token_of(&ring).ordinal, ring.rvsn_sum());
            let owners: Vec<String> = ring
                .owners()
                .map(|(index, owner)| format!("{index} {}", ring.node_name(owner)))
                .collect();
            let told: Vec<String> =
                snapshot.owners().map(|(index, owner)| format!("{index} {}", owner.name)).collect();
            assert_eq!(told, owners);
            rings += 1;
        }
    }
    assert!(rings > 10);
}

/// The raw and the transformed ring of one cluster, and the same ring on another node, are one
/// topology.
#[test]
fn the_raw_and_the_own_ring_of_a_node_have_one_token() {
    let token = |name: &str| {
        let path = format!("{}/../../test/vectors/rings/{name}.etf", env!("CARGO_MANIFEST_DIR"));
        Snapshot::token_of(&Ring::decode(&std::fs::read(path).unwrap()).unwrap())
    };
    assert_eq!(token("live4_my"), token("live4_raw"));
    assert_ne!(token("live4_my"), token("live_leaving"));
}
