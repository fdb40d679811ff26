//! Against a model: Riak's rules in plain words over big integers and lists, nothing shared with
//! the code under test.

use num_bigint::BigUint;
use proptest::prelude::*;
use ringtail_core::testing::{AtomEncoding, Record, compress, encode};
use ringtail_core::{
    ClusterPreflist, Index, KeyHash, KeyPreflist, MemberStatus, NVal, PendingParts, PendingStatus,
    PreflistKind, Ring, RingParts, RingSize, RingSummary,
};

fn ring_top() -> BigUint {
    BigUint::from(1u8) << 160
}

fn index_of(number: &BigUint) -> Index {
    number.to_string().parse().expect("below 2^160")
}

fn first_position(size: u32, hash: &BigUint) -> usize {
    let increment = ring_top() / size;
    let position = (hash / increment + 1u8) % size;
    usize::try_from(position).expect("below the ring size")
}

/// `get_apl_ann/4` over lists: (position, node, is primary).
fn annotated_preflist(
    owners: &[usize],
    first: usize,
    n: usize,
    up: &[bool],
) -> Vec<(usize, usize, bool)> {
    let all: Vec<(usize, usize)> =
        (first..owners.len()).chain(0..first).map(|at| (at, owners[at])).collect();
    let (primaries, rest) = all.split_at(n);
    let (alive, dead): (Vec<_>, Vec<_>) = primaries.iter().partition(|(_, node)| up[*node]);
    let stand_ins: Vec<usize> =
        rest.iter().map(|(_, node)| *node).filter(|node| up[*node]).collect();
    let mut preflist: Vec<_> = alive.into_iter().map(|(at, node)| (at, node, true)).collect();
    preflist.extend(dead.iter().zip(stand_ins).map(|((at, _), node)| (*at, node, false)));
    preflist
}

fn sizes() -> impl Strategy<Value = u32> {
    prop_oneof![1 => 1u32..=8192, 2 => 1u32..=32, 1 => (0u32..=13).prop_map(|power| 1 << power)]
}

/// Hashes of all kinds: any at all, and those at and beside the borders between partitions, where a
/// rule goes wrong.
fn hashes(size: u32) -> impl Strategy<Value = BigUint> {
    let border = (0..=size, -2i8..=2).prop_map(move |(partition, beside)| {
        let near =
            ring_top() / size * partition + ring_top() + 2u8 - BigUint::from((2 - beside) as u8);
        near % ring_top()
    });
    let top = any::<u16>().prop_map(|below| ring_top() - 1u8 - below);
    prop_oneof![any::<[u8; 20]>().prop_map(|bytes| BigUint::from_bytes_be(&bytes)), border, top]
}

fn key_hash(number: &BigUint) -> KeyHash {
    KeyHash::from_bytes(*index_of(number).as_bytes())
}

fn node(number: usize) -> String {
    format!("riak{number}@10.0.0.{number}")
}

fn parts(owners: &[usize], nodes: usize) -> RingParts {
    let increment = ring_top() / owners.len();
    RingParts {
        cluster_name: Some("model".to_owned()),
        nodename: Some(node(0)),
        claimant: Some(node(nodes - 1)),
        owners: owners
            .iter()
            .enumerate()
            .map(|(at, owner)| (index_of(&(&increment * at)), node(*owner)))
            .collect(),
        members: (0..nodes).map(|number| (node(number), MemberStatus::Valid)).collect(),
        pending: Vec::new(),
        rvsn_sum: 3,
        vclock_sum: 300,
        resizing: false,
    }
}

#[derive(Debug, Clone)]
struct Case {
    owners: Vec<usize>,
    up: Vec<bool>,
    n: u32,
    hashes: Vec<BigUint>,
}

/// `len` numbers below `nodes`, by splitmix64.
fn scatter(seed: u64, len: usize, nodes: usize) -> Vec<usize> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % nodes
    };
    (0..len).map(|_| next()).collect()
}

fn cases() -> impl Strategy<Value = Case> {
    (sizes(), 1usize..=80).prop_flat_map(|(size, nodes)| {
        // From a seed: a vector strategy of thousands of elements takes longer than all that is
        // tested with it.
        let owners = any::<u64>().prop_map(move |seed| scatter(seed, size as usize, nodes));
        let up = prop::collection::vec(any::<bool>(), nodes);
        let n = prop_oneof![3 => 1..=5.min(size), 1 => 1..=size];
        let hashes = prop::collection::vec(hashes(size), 4);
        (owners, up, n, hashes).prop_map(|(owners, up, n, hashes)| Case { owners, up, n, hashes })
    })
}

proptest! {
    #[test]
    fn preflists_follow_the_rules(case in cases()) {
        let Case { owners, up, n, hashes } = case;
        let ring = Ring::from_parts(parts(&owners, up.len())).unwrap();
        let names: Vec<String> = (0..up.len()).filter(|&number| up[number]).map(node).collect();
        let up_nodes = ring.up_nodes(names.iter().map(String::as_str).chain(["stranger@10.9.9.9"]));
        let n_val = NVal::new(n).unwrap();
        for hash in hashes {
            let first = first_position(ring.size(), &hash);
            let hash = key_hash(&hash);
            prop_assert_eq!(ring.position(&hash).0 as usize, first);

            let primaries = ring.primaries(&hash, n_val).unwrap();
            prop_assert_eq!(primaries.len(), n as usize);
            for (step, owned) in primaries.enumerate() {
                let at = (first + step) % owners.len();
                prop_assert_eq!(owned.position.0 as usize, at);
                prop_assert_eq!(ring.node_name(owned.node), node(owners[at]));
            }

            let expected: Vec<_> = annotated_preflist(&owners, first, n as usize, &up)
                .into_iter()
                .map(|(at, number, primary)| (at as u32, node(number), primary))
                .collect();
            let preflist = ring.preflist(&hash, n_val, &up_nodes).unwrap();
            let preflist: Vec<_> = preflist.into_iter().map(|entry| {
                let primary = entry.kind == PreflistKind::Primary;
                (entry.position.0, ring.node_name(entry.node).to_owned(), primary)
            }).collect();
            prop_assert_eq!(preflist, expected);

            let document = KeyPreflist::of(&ring, &hash, n_val, &up_nodes).unwrap();
            let json = serde_json::to_string(&document).unwrap();
            prop_assert_eq!(serde_json::from_str::<KeyPreflist>(&json).unwrap(), document);
        }
    }

    /// Sizes far beyond any ring, where the estimate of the division is nearest to its limits.
    #[test]
    fn positions_at_any_size(
        (size, hash) in prop_oneof![1u32..=u32::MAX, (u32::MAX - 100)..=u32::MAX, 1u32..=300]
            .prop_flat_map(|size| (Just(size), hashes(size)))
    ) {
        let ring_size = RingSize::new(size).unwrap();
        let position = ring_size.position_of(&key_hash(&hash));
        prop_assert_eq!(position.0 as usize, first_position(size, &hash));
        let increment = ring_top() / size;
        let index = ring_size.index_of(position);
        prop_assert_eq!(index.to_string(), (&increment * position.0).to_string());
        prop_assert_eq!(ring_size.position_of_index(&index), Some(position));
        let on_grid =
            (&hash % &increment) == BigUint::ZERO && &hash / &increment < BigUint::from(size);
        prop_assert_eq!(ring_size.position_of_index(&index_of(&hash)).is_some(), on_grid);
    }

    #[test]
    fn rings_survive_every_encoding(
        (owners, nodes) in (1usize..=300, 1usize..=40)
            .prop_flat_map(|(size, nodes)| (prop::collection::vec(0..nodes, size), Just(nodes))),
        statuses in prop::collection::vec(0usize..6, 40),
        transfers in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..42, any::<bool>()), 0..20,
        ),
        resizing in any::<bool>(),
        (rvsn_sum, vclock_sum) in any::<(u64, u64)>(),
        encoding in prop::sample::select(vec![
            AtomEncoding::Latin1, AtomEncoding::SmallLatin1,
            AtomEncoding::Utf8, AtomEncoding::SmallUtf8,
        ]),
    ) {
        use MemberStatus::{Down, Exiting, Invalid, Joining, Leaving, Valid};
        let mut parts = parts(&owners, nodes);
        for ((_, status), choice) in parts.members.iter_mut().zip(statuses) {
            *status = [Joining, Valid, Leaving, Exiting, Down, Invalid][choice];
        }
        for (at, next, complete) in transfers {
            let (index, owner) = parts.owners[at.index(owners.len())].clone();
            let next_owner = match next {
                40 => "$resize".to_owned(),
                41 => "$delete".to_owned(),
                to => node(to),
            };
            let status = if complete { PendingStatus::Complete } else { PendingStatus::Awaiting };
            parts.pending.push(PendingParts { index, owner, next_owner, status });
        }
        (parts.rvsn_sum, parts.vclock_sum) = (rvsn_sum, vclock_sum);
        let resizes = parts.pending.iter().any(|transfer| transfer.next_owner == "$resize");
        parts.resizing = resizing || resizes;
        // Latin-1 beyond ASCII, so that the encodings differ.
        parts.claimant = Some("jürgen@ÿ".to_owned());
        parts.members[0].0 = "åse@host".to_owned();

        let bytes = encode(&parts, Record::Current, encoding);
        let ring = Ring::from_parts(parts).unwrap();
        prop_assert_eq!(&Ring::decode(&bytes).unwrap(), &ring);
        prop_assert_eq!(&Ring::decode(&compress(&bytes)).unwrap(), &ring);

        let preflist = ClusterPreflist::of(&ring);
        let json = serde_json::to_string(&preflist).unwrap();
        prop_assert_eq!(serde_json::from_str::<ClusterPreflist>(&json).unwrap(), preflist);
        let summary = RingSummary::of(&ring, true);
        let json = serde_json::to_string(&summary).unwrap();
        prop_assert_eq!(serde_json::from_str::<RingSummary>(&json).unwrap(), summary);
    }
}
