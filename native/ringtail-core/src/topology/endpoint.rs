//! Where a node listens, as it publishes it in the ring.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::DecodeError;
use crate::etf::{Cursor, List};

/// What is spoken at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Riak's HTTP interface.
    Http,
    /// The same over TLS.
    Https,
    /// Riak's Protocol Buffers interface.
    Pb,
}

impl Protocol {
    /// Its name in documents and in the ring.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Pb => "pb",
        }
    }

    /// The protocol of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Http, Self::Https, Self::Pb].into_iter().find(|protocol| protocol.name() == name)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One listener of a node. The host of an IPv6 listener bears no brackets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// What is spoken there.
    pub protocol: Protocol,
    /// Name or address, never with a port.
    pub host: String,
    /// TCP port, 1 to 65535.
    pub port: u16,
}

impl Endpoint {
    /// `host:port` as a URL wants it, with brackets round an IPv6 address.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// What a node published in the ring's member metadata: `{ringtail, 1, [{http | https | pb, Host, Port}]}`, given without
/// the version byte. Sorted, each endpoint once. Whatever else stands there is not ours to judge and means none.
pub(super) fn published(term: &[u8]) -> Vec<Endpoint> {
    let mut endpoints = read(&mut Cursor::new(term, 0)).ok().flatten().unwrap_or_default();
    endpoints.sort_unstable();
    endpoints.dedup();
    endpoints
}

fn read(cursor: &mut Cursor<'_>) -> Result<Option<Vec<Endpoint>>, DecodeError> {
    if cursor.tuple()? != Some(3)
        || cursor.atom()?.as_deref() != Some("ringtail")
        || cursor.u64_in("version")? != 1
    {
        return Ok(None);
    }
    let mut endpoints = Vec::new();
    let mut list = List::enter(cursor, "endpoints")?;
    while list.next(cursor)? {
        cursor.tuple_of(3, "endpoint", "a tuple of three")?;
        let protocol = Protocol::named(&cursor.atom_in("protocol")?);
        let host = cursor.binary_in("host")?;
        let port = cursor.u64_in("port")?;
        // A protocol of a later version is passed over; a host or port that cannot be one, too.
        if let (Some(protocol), Ok(host), Ok(port @ 1..)) =
            (protocol, str::from_utf8(host), u16::try_from(port))
        {
            endpoints.push(Endpoint { protocol, host: host.to_owned(), port });
        }
    }
    Ok(Some(endpoints))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(version: u8, endpoints: &[(&str, &[u8], u16)]) -> Vec<u8> {
        let atom = |name: &str| [&[119, name.len() as u8], name.as_bytes()].concat();
        let mut bytes =
            [vec![104, 3], atom("ringtail"), vec![97, version, 108, 0, 0, 0, endpoints.len() as u8]].concat();
        for (protocol, host, port) in endpoints {
            bytes.extend(
                [vec![104, 3], atom(protocol), vec![109, 0, 0, 0, host.len() as u8], host.to_vec()].concat(),
            );
            bytes.extend([vec![98, 0, 0], port.to_be_bytes().to_vec()].concat());
        }
        bytes.push(106);
        bytes
    }

    #[test]
    fn endpoints_come_sorted_and_once() {
        let bytes = term(
            1,
            &[("pb", b"::1", 8087), ("http", b"10.0.0.1", 9), ("pb", b"::1", 8087), ("http", b"10.0.0.1", 8)],
        );
        let texts: Vec<String> = published(&bytes)
            .iter()
            .map(|endpoint| format!("{} {}", endpoint.protocol, endpoint.authority()))
            .collect();
        assert_eq!(texts, ["http 10.0.0.1:8", "http 10.0.0.1:9", "pb [::1]:8087"]);
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over() {
        let bytes = term(1, &[("quic", b"h", 1), ("http", b"h", 0), ("http", b"\xff", 1), ("http", b"h", 1)]);
        assert_eq!(published(&bytes), [Endpoint { protocol: Protocol::Http, host: "h".into(), port: 1 }]);
        assert_eq!(published(&term(2, &[("http", b"h", 1)])), []);
    }

    #[test]
    fn anything_else_means_none() {
        let whole = term(1, &[("http", b"h", 1)]);
        for end in 0..whole.len() {
            assert_eq!(published(&whole[..end]), [], "cut at {end}");
        }
        for other in [&[106][..], &[97, 1], &[104, 0], &[131, 106]] {
            assert_eq!(published(other), []);
        }
    }
}
