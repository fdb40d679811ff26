//! Whatever the bytes: an error, or a ring that answers. Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run
//! decode -- -max_total_time=60` in `native/ringtail-core`; good seeds are the recorded rings of
//! `test/vectors/rings`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringtail_core::{
    ClusterPreflist, Keyfun, NVal, Owned, PreflistEntry, Ring, RingSummary, hash_key,
};

fuzz_target!(|bytes: &[u8]| {
    let ring = match Ring::decode(bytes) {
        Ok(ring) => ring,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(ring.owners().len(), ring.size() as usize);
    for (position, (index, owner)) in ring.ring_size().positions().zip(ring.owners()) {
        assert_eq!(ring.position_of_index(&index), Some(position));
        assert_eq!(ring.node_id(ring.node_name(owner)), Some(owner));
    }
    let hash = hash_key(b"default", bytes, b"", Keyfun::Std);
    let n = NVal::new(3.min(ring.size())).expect("not 0");
    let preflist = ring.preflist(&hash, n, &ring.all_up()).expect("n fits");
    let primaries = ring.primaries(&hash, n).expect("n fits");
    let owned = |entry: &PreflistEntry| Owned { position: entry.position, node: entry.node };
    assert!(primaries.eq(preflist.iter().map(owned)));

    let summary = RingSummary::of(&ring, true);
    let json = serde_json::to_string(&summary).expect("JSON");
    assert_eq!(serde_json::from_str::<RingSummary>(&json).expect("what was written"), summary);
    let preflist = ClusterPreflist::of(&ring);
    let json = serde_json::to_string(&preflist).expect("JSON");
    assert_eq!(serde_json::from_str::<ClusterPreflist>(&json).expect("what was written"), preflist);
});
