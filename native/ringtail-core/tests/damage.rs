//! Bytes that are no whole term, or another one than a ring: each kind has its own error, and none
//! does harm.

mod support;

use proptest::prelude::*;
use ringtail_core::testing::{AtomEncoding, Record, compress, deflate, encode};
use ringtail_core::{DecodeError, Ring};
use support::{NIL, SIZE, around, encoded, patched, refusal, refused, ring_bytes, sample};

const NAME: [u8; 4] = [119, 2, b'c', b'n'];

#[test]
fn truncated_at_every_byte() {
    let current = ring_bytes("bucketmeta64");
    let legacy = encode(&sample(), Record::Legacy, AtomEncoding::Utf8);
    let compressed = compress(&ring_bytes("live_leaving"));
    for whole in [current, legacy, compressed] {
        assert!(Ring::decode(&whole).is_ok());
        for len in 0..whole.len() {
            assert_eq!(
                refused(&whole[..len]),
                DecodeError::Truncated { len },
                "of {} bytes",
                whole.len()
            );
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
    assert_eq!(
        refusal(&[131, 104, 4, 100, 0, 7, b'c', b'h', b's', b't', b'a', b't', b'e']),
        "field_count"
    );
    assert_eq!(
        refusal(&patched(&encoded(&sample()), &[131, 104, 11], &[131, 104, 12])),
        "field_count"
    );
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
    let cases = [
        (tuples, "too_deep"),
        (lists, "too_deep"),
        (tails, "too_large"),
        (maps, "unexpected_term"),
    ];
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
        (
            &[
                108, 0, 0, 0, 1, 104, 3, 119, 8, 114, 105, 110, 103, 116, 97, 105, 108, 106, 106,
                106,
            ],
            None,
        ),
        (
            &[
                108, 0, 0, 0, 2, 97, 1, 104, 2, 119, 8, 114, 105, 110, 103, 116, 97, 105, 108, 97,
                7, 106,
            ],
            Some(&[97, 7]),
        ),
        (
            &[108, 0, 0, 0, 1, 104, 2, 115, 8, 114, 105, 110, 103, 116, 97, 105, 108, 106, 97, 1],
            Some(&[106]),
        ),
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
