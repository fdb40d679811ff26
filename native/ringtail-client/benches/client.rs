//! Speed as ratios against a reference measured in the same run. `cargo bench -p ringtail-client`
//! prints Criterion's figures and then one line for each ratio; `cargo bench -p ringtail-client --
//! --ratios` only the latter.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use criterion::Criterion;
use ringtail_client::{Client, Config, Content, Fetched, Metadata, ObjectName};
use ringtail_core::topology::{Snapshot, cluster_uuid, node_uuid};
use ringtail_testcluster::{Cluster, Layout, StandIn};

const CHOICES: usize = 100_000;

fn names() -> Vec<ObjectName> {
    (0..1024).map(|number| ObjectName::new("users", format!("user-{number:012}"))).collect()
}

fn choose(client: &Client, names: &[ObjectName]) {
    for at in 0..CHOICES {
        black_box(client.choose(&names[at % names.len()]).expect("a choice"));
    }
}

/// Processor time of one choice, the best of some rounds, on so many threads at once. What threads
/// keep from each other costs processor time; what else the machine does does not.
fn choosing(client: &Client, names: &[ObjectName], threads: usize) -> Duration {
    let rounds = (0..20).map(|_| {
        let barrier = Barrier::new(threads);
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let start = ThreadTime::now();
                        choose(client, names);
                        start.elapsed()
                    })
                })
                .collect();
            running.into_iter().map(|thread| thread.join().expect("a thread ends")).max()
        })
    });
    rounds.flatten().min().expect("there are rounds") / CHOICES as u32
}

/// A kept connection and what is sent over it: as little as a GET can do.
struct Bare {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
    length: usize,
}

impl Bare {
    /// To the node that the client chooses, the only primary of the object.
    fn new(client: &Client, name: &ObjectName) -> Self {
        let view = client.view();
        let node = client.choose(name).expect("a choice").expect("a primary");
        let endpoint = &view.snapshot().member(node).expect("a member").endpoints[0];
        let mut stream =
            TcpStream::connect((endpoint.host.as_str(), endpoint.port)).expect("the node listens");
        stream.set_nodelay(true).expect("a socket has options");
        let uuid = view.snapshot().cluster().uuid;
        let key = String::from_utf8_lossy(name.key());
        let request = format!(
            "GET /riak/primary/clusters/{uuid}/types/n1/buckets/b/keys/{key}?timeout=30000 \
             HTTP/1.1\r\nHost: {}\r\nAccept: multipart/mixed, */*;q=0.5\r\n\
             X-Ringtail-Route: local\r\n\r\n",
            endpoint.authority()
        );
        stream.write_all(request.as_bytes()).expect("a connection");
        // The first answer tells how long all of them are.
        let mut answer = vec![0; 64 * 1024];
        let mut length = 0;
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket has options");
        while let Ok(read @ 1..) = stream.read(&mut answer[length..]) {
            length += read;
        }
        stream.set_read_timeout(None).expect("a socket has options");
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&answer[..length])
        );
        Self { stream, request: request.into_bytes(), answer, length }
    }

    fn get(&mut self) {
        self.stream.write_all(&self.request).expect("a connection");
        self.stream.read_exact(&mut self.answer[..self.length]).expect("the same answer");
    }
}

/// Prints the ratio for objects of some sizes.
fn compare(client: &Client, what: &str, target: &str, rounds: usize) {
    for (size, bytes) in [("100-B", 100), ("10-KiB", 10 * 1024)] {
        // Of its own for each size: a second write without a vclock would make a sibling.
        let name = ObjectName::new("b", size).of_type("n1");
        let content = vec![7; bytes];
        client
            .put(
                &name,
                &Metadata::of_type("text/plain"),
                Content::Bytes(&content),
                &Default::default(),
            )
            .expect("stored");
        let mut bare = Bare::new(client, &name);
        let (ours, reference) = quartiles(rounds, || get(client, &name), || bare.get());
        let ratio = ours.as_secs_f64() / reference.as_secs_f64();
        println!(
            "ratio get-{size}-{what}/bare-connection {ratio:.2} \
             ({target}; {ours:?} and {reference:?})"
        );
    }
}

/// A cluster of stand-in Riak nodes with the application, and a client of it that has seen all of
/// them.
fn standin() -> (StandIn, Client) {
    let mut standin = StandIn::start();
    let nodes = standin.nodes();
    nodes.iter().for_each(|(node, _)| standin.begin(node));
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if let Ok(client) = Client::connect(Config::new([&nodes[0].1]).expect("a seed")) {
            let view = client.refresh(Duration::from_secs(1));
            if view.snapshot().members().iter().all(|member| !member.endpoints.is_empty()) {
                return (standin, client);
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("the stand-in's nodes do not publish their endpoints");
}

fn get(client: &Client, name: &ObjectName) {
    match client.get(name, &Default::default()) {
        Ok(Fetched::Object(object)) => drop(black_box(object)),
        other => panic!("{other:?}"),
    }
}

/// The lower quartiles of many of each, taken in turn: what else the machine does makes the upper
/// half.
fn quartiles(
    rounds: usize,
    mut ours: impl FnMut(),
    mut reference: impl FnMut(),
) -> (Duration, Duration) {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(time(&mut ours));
        other.push(time(&mut reference));
    }
    one.sort_unstable();
    other.sort_unstable();
    (one[one.len() / 4], other[other.len() / 4])
}

/// Two snapshots of 1024 partitions and 16 nodes; in the second, one node has another port.
fn snapshots() -> (Snapshot, Snapshot) {
    let uuid = cluster_uuid("bench");
    let snapshot = |port: u16| {
        let mut text = format!("ringtail-topology 1\ncluster {uuid} bench\nring 1024 settled\n");
        for at in 10..26 {
            let name = format!("riak@10.0.0.{at}");
            let port = if at == 17 { port } else { 8098 };
            text += &format!(
                "member {} valid {name} http 10.0.0.{at} {port} pb 10.0.0.{at} 8087\n",
                node_uuid(uuid, &name)
            );
        }
        text += "owners";
        (0..1024).for_each(|at| text += &format!(" {}", at % 16));
        Snapshot::parse(&(text + "\n")).expect("canonical")
    };
    (snapshot(8098), snapshot(9098))
}

fn difference((before, after): &(Snapshot, Snapshot)) -> Vec<u8> {
    let up = after.members().iter().map(|member| member.uuid).collect();
    let difference =
        before.difference(before.token(7), after, after.token(7), up).expect("of one cluster");
    serde_json::to_vec(&difference).expect("JSON")
}

fn main() {
    let cluster = Cluster::with(Layout { nodes: 8, ring_size: 1024, ..Layout::default() });
    let client =
        Client::connect(Config::new([cluster.url(0)]).expect("a seed")).expect("a cluster");
    let names = names();
    let snapshots = snapshots();
    choose(&client, &names);

    if !std::env::args().any(|argument| argument == "--ratios" || argument == "--test") {
        let mut criterion = Criterion::default().sample_size(20).configure_from_args();
        let mut at = 0;
        criterion.bench_function("choose a node", |bencher| {
            bencher.iter(|| {
                at = (at + 1) % names.len();
                client.choose(&names[at])
            });
        });
        criterion.bench_function("difference for one changed member, 1024 partitions", |bencher| {
            bencher.iter(|| difference(&snapshots));
        });
        criterion.final_summary();
    }

    let one = choosing(&client, &names, 1);
    let two = choosing(&client, &names, 2);
    println!(
        "ratio choose-a-node/1us {:.2} (at most 1; {} ns)",
        one.as_nanos() as f64 / 1000.0,
        one.as_nanos()
    );
    let scaling = 2.0 * one.as_secs_f64() / two.as_secs_f64();
    println!("ratio choose-2-threads/1-thread {scaling:.2} (at least 1.8)");

    // In-process nodes that do nothing but answer show what the client costs; nodes with an object
    // store, what that matters.
    compare(&client, "from-a-node-that-does-nothing", "informs", 10_000);
    let (_standin, client) = standin();
    compare(&client, "from-a-stand-in", "at most 1.1", 3_000);

    let document = difference(&snapshots);
    println!(
        "ratio difference-bytes/2KiB {:.2} (at most 1; {} bytes)",
        document.len() as f64 / 2048.0,
        document.len()
    );
    let start = ThreadTime::now();
    (0..200).for_each(|_| drop(black_box(difference(&snapshots))));
    let time = start.elapsed() / 200;
    println!("ratio difference-time/1ms {:.3} (at most 1; {time:?})", time.as_secs_f64() * 1000.0);
}
