//! Rings that Riak could not use: each kind has its own error.

mod support;

use ringtail_core::testing::{AtomEncoding, Etf, Record, encode, spread};
use ringtail_core::{
    DecodeError, Index, MAX_NODES, MemberStatus, NVal, NValError, Ring, RingError, RingParts,
    RingSize,
};
use support::{NIL, SIZE, around, encoded, patched, refusal, refused, ring, sample};

#[test]
fn rings_of_no_or_too_many_partitions() {
    let whole = encoded(&sample());
    let size = |term: &[u8]| patched(&whole, &SIZE, &[&[104, 2], term, &SIZE[4..]].concat());
    assert_eq!(refusal(&size(&[97, 0])), "empty_ring");
    assert_eq!(refusal(&size(&[98, 255, 255, 255, 255])), "out_of_range");
    assert_eq!(refusal(&size(&[110, 5, 0, 0, 0, 0, 0, 1])), "ring_too_large");
    assert_eq!(refusal(&size(&[110, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])), "out_of_range");
    assert_eq!(refusal(&size(&[106])), "unexpected_term");
    assert_eq!(Ring::from_parts(RingParts::default()), Err(RingError::Empty));
    assert_eq!(RingSize::new(0).unwrap_err().code(), "empty_ring");
    // Size and list disagree: fewer owners, then more.
    assert_eq!(refusal(&size(&[97, 17])), "off_grid");
    assert_eq!(refusal(&size(&[97, 32])), "owners_missing");
    assert_eq!(refusal(&size(&[97, 8])), "off_grid");
    assert_eq!(refusal(&size(&[98, 0, 255, 255, 255])), "off_grid");
}

#[test]
fn owners_missing_doubled_unsorted_or_off_the_grid() {
    let good = sample().owners;
    let index = |at: usize| good[at].0;
    let refused = |owners: &[(Index, String)]| {
        let parts = RingParts { owners: owners.to_vec(), ..sample() };
        // Size by the whole ring, whatever the list has.
        let head = [&SIZE[..5], &(owners.len() as u32).to_be_bytes()].concat();
        let mut bytes = encoded(&parts);
        if owners.len() != 16 {
            let tail = [&[104, 2, 97, owners.len() as u8][..], &head[4..]].concat();
            bytes = patched(&bytes, &tail, &head);
        }
        match support::refused(&bytes) {
            DecodeError::Ring(error) => error,
            other => panic!("{other:?}"),
        }
    };
    let missing = |at| RingError::OwnersMissing { size: 16, index: index(at) };
    assert_eq!(refused(&good[..15]), missing(15));
    assert_eq!(refused(&good[1..]), missing(0));
    assert_eq!(refused(&[&good[..7], &good[8..]].concat()), missing(7));

    let doubled = [&good[..8], &good[7..]].concat();
    assert_eq!(refused(&doubled), RingError::OwnerDoubled { index: index(7) });
    let mut instead = good.clone();
    instead[9].0 = index(3);
    assert_eq!(refused(&instead), RingError::OwnerDoubled { index: index(3) });
    assert_eq!(
        refused(&[&good[..], &good[..1]].concat()),
        RingError::OwnerDoubled { index: index(0) }
    );

    let mut swapped = good.clone();
    swapped.swap(4, 11);
    assert_eq!(refused(&swapped), RingError::OutOfOrder { index: index(4) });

    let mut beside = *index(5).as_bytes();
    beside[19] = 1;
    let mut off = good.clone();
    off[5].0 = Index::from_bytes(beside);
    let error = RingError::OffGrid { size: 16, index: Index::from_bytes(beside) };
    assert_eq!(refused(&off), error);
    assert!(error.to_string().contains(&off[5].0.to_string()));
    assert_eq!(Ring::from_parts(RingParts { owners: off, ..sample() }), Err(error));
}

/// What riak_core's own `chash:fresh(5, Node)` makes: 2^160 - 1 is six times into the circle, so it
/// lists six owners for a ring of five. Positions by division and by list then differ, which is why
/// Riak wants a power of two.
#[test]
fn a_ring_with_one_owner_more_than_partitions() {
    let size = RingSize::new(5).unwrap();
    let mut owners: Vec<_> =
        size.positions().map(|at| (size.index_of(at), "a@b".to_owned())).collect();
    owners.push((Index::from_bytes([255; 20]), "a@b".to_owned()));
    let bytes = encoded(&RingParts { owners, ..sample() });
    let bytes = patched(&bytes, &[104, 2, 97, 6, 108], &[104, 2, 97, 5, 108]);
    assert_eq!(refusal(&bytes), "off_grid");
}

#[test]
fn indices_that_are_none() {
    let whole = encoded(&sample());
    let zero = [104, 2, 97, 0, 100];
    let index = |term: &[u8]| patched(&whole, &zero, &[&[104, 2], term, &[100]].concat());
    assert_eq!(refusal(&index(&[98, 255, 255, 255, 255])), "out_of_range");
    assert_eq!(refusal(&index(&[110, 1, 1, 1])), "out_of_range");
    assert_eq!(refusal(&index(&[&[110, 21, 0][..], &[0; 20], &[1]].concat())), "out_of_range");
    assert_eq!(refusal(&index(&[109, 0, 0, 0, 0])), "unexpected_term");
    // Other ways to write 0 are still 0.
    let ring = Ring::decode(&whole).unwrap();
    for zero in [&[98, 0, 0, 0, 0][..], &[110, 0, 0], &[110, 1, 1, 0], &[111, 0, 0, 0, 2, 0, 0, 0]]
    {
        assert_eq!(Ring::decode(&index(zero)).as_ref(), Ok(&ring));
    }
}

#[test]
fn members_twice_too_many_or_unknown() {
    let mut parts = sample();
    parts.members.push(parts.members[1].clone());
    let node = parts.members[1].0.clone();
    assert_eq!(refused(&encoded(&parts)), RingError::MemberDoubled { node }.into());

    let mut parts = sample();
    let fits = MAX_NODES - 3;
    parts.members.extend((0..fits).map(|number| (format!("m{number}"), MemberStatus::Joining)));
    assert_eq!(Ring::decode(&encoded(&parts)).unwrap().nodes().len(), MAX_NODES);
    parts.members.push(("one more".to_owned(), MemberStatus::Joining));
    assert_eq!(refused(&encoded(&parts)), RingError::TooManyNodes { limit: MAX_NODES }.into());

    let bytes = encoded(&spread(1, 1));
    let bytes = patched(&bytes, b"\x00\x05valid", b"\x00\x05proxy");
    assert_eq!(refusal(&bytes), "unknown_status");
    assert!(refused(&bytes).to_string().contains("\"proxy\""));
}

#[test]
fn atoms_that_are_none() {
    let name =
        |tag: u8, text: &[u8]| [&[tag], &(text.len() as u16).to_be_bytes()[..], text].concat();
    assert_eq!(refusal(&around(&NIL, &name(118, &[0xc3]), &NIL)), "bad_atom");
    assert_eq!(refusal(&around(&NIL, &name(118, &[b'a'; 256]), &NIL)), "bad_atom");
    assert_eq!(refusal(&around(&NIL, &name(100, &[0xe4; 256]), &NIL)), "bad_atom");
    let long = Ring::decode(&around(&NIL, &name(118, "ä".repeat(255).as_bytes()), &NIL)).unwrap();
    assert_eq!(long.cluster_name().unwrap().chars().count(), 255);
}

#[test]
fn vclock_counters_beyond_a_word() {
    let whole = encode(
        &RingParts { vclock_sum: u64::MAX, ..sample() },
        Record::Current,
        AtomEncoding::Utf8,
    );
    assert_eq!(Ring::decode(&whole).unwrap().vclock_sum(), u64::MAX);
    let mut out = Etf::new(AtomEncoding::Utf8);
    out.tuple(5).atom("chstate").atom("a@b").list(2);
    for counter in [u64::MAX, 1] {
        out.tuple(2).atom("a@b").tuple(2).integer(counter).nil();
    }
    assert_eq!(refusal(&out.nil().bytes), "out_of_range");
}

#[test]
fn n_of_zero_or_beyond_the_ring() {
    let ring = ring("single8");
    let hash = ringtail_core::hash_key(b"default", b"b", b"k", Default::default());
    assert_eq!(NVal::new(0), Err(NValError::Zero));
    let nine = NVal::new(9).unwrap();
    let error = NValError::LargerThanRing { n: 9, size: 8 };
    assert_eq!(ring.primaries(&hash, nine).unwrap_err(), error);
    assert_eq!(ring.preflist(&hash, nine, &ring.all_up()).unwrap_err(), error);
    assert!(error.to_string().contains("at most 8"));
    let all = ring.primaries(&hash, NVal::new(8).unwrap()).unwrap();
    assert_eq!(all.len(), 8);
}

#[test]
fn a_legacy_ring_is_what_upgrade_makes_of_it() {
    let ring = Ring::decode(&encode(&sample(), Record::Legacy, AtomEncoding::Latin1)).unwrap();
    let members: Vec<_> =
        ring.members().iter().map(|member| (ring.node_name(member.node), member.status)).collect();
    let expected: Vec<_> = sample().members;
    assert_eq!(
        members,
        expected.iter().map(|(node, status)| (&**node, *status)).collect::<Vec<_>>()
    );
    assert_eq!(
        (ring.cluster_name(), ring.claimant(), ring.nodename()),
        (None, None, sample().nodename.as_deref())
    );
    assert_eq!((ring.rvsn_sum(), ring.vclock_sum(), ring.pending().len()), (16, 16, 0));
}

#[test]
fn a_resize_that_was_called_off_is_over() {
    let parts = RingParts { resizing: true, ..sample() };
    let bytes = encoded(&parts);
    assert!(Ring::decode(&bytes).unwrap().resizing());
    // riak_core_ring:remove_meta/2 leaves the entry and puts `$removed` into it.
    let entry = [&[100, 0, 10][..], b"meta_entry", &[104, 2, 97, 1, 106]].concat();
    let removed = [&entry[..13], &[100, 0, 8], b"$removed"].concat();
    assert!(!Ring::decode(&patched(&bytes, &entry, &removed)).unwrap().resizing());
    let cleanup = [&entry[..13], &[100, 0, 8], b"$cleanup"].concat();
    assert!(Ring::decode(&patched(&bytes, &entry, &cleanup)).unwrap().resizing());
}

#[test]
fn a_cluster_preflist_that_names_an_index_twice() {
    let json = r#"{"0":"a@b","5":"a@b","0":"c@d"}"#;
    let error = serde_json::from_str::<ringtail_core::ClusterPreflist>(json).unwrap_err();
    assert!(error.to_string().contains("index 0 occurs twice"), "{error}");
}
