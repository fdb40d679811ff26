//! Speed as ratios against a reference measured in the same run. `cargo bench -p ringtail-core`
//! prints Criterion's figures and then one line for each ratio; `cargo bench -p ringtail-core --
//! --ratios` only the latter.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use criterion::Criterion;
use ringtail_core::nursery::{Cluster, Key, RoutingTable};
use ringtail_core::testing::{AtomEncoding, Record, encode, spread};
use ringtail_core::{
    ClusterPreflist, KeyHash, Keyfun, NVal, Position, Ring, RingSummary, UpNodes, hash_key,
};
use sha1::{Digest, Sha1};

const BUCKET: &[u8] = b"users";

/// Keys of a usual length, all different, so that neither branch prediction nor caches see one key
/// only.
fn keys() -> Vec<String> {
    (0..4096).map(|number| format!("user-{number:012}")).collect()
}

/// `term_to_binary({Bucket, Key})`: what any client has to hash.
fn term(key: &str) -> Vec<u8> {
    let mut term = vec![131, 104, 2];
    for name in [BUCKET, key.as_bytes()] {
        term.push(109);
        term.extend_from_slice(&(name.len() as u32).to_be_bytes());
        term.extend_from_slice(name);
    }
    term
}

struct Subject {
    bytes: Vec<u8>,
    ring: Ring,
    up: UpNodes,
}

fn subject(size: u32, nodes: u32) -> Subject {
    let bytes = encode(&spread(size, nodes), Record::Current, AtomEncoding::Latin1);
    let ring = Ring::decode(&bytes).expect("a ring");
    let mut up = ring.all_up();
    up.remove(ring.owner(Position(0)));
    Subject { bytes, ring, up }
}

fn primaries(ring: &Ring, keys: &[String], n: NVal) -> u64 {
    let mut sum = 0;
    for key in keys {
        let hash = hash_key(b"default", BUCKET, key.as_bytes(), Keyfun::Std);
        sum += ring
            .primaries(&hash, n)
            .expect("n fits")
            .map(|owned| u64::from(owned.node.0))
            .sum::<u64>();
    }
    sum
}

fn bare_sha1(terms: &[Vec<u8>]) -> u64 {
    terms.iter().map(|term| u64::from(Sha1::digest(term)[0])).sum()
}

fn preflists(subject: &Subject, hashes: &[KeyHash], n: NVal) -> usize {
    let preflist = |hash| subject.ring.preflist(hash, n, &subject.up).expect("n fits").len();
    hashes.iter().map(preflist).sum()
}

fn documents(ring: &Ring) -> usize {
    let json = |result: serde_json::Result<String>| result.expect("JSON").len();
    json(serde_json::to_string(&ClusterPreflist::of(ring)))
        + json(serde_json::to_string(&RingSummary::of(ring, true)))
}

fn decode_and_documents(subject: &Subject) -> usize {
    documents(&Ring::decode(&subject.bytes).expect("a ring"))
}

/// A nursery of as many clusters, whose separators lie among the keys, a few bytes apart.
fn nursery(clusters: usize) -> RoutingTable {
    let cluster = |number: usize| {
        let name = format!("c{number}").parse().expect("a name");
        Cluster::new(name, vec!["http://10.0.0.1:8098".parse().expect("a seed address")])
    };
    let separator = |number: usize| format!("user-{:012}", number * 4096 / clusters);
    let separators = (1..clusters).map(|number| Key::new(separator(number)).expect("short"));
    let clusters = (0..clusters).map(|number| cluster(number).expect("a cluster")).collect();
    RoutingTable::new(clusters, separators.collect()).expect("a table")
}

/// The keys in an order that neither cache nor branch prediction can foresee.
fn shuffled(keys: &[String]) -> Vec<&[u8]> {
    (0..keys.len()).map(|at| keys[at * 1597 % keys.len()].as_bytes()).collect()
}

fn routed(table: &RoutingTable, keys: &[&[u8]]) -> usize {
    keys.iter().map(|key| table.find(key)).sum()
}

fn searched(separators: &[Vec<u8>], keys: &[&[u8]]) -> usize {
    keys.iter().map(|key| separators.partition_point(|separator| &separator[..] <= *key)).sum()
}

/// The best of many short rounds of each, taken in turn and by processor time: what else the
/// machine does hits both.
fn ratio(name: &str, target: f64, mut ours: impl FnMut(), mut reference: impl FnMut()) {
    let (mut best, mut best_reference) = (Duration::MAX, Duration::MAX);
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        best = best.min(time(&mut ours));
        best_reference = best_reference.min(time(&mut reference));
    }
    let ratio = best.as_secs_f64() / best_reference.as_secs_f64();
    let verdict = if ratio <= target { "" } else { "  MISSED" };
    println!(
        "ratio {name}: {ratio:.2} (target <= {target}; {best:?} against \
         {best_reference:?}){verdict}"
    );
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = ThreadTime::now();
    work();
    start.elapsed()
}

/// Keeps a result from being optimised away.
fn spend<T>(result: T) {
    black_box(result);
}

fn main() {
    let n = NVal::new(3).expect("not 0");
    let keys = keys();
    let terms: Vec<Vec<u8>> = keys.iter().map(|key| term(key)).collect();
    let hashes: Vec<KeyHash> =
        keys.iter().map(|key| hash_key(b"default", BUCKET, key.as_bytes(), Keyfun::Std)).collect();
    let (small, middle, large) = (subject(64, 5), subject(256, 7), subject(4096, 60));
    let odd = subject(4095, 60);

    let table = nursery(1000);
    let separators: Vec<Vec<u8>> =
        table.separators().iter().map(|key| key.as_bytes().to_vec()).collect();
    let routes = shuffled(&keys);

    if !std::env::args().any(|argument| argument == "--ratios") {
        let mut criterion =
            Criterion::default().configure_from_args().warm_up_time(Duration::from_secs(1));
        let mut group = criterion.benchmark_group("4096 keys");
        group.bench_function("bare SHA-1", |b| b.iter(|| bare_sha1(black_box(&terms))));
        for (name, subject) in [("64", &small), ("4096", &large), ("4095", &odd)] {
            group.bench_function(format!("hash and primaries, ring of {name}"), |b| {
                b.iter(|| primaries(black_box(&subject.ring), &keys, n));
            });
            group.bench_function(format!("preflist with a node down, ring of {name}"), |b| {
                b.iter(|| preflists(black_box(subject), &hashes, n));
            });
        }
        group.finish();
        let mut group = criterion.benchmark_group("4096 keys in a nursery of 1000 clusters");
        group.bench_function("find", |b| b.iter(|| routed(black_box(&table), &routes)));
        group.bench_function("binary search", |b| {
            b.iter(|| searched(black_box(&separators), &routes));
        });
        group.finish();
        let mut group = criterion.benchmark_group("rings");
        for (name, subject) in [("256", &middle), ("4096", &large)] {
            group.bench_function(format!("decode {name}"), |b| {
                b.iter(|| Ring::decode(black_box(&subject.bytes)))
            });
            group.bench_function(format!("documents {name}"), |b| {
                b.iter(|| documents(black_box(&subject.ring)))
            });
        }
        group.finish();
        criterion.final_summary();
    }

    let sha1 = || spend(bare_sha1(black_box(&terms)));
    let of = |subject: &Subject| spend(primaries(black_box(&subject.ring), &keys, n));
    ratio("hash and primaries to bare SHA-1, ring of 64", 1.5, || of(&small), sha1);
    ratio("hash and primaries to bare SHA-1, ring of 4096", 1.5, || of(&large), sha1);
    ratio("hash and primaries, ring of 4096 to ring of 64", 1.2, || of(&large), || of(&small));
    ratio("hash and primaries, ring of 4095 to ring of 4096", 1.2, || of(&odd), || of(&large));
    let decode = |subject: &Subject| spend(Ring::decode(black_box(&subject.bytes)));
    ratio("decode, ring of 4096 to ring of 256", 20.0, || decode(&large), || decode(&middle));
    let all = |subject: &Subject| spend(decode_and_documents(black_box(subject)));
    ratio(
        "decode and documents, ring of 4096 to ring of 256",
        20.0,
        || all(&large),
        || all(&middle),
    );
    ratio(
        "find in a nursery of 1000 clusters to binary search of its separators",
        1.0,
        || spend(routed(black_box(&table), &routes)),
        || spend(searched(black_box(&separators), &routes)),
    );
}
