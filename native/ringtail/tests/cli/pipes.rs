//! Streams: readers that leave early, outputs that are full, inputs without end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

use crate::support::{Dir, complaint, ring_file};

/// Lets it write until a line is read, closes the pipe, and gives its status and stderr.
fn leave_early(mut child: Child) -> (Option<i32>, String) {
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(!line.is_empty());
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let dir = Dir::new();
    let ring = ring_file("spread4096x60");
    dir.file("keys", "some key\n".repeat(200_000).as_bytes());
    for args in [
        &["keys", "--ring", &ring, "--bucket", "b", "keys"][..],
        &["keys", "--ring", &ring, "--bucket", "b", "keys", "--json"],
        &["ring", &ring, "--owners"],
    ] {
        let mut command = dir.ringtail(args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(leave_early(child), (Some(0), String::new()), "{args:?}");
    }
}

#[test]
fn a_pipe_closed_before_the_first_byte_is_no_error() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    for args in [&["ring", &ring][..], &["ring", &ring, "--json"], &["--help"], &["--version"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = dir.ringtail(args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn an_error_with_stderr_closed_keeps_its_status() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = Dir::new().ringtail(&["ring", "missing"]).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_full_disk_is_an_error() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output =
        dir.ringtail(&["ring", &ring]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    let (status, text) = complaint(&output);
    assert_eq!(status, 1);
    assert!(text.contains("cannot write the output"), "{text}");
}

/// Most memory the process has had so far, in KiB.
fn peak_memory(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn memory_does_not_grow_with_the_input() {
    const SMALL: usize = 4 << 20;
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let chunk = format!("{}\n", "k".repeat(1023)).repeat(1024);
    // Where keys hash makes no difference to memory, so the slow hash of an unoptimised build is
    // left out.
    for (extra, large) in
        [(None, 200 << 20), (Some("--count"), 40 << 20), (Some("--json"), 40 << 20)]
    {
        let mut command =
            dir.ringtail(&["keys", "--ring", &ring, "--bucket", "b", "--keyfun", "bucketonly"]);
        let mut child =
            command.args(extra).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut written = 0;
        let mut after_small = 0;
        while written < large {
            stdin.write_all(chunk.as_bytes()).unwrap();
            written += chunk.len();
            if after_small == 0 && written >= SMALL {
                after_small = peak_memory(&child);
            }
        }
        let after_large = peak_memory(&child);
        drop(stdin);
        assert!(child.wait().unwrap().success());
        assert!(
            after_large <= after_small + 256,
            "{extra:?}: from {after_small} to {after_large} KiB"
        );
        assert!(after_large < 32 << 10, "{extra:?}: {after_large} KiB");
    }
}

#[test]
fn a_key_arrives_before_the_input_ends() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let mut command = dir.ringtail(&["keys", "--ring", &ring, "--bucket", "b"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(b"first\nsecond").unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.starts_with("first\t"));
    drop(stdin);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with("second\t") && rest.ends_with('\n'));
    assert!(child.wait().unwrap().success());
}
