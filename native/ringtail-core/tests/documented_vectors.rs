//! The vectors that `docs/client-side-hashing.md` gives to other languages say what this crate
//! says.

use ringtail_core::{Keyfun, NVal, Ring, RingParts, RingSize, hash_key, keys};
use serde_json::Value;

#[test]
fn documented_vectors_are_what_the_crate_computes() {
    let text = include_str!("../../../docs/client-side-hashing-vectors.json");
    let vectors: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(vectors.len() > 50);
    for vector in &vectors {
        let bytes = |name: &str| keys::parse_hex(vector[name].as_str().unwrap()).unwrap();
        let number = |name: &str| vector[name].as_u64().unwrap() as u32;
        let keyfun: Keyfun = vector["keyfun"].as_str().unwrap().parse().unwrap();
        let hash = hash_key(&bytes("type"), &bytes("bucket"), &bytes("key"), keyfun);
        assert_eq!(hash.to_string(), vector["hash"], "{vector}");

        let size = RingSize::new(number("ring_size")).unwrap();
        let owners =
            size.positions().map(|p| (size.index_of(p), "riak@10.0.0.1".to_owned())).collect();
        let ring = Ring::from_parts(RingParts { owners, ..RingParts::default() }).unwrap();
        let primaries = ring.primaries(&hash, NVal::new(number("n_val")).unwrap()).unwrap();
        let (positions, indices): (Vec<Value>, Vec<Value>) = primaries
            .map(|p| (p.position.0.into(), ring.index(p.position).to_string().into()))
            .unzip();
        assert_eq!(Value::from(positions), vector["positions"], "{vector}");
        assert_eq!(Value::from(indices), vector["indices"], "{vector}");
    }
}
