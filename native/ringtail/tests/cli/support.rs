//! What the tests share: the executable in an empty directory, and the recorded vectors.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// An empty directory to run the executable in.
pub struct Dir(TempDir);

impl Dir {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// The executable with no variable of the caller's environment.
    pub fn ringtail(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringtail"));
        command.args(args).current_dir(self.0.path()).env_clear().stdin(Stdio::null());
        command
    }

    /// Runs it with nothing on stdin.
    pub fn run(&self, args: &[&str]) -> Output {
        self.ringtail(args).output().unwrap()
    }

    /// Runs it with `input` on stdin.
    pub fn run_with(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = self.ringtail(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // The child may stop reading early, because of an error this test expects.
            scope.spawn(move || drop(stdin.write_all(input)));
            child.wait_with_output().unwrap()
        })
    }

    /// What it prints where it must succeed and say nothing else.
    pub fn says(&self, args: &[&str]) -> String {
        said(self.run(args))
    }

    /// The same with `input` on stdin.
    pub fn says_of(&self, args: &[&str], input: &[u8]) -> String {
        said(self.run_with(args, input))
    }

    /// The JSON document it prints.
    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.says(args)).unwrap()
    }
}

pub fn said(output: Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    assert_eq!(stderr, "");
    String::from_utf8(output.stdout).unwrap()
}

/// The exit status and the text on stderr of a run that must fail.
pub fn complaint(output: &Output) -> (i32, String) {
    let status = output.status.code().expect("ended by itself");
    assert_ne!(status, 0, "{}", String::from_utf8_lossy(&output.stdout));
    (status, String::from_utf8(output.stderr.clone()).unwrap())
}

pub fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/vectors")
}

/// Path of a recorded ring, as an argument.
pub fn ring_file(name: &str) -> String {
    vectors().join(format!("rings/{name}.etf")).to_str().unwrap().to_owned()
}

pub fn ring_names() -> Vec<String> {
    let mut names: Vec<String> = vectors()
        .join("rings")
        .read_dir()
        .unwrap()
        .filter_map(|entry| {
            Some(entry.unwrap().file_name().to_str()?.strip_suffix(".etf")?.to_owned())
        })
        .collect();
    names.sort();
    assert!(names.len() >= 18, "vectors are missing: {names:?}");
    names
}

/// What riak_core says of a recorded ring.
pub fn ring_facts(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(vectors().join(format!("rings/{name}.json"))).unwrap())
        .unwrap()
}

/// Every `step`th line of a file of recorded answers.
pub fn sample(file: &str, step: usize) -> Vec<Value> {
    let text = std::fs::read_to_string(vectors().join(file)).unwrap();
    let lines: Vec<Value> =
        text.lines().step_by(step).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 200, "too few lines in {file}");
    lines
}

/// Recorded names are hexadecimal; arguments are in percent notation.
pub fn percent(hex: &Value) -> String {
    ringtail_core::keys::percent_encode(&bytes(hex))
}

pub fn bytes(hex: &Value) -> Vec<u8> {
    ringtail_core::keys::parse_hex(hex.as_str().unwrap()).unwrap()
}
