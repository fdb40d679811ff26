//! Rings of any size and shape, for tests, benches and the fuzz target. Not part of a product
//! build.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::etf::tag;
use crate::index::Index;
use crate::ring_builder::{PendingParts, RingParts};
use crate::ring_size::RingSize;
use crate::status::MemberStatus;

/// The four ways to write an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomEncoding {
    /// Latin-1, 16-bit length: what every release up to OTP 25 writes.
    Latin1,
    /// Latin-1, 8-bit length.
    SmallLatin1,
    /// UTF-8, 16-bit length.
    Utf8,
    /// UTF-8, 8-bit length: what OTP 26 and later write.
    SmallUtf8,
}

/// Which record to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// `chstate_v2`.
    Current,
    /// `chstate`, which has no members, claimant, name or pending changes.
    Legacy,
}

/// Writes external term format, tag by tag; whether the whole is a term is the caller's affair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Etf {
    /// What has been written.
    pub bytes: Vec<u8>,
    encoding: AtomEncoding,
}

impl Etf {
    /// Starts with the version byte.
    pub fn new(encoding: AtomEncoding) -> Etf {
        Etf { bytes: vec![tag::VERSION], encoding }
    }

    /// The head of a tuple.
    pub fn tuple(&mut self, arity: u8) -> &mut Etf {
        self.raw(&[tag::SMALL_TUPLE, arity])
    }

    /// The head of a list; its elements and a tail must follow. Nothing at all for an empty list,
    /// whose tail is [`nil`](Etf::nil).
    pub fn list(&mut self, len: usize) -> &mut Etf {
        if len == 0 { self } else { self.raw(&[tag::LIST]).raw(&(len as u32).to_be_bytes()) }
    }

    /// The empty list.
    pub fn nil(&mut self) -> &mut Etf {
        self.raw(&[tag::NIL])
    }

    fn nils(&mut self, count: u64) -> &mut Etf {
        (0..count).fold(self, |out, _| out.nil())
    }

    /// An atom in this writer's encoding. Latin-1 must be able to hold it.
    pub fn atom(&mut self, text: &str) -> &mut Etf {
        let latin1 = || {
            text.chars().map(|c| u8::try_from(c).expect("a Latin-1 character")).collect::<Vec<u8>>()
        };
        let (tag, name) = match self.encoding {
            AtomEncoding::Latin1 => (tag::ATOM, latin1()),
            AtomEncoding::SmallLatin1 => (tag::SMALL_ATOM, latin1()),
            AtomEncoding::Utf8 => (tag::ATOM_UTF8, text.as_bytes().to_vec()),
            AtomEncoding::SmallUtf8 => (tag::SMALL_ATOM_UTF8, text.as_bytes().to_vec()),
        };
        let len = (name.len() as u16).to_be_bytes();
        let wide = matches!(tag, tag::ATOM | tag::ATOM_UTF8);
        self.raw(&[tag]).raw(if wide { &len } else { &len[1..] }).raw(&name)
    }

    /// A number, as short as `term_to_binary/1` writes it.
    pub fn index(&mut self, index: &Index) -> &mut Etf {
        let bytes = index.as_bytes();
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        match &bytes[zeros..] {
            [] => self.raw(&[tag::SMALL_INTEGER, 0]),
            [byte] => self.raw(&[tag::SMALL_INTEGER, *byte]),
            value if value.len() < 4 || (value.len() == 4 && value[0] < 0x80) => {
                self.raw(&[tag::INTEGER]).raw(&bytes[16..])
            }
            value => {
                let little: Vec<u8> = value.iter().rev().copied().collect();
                self.raw(&[tag::SMALL_BIG, little.len() as u8, 0]).raw(&little)
            }
        }
    }

    /// The same from a machine word.
    pub fn integer(&mut self, value: u64) -> &mut Etf {
        let mut bytes = [0; 20];
        bytes[12..].copy_from_slice(&value.to_be_bytes());
        self.index(&Index::from_bytes(bytes))
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Etf {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A vclock of one entry.
    pub fn vclock(&mut self, sum: u64) -> &mut Etf {
        self.list(1).tuple(2).atom("a@b").tuple(2).integer(sum).integer(63_963_195_127).nil()
    }

    /// A `dict` that is empty, or that has Riak's mark of a resize under way.
    pub fn meta(&mut self, resizing: bool) -> &mut Etf {
        let slots = 16;
        self.tuple(9).atom("dict").integer(u64::from(resizing));
        for number in [slots, slots, slots / 2, 5 * slots, 3 * slots] {
            self.integer(number);
        }
        self.tuple(slots as u8);
        self.nils(slots);
        self.tuple(1).tuple(slots as u8);
        self.nils(slots - 1);
        if resizing {
            self.list(1).list(1).atom("$resized_ring");
            self.tuple(3).atom("meta_entry").tuple(2).integer(1).nil().integer(63_963_195_127);
        }
        self.nil()
    }
}

/// A ring of `size` partitions that `nodes` nodes own in turn, all of them valid members.
///
/// # Panics
/// If either number is 0.
pub fn spread(size: u32, nodes: u32) -> RingParts {
    let size = RingSize::new(size).expect("a ring has at least one partition");
    let name = |node: u32| format!("riak{}@10.0.{}.{}", node + 1, node / 250, node % 250 + 1);
    RingParts {
        cluster_name: Some("testing".to_owned()),
        nodename: Some(name(0)),
        claimant: Some(name(0)),
        owners: size
            .positions()
            .map(|position| (size.index_of(position), name(position.0 % nodes)))
            .collect(),
        members: (0..nodes).map(|node| (name(node), MemberStatus::Valid)).collect(),
        pending: Vec::new(),
        rvsn_sum: 1,
        vclock_sum: u64::from(size.get()),
        resizing: false,
    }
}

/// External term format of a ring with these parts, size by the number of owners. The cluster's
/// name becomes an atom.
pub fn encode(parts: &RingParts, record: Record, encoding: AtomEncoding) -> Vec<u8> {
    let undefined = |name: &Option<String>| name.clone().unwrap_or_else(|| "undefined".to_owned());
    let mut out = Etf::new(encoding);
    match record {
        Record::Current => out.tuple(11).atom("chstate_v2"),
        Record::Legacy => out.tuple(5).atom("chstate"),
    };
    out.atom(&undefined(&parts.nodename)).vclock(parts.vclock_sum);
    out.tuple(2).integer(parts.owners.len() as u64).list(parts.owners.len());
    for (index, owner) in &parts.owners {
        out.tuple(2).index(index).atom(owner);
    }
    out.nil().meta(parts.resizing);
    if record == Record::Legacy {
        return out.bytes;
    }
    out.atom(&undefined(&parts.cluster_name)).list(parts.pending.len());
    for PendingParts { index, owner, next_owner, status } in &parts.pending {
        out.tuple(5).index(index).atom(owner).atom(next_owner).nil().atom(status.as_str());
    }
    out.nil().list(parts.members.len());
    for (node, status) in &parts.members {
        out.tuple(2).atom(node).tuple(3).atom(status.as_str()).nil().nil();
    }
    out.nil().atom(&undefined(&parts.claimant)).nil().vclock(parts.rvsn_sum);
    out.bytes
}

/// The same term compressed, as `term_to_binary(Term, [compressed])` writes it.
pub fn compress(term: &[u8]) -> Vec<u8> {
    deflate(&term[1..], term.len() - 1)
}

/// A compressed term of this content and claimed size.
pub fn deflate(content: &[u8], claimed: usize) -> Vec<u8> {
    let mut head = vec![tag::VERSION, tag::COMPRESSED];
    head.extend_from_slice(&(claimed as u32).to_be_bytes());
    let mut encoder = ZlibEncoder::new(head, Compression::default());
    encoder.write_all(content).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}
