//! Where a node listens, as it publishes it in the ring.

use std::fmt;
use std::net::Ipv6Addr;

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

/// How many endpoints of one node are believed, and how long a host may be: as long as a name in
/// the DNS can be.
const MOST: usize = 64;
const HOST_BYTES: usize = 255;

/// A DNS name, an IPv4 address, or an IPv6 address without brackets. The host becomes part of
/// URLs and of documents, and what other nodes write into the ring is theirs.
fn host(bytes: &[u8]) -> Option<&str> {
    let host = str::from_utf8(bytes).ok().filter(|host| (1..=HOST_BYTES).contains(&host.len()))?;
    let fits = if host.contains(':') {
        host.parse::<Ipv6Addr>().is_ok()
    } else {
        host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    fits.then_some(host)
}

/// What a node published in the ring's member metadata: `{ringtail, 1, [{http | https | pb, Host,
/// Port}]}`, given without the version byte. Sorted, each endpoint once. Whatever else stands
/// there is not ours to judge and means none.
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
    let mut seen = 0;
    while seen < MOST && list.next(cursor)? {
        seen += 1;
        cursor.tuple_of(3, "endpoint", "a tuple of three")?;
        let protocol = Protocol::named(&cursor.atom_in("protocol")?);
        let host = host(cursor.binary_in("host")?);
        let port = cursor.u64_in("port")?;
        // A protocol of a later version is passed over; a host or port that cannot be one, too.
        if let (Some(protocol), Some(host), Ok(port @ 1..)) = (protocol, host, u16::try_from(port))
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
        let mut bytes = [
            vec![104, 3],
            atom("ringtail"),
            vec![97, version, 108, 0, 0, 0, endpoints.len() as u8],
        ]
        .concat();
        for (protocol, host, port) in endpoints {
            bytes.extend(
                [vec![104, 3], atom(protocol), vec![109, 0, 0, 0, host.len() as u8], host.to_vec()]
                    .concat(),
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
            &[
                ("pb", b"::1", 8087),
                ("http", b"10.0.0.1", 9),
                ("pb", b"::1", 8087),
                ("http", b"10.0.0.1", 8),
            ],
        );
        let texts: Vec<String> = published(&bytes)
            .iter()
            .map(|endpoint| format!("{} {}", endpoint.protocol, endpoint.authority()))
            .collect();
        assert_eq!(texts, ["http 10.0.0.1:8", "http 10.0.0.1:9", "pb [::1]:8087"]);
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over() {
        let bytes = term(
            1,
            &[("quic", b"h", 1), ("http", b"h", 0), ("http", b"\xff", 1), ("http", b"h", 1)],
        );
        assert_eq!(
            published(&bytes),
            [Endpoint { protocol: Protocol::Http, host: "h".into(), port: 1 }]
        );
        assert_eq!(published(&term(2, &[("http", b"h", 1)])), []);
    }

    /// A Latin-1 host became a 500 on every other node, and one with a line's end split `Location`.
    #[test]
    fn a_host_that_is_none_is_passed_over() {
        let long = [b'a'; 256];
        for none in [
            &b""[..],
            b"h\xf6st",
            "höst".as_bytes(),
            b"a\r\nSet-Cookie: b",
            b"a b",
            b"h/",
            b"u@h",
            b"[::1]",
            b"h:80",
            b"1::2::3",
            b"fe80::1%eth0",
            b"h?",
            b"h#",
            b"h%41",
            &long,
        ] {
            assert!(host(none).is_none(), "{none:?}");
        }
        for some in [
            &b"riak_1.example"[..],
            b"10.0.0.1",
            b"::1",
            b"fd00::1",
            b"::ffff:10.0.0.1",
            &long[1..],
        ] {
            assert!(host(some).is_some(), "{some:?}");
        }
    }

    #[test]
    fn of_very_many_endpoints_the_first_are_believed() {
        let many: Vec<(&str, &[u8], u16)> =
            (1..=200).map(|port| ("http", &b"h"[..], port)).collect();
        assert_eq!(published(&term(1, &many)).len(), MOST);
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
