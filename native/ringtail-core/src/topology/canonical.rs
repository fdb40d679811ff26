//! The canonical form of a snapshot: the text whose SHA-1 makes the token. Described in
//! `docs/topology.md`.

use std::fmt::Write as _;

use uuid::Uuid;

use super::{ClusterRef, Endpoint, MemberEntry, Protocol, Snapshot, Token, TopologyDigest};
use crate::Ring;

/// Why a text is no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the canonical form of a topology: line {line}: {what}")]
pub struct CanonicalError {
    line: usize,
    what: &'static str,
}

impl CanonicalError {
    /// The code of this error in JSON and Erlang.
    pub fn code(&self) -> &'static str {
        "bad_canonical"
    }
}

const HEADING: &str = "ringtail-topology 1";

impl Snapshot {
    /// The canonical form: one text for one content. Described in `docs/topology.md`.
    pub fn canonical(&self) -> String {
        write(self)
    }

    /// The snapshot that a canonical form describes.
    ///
    /// # Errors
    /// Anything that [`canonical`](Self::canonical) would not have written.
    pub fn parse(canonical: &str) -> Result<Self, CanonicalError> {
        parse(canonical)
    }

    /// The token of a ring: its ordinal, and the digest of its snapshot.
    pub fn token_of(ring: &Ring) -> Token {
        Self::of(ring).token(ring.rvsn_sum())
    }

    /// The token of this snapshot, taken from a ring of that ordinal ([`Ring::rvsn_sum`]).
    pub fn token(&self, ordinal: u64) -> Token {
        Token { ordinal, digest: self.digest() }
    }

    /// What the canonical form hashes to.
    pub fn digest(&self) -> TopologyDigest {
        TopologyDigest::of(&self.canonical())
    }

    /// Whether this snapshot is the content that a token names.
    pub fn is_of(&self, digest: TopologyDigest) -> bool {
        self.digest() == digest
    }
}

fn write(snapshot: &Snapshot) -> String {
    let mut text =
        String::with_capacity(128 + snapshot.members.len() * 128 + snapshot.owners.len() * 3);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{HEADING}");
    let _ = writeln!(text, "cluster {} {}", snapshot.cluster.uuid, Word(&snapshot.cluster.name));
    let _ = writeln!(
        text,
        "ring {} {}",
        snapshot.owners.len(),
        if snapshot.resizing { "resizing" } else { "settled" }
    );
    for member in &snapshot.members {
        let _ = write!(text, "member {} {} {}", member.uuid, member.status, Word(&member.name));
        for endpoint in &member.endpoints {
            let _ =
                write!(text, " {} {} {}", endpoint.protocol, Word(&endpoint.host), endpoint.port);
        }
        text.push('\n');
    }
    text.push_str("owners");
    for owner in &snapshot.owners {
        let _ = write!(text, " {owner}");
    }
    text.push('\n');
    text
}

fn parse(text: &str) -> Result<Snapshot, CanonicalError> {
    let mut lines = Lines { rest: text, line: 0 };
    let heading = lines.next()?;
    if heading != HEADING {
        return Err(lines.refuse("the heading is not \"ringtail-topology 1\""));
    }
    let mut words = lines.next()?.split(' ');
    let cluster = match (
        words.next(),
        words.next().and_then(uuid),
        words.next().and_then(unescape),
        words.next(),
    ) {
        (Some("cluster"), Some(uuid), Some(name), None) => ClusterRef { uuid, name },
        _ => return Err(lines.refuse("expected: cluster UUID NAME")),
    };
    let mut words = lines.next()?.split(' ');
    let size = match (words.next(), words.next().and_then(|size| size.parse::<u32>().ok())) {
        (Some("ring"), Some(size)) => size as usize,
        _ => return Err(lines.refuse("expected: ring SIZE settled|resizing")),
    };
    let resizing = match (words.next(), words.next()) {
        (Some("settled"), None) => false,
        (Some("resizing"), None) => true,
        _ => return Err(lines.refuse("expected: ring SIZE settled|resizing")),
    };
    let mut members = Vec::new();
    let owners = loop {
        let line = lines.next()?;
        if let Some(member) = line.strip_prefix("member ") {
            members.push(parse_member(member).ok_or_else(|| lines.refuse("a malformed member"))?);
        } else if let Some(owners) = line.strip_prefix("owners ") {
            break owners;
        } else {
            return Err(lines.refuse("expected: member or owners"));
        }
    };
    let owners = owners
        .split(' ')
        .map(|owner| owner.parse::<u16>().ok().filter(|&owner| usize::from(owner) < members.len()))
        .collect::<Option<Vec<u16>>>()
        .ok_or_else(|| lines.refuse("an owner is no member's number"))?;
    if owners.len() != size {
        return Err(lines.refuse("the number of owners is not the ring size"));
    }
    if !lines.rest.is_empty() {
        return Err(lines.refuse("text after the owners"));
    }
    let snapshot = Snapshot { cluster, resizing, members, owners };
    // One spelling only: what does not write back to itself would bear another digest.
    if write(&snapshot) == text {
        Ok(snapshot)
    } else {
        Err(lines.refuse("not in canonical spelling"))
    }
}

fn parse_member(line: &str) -> Option<MemberEntry> {
    let mut words = line.split(' ');
    let uuid = uuid(words.next()?)?;
    let status = words.next()?.parse().ok()?;
    let name = unescape(words.next()?)?;
    let mut endpoints = Vec::new();
    while let Some(protocol) = words.next() {
        let protocol = Protocol::named(protocol)?;
        let host = unescape(words.next()?)?;
        let port = words.next()?.parse().ok()?;
        endpoints.push(Endpoint { protocol, host, port });
    }
    Some(MemberEntry { uuid, name, status, endpoints })
}

fn uuid(text: &str) -> Option<Uuid> {
    text.parse().ok()
}

struct Lines<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<&'a str, CanonicalError> {
        self.line += 1;
        let (line, rest) =
            self.rest.split_once('\n').ok_or_else(|| self.refuse("the text ends early"))?;
        self.rest = rest;
        Ok(line)
    }

    fn refuse(&self, what: &'static str) -> CanonicalError {
        CanonicalError { line: self.line, what }
    }
}

/// A word without spaces: bytes outside of `!`..`~`, and `%` itself, in percent notation. Never
/// empty.
struct Word<'a>(&'a str);

impl std::fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_char('%');
        }
        for byte in self.0.bytes() {
            match byte {
                b'!'..=b'~' if byte != b'%' => f.write_char(char::from(byte))?,
                _ => write!(f, "%{byte:02x}")?,
            }
        }
        Ok(())
    }
}

fn unescape(word: &str) -> Option<String> {
    if word == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
