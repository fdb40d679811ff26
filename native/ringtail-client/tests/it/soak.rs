//! Many threads while the ring keeps changing. `SOAK_SECONDS` makes it longer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringtail_client::{Content, Fetched, ObjectName};
use ringtail_testcluster::Cluster;

use super::{client, text};

#[test]
fn sixty_four_threads_while_the_ring_changes_every_300_ms() {
    let seconds =
        std::env::var("SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let cluster = Cluster::start(4);
    let client = client(&cluster);
    let over = AtomicBool::new(false);
    let (requests, failures, changes) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..64 {
            let (client, over, requests, failures) = (&client, &over, &requests, &failures);
            scope.spawn(move || {
                let mut at = 0u32;
                while !over.load(Ordering::Relaxed) {
                    at += 1;
                    let name = ObjectName::new("b", format!("{thread}-{}", at % 50)).of_type("n1");
                    let content = at.to_be_bytes();
                    let stored =
                        client.put(&name, &text(), Content::Bytes(&content), &Default::default());
                    let read = client.get(&name, &Default::default());
                    let right =
                        matches!(&read, Ok(Fetched::Object(object)) if object.content == content);
                    if stored.is_err() || !right {
                        failures.fetch_add(1, Ordering::Relaxed);
                        eprintln!("{stored:?} {read:?}");
                    }
                    requests.fetch_add(2, Ordering::Relaxed);
                }
            });
        }
        let mut joined = None;
        while start.elapsed() < Duration::from_secs(seconds) {
            std::thread::sleep(Duration::from_millis(300));
            match (changes.fetch_add(1, Ordering::Relaxed) % 3, joined) {
                (0, _) => cluster.rotate(),
                (1, None) => joined = Some(cluster.join()),
                (1, Some(node)) => {
                    cluster.leave(node);
                    joined = None;
                }
                _ => cluster.assign(&[0, 1, 2, 3]),
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let elapsed = start.elapsed().as_secs_f64();
    let stats = client.stats();
    let changes = changes.load(Ordering::Relaxed);
    eprintln!(
        "{} requests, {changes} changes in {elapsed:.1} s: {stats:?}",
        requests.load(Ordering::Relaxed)
    );
    assert_eq!(failures.load(Ordering::Relaxed), 0);
    assert!(
        stats.refreshes as f64 <= elapsed * 10.0 + 1.0,
        "at most ten refreshes a second: {stats:?}"
    );
    assert!(stats.misdirections <= changes * 64, "at most one a change and thread: {stats:?}");
    let hits = stats.hits as f64 / requests.load(Ordering::Relaxed) as f64;
    assert!(hits > 0.5, "most requests go right at once: {hits}");
}
