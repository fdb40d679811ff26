//! Bad input: each kind has its own message and code, and nothing that was done before it is lost.

use serde_json::Value;

use crate::support::{Dir, complaint, ring_file};

/// Runs it with and without `--json` and checks status, code, and that the message says what to do.
fn refused(dir: &Dir, args: &[&str], status: i32, code: &str, hints: &[&str]) {
    let (said, text) = complaint(&dir.run(args));
    assert_eq!(said, status, "{args:?}: {text}");
    for hint in hints {
        assert!(text.contains(hint), "{args:?}: {hint:?} is not in {text:?}");
    }
    let output = dir.run(&[&["--json"], args].concat());
    assert!(output.stdout.is_empty());
    let (said, text) = complaint(&output);
    assert_eq!(said, status, "{args:?}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(error["error"], code, "{args:?}: {text}");
    for hint in hints {
        assert!(error["message"].as_str().unwrap().contains(hint), "{hint:?} is not in {text}");
    }
}

#[test]
fn files_that_are_no_ring() {
    let dir = Dir::new();
    let ring = std::fs::read(ring_file("spread64x5")).unwrap();
    dir.file("empty", b"");
    dir.file("short", &ring[..ring.len() / 2]);
    dir.file("long", &[&ring[..], b"xx"].concat());
    dir.file("text", b"this is no ring\n");
    dir.file("term", b"\x83\x64\x00\x02ok");
    std::fs::create_dir(dir.path("ring")).unwrap();
    std::fs::write(dir.path("ring/riak_core_ring.default.20260101000000"), &ring).unwrap();
    for (name, code, hint) in [
        ("missing", "file_not_found", "check the path"),
        ("ring", "is_a_directory", "ring/riak_core_ring.default.20260101000000"),
        ("empty", "truncated", "empty"),
        ("short", "truncated", "short"),
        ("long", "trailing_bytes", "2 bytes"),
        ("text", "not_a_ring", "data/ring"),
        ("term", "not_a_ring", "data/ring"),
    ] {
        refused(&dir, &["ring", name], 1, code, &[name, hint]);
        refused(
            &dir,
            &["preflist", "--ring", name, "--bucket", "b", "--key", "k"],
            1,
            code,
            &[name, hint],
        );
        refused(&dir, &["keys", "--ring", name, "--bucket", "b"], 1, code, &[name, hint]);
    }
}

#[test]
fn values_that_make_no_sense() {
    let dir = Dir::new();
    let ring = ring_file("spread8x3");
    let with = |more: &[&'static str]| {
        [&["preflist", "--ring", ring.as_str(), "--bucket", "b"], more].concat()
    };
    for (more, code, hints) in [
        (&["--key", "k", "--n", "0"][..], "n_val_zero", &["--n"][..]),
        (&["--key", "k", "--n", "9"], "n_val_too_large", &["--n", "8"]),
        (&["--key", "k", "--n", "4294967296"], "usage", &["--n"]),
        (&["--key", "k", "--n", "-1"], "usage", &["-1"]),
        (&["--key", "k", "--n", "three"], "usage", &["--n", "three"]),
        (&["--key", "k", "--keyfun", "mine"], "custom_keyfun", &["--keyfun", "bucketonly"]),
        (&["--key", "50%"], "bad_percent", &["--key", "%25"]),
        (&["--key", "%zz"], "bad_percent", &["--key", "%25"]),
        (&["--key", "abc", "--hex"], "odd_hex", &["--key"]),
        (&["--key", "xy", "--hex"], "not_hex", &["--key"]),
        (&["--key", "k", "--type", "%"], "bad_percent", &["--type", "%25"]),
        (
            &["--key", "k", "--down", "riak1@10.0.0.1", "riak@x"],
            "unknown_node",
            &["riak@x", "riak1@10.0.0.1, riak2@"],
        ),
        (&[], "usage", &["--key"]),
        (&["--key", "k", "--no-such"], "usage", &["--no-such"]),
    ] {
        refused(&dir, &with(more), 2, code, hints);
    }
    let keys = |more: &[&'static str]| [&["keys", "--ring", ring.as_str()], more].concat();
    refused(&dir, &keys(&["--bucket", "b", "--n", "0"]), 2, "n_val_zero", &["--n"]);
    refused(&dir, &keys(&["--bucket", "b", "--n", "9"]), 2, "n_val_too_large", &["--n"]);
    refused(&dir, &keys(&["--bucket", "%"]), 2, "bad_percent", &["--bucket"]);
    refused(&dir, &keys(&[]), 2, "usage", &["--bucket"]);
    refused(&dir, &["keys", "--ring", "-", "--bucket", "b"], 2, "stdin_twice", &["file"]);
    refused(&dir, &["ring"], 2, "usage", &["FILE"]);
    refused(&dir, &["rings", &ring], 2, "usage", &["rings"]);
    refused(
        &dir,
        &["ring", &ring, "http://10.0.0.1:8098"],
        2,
        "one_ring_wanted",
        &["URLs of nodes"],
    );
}

#[test]
fn no_command_is_a_usage_error_that_lists_them() {
    let (status, text) = complaint(&Dir::new().run(&[]));
    assert_eq!(status, 2);
    for command in ["ring", "preflist", "keys"] {
        assert!(text.contains(command));
    }
}

#[test]
fn inputs_of_keys_that_cannot_be_read() {
    let dir = Dir::new();
    let ring = ring_file("spread8x3");
    let args = ["keys", "--ring", &ring, "--bucket", "b"];
    refused(&dir, &[&args[..], &["missing"]].concat(), 1, "file_not_found", &["missing"]);
    refused(&dir, &[&args[..], &["."]].concat(), 1, "is_a_directory", &["directory"]);
}

#[test]
fn a_bad_line_is_named_and_the_lines_before_it_are_kept() {
    let dir = Dir::new();
    let ring = ring_file("spread8x3");
    let args = ["keys", "--ring", &ring, "--bucket", "b", "--hex"];
    for (input, code) in [
        (&b"61\n62\n6\n63\n"[..], "odd_hex"),
        (b"61\n62\nxx\n63\n", "not_hex"),
        (b"61\n62\n\xff\xff\n", "not_hex"),
    ] {
        let output = dir.run_with(&args, input);
        let (status, text) = complaint(&output);
        assert_eq!(status, 1);
        assert!(text.contains("line 3"), "{text}");
        let before = dir.says_of(&args, b"61\n62\n");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), before);
        let (_, text) = complaint(&dir.run_with(&[&args[..], &["--json"]].concat(), input));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["error"], code);
    }
}

#[test]
fn a_key_beyond_the_limit_is_named_and_the_keys_before_it_are_kept() {
    let dir = Dir::new();
    let ring = ring_file("spread8x3");
    let args = ["keys", "--ring", &ring, "--bucket", "b", "--null"];
    let input = [&b"first\0"[..], &vec![b'k'; (16 << 20) + 1], b"\0last"].concat();
    let output = dir.run_with(&args, &input);
    let (status, text) = complaint(&output);
    assert_eq!(status, 1);
    for hint in ["key 2", "16 MiB", "newlines"] {
        assert!(text.contains(hint), "{text}");
    }
    assert_eq!(String::from_utf8(output.stdout).unwrap(), dir.says_of(&args, b"first"));
}

#[test]
fn help_and_version_succeed_on_stdout() {
    let dir = Dir::new();
    for args in [
        &["--help"][..],
        &["ring", "--help"],
        &["preflist", "--help"],
        &["keys", "--help"],
        &["help", "keys"],
    ] {
        let text = dir.says(args);
        assert!(text.contains("Usage: ringtail"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        if args.len() == 2 {
            assert!(text.contains("Examples:"), "{text}");
        }
    }
    assert_eq!(dir.says(&["--version"]), format!("ringtail {}\n", env!("CARGO_PKG_VERSION")));
}
