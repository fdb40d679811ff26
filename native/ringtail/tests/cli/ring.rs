//! `ringtail ring` against what riak_core says of the same rings.

use serde_json::{Value, json};

use crate::support::{Dir, ring_facts, ring_file, ring_names};

#[test]
fn json_says_what_riak_core_says_of_every_recorded_ring() {
    let dir = Dir::new();
    for name in ring_names() {
        let expected = ring_facts(&name);
        let said = dir.json(&["ring", "--owners", "--json", &ring_file(&name)]);
        for field in [
            "ring_size",
            "cluster_name",
            "claimant",
            "nodename",
            "rvsn_sum",
            "vclock_sum",
            "resizing",
        ] {
            assert_eq!(said[field], expected[field], "{name} {field}");
        }
        let members = list(&said["members"], |m| json!({"node": m["node"], "status": m["status"]}));
        let expected_members =
            list(&expected["members"], |m| json!({"node": m["node"], "status": m["status"]}));
        assert_eq!(members, expected_members, "{name}");
        let pending = list(&said["pending"], |p| {
            json!([p["index"], p["owner"], p["next_owner"], p["status"]])
        });
        assert_eq!(pending, *expected["pending"].as_array().unwrap(), "{name}");
        let owners = list(&said["owners"], |o| json!([o["index"], o["node"]]));
        assert_eq!(owners, *expected["owners"].as_array().unwrap(), "{name}");
    }
}

fn list(values: &Value, of: impl Fn(&Value) -> Value) -> Vec<Value> {
    values.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn owners_are_left_out_unless_asked_for() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    assert!(dir.json(&["ring", &ring, "--json"]).get("owners").is_none_or(Value::is_null));
    assert!(!dir.says(&["ring", &ring]).contains("owner\t"));
}

#[test]
fn plain_text_says_the_same_as_json() {
    let dir = Dir::new();
    for name in ring_names() {
        let ring = ring_file(&name);
        let document = dir.json(&["ring", "--owners", "--json", &ring]);
        let text = dir.says(&["ring", "--owners", &ring]);
        let of_kind = |kind: &str| -> Vec<Vec<String>> {
            let lines =
                text.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
            lines.filter(|fields| fields[0] == kind).map(|fields| fields[1..].to_vec()).collect()
        };
        assert_eq!(of_kind("ring_size"), [[document["ring_size"].to_string()]]);
        assert_eq!(of_kind("cluster_name"), [[document["cluster_name"].as_str().unwrap()]]);
        assert_eq!(
            of_kind("resizing"),
            [[if document["resizing"] == true { "yes" } else { "no" }]]
        );
        let rows = |table: &str, columns: &[&str]| -> Vec<Vec<String>> {
            let text = |value: &Value| match value {
                Value::Null => "-".to_owned(),
                Value::String(text) => text.clone(),
                Value::Number(number) if number.is_f64() => {
                    format!("{:.2}", number.as_f64().unwrap())
                }
                other => other.to_string(),
            };
            let row = |entry: &Value| columns.iter().map(|&column| text(&entry[column])).collect();
            document[table].as_array().unwrap().iter().map(row).collect()
        };
        assert_eq!(
            of_kind("member"),
            rows("members", &["node", "status", "partitions", "share", "pending"]),
            "{name}"
        );
        assert_eq!(
            of_kind("pending"),
            rows("pending", &["index", "owner", "next_owner", "status"]),
            "{name}"
        );
        assert_eq!(of_kind("owner"), rows("owners", &["index", "node"]), "{name}");
        assert_eq!(of_kind("owner").len() as u64, document["ring_size"].as_u64().unwrap());
    }
}

#[test]
fn shares_and_partitions_add_up() {
    let document = Dir::new().json(&["ring", "--json", &ring_file("spread64x5")]);
    let members = document["members"].as_array().unwrap();
    assert_eq!(members.iter().map(|m| m["partitions"].as_u64().unwrap()).sum::<u64>(), 64);
    let share: f64 = members.iter().map(|m| m["share"].as_f64().unwrap()).sum();
    assert!((share - 100.0).abs() < 0.1, "{share}");
}

#[test]
fn a_ring_is_read_from_stdin_too() {
    let dir = Dir::new();
    let ring = ring_file("live_leaving");
    let bytes = std::fs::read(&ring).unwrap();
    assert_eq!(dir.says_of(&["ring", "-"], &bytes), dir.says(&["ring", &ring]));
    assert_eq!(
        dir.says_of(&["preflist", "--ring", "-", "--bucket", "b", "--key", "k"], &bytes),
        dir.says(&["preflist", "--ring", &ring, "--bucket", "b", "--key", "k"])
    );
}
