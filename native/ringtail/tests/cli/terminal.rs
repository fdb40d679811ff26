//! What a person sees: the same commands with a pseudo-terminal in place of the pipe.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{Dir, ring_file};

/// Both ends of a pseudo-terminal of 120 columns.
pub fn terminal() -> (File, File) {
    let master: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let size = rustix::termios::Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&master, size).unwrap();
    let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    (master.into(), slave)
}

/// All that is written to a terminal until its last writer is gone, which Linux reports as an
/// error.
pub fn screen(mut master: File) -> String {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    loop {
        match master.read(&mut part) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

fn seen(mut command: Command) -> String {
    let (master, slave) = terminal();
    let mut child = command.stdout(slave).stderr(Stdio::inherit()).spawn().unwrap();
    // The command keeps the terminal open for as long as it may spawn again.
    drop(command);
    let text = screen(master);
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

#[test]
fn a_ring_is_shown_in_aligned_tables() {
    let dir = Dir::new();
    let text = seen(dir.ringtail(&["ring", &ring_file("live_leaving"), "--owners"]));
    assert!(!text.contains('\t'));
    assert!(text.contains("Ring size     64\n"), "{text}");
    assert!(text.contains("Pending transfers: 46\n"), "{text}");
    assert!(text.contains("leaving"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("MEMBER")).unwrap();
    let column = lines[head].find("STATUS").unwrap();
    for line in &lines[head + 1..head + 5] {
        assert_eq!(&line[column - 2..column], "  ", "{line}");
        assert_ne!(&line[column..=column], " ", "{line}");
    }
    assert!(seen(dir.ringtail(&["ring", &ring_file("single8")])).contains("No pending transfers."));
}

#[test]
fn a_preflist_is_shown_with_what_was_asked_and_which_primaries_are_down() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let args = ["preflist", "--ring", &ring, "--bucket", "b", "--key", "a%00"];
    let first = dir.json(&[&args[..], &["--json"]].concat())["preflist"][0]["node"]
        .as_str()
        .unwrap()
        .to_owned();
    let text = seen(dir.ringtail(&[&args[..], &["--down", &first]].concat()));
    for part in [
        "Key          a%00\n",
        "NODE",
        "primary",
        "fallback",
        &format!("Primaries that are down: {first}\n"),
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!seen(dir.ringtail(&args)).contains("down"));
}

#[test]
fn keys_are_shown_in_columns_and_counts_in_a_table() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    dir.file("keys", b"one\ntwo\n");
    let text = seen(dir.ringtail(&["keys", "--ring", &ring, "--bucket", "b", "keys"]));
    let starts: Vec<&str> =
        text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(starts, ["KEY", "one", "two"]);
    assert!(!text.contains('\t'));
    let text = seen(dir.ringtail(&["keys", "--ring", &ring, "--bucket", "b", "keys", "--count"]));
    assert!(text.starts_with("NODE"), "{text}");
    assert_eq!(
        text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["total", "2", "2", "6"]
    );
}

#[test]
fn json_stays_json_on_a_terminal() {
    let dir = Dir::new();
    let text = seen(dir.ringtail(&["ring", &ring_file("single8"), "--json"]));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["ring_size"], 8);
}

/// What the command shows on a terminal that is its stderr while stdout goes elsewhere.
fn bar(dir: &Dir, args: &[&str], stdin: Stdio) -> String {
    let (master, slave) = terminal();
    let mut command = dir.ringtail(args);
    command.env("TERM", "xterm").stdin(stdin).stdout(Stdio::null()).stderr(slave);
    let mut child = command.spawn().unwrap();
    drop(command);
    let text = screen(master);
    assert!(child.wait().unwrap().success());
    text
}

#[test]
fn a_progress_bar_is_shown_for_a_file_only() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let keys = dir.file("keys", format!("{}\n", "k".repeat(1023)).repeat(2048).as_bytes());
    let args = ["keys", "--ring", &ring, "--bucket", "b", "--keyfun", "bucketonly"];
    for extra in [&["keys"][..], &["keys", "--count"]] {
        assert!(bar(&dir, &[&args[..], extra].concat(), Stdio::null()).contains("MiB"));
    }
    assert!(
        bar(&dir, &args, File::open(&keys).unwrap().into()).contains("MiB"),
        "a redirected file is a file"
    );
    dir.file("few", b"some key\n");
    assert_eq!(bar(&dir, &[&args[..], &["few"]].concat(), Stdio::null()), "");
    let (reader, mut writer) = io::pipe().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || writer.write_all(&b"key\n".repeat(10_000)).unwrap());
        assert_eq!(bar(&dir, &args, reader.into()), "");
    });
}

#[test]
fn keys_typed_at_a_terminal_are_answered_one_by_one() {
    let dir = Dir::new();
    let ring = ring_file("spread64x5");
    let (mut master, slave) = terminal();
    let mut command = dir.ringtail(&["keys", "--ring", &ring, "--bucket", "b"]);
    let mut child =
        command.stdin(slave).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    let mut stdout = io::BufReader::new(child.stdout.take().unwrap());
    for key in ["first", "second"] {
        writeln!(master, "{key}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{key}\t")), "{line}");
    }
    master.write_all(b"\x04").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("Ctrl-D ends"));
}
