//! `ringtail keys`: every line against `ringtail preflist`, riak_core's recorded answers and the
//! core's own.

use ringtail_core::{Keyfun, NVal, Ring, hash_key};
use serde_json::{Value, json};

use crate::support::{Dir, bytes, percent, ring_file, sample};

#[test]
fn recorded_primaries() {
    let dir = Dir::new();
    for line in sample("preflists.jsonl", 12) {
        let (bucket, n) = (percent(&line["bucket"]), line["n"].to_string());
        let ring = ring_file(line["ring"].as_str().unwrap());
        let key = line["key"].as_str().unwrap();
        let args = ["keys", "--ring", &ring, "--bucket", &bucket, "--n", &n, "--hex"];
        let primaries = line["primaries"].as_array().unwrap();
        let nodes: Vec<&str> =
            primaries.iter().map(|primary| primary[1].as_str().unwrap()).collect();
        let index = primaries[0][0].as_str().unwrap();
        assert_eq!(
            dir.says_of(&args, key.as_bytes()),
            format!("{key}\t{index}\t{}\n", nodes.join(",")),
            "{line}"
        );
    }
}

/// Lists for every position are cut from one text; each must be what the core says, around the end
/// of the ring as well.
#[test]
fn every_position_and_n_as_the_core_says() {
    let dir = Dir::new();
    for name in ["spread8x3", "twice16x2", "oddnames64"] {
        let file = ring_file(name);
        let ring = Ring::decode(&std::fs::read(&file).unwrap()).unwrap();
        let keys: Vec<String> = (0..2000).map(|i| format!("key{i}")).collect();
        for n in [1, 3, ring.size() - 1, ring.size()] {
            let text = dir.says_of(
                &["keys", "--ring", &file, "--bucket", "b", "--type", "t", "--n", &n.to_string()],
                keys.join("\n").as_bytes(),
            );
            let mut positions = std::collections::BTreeSet::new();
            for (line, key) in text.lines().zip(&keys) {
                let hash = hash_key(b"t", b"b", key.as_bytes(), Keyfun::Std);
                let primaries: Vec<_> =
                    ring.primaries(&hash, NVal::new(n).unwrap()).unwrap().collect();
                let nodes: Vec<&str> =
                    primaries.iter().map(|primary| ring.node_name(primary.node)).collect();
                let index = ring.index(primaries[0].position);
                assert_eq!(line, format!("{key}\t{index}\t{}", nodes.join(",")));
                positions.insert(primaries[0].position);
            }
            assert_eq!(text.lines().count(), keys.len());
            assert_eq!(positions.len() as u32, ring.size(), "keys do not reach every partition");
        }
    }
}

#[test]
fn bucketonly_puts_all_keys_where_preflist_puts_each() {
    let dir = Dir::new();
    let ring = ring_file("spread1024x12");
    let rest = ["--ring", &ring, "--bucket", "b", "--keyfun", "bucketonly"];
    let text = dir.says_of(&[&["keys"], &rest[..]].concat(), b"one\ntwo\n\n");
    let said = dir.json(&[&["preflist", "--json", "--key", "two"], &rest[..]].concat());
    let preflist = said["preflist"].as_array().unwrap();
    let nodes: Vec<&str> = preflist.iter().map(|entry| entry["node"].as_str().unwrap()).collect();
    let place = format!("{}\t{}", preflist[0]["index"].as_str().unwrap(), nodes.join(","));
    assert_eq!(text, format!("one\t{place}\ntwo\t{place}\n\t{place}\n"));
}

fn printed(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split('\t').next().unwrap()).collect()
}

/// The place of each line, without its key.
fn places(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split_once('\t').unwrap().1).collect()
}

#[test]
fn keys_are_bytes_and_are_printed_without_ambiguity() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let args = ["keys", "--ring", &ring, "--bucket", "b"];
    let lines = dir.says_of(&args, b"a b\n50%\nt\tb\ncr\r\n\n\xff\n\xc3\xb6\nlast");
    assert_eq!(printed(&lines), ["a b", "50%25", "t%09b", "cr%0D", "", "%FF", "ö", "last"]);
    let nulls = dir.says_of(&[&args[..], &["--null"]].concat(), b"a\nb\0\0last");
    assert_eq!(printed(&nulls), ["a%0Ab", "", "last"]);
    let hex = dir.says_of(
        &[&args[..], &["--hex"]].concat(),
        b"612062\r\n353025\n\nFF\nc3B6\n6C617374\n610a62",
    );
    assert_eq!(printed(&hex), ["612062", "353025", "", "ff", "c3b6", "6c617374", "610a62"]);
    let (lines, nulls, hex) = (places(&lines), places(&nulls), places(&hex));
    assert_eq!(
        [&lines[..2], &lines[4..], &nulls[..1]].concat(),
        hex,
        "one key, one place, however it was given"
    );
    // What was printed goes back in through --key.
    let said =
        dir.json(&["preflist", "--ring", &ring, "--bucket", "b", "--key", "t%09b", "--json"]);
    assert!(
        places(&dir.says_of(&args, b"t\tb"))[0]
            .starts_with(said["preflist"][0]["index"].as_str().unwrap())
    );
}

#[test]
fn json_lines_carry_the_same() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let keys = b"plain\nquo\"te\nback\\slash\nper%cent\n\xff\x01\n\xe9\x8d\xb5\n";
    for extra in [&[][..], &["--n", "1"]] {
        let args = [&["keys", "--ring", ring.as_str(), "--bucket", "b"], extra].concat();
        let plain = dir.says_of(&args, keys);
        let json = dir.says_of(&[&args[..], &["--json"]].concat(), keys);
        let rebuilt: Vec<String> = json
            .lines()
            .map(|line| {
                let value: Value = serde_json::from_str(line).unwrap();
                let nodes: Vec<&str> = value["primaries"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|node| node.as_str().unwrap())
                    .collect();
                let [key, index] = ["key", "index"].map(|field| value[field].as_str().unwrap());
                format!("{key}\t{index}\t{}\n", nodes.join(","))
            })
            .collect();
        assert_eq!(rebuilt.len(), 6);
        assert_eq!(rebuilt.concat(), plain);
    }
    let hex = dir.says_of(&["keys", "--ring", &ring, "--bucket", "b", "--hex", "--json"], b"00FF");
    assert_eq!(serde_json::from_str::<Value>(&hex).unwrap()["key"], "00ff");
}

#[test]
fn a_file_and_stdin_give_the_same() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let keys: String = (0..50_000).map(|i| format!("k{i}\n")).collect();
    let file = dir.file("keys.txt", keys.as_bytes());
    let from_pipe = dir.says_of(&["keys", "--ring", &ring, "--bucket", "b"], keys.as_bytes());
    assert_eq!(from_pipe.lines().count(), 50_000);
    assert_eq!(dir.says(&["keys", "--ring", &ring, "--bucket", "b", "keys.txt"]), from_pipe);
    let mut redirected = dir.ringtail(&["keys", "--ring", &ring, "--bucket", "b", "-"]);
    let redirected = redirected.stdin(std::fs::File::open(file).unwrap()).output().unwrap();
    assert_eq!(crate::support::said(redirected), from_pipe);
    assert_eq!(dir.says_of(&["keys", "--ring", &ring, "--bucket", "b"], b""), "");
}

#[test]
fn counts_are_those_of_the_printed_lines() {
    let dir = Dir::new();
    let keys: String = (0..3000).map(|i| format!("user{i}\n")).collect();
    for (name, n) in
        [("spread64x5", "1"), ("spread64x5", "3"), ("spread8x3", "8"), ("twice16x2", "3")]
    {
        let ring = ring_file(name);
        let args = ["keys", "--ring", &ring, "--bucket", "b", "--n", n];
        let mut expected = std::collections::BTreeMap::<String, [u64; 3]>::new();
        for line in dir.says_of(&args, keys.as_bytes()).lines() {
            let nodes: Vec<&str> = line.split('\t').nth(2).unwrap().split(',').collect();
            expected.entry(nodes[0].to_owned()).or_default()[1] += 1;
            for node in &nodes {
                expected.entry((*node).to_owned()).or_default()[2] += 1;
            }
            for node in nodes.iter().collect::<std::collections::BTreeSet<_>>() {
                expected.get_mut(*node).unwrap()[0] += 1;
            }
        }
        let copies = 3000 * n.parse::<u64>().unwrap();
        let rows = expected
            .iter()
            .map(|(node, [keys, first, copies])| format!("{node}\t{keys}\t{first}\t{copies}\n"));
        let text = rows.collect::<String>() + &format!("total\t3000\t3000\t{copies}\n");
        let args = [&args[..], &["--count"]].concat();
        assert_eq!(dir.says_of(&args, keys.as_bytes()), text, "{name} {n}");
        let document = dir.says_of(&[&args[..], &["--json"]].concat(), keys.as_bytes());
        let nodes: Vec<Value> = expected
            .iter()
            .map(|(node, [keys, first, copies])| {
                json!({"node": node, "keys": keys, "first": first, "copies": copies})
            })
            .collect();
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!((&document["nodes"], &document["keys"]), (&json!(nodes), &json!(3000)));
        assert_eq!(document["n"].to_string(), n);
    }
}

#[test]
fn nodes_without_keys_are_counted_as_zero() {
    let said = Dir::new()
        .says_of(&["keys", "--ring", &ring_file("single8"), "--bucket", "b", "--count"], b"");
    assert_eq!(said, "riak1@10.0.0.1\t0\t0\t0\ntotal\t0\t0\t0\n");
}

#[test]
fn recorded_hashes_of_long_names() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let decoded = Ring::decode(&std::fs::read(&ring).unwrap()).unwrap();
    let mut longest = 0;
    for line in
        sample("chash.jsonl", 1).iter().filter(|line| line["key"].as_str().unwrap().len() > 4000)
    {
        let hash = line["std"].as_str().unwrap().parse().unwrap();
        let args = [
            "keys",
            "--ring",
            &ring,
            "--type",
            &percent(&line["type"]),
            "--bucket",
            &percent(&line["bucket"]),
        ];
        if args[6].len() > 100_000 {
            continue;
        }
        let text = dir
            .says_of(&[&args[..], &["--hex"]].concat(), line["key"].as_str().unwrap().as_bytes());
        assert!(
            places(&text)[0].starts_with(&format!("{}\t", decoded.index(decoded.position(&hash))))
        );
        longest = longest.max(bytes(&line["key"]).len());
    }
    assert!(longest > 2000, "no long key was tried");
}

#[test]
fn a_key_of_a_mebibyte_passes() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let key = "k".repeat(1 << 20);
    let text =
        dir.says_of(&["keys", "--ring", &ring, "--bucket", "b"], format!("a\n{key}\nz").as_bytes());
    assert_eq!(printed(&text), ["a", &key, "z"]);
    let decoded = Ring::decode(&std::fs::read(&ring).unwrap()).unwrap();
    let position = decoded.position(&hash_key(b"default", b"b", key.as_bytes(), Keyfun::Std));
    assert!(places(&text)[1].starts_with(&decoded.index(position).to_string()));
}
