//! How much `ringtail keys` costs over what it cannot do without: the hash of every key.
//!
//! Both are measured in this run, in turn, so that a busy machine troubles both alike; the best
//! round of each counts. The reference hashes the same keys from memory, where they lie one after
//! another as in the file.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ringtail_core::{Keyfun, hash_key};

fn main() {
    // `cargo test --benches` only wants to know whether it runs.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let (count, rounds) = if quick { (1_000, 1) } else { (2_000_000, 7) };
    let text: String = (0..count).map(|i| format!("user:{i:08}:profile\n")).collect();
    let keys: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("keys");
    std::fs::write(&file, &text).expect("room for the keys");

    let cases: Vec<(&str, Option<&str>)> = ["spread64x5", "spread4096x60"]
        .into_iter()
        .flat_map(|ring| [None, Some("--count"), Some("--json")].map(|extra| (ring, extra)))
        .collect();
    let mut hashing = Duration::MAX;
    let mut placing = vec![Duration::MAX; cases.len()];
    for _ in 0..rounds {
        for (best, &(ring, extra)) in placing.iter_mut().zip(&cases) {
            hashing = hashing.min(time(|| hash(&keys)));
            *best = (*best).min(time(|| place(ring, &file, extra)));
        }
    }

    if quick {
        return;
    }
    println!("hashing {count} keys alone: {hashing:.1?}");
    for (best, (ring, extra)) in placing.iter().zip(cases) {
        let ratio = best.as_secs_f64() / hashing.as_secs_f64();
        let command = extra.map_or("keys".to_owned(), |extra| format!("keys {extra}"));
        println!(
            "ratio {command} of a file vs hashing alone, ring {ring}: {ratio:.2} (target <= 4)"
        );
    }
}

fn hash(keys: &[&[u8]]) {
    for key in keys {
        black_box(hash_key(b"default", b"users", black_box(key), Keyfun::Std));
    }
}

fn place(ring: &str, keys: &Path, extra: Option<&str>) {
    let ring = format!("{}/../../test/vectors/rings/{ring}.etf", env!("CARGO_MANIFEST_DIR"));
    let status = Command::new(env!("CARGO_BIN_EXE_ringtail"))
        .args(["keys", "--ring", &ring, "--bucket", "users"])
        .args(extra)
        .arg(keys)
        .stdout(Stdio::null())
        .status()
        .expect("the executable runs");
    assert!(status.success());
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
