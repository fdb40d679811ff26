//! The JSON forms, and what is refused of what comes from outside.

use ringtail_core::nursery::{
    Change, IntervalChange, Intervals, MAX_CLUSTERS, MAX_SEEDS, Record, RoutingTable,
};
use serde_json::{Value, from_str, from_value, json, to_value};

use crate::interval;
use crate::record::begun;

fn refused<T: serde::de::DeserializeOwned + std::fmt::Debug>(document: Value) -> String {
    from_value::<T>(document).expect_err("refused").to_string()
}

#[test]
fn a_record_comes_back_from_its_document() {
    let record = begun();
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(from_str::<Record>(&text).unwrap(), record);
    assert_eq!(
        to_value(&record).unwrap(),
        json!({
            "version": 1,
            "table": {"clusters": [
                {"begin": null, "name": "a", "seeds": ["http://a.example:8098"]},
                {"begin": "m", "name": "b", "seeds": ["http://b.example:8098"]},
            ]},
            "plan": {
                "fence": {"number": 1, "client": "00000000-0000-0000-0000-000000000001"},
                "lease_until": 1060,
                "source": {"name": "a", "seeds": ["http://a.example:8098"]},
                "target": {"name": "b", "seeds": ["http://b.example:8098"]},
                "interval": {"begin": "k", "end": "m"},
                "phase": "copying",
            },
        })
    );
}

#[test]
fn intervals_and_their_changes_come_back() {
    let intervals = Intervals::serving(interval("k%00", ""));
    let document = to_value(&intervals).unwrap();
    assert_eq!(document["public"], json!({"begin": "k%00", "end": null}));
    assert_eq!(document["frozen"], Value::Null);
    assert_eq!(from_value::<Intervals>(document).unwrap(), intervals);
    for change in [Change::Freeze(interval("k", "m")), Change::Unfreeze, Change::Fence] {
        let change = IntervalChange { fence: intervals.fence(), epoch: 7, change };
        let document = to_value(&change).unwrap();
        assert_eq!(from_value::<IntervalChange>(document).unwrap(), change);
    }
}

#[test]
fn intervals_that_contradict_each_other_are_refused() {
    let valid = to_value(Intervals::serving(interval("g", "p"))).unwrap();
    let with = |name: &str, begin: &str, end: &str| {
        let mut document = valid.clone();
        document[name] = json!({"begin": begin, "end": end});
        refused::<Intervals>(document)
    };
    assert!(with("public", "a", "p").contains("grow private first"));
    assert!(with("frozen", "a", "h").contains("freeze only what is served"));
    assert!(with("importing", "h", "i").contains("import only what is not served yet"));
    assert!(with("public", "p", "g").contains("holds no key"));
    let mut missing = valid.clone();
    missing["public"].as_object_mut().unwrap().remove("end");
    assert!(refused::<Intervals>(missing).contains("missing field `end`"));
    let mut unknown = valid;
    unknown["thawed"] = Value::Null;
    assert!(refused::<Intervals>(unknown).contains("unknown field `thawed`"));
}

fn table(clusters: Value) -> String {
    refused::<RoutingTable>(json!({ "clusters": clusters }))
}

#[test]
fn what_is_no_table_is_refused_with_a_reason() {
    let entry =
        |begin: Value, name: &str| json!({"begin": begin, "name": name, "seeds": ["http://h:1"]});
    let first = entry(Value::Null, "a");
    for (clusters, reason) in [
        (json!([]), "at least one cluster"),
        (json!([entry(json!("k"), "a")]), "the first cluster begins at null"),
        (json!([first, entry(Value::Null, "b")]), "every other at a key: see cluster b"),
        (json!([first, entry(json!(""), "b")]), "separator is empty"),
        (json!([first, entry(json!("k"), "a")]), "a is there twice"),
        (json!([first, entry(json!("k"), "b"), entry(json!("k"), "c")]), "k is there twice"),
        (json!([first, entry(json!("k"), "b"), entry(json!("j"), "c")]), "sort the separators"),
        (json!([entry(Value::Null, "")]), "is no cluster name"),
        (json!([entry(Value::Null, "a b")]), "is no cluster name"),
        (json!([first, entry(json!("%k"), "b")]), "two hexadecimal digits"),
        (json!([first, entry(json!("k".repeat(4097)), "b")]), "give the beginning of it"),
        (json!([{"name": "a", "seeds": ["http://h:1"]}]), "missing field `begin`"),
        (json!([{"begin": null, "name": "a", "seeds": []}]), "has no seed address"),
        (json!([{"begin": null, "name": "a", "seeds": ["h:1"]}]), "is no seed address"),
        (json!([{"begin": null, "name": "a", "seeds": ["http://h/\r\n"]}]), "is no seed address"),
        (json!([{"begin": null, "name": "a", "seeds": ["http://h:1"], "x": 1}]), "unknown field"),
    ] {
        let said = table(clusters.clone());
        assert!(said.contains(reason), "{clusters}: {said}");
    }
}

#[test]
fn lists_that_are_too_long_are_not_read_to_their_end() {
    let seeds = vec!["http://h:1"; MAX_SEEDS + 1];
    let said = table(json!([{"begin": null, "name": "a", "seeds": seeds}]));
    assert!(said.contains(&format!("a list of at most {MAX_SEEDS}")), "{said}");
    let entry =
        |number| json!({"begin": format!("{number:05}"), "name": "a", "seeds": ["http://h:1"]});
    let clusters: Vec<Value> = (0..=MAX_CLUSTERS).map(entry).collect();
    let said = table(Value::Array(clusters));
    assert!(said.contains(&format!("a list of at most {MAX_CLUSTERS}")), "{said}");
}
