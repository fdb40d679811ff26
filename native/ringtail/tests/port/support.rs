//! The executable as a port, and frames to and from it by another implementation of the external
//! term format.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use eetf::{Atom, BigInteger, Binary, FixInteger, List, Term, Tuple};

pub struct Port {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    stdout: ChildStdout,
}

impl Port {
    pub fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ringtail"))
            .arg("port")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn send(&mut self, term: Term) {
        self.send_bytes(&frame(term));
    }

    pub fn call(&mut self, id: u64, operation: &str, arguments: Vec<Term>) {
        self.send(tuple(vec![number(id), atom(operation), tuple(arguments)]));
    }

    /// The next frame: id, kind, value.
    pub fn receive(&mut self) -> (u64, String, Term) {
        let mut length = [0; 4];
        self.stdout.read_exact(&mut length).unwrap();
        let mut content = vec![0; u32::from_be_bytes(length) as usize];
        self.stdout.read_exact(&mut content).unwrap();
        let Term::Tuple(Tuple { elements }) = Term::decode(&content[..]).unwrap() else {
            panic!("no tuple")
        };
        let [id, kind, value]: [Term; 3] = elements.try_into().unwrap();
        let Term::Atom(kind) = kind else { panic!("no atom") };
        (u64_of(&id), kind.name, value)
    }

    /// The answer to a call that is the only one.
    pub fn answer(
        &mut self,
        operation: &str,
        arguments: Vec<Term>,
    ) -> Result<Term, (String, String)> {
        self.call(1, operation, arguments);
        result(self.receive())
    }

    /// How it ended, and what it said.
    pub fn ended(mut self, within: Duration) -> (ExitStatus, String) {
        let end = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let mut said = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                return (status, said);
            }
            if Instant::now() > end {
                self.child.kill().unwrap();
                panic!("still running");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

pub fn result((id, kind, value): (u64, String, Term)) -> Result<Term, (String, String)> {
    assert_eq!(id, 1);
    match (kind.as_str(), value) {
        ("ok", value) => Ok(value),
        ("error", value) => Err(error(&value)),
        (other, _) => panic!("{other}"),
    }
}

pub fn error(value: &Term) -> (String, String) {
    let [code, detail] = elements(value) else { panic!("{value} is no error") };
    (text(code), text(detail))
}

pub fn frame(term: Term) -> Vec<u8> {
    let mut content = Vec::new();
    term.encode(&mut content).unwrap();
    [&(content.len() as u32).to_be_bytes()[..], &content].concat()
}

pub fn number(number: u64) -> Term {
    match i32::try_from(number) {
        Ok(number) => FixInteger::from(number).into(),
        Err(_) => BigInteger::from(number).into(),
    }
}

pub fn u64_of(term: &Term) -> u64 {
    match term {
        Term::FixInteger(small) => small.value as u64,
        Term::BigInteger(big) => u64::try_from(&big.value).unwrap(),
        other => panic!("{other} is no number"),
    }
}

pub fn atom(name: &str) -> Term {
    Atom::from(name).into()
}

pub fn binary(bytes: impl AsRef<[u8]>) -> Term {
    Binary::from(bytes.as_ref()).into()
}

pub fn tuple(elements: Vec<Term>) -> Term {
    Tuple::from(elements).into()
}

pub fn list(elements: Vec<Term>) -> Term {
    List::from(elements).into()
}

pub fn elements(term: &Term) -> &[Term] {
    match term {
        Term::Tuple(tuple) => &tuple.elements,
        Term::List(list) => &list.elements,
        other => panic!("{other} has no elements"),
    }
}

pub fn bytes(term: &Term) -> &[u8] {
    match term {
        Term::Binary(binary) => &binary.bytes,
        other => panic!("{other} is no binary"),
    }
}

pub fn text(term: &Term) -> String {
    String::from_utf8(bytes(term).to_vec()).unwrap()
}
