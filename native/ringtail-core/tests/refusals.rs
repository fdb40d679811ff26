//! Input that is no ring, or no ring Riak could use: each kind has its own error, and none does harm.

mod support;

use proptest::prelude::*;
use ringtail_core::testing::{AtomEncoding, Etf, Record, compress, deflate, encode, spread};
use ringtail_core::{
    DecodeError, Index, MAX_NODES, MemberStatus, NVal, NValError, Ring, RingError, RingParts, RingSize,
};
use support::{refusal, refused, ring, ring_bytes};

fn sample() -> RingParts {
    spread(16, 3)
}

fn encoded(parts: &RingParts) -> Vec<u8> {
    encode(parts, Record::Current, AtomEncoding::Latin1)
}

/// The same bytes with the one place where `from` stands replaced.
fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut places = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(from));
    let at = places.next().expect("the bytes to replace are there");
    assert_eq!(places.next(), None, "only one place");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

/// The head of `{16, [{0, ...`: the size, and the list of owners.
const SIZE: [u8; 9] = [104, 2, 97, 16, 108, 0, 0, 0, 16];

/// A current record with this term in the place of its metadata, cluster name, or the metadata of its member.
fn around(meta: &[u8], cluster_name: &[u8], member_meta: &[u8]) -> Vec<u8> {
    let mut out = Etf::new(AtomEncoding::SmallUtf8);
    out.tuple(11).atom("chstate_v2").atom("a@b").vclock(1);
    out.tuple(2).integer(1).list(1).tuple(2).integer(0).atom("a@b").nil();
    out.raw(meta).raw(cluster_name).nil();
    out.list(1).tuple(2).atom("a@b").tuple(3).atom("valid").nil().raw(member_meta).nil();
    out.atom("a@b").nil().vclock(1).bytes.clone()
}

const NIL: [u8; 1] = [106];
const NAME: [u8; 4] = [119, 2, b'c', b'n'];

#[test]
fn truncated_at_every_byte() {
    let current = ring_bytes("bucketmeta64");
    let legacy = encode(&sample(), Record::Legacy, AtomEncoding::Utf8);
    let compressed = compress(&ring_bytes("live_leaving"));
    for whole in [current, legacy, compressed] {
        assert!(Ring::decode(&whole).is_ok());
        for len in 0..whole.len() {
            assert_eq!(refused(&whole[..len]), DecodeError::Truncated { len }, "of {} bytes", whole.len());
        }
    }
}

#[test]
fn trailing_bytes() {
    let plain = encoded(&sample());
    let (offset, twice) = (plain.len(), plain.repeat(2));
    assert_eq!(refused(&twice), DecodeError::TrailingBytes { offset, count: offset });
    let compressed = compress(&plain);
    let longer = [&compressed[..], b"xyz"].concat();
    assert_eq!(refused(&longer), DecodeError::TrailingBytes { offset: compressed.len(), count: 3 });
    let inside = deflate(&[&plain[1..], b"x"].concat(), plain.len());
    assert_eq!(refused(&inside), DecodeError::TrailingBytes { offset: plain.len() - 1, count: 1 });
}

#[test]
fn not_a_ring() {
    let terms: [&[u8]; 9] = [
        b"{chstate_v2,'riak@host',[],...}",
        b"\0\0\0\0",
        &[130, 104, 0],
        &[131, 104, 0],
        &[131, 106],
        &[131, 97, 7],
        &[131, 104, 2, 97, 1, 97, 2],
        &[131, 104, 2, 100, 0, 2, b'o', b'k', 106],
        &[131, 107, 0, 2, 1, 2],
    ];
    for term in terms {
        assert_eq!(refusal(term), "not_a_ring", "{term:?}");
    }
    let message = refused(&[131, 104, 2, 100, 0, 2, b'o', b'k', 106]).to_string();
    assert!(message.contains("\"ok\"") && message.contains("data/ring"), "{message}");
    assert_eq!(refusal(&[131, 104, 4, 100, 0, 7, b'c', b'h', b's', b't', b'a', b't', b'e']), "field_count");
    assert_eq!(refusal(&patched(&encoded(&sample()), &[131, 104, 11], &[131, 104, 12])), "field_count");
}

#[test]
fn lengths_that_lie() {
    let whole = encoded(&sample());
    for claimed in [17u32, 1 << 20, u32::MAX] {
        let head = [&SIZE[..5], &claimed.to_be_bytes()].concat();
        let code = refusal(&patched(&whole, &SIZE, &head));
        assert_eq!(code, if claimed == 17 { "unexpected_term" } else { "truncated" });
    }
    let huge = u32::MAX.to_be_bytes();
    for tag in [105, 108, 109, 111, 116, 117, 77] {
        let term = [&[tag][..], &huge].concat();
        assert_eq!(refusal(&around(&term, &NAME, &NIL)), "truncated", "tag {tag}");
    }
    assert_eq!(refusal(&around(&[112, 0, 0, 0, 3], &NAME, &NIL)), "unsupported_tag");
    for tag in [100, 118] {
        assert_eq!(refusal(&around(&[tag, 255, 255], &NAME, &NIL)), "truncated");
    }
}

/// Whatever four bytes are overwritten: an error or a ring, never a panic.
#[test]
fn any_length_may_lie_anywhere() {
    let whole = ring_bytes("pending64");
    for lie in [[255; 4], [0; 4], [127, 255, 255, 255]] {
        for at in 0..whole.len() - 4 {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&lie);
            let _ = Ring::decode(&bytes);
        }
    }
}

#[test]
fn nesting_a_million_deep() {
    const DEPTH: usize = 1_000_000;
    let tuples = [[104, 1].repeat(DEPTH), NIL.to_vec()].concat();
    let lists = [[108, 0, 0, 0, 1].repeat(DEPTH), NIL.repeat(DEPTH + 1)].concat();
    let tails = [[108, 0, 0, 0, 1, 106].repeat(DEPTH), NIL.to_vec()].concat();
    let maps = [[116, 0, 0, 0, 1, 97, 1].repeat(DEPTH), NIL.to_vec()].concat();
    let cases = [(tuples, "too_deep"), (lists, "too_deep"), (tails, "too_large"), (maps, "unexpected_term")];
    for (deep, as_name) in cases {
        assert!(Ring::decode(&around(&deep, &NAME, &NIL)).is_ok(), "metadata is skipped");
        let meta = [&[108, 0, 0, 0, 1, 104, 2, 119, 8][..], b"ringtail", &deep, &NIL].concat();
        let ring = Ring::decode(&around(&NIL, &NAME, &meta)).unwrap();
        assert_eq!(ring.members()[0].meta.as_deref(), Some(&deep[..]), "kept unread");
        assert_eq!(refusal(&around(&NIL, &deep, &NIL)), as_name, "a cluster's name is read");
        assert_eq!(refusal(&[&[131][..], &deep].concat()), "not_a_ring");
    }
}

#[test]
fn member_metadata_of_any_shape() {
    let shapes: [(&[u8], Option<&[u8]>); 6] = [
        (&[97, 1], None),
        (&[107, 0, 2, 1, 2], None),
        (&[108, 0, 0, 0, 1, 97, 1, 97, 2], None),
        (&[108, 0, 0, 0, 1, 104, 3, 119, 8, 114, 105, 110, 103, 116, 97, 105, 108, 106, 106, 106], None),
        (
            &[108, 0, 0, 0, 2, 97, 1, 104, 2, 119, 8, 114, 105, 110, 103, 116, 97, 105, 108, 97, 7, 106],
            Some(&[97, 7]),
        ),
        (&[108, 0, 0, 0, 1, 104, 2, 115, 8, 114, 105, 110, 103, 116, 97, 105, 108, 106, 97, 1], Some(&[106])),
    ];
    for (meta, kept) in shapes {
        let ring = Ring::decode(&around(&NIL, &NAME, meta)).unwrap();
        assert_eq!(ring.members()[0].meta.as_deref(), kept, "{meta:?}");
    }
}

/// One of each term that a dictionary of metadata may hold.
#[test]
fn every_kind_of_term_is_skipped() {
    let node = [119, 1, b'n'];
    let terms: [&[u8]; 22] = [
        &[70, 0, 0, 0, 0, 0, 0, 0, 0],
        &[&[99][..], &[b'0'; 31]].concat(),
        &[77, 0, 0, 0, 1, 3, 160],
        &[98, 255, 255, 255, 255],
        &[110, 2, 1, 1, 2],
        &[111, 0, 0, 0, 2, 0, 1, 2],
        &[100, 0, 1, 228],
        &[115, 1, 228],
        &[118, 0, 2, 195, 164],
        &[105, 0, 0, 0, 1, 106],
        &[116, 0, 0, 0, 1, 97, 1, 97, 2],
        &[&[101][..], &node, &[0; 5]].concat(),
        &[&[102][..], &node, &[0; 5]].concat(),
        &[&[103][..], &node, &[0; 9]].concat(),
        &[&[88][..], &node, &[0; 12]].concat(),
        &[&[89][..], &node, &[0; 8]].concat(),
        &[&[120][..], &node, &[0; 12]].concat(),
        &[&[114, 0, 2][..], &node, &[0; 9]].concat(),
        &[&[90, 0, 2][..], &node, &[0; 12]].concat(),
        &[112, 0, 0, 0, 6, 1, 2],
        &[&[117, 0, 0, 0, 1, 103][..], &node, &[0; 9], &node, &[97, 1, 97, 2, 106]].concat(),
        &[&[113][..], &node, &node, &[97, 1]].concat(),
    ];
    for term in terms {
        let bytes = around(term, &NAME, &NIL);
        assert!(Ring::decode(&bytes).is_ok(), "{term:?}");
        let cut = [&bytes[..bytes.len() - 1], &[255]].concat();
        assert!(Ring::decode(&cut).is_err(), "the rest is read at its place after {term:?}");
    }
    for tag in [0, 82, 68, 121, 255] {
        assert_eq!(refusal(&around(&[tag], &NAME, &NIL)), "unsupported_tag", "tag {tag}");
    }
}

#[test]
fn compressed_terms_that_lie() {
    let plain = encoded(&sample());
    let content = &plain[1..];
    for claimed in [0, content.len() - 1, content.len() + 1, 1 << 20] {
        assert_eq!(refused(&deflate(content, claimed)), DecodeError::InflatedSize { claimed });
    }
    assert_eq!(refusal(&deflate(content, (64 << 20) + 1)), "inflates_too_large");
    assert_eq!(refusal(&deflate(content, u32::MAX as usize)), "inflates_too_large");
    let bomb = deflate(&vec![106; 100 << 20], 1000);
    assert_eq!(refusal(&bomb), "inflated_size");
    let mut damaged = compress(&plain);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    assert!(["bad_compression", "inflated_size", "truncated"].contains(&refusal(&damaged)));
    let mut checksum = compress(&plain);
    *checksum.last_mut().unwrap() ^= 1;
    assert_eq!(refusal(&checksum), "bad_compression");
    // A term compressed twice is no term.
    assert_eq!(refusal(&deflate(&compress(&plain)[1..], compress(&plain).len() - 1)), "not_a_ring");
}

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
    assert_eq!(refused(&[&good[..], &good[..1]].concat()), RingError::OwnerDoubled { index: index(0) });

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

/// What riak_core's own `chash:fresh(5, Node)` makes: 2^160 - 1 is six times into the circle, so it lists six owners for a
/// ring of five. Positions by division and by list then differ, which is why Riak wants a power of two.
#[test]
fn a_ring_with_one_owner_more_than_partitions() {
    let size = RingSize::new(5).unwrap();
    let mut owners: Vec<_> = size.positions().map(|at| (size.index_of(at), "a@b".to_owned())).collect();
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
    for zero in [&[98, 0, 0, 0, 0][..], &[110, 0, 0], &[110, 1, 1, 0], &[111, 0, 0, 0, 2, 0, 0, 0]] {
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
    let name = |tag: u8, text: &[u8]| [&[tag], &(text.len() as u16).to_be_bytes()[..], text].concat();
    assert_eq!(refusal(&around(&NIL, &name(118, &[0xc3]), &NIL)), "bad_atom");
    assert_eq!(refusal(&around(&NIL, &name(118, &[b'a'; 256]), &NIL)), "bad_atom");
    assert_eq!(refusal(&around(&NIL, &name(100, &[0xe4; 256]), &NIL)), "bad_atom");
    let long = Ring::decode(&around(&NIL, &name(118, "ä".repeat(255).as_bytes()), &NIL)).unwrap();
    assert_eq!(long.cluster_name().unwrap().chars().count(), 255);
}

#[test]
fn vclock_counters_beyond_a_word() {
    let whole = encode(&RingParts { vclock_sum: u64::MAX, ..sample() }, Record::Current, AtomEncoding::Utf8);
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
    assert_eq!(members, expected.iter().map(|(node, status)| (&**node, *status)).collect::<Vec<_>>());
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

proptest! {
    #[test]
    fn damage_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = ring_bytes("pending64");
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Err(error) = Ring::decode(&bytes) {
            prop_assert!(!error.code().is_empty() && !error.to_string().is_empty());
        }
        let _ = Ring::decode(&bytes[..cut.index(bytes.len())]);
        let _ = Ring::decode(&compress(&bytes));
    }
}
