//! What real Riak said, and what we say of the same.

mod support;

use std::collections::{BTreeSet, HashMap};

use ringtail_core::{
    ClusterPreflist, KeyHash, KeyPreflist, Keyfun, NVal, Owned, PreflistKind, Ring, RingSummary,
    hash_key,
};
use serde_json::{Value, json};
use support::{RINGS, hex, lines, ring, ring_json, text};

#[test]
fn every_ring_is_listed() {
    let files = std::fs::read_dir(support::vectors().join("rings")).unwrap();
    let etf = files.filter_map(|file| {
        file.unwrap().file_name().to_str()?.strip_suffix(".etf").map(str::to_owned)
    });
    assert_eq!(etf.collect::<BTreeSet<_>>(), RINGS.iter().map(|&name| name.to_owned()).collect());
}

#[test]
fn rings_say_what_riak_core_says() {
    for name in RINGS {
        let (ring, expected) = (ring(name), ring_json(name));
        let members: Vec<Value> = ring
            .members()
            .iter()
            .map(|member| json!({"node": ring.node_name(member.node), "status": member.status}))
            .collect();
        let pending: Vec<Value> = ring
            .pending()
            .iter()
            .map(|transfer| {
                let next_owner = ring.next_owner_name(transfer.next_owner);
                json!([transfer.index, ring.node_name(transfer.owner), next_owner, transfer.status])
            })
            .collect();
        let owners: Vec<Value> =
            ring.owners().map(|(index, node)| json!([index, ring.node_name(node)])).collect();
        let said = json!({
            "ring_size": ring.size(),
            "cluster_name": ring.cluster_name(),
            "claimant": ring.claimant(),
            "nodename": ring.nodename(),
            "rvsn_sum": ring.rvsn_sum(),
            "vclock_sum": ring.vclock_sum(),
            "resizing": ring.resizing(),
            "members": members,
            "pending": pending,
            "owners": owners,
        });
        assert_eq!(said, expected, "{name}");
    }
}

#[test]
fn documents_of_recorded_rings() {
    for name in RINGS {
        let (ring, expected) = (ring(name), ring_json(name));
        let preflist = serde_json::to_string(&ClusterPreflist::of(&ring)).unwrap();
        let members: Vec<String> = expected["owners"]
            .as_array()
            .unwrap()
            .iter()
            .map(|owner| format!("{}:{}", owner[0], owner[1]))
            .collect();
        assert_eq!(
            preflist,
            format!("{{{}}}", members.join(",")),
            "{name}: one member per partition in ring order"
        );

        let summary = RingSummary::of(&ring, true);
        let shares: f64 = summary.members.iter().map(|member| member.share).sum();
        assert!((shares - 100.0).abs() < 1.0, "{name}: members own the whole ring, {shares} %");
        let total: u32 = summary.members.iter().map(|member| member.partitions).sum();
        assert_eq!(total, ring.size(), "{name}");
        let again: RingSummary =
            serde_json::from_str(&serde_json::to_string(&summary).unwrap()).unwrap();
        assert_eq!(again, summary, "{name}");
        assert_eq!(
            serde_json::to_value(&summary).unwrap()["cluster_name"],
            expected["cluster_name"]
        );
        assert_eq!(
            serde_json::to_value(RingSummary::of(&ring, false)).unwrap().get("owners"),
            None
        );
    }
}

#[test]
fn a_leaving_member_will_own_nothing() {
    let summary = RingSummary::of(&ring("live_leaving"), false);
    let leaving = summary.members.iter().find(|member| &*member.node == "dev4@127.0.0.1").unwrap();
    assert_eq!((leaving.share, leaving.pending), (25.0, Some(0.0)));
    let pending: f64 = summary.members.iter().filter_map(|member| member.pending).sum();
    assert!((pending - 100.0).abs() < 0.1, "the others will own all of it, {pending} %");
    // A resize gives no partition to another node.
    let resizing = RingSummary::of(&ring("resizing64to128"), false);
    assert!(resizing.members.iter().all(|member| member.pending.is_none()));
}

#[test]
fn member_metadata_is_kept_as_it_is() {
    let ring = ring("bucketmeta64");
    let meta = |name: &str| {
        let node = ring.node_id(name).unwrap();
        ring.members().iter().find(|member| member.node == node).unwrap().meta.as_deref()
    };
    assert_eq!(meta("riak1@10.0.0.1"), None);
    // [{http,[{"10.0.0.2",8098}]},{https,[]},{pb,[{"10.0.0.2",8087}]}]
    let kept = meta("riak2@10.0.0.2").expect("metadata under `ringtail`");
    assert_eq!(kept[..6], [108, 0, 0, 0, 3, 104]);
    assert_eq!(kept.last(), Some(&106));
    assert!(kept.windows(8).any(|window| window == b"10.0.0.2"));
}

#[test]
fn hashes_of_recorded_keys() {
    let lines = lines("chash.jsonl");
    assert!(lines.len() > 2000);
    for line in lines {
        let (bucket_type, bucket, key) =
            (hex(&line, "type"), hex(&line, "bucket"), hex(&line, "key"));
        for keyfun in [Keyfun::Std, Keyfun::BucketOnly] {
            let hash = hash_key(&bucket_type, &bucket, &key, keyfun);
            assert_eq!(hash.to_string(), text(&line, keyfun.as_str()), "{line}");
            assert_eq!(text(&line, keyfun.as_str()).parse::<KeyHash>(), Ok(hash));
        }
    }
}

#[test]
fn preflists_of_recorded_keys() {
    let rings: HashMap<&str, Ring> = RINGS.into_iter().map(|name| (name, ring(name))).collect();
    let lines = lines("preflists.jsonl");
    assert!(lines.len() >= 3000);
    for line in lines {
        let ring = &rings[text(&line, "ring")];
        let hash = hash_key(b"default", &hex(&line, "bucket"), &hex(&line, "key"), Keyfun::Std);
        let n = NVal::new(u32::try_from(line["n"].as_u64().unwrap()).unwrap()).unwrap();
        let up =
            ring.up_nodes(line["up"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()));

        let primary =
            |Owned { position, node }| json!([ring.index(position), ring.node_name(node)]);
        let primaries: Vec<Value> = ring.primaries(&hash, n).unwrap().map(primary).collect();
        assert_eq!(Value::from(primaries), line["primaries"], "{line}");

        let preflist = ring.preflist(&hash, n, &up).unwrap();
        let apl: Vec<Value> = preflist
            .iter()
            .map(|entry| {
                json!([ring.index(entry.position), ring.node_name(entry.node), entry.kind])
            })
            .collect();
        assert_eq!(Value::from(apl), line["apl"], "{line}");

        let document = KeyPreflist::of(ring, &hash, n, &up).unwrap();
        for (said, entry) in document.preflist.iter().zip(&preflist) {
            assert_eq!(&*said.node, ring.node_name(entry.node));
            assert_eq!(said.primary, entry.kind == PreflistKind::Primary);
            assert!(said.up && said.index == ring.index(said.partition));
        }
        let owners = KeyPreflist::primaries_of(ring, &hash, n, &up).unwrap();
        let ups = owners.preflist.iter().filter(|entry| entry.up).count();
        assert_eq!(
            ups,
            preflist.iter().filter(|entry| entry.kind == PreflistKind::Primary).count()
        );
        let json = serde_json::to_string(&owners).unwrap();
        assert_eq!(serde_json::from_str::<KeyPreflist>(&json).unwrap(), owners);
    }
}
