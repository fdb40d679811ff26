//! The routing table: finding, editing, refusing.

use proptest::prelude::*;
use ringtail_core::nursery::{
    Cluster, Interval, Key, MAX_CLUSTERS, Part, RoutingTable, TableError,
};

use crate::{cluster, interval, key, name};

fn table(clusters: &[&str], separators: &[&str]) -> RoutingTable {
    try_table(clusters, separators).expect("a table")
}

fn try_table(clusters: &[&str], separators: &[&str]) -> Result<RoutingTable, TableError> {
    let clusters = clusters.iter().map(|text| cluster(text)).collect();
    RoutingTable::new(clusters, separators.iter().map(|text| key(text)).collect())
}

fn numbered(separators: Vec<Vec<u8>>) -> RoutingTable {
    let clusters = (0..=separators.len()).map(|number| cluster(&format!("c{number}"))).collect();
    let separators = separators.into_iter().map(|bytes| Key::new(bytes).unwrap()).collect();
    RoutingTable::new(clusters, separators).expect("a table")
}

fn found<'t>(table: &'t RoutingTable, key: &[u8]) -> &'t str {
    table.clusters()[table.find(key)].name().as_str()
}

proptest! {
    #[test]
    fn a_key_is_found_where_its_interval_is(
        shared in prop::collection::vec(any::<u8>(), 0..12),
        ends in prop::collection::btree_set(
            prop::collection::vec(prop::sample::select(vec![0, 1, b'k', 0xff]), 0..11), 0..30),
        samples in prop::collection::vec(
            prop::collection::vec(prop::sample::select(vec![0, 1, b'k', 0xff]), 0..12), 30),
    ) {
        let with_shared = |end: &Vec<u8>| [&shared[..], end].concat();
        let separators = ends.iter().map(with_shared).filter(|key| !key.is_empty());
        let separators: Vec<_> = separators.collect();
        let table = numbered(separators.clone());
        let samples = samples.iter().flat_map(|end| [end.clone(), with_shared(end)]);
        for key in samples.chain(separators) {
            let place = table.find(&key);
            prop_assert!(table.interval(place).contains(&key), "{:?} at {}", key, place);
        }
        let whole = table.intervals().map(|(interval, _)| interval);
        prop_assert_eq!(whole.reduce(|all, next| all.union(&next).unwrap()), Some(Interval::ALL));
    }
}

#[test]
fn a_separator_belongs_to_the_cluster_on_its_right() {
    let table = table(&["a", "b", "c"], &["k", "k%00"]);
    for (key, cluster) in [
        (&b""[..], "a"),
        (b"j\xff\xff", "a"),
        (b"k", "b"),
        (b"k\0", "c"),
        (b"k\0\0", "c"),
        (b"k\x01", "c"),
        (b"k\xff", "c"),
        (b"l", "c"),
    ] {
        assert_eq!(found(&table, key), cluster, "{key:?}");
    }
    assert_eq!(found(&RoutingTable::single(cluster("a")), b"k"), "a");
}

#[test]
fn of_a_thousand_clusters_each_key_finds_its_own() {
    let table = numbered((1..1000).map(|n| format!("user-{n:08}").into_bytes()).collect());
    for number in 0..1000 {
        let key = format!("user-{number:08}");
        assert_eq!(table.find(key.as_bytes()), number, "{key}");
        assert_eq!(table.find(format!("{key}-x").as_bytes()), number, "after {key}");
    }
    assert_eq!((table.find(b"user"), table.find(b"users"), table.find(b"v")), (0, 999, 999));
}

#[test]
fn a_cluster_is_split_for_a_new_one_at_the_front_the_end_and_between() {
    let one = RoutingTable::single(cluster("a"));
    let front = one.split(&name("a"), &key("k"), Part::Lower, cluster("b"));
    assert_eq!(front, Ok(table(&["b", "a"], &["k"])));
    let end = one.split(&name("a"), &key("k"), Part::Upper, cluster("b")).unwrap();
    assert_eq!(end, table(&["a", "b"], &["k"]));
    let between = end.split(&name("b"), &key("k%00"), Part::Lower, cluster("c"));
    assert_eq!(between, Ok(table(&["a", "c", "b"], &["k", "k%00"])));
}

#[test]
fn a_cluster_is_split_for_its_neighbour_on_that_side() {
    let three = table(&["a", "b", "c"], &["g", "p"]);
    let split = |at, part, to| three.split(&name("b"), &key(at), part, cluster(to));
    assert_eq!(split("h", Part::Lower, "a"), Ok(table(&["a", "b", "c"], &["h", "p"])));
    assert_eq!(split("h", Part::Upper, "c"), Ok(table(&["a", "b", "c"], &["g", "h"])));
    for (part, to) in [(Part::Upper, "a"), (Part::Lower, "c"), (Part::Lower, "b")] {
        assert_eq!(split("h", part, to).unwrap_err().code(), "not_neighbours");
    }
    for outside in ["", "a", "g", "p", "z"] {
        assert_eq!(split(outside, Part::Lower, "a").unwrap_err().code(), "separator_outside");
    }
    let stranger = three.split(&name("z"), &key("h"), Part::Lower, cluster("a"));
    assert_eq!(stranger, Err(TableError::UnknownCluster { name: name("z") }));
}

#[test]
fn a_separator_moves_between_its_neighbours() {
    let three = table(&["a", "b", "c"], &["g", "p"]);
    assert_eq!(three.move_separator(&key("g"), key("o")), Ok(table(&["a", "b", "c"], &["o", "p"])));
    assert_eq!(three.move_separator(&key("p"), key("z")).unwrap().separators()[1], key("z"));
    for outside in ["", "p", "q"] {
        let refused = three.move_separator(&key("g"), key(outside));
        let interval = interval("", "p");
        assert_eq!(refused, Err(TableError::Outside { at: key(outside), interval }));
    }
    let unknown = three.move_separator(&key("h"), key("i"));
    assert_eq!(unknown, Err(TableError::UnknownSeparator { separator: key("h") }));
}

#[test]
fn a_boundary_cluster_is_removed_and_its_neighbour_takes_all() {
    let three = table(&["a", "b", "c"], &["g", "p"]);
    assert_eq!(three.remove(&name("a"), None), Ok(table(&["b", "c"], &["p"])));
    assert_eq!(three.remove(&name("c"), None), Ok(table(&["a", "b"], &["g"])));
    let with_separator = three.remove(&name("a"), Some(&key("c")));
    assert_eq!(with_separator, Err(TableError::SeparatorNotNeeded { name: name("a") }));
}

#[test]
fn an_inner_cluster_is_removed_by_a_separator_and_the_last_one_is_not() {
    let three = table(&["a", "b", "c"], &["g", "p"]);
    for at in ["g", "h", "p"] {
        assert_eq!(three.remove(&name("b"), Some(&key(at))), Ok(table(&["a", "c"], &[at])));
    }
    for at in ["f", "p%00"] {
        let refused = three.remove(&name("b"), Some(&key(at))).unwrap_err();
        assert_eq!(refused.code(), "separator_outside");
    }
    let without = three.remove(&name("b"), None);
    assert_eq!(without, Err(TableError::SeparatorNeeded { name: name("b") }));
    let last = RoutingTable::single(cluster("a")).remove(&name("a"), None);
    assert_eq!(last, Err(TableError::LastCluster { name: name("a") }));
}

#[test]
fn an_interval_is_handed_over_at_an_edge() {
    let three = table(&["a", "b", "c"], &["g", "p"]);
    let hand = |to, begin, end| three.hand_over(&name("b"), cluster(to), &interval(begin, end));
    assert_eq!(hand("a", "g", "h"), Ok(table(&["a", "b", "c"], &["h", "p"])));
    assert_eq!(hand("c", "h", "p"), Ok(table(&["a", "b", "c"], &["g", "h"])));
    assert_eq!(hand("n", "h", "p"), Ok(table(&["a", "b", "n", "c"], &["g", "h", "p"])));
    assert_eq!(hand("a", "g", "p"), Ok(table(&["a", "c"], &["p"])));
    assert_eq!(hand("c", "g", "p"), Ok(table(&["a", "c"], &["g"])));
    assert_eq!(hand("n", "g", "p"), Ok(table(&["a", "n", "c"], &["g", "p"])));
    for (begin, end) in [("h", "i"), ("f", "h"), ("h", "q"), ("", "h"), ("h", "")] {
        assert_eq!(hand("a", begin, end).unwrap_err().code(), "not_at_edge", "{begin} {end}");
    }
    assert_eq!(hand("c", "g", "h").unwrap_err().code(), "not_neighbours");
    let far = three.hand_over(&name("a"), cluster("c"), &interval("", "g"));
    assert_eq!(far.unwrap_err().code(), "not_neighbours");
    let nothing = three.hand_over(&name("a"), cluster("b"), &Interval::EMPTY);
    assert_eq!(nothing.unwrap_err().code(), "not_at_edge");
}

#[test]
fn the_seeds_of_a_cluster_change() {
    let moved = Cluster::new(name("b"), vec!["https://[::1]:8443".parse().unwrap()]).unwrap();
    let two = table(&["a", "b"], &["k"]);
    assert_eq!(two.set_seeds(moved.clone()).unwrap().clusters()[1], moved);
    assert_eq!(two.set_seeds(cluster("z")).unwrap_err().code(), "unknown_cluster");
}

#[test]
fn what_is_no_table_is_refused() {
    let code = |clusters: &[&str], separators: &[&str]| {
        try_table(clusters, separators).unwrap_err().code()
    };
    assert_eq!(code(&[], &[]), "no_cluster");
    assert_eq!(code(&["a"], &["k"]), "separator_count");
    assert_eq!(code(&["a", "b"], &[]), "separator_count");
    assert_eq!(code(&["a", "b"], &[""]), "empty_separator");
    assert_eq!(code(&["a", "b", "c"], &["k", "k"]), "separator_doubled");
    assert_eq!(code(&["a", "b", "c"], &["k%00", "k"]), "unsorted");
    assert_eq!(code(&["a", "b", "a"], &["k", "l"]), "cluster_doubled");
    let many: Vec<Cluster> = (0..=MAX_CLUSTERS).map(|n| cluster(&format!("c{n}"))).collect();
    assert_eq!(RoutingTable::new(many, Vec::new()), Err(TableError::TooManyClusters));
}

#[test]
fn a_picture_shows_the_clusters_in_the_order_of_their_keys() {
    let picture = table(&["alpha", "b", "c"], &["k%00", "user-0000%2F"]).to_string();
    assert_eq!(
        picture,
        "\
(open)       +--
             |  alpha  http://alpha.example:8098
k%00         +--
             |  b      http://b.example:8098
user-0000%2F +--
             |  c      http://c.example:8098
(open)       +--
"
    );
}
