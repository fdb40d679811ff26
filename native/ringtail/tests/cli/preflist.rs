//! `ringtail preflist` against riak_core's recorded answers.

use serde_json::{Value, json};

use crate::support::{Dir, bytes, percent, ring_facts, ring_file, sample};

/// Nodes of a recorded ring that are not in `up`.
fn down(ring: &Value, up: &Value) -> Vec<String> {
    let mut nodes: Vec<String> = ring["owners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|owner| owner[1].as_str().unwrap().to_owned())
        .collect();
    nodes.sort();
    nodes.dedup();
    nodes.retain(|node| !up.as_array().unwrap().iter().any(|name| name == node));
    nodes
}

#[test]
fn recorded_preflists() {
    let dir = Dir::new();
    let mut fallbacks = 0;
    for line in sample("preflists.jsonl", 10) {
        let ring = line["ring"].as_str().unwrap();
        let (bucket, n) = (percent(&line["bucket"]), line["n"].to_string());
        let ring_file = ring_file(ring);
        let key = line["key"].as_str().unwrap();
        let mut args = vec![
            "preflist", "--ring", &ring_file, "--bucket", &bucket, "--key", key, "--hex", "--n",
            &n, "--json",
        ];
        let down = down(&ring_facts(ring), &line["up"]);
        if !down.is_empty() {
            args.push("--down");
            args.extend(down.iter().map(String::as_str));
        }
        let said = dir.json(&args);
        let entries = said["preflist"].as_array().unwrap().iter().map(|entry| {
            assert_eq!(entry["up"], true);
            let kind = if entry["primary"] == true { "primary" } else { "fallback" };
            fallbacks += u32::from(kind == "fallback");
            json!([entry["index"], entry["node"], kind])
        });
        assert_eq!(entries.collect::<Vec<_>>(), *line["apl"].as_array().unwrap(), "{line}");
    }
    assert!(fallbacks > 50, "the sample has too few fallbacks to show anything: {fallbacks}");
}

#[test]
fn plain_text_says_the_same_as_json() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let args =
        ["preflist", "--ring", &ring, "--bucket", "b", "--key", "k", "--down", "riak3@10.0.0.3"];
    let document = dir.json(&[&args[..], &["--json"]].concat());
    let expected: Vec<String> = document["preflist"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            format!(
                "{}\t{}\t{}\t{}\n",
                entry["node"].as_str().unwrap(),
                if entry["primary"] == true { "primary" } else { "fallback" },
                entry["partition"],
                entry["index"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(expected.len(), 3);
    assert_eq!(dir.says(&args), expected.concat());
}

#[test]
fn notations_of_one_key_give_one_answer() {
    let dir = Dir::new();
    let ring = ring_file("spread1024x12");
    let say = |rest: &[&str]| {
        dir.says(&[&["preflist", "--ring", ring.as_str(), "--bucket"], rest].concat())
    };
    let expected = say(&["b", "--key", "a/b %+"]
        .map(|text| if text == "a/b %+" { "a%2fb%20%25%2B" } else { text }));
    assert_eq!(say(&["%62", "--key", "a/b %25+"]), expected);
    assert_eq!(say(&["b", "--key", "612f6220252B", "--hex"]), expected);
    assert_ne!(say(&["b", "--key", "a/b %25%20"]), expected, "a plus is a plus");
    // A name given as `default` is the type a name without a type has.
    assert_eq!(say(&["b", "--key", "a/b %25+", "--type", "default"]), expected);
    assert_ne!(say(&["b", "--key", "a/b %25+", "--type", "t"]), expected);
}

#[test]
fn bytes_that_are_not_utf8_may_be_given_raw() {
    use std::os::unix::ffi::OsStrExt;
    let dir = Dir::new();
    let ring = ring_file("spread1024x12");
    let mut command = dir.ringtail(&["preflist", "--ring", &ring, "--bucket", "b", "--key"]);
    let raw = crate::support::said(
        command.arg(std::ffi::OsStr::from_bytes(b"\xff\xfe")).output().unwrap(),
    );
    assert_eq!(raw, dir.says(&["preflist", "--ring", &ring, "--bucket", "b", "--key", "%FF%fe"]));
}

#[test]
fn recorded_hashes_of_both_keyfuns_give_the_partition() {
    let dir = Dir::new();
    let owners = ring_facts("spread64x5")["owners"].clone();
    for line in sample("chash.jsonl", 10) {
        let arguments = ["type", "bucket", "key"].map(|name| percent(&line[name]));
        // One argument cannot be longer than 128 KiB; tests of `keys` have long ones.
        if arguments.iter().any(|argument| argument.len() > 100_000) {
            continue;
        }
        let [bucket_type, bucket, key] = &arguments;
        for keyfun in ["std", "bucketonly"] {
            let hash: ringtail_core::KeyHash = line[keyfun].as_str().unwrap().parse().unwrap();
            // In a ring of 64 the first six bits say into which partition a hash falls; the next
            // one is its primary.
            let position = (usize::from(hash.as_bytes()[0] >> 2) + 1) % 64;
            let said = dir.json(&[
                "preflist",
                "--ring",
                &ring_file("spread64x5"),
                "--type",
                bucket_type,
                "--bucket",
                bucket,
                "--key",
                key,
                "--keyfun",
                keyfun,
                "--n",
                "1",
                "--json",
            ]);
            let expected = json!([{
                "node": owners[position][1],
                "partition": position,
                "index": owners[position][0],
                "primary": true,
                "up": true,
            }]);
            assert_eq!(said["preflist"], expected, "{line} {:?}", bytes(&line["key"]));
        }
    }
}

#[test]
fn all_nodes_down_is_an_empty_preflist() {
    let dir = Dir::new();
    let ring = ring_file("single8");
    let args =
        ["preflist", "--ring", &ring, "--bucket", "b", "--key", "k", "--down", "riak1@10.0.0.1"];
    assert_eq!(dir.says(&args), "");
    assert_eq!(dir.json(&[&args[..], &["--json"]].concat()), json!({"preflist": []}));
}
