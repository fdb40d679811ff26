//! What an Erlang VM asks about rings, keys and topologies, checked argument by argument, so that a
//! wrong one is named instead of a bare `badarg`.
//!
//! The NIF and the companion are asked alike and refuse alike. Each has terms of a kind of its own,
//! of which all that matters here is what can be read from them ([`Argument`]).
//!
//! What every call for a key needs is inlined into each: to a NIF the calls, and the results passed
//! through memory, are a twentieth of what it takes.

use serde::Serialize;
use thiserror::Error;
use uuid::Uuid;

use crate::document::{ClusterPreflist, KeyPreflist, RingSummary};
use crate::error::DecodeError;
use crate::index::{KeyHash, NVal, NValError};
use crate::keys::{Keyfun, hash_key};
use crate::node::NodeId;
use crate::preflist::UpNodes;
use crate::ring::Ring;
use crate::term;
use crate::topology::{CanonicalError, Snapshot, Token, TokenError, TopologyDigest};

/// Why a question is not answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// An argument has the wrong type or is out of range: its name and what was expected.
    #[error("{0} must be {1}")]
    Argument(&'static str, &'static str),
    /// The bytes are no ring.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The n_val does not fit the ring.
    #[error(transparent)]
    NVal(#[from] NValError),
    /// The text is no topology token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The text is no canonical form of a topology.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Refusal {
    /// What Erlang sees as an atom: `bad_argument`, or the error's own.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Argument(..) => "bad_argument",
            Self::Decode(error) => error.code(),
            Self::NVal(error) => error.code(),
            Self::Token(error) => error.code(),
            Self::Canonical(error) => error.code(),
        }
    }
}

macro_rules! words {
    ($($word:ident = $text:literal,)*) => {
        /// An atom that means something as an argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Word {
            $(#[doc = $text] $word,)*
        }

        impl Word {
            /// The atom's text.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }
        }
    };
}

words! {
    Std = "std",
    BucketOnly = "bucketonly",
    All = "all",
    ClusterPreflist = "cluster_preflist",
    RingSummary = "ring_summary",
    RingSummaryOwners = "ring_summary_owners",
    Preflist = "preflist",
    Primaries = "primaries",
}

/// A term from Erlang.
pub trait Argument<'a>: Sized {
    /// The elements of a list.
    type Elements: ExactSizeIterator<Item = Self>;

    /// The bytes of a binary, not copied.
    fn binary(&self) -> Option<&'a [u8]>;

    /// A number from 0 to 2^32 - 1.
    fn number(&self) -> Option<u32>;

    /// Whether it is that atom.
    fn is(&self, word: Word) -> bool;

    /// A proper list.
    fn elements(&self) -> Option<Self::Elements>;

    /// A tuple of three.
    fn triple(&self) -> Option<[Self; 3]>;
}

impl<'a> Argument<'a> for term::Term<'a> {
    type Elements = term::Elements<'a>;

    fn binary(&self) -> Option<&'a [u8]> {
        term::Term::binary(self)
    }

    fn number(&self) -> Option<u32> {
        self.u64().and_then(|number| u32::try_from(number).ok())
    }

    fn is(&self, word: Word) -> bool {
        self.is_atom(word.as_str())
    }

    fn elements(&self) -> Option<term::Elements<'a>> {
        self.list()
    }

    fn triple(&self) -> Option<[Self; 3]> {
        self.tuple()
    }
}

/// A binary.
#[inline(always)]
pub fn bytes<'a>(term: &impl Argument<'a>, name: &'static str) -> Result<&'a [u8], Refusal> {
    term.binary().ok_or(Refusal::Argument(name, "a binary"))
}

/// `std` or `bucketonly`.
#[inline(always)]
pub fn keyfun<'a>(term: &impl Argument<'a>) -> Result<Keyfun, Refusal> {
    if term.is(Word::Std) {
        Ok(Keyfun::Std)
    } else if term.is(Word::BucketOnly) {
        Ok(Keyfun::BucketOnly)
    } else {
        Err(Refusal::Argument("keyfun", "std or bucketonly"))
    }
}

/// The n_val; that it fits the ring is for the ring to say.
#[inline(always)]
pub fn n_val<'a>(term: &impl Argument<'a>) -> Result<NVal, Refusal> {
    let n = term.number().ok_or(Refusal::Argument("n", "an integer from 1 to the ring size"))?;
    Ok(NVal::new(n)?)
}

/// Type, bucket and key.
#[inline(always)]
pub fn object<'a, T: Argument<'a>>(
    [bucket_type, bucket, key]: [&T; 3],
) -> Result<[&'a [u8]; 3], Refusal> {
    Ok([bytes(bucket_type, "type")?, bytes(bucket, "bucket")?, bytes(key, "key")?])
}

/// The hash of a key given as type, bucket and key.
#[inline(always)]
pub fn key_hash<'a, T: Argument<'a>>(object: [&T; 3], keyfun: &T) -> Result<KeyHash, Refusal> {
    let keyfun = self::keyfun(keyfun)?;
    let [bucket_type, bucket, key] = self::object(object)?;
    Ok(hash_key(bucket_type, bucket, key, keyfun))
}

/// A hash that riak_core computed.
pub fn hash<'a>(term: &impl Argument<'a>) -> Result<KeyHash, Refusal> {
    let bytes = bytes(term, "hash")?.try_into();
    Ok(KeyHash::from_bytes(bytes.map_err(|_| Refusal::Argument("hash", "a binary of 20 bytes"))?))
}

/// A binary that holds UTF-8.
pub fn text<'a>(term: &impl Argument<'a>, name: &'static str) -> Result<&'a str, Refusal> {
    str::from_utf8(bytes(term, name)?).map_err(|_| Refusal::Argument(name, "UTF-8"))
}

/// A list of binaries that hold UTF-8.
pub fn texts<'a>(term: &impl Argument<'a>, name: &'static str) -> Result<Vec<&'a str>, Refusal> {
    let elements = term.elements().ok_or(Refusal::Argument(name, "a list of binaries"))?;
    elements.map(|element| text(&element, name)).collect()
}

/// The keys of a batch, `{Type, Bucket, Key}` each, hashed as they are read. A refusal is at once
/// the caller's own error: where that is small, so is what is passed for each key.
pub fn key_hashes<'a, T: Argument<'a>, E: From<Refusal>>(
    keys: &T,
    keyfun: &T,
) -> Result<impl ExactSizeIterator<Item = Result<KeyHash, E>> + use<'a, T, E>, Refusal> {
    let keyfun = self::keyfun(keyfun)?;
    let entries = keys.elements().ok_or(Refusal::Argument("keys", "a list"))?;
    Ok(entries.map(move |entry| {
        let expected = Refusal::Argument("keys", "a list of {Type, Bucket, Key}");
        let [bucket_type, bucket, key] = entry.triple().ok_or(expected)?;
        let [bucket_type, bucket, key] = object([&bucket_type, &bucket, &key])?;
        Ok(hash_key(bucket_type, bucket, key, keyfun))
    }))
}

/// The up nodes: `all`, or a list of node names, of which those that are not in the ring hold no
/// partition and do not matter. `node` finds the node of an atom; none of what is no atom.
pub fn up_nodes<'a, T: Argument<'a>>(
    term: &T,
    ring: &Ring,
    node: impl Fn(T) -> Option<Option<NodeId>>,
) -> Result<UpNodes, Refusal> {
    const EXPECTED: Refusal = Refusal::Argument("up nodes", "a list of atoms, or the atom all");
    if term.is(Word::All) {
        return Ok(ring.all_up());
    }
    let mut up = ring.up_nodes([]);
    for element in term.elements().ok_or(EXPECTED)? {
        if let Some(node) = node(element).ok_or(EXPECTED)? {
            up.insert(node);
        }
    }
    Ok(up)
}

/// A document about a whole ring.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum RingDocument {
    /// Asked for as `cluster_preflist`.
    ClusterPreflist(ClusterPreflist),
    /// Asked for as `ring_summary`, or with owners as `ring_summary_owners`.
    Summary(RingSummary),
}

/// The document about a ring that is asked for.
pub fn ring_document<'a>(kind: &impl Argument<'a>, ring: &Ring) -> Result<RingDocument, Refusal> {
    const KINDS: &str = "cluster_preflist, ring_summary or ring_summary_owners";
    if kind.is(Word::ClusterPreflist) {
        Ok(RingDocument::ClusterPreflist(ClusterPreflist::of(ring)))
    } else if kind.is(Word::RingSummary) {
        Ok(RingDocument::Summary(RingSummary::of(ring, false)))
    } else if kind.is(Word::RingSummaryOwners) {
        Ok(RingDocument::Summary(RingSummary::of(ring, true)))
    } else {
        Err(Refusal::Argument("document", KINDS))
    }
}

/// The document about a key that is asked for: its preflist, or its primaries, up or not.
pub fn key_document<'a>(
    kind: &impl Argument<'a>,
    ring: &Ring,
    hash: &KeyHash,
    n: NVal,
    up: &UpNodes,
) -> Result<KeyPreflist, Refusal> {
    if kind.is(Word::Preflist) {
        Ok(KeyPreflist::of(ring, hash, n, up)?)
    } else if kind.is(Word::Primaries) {
        Ok(KeyPreflist::primaries_of(ring, hash, n, up)?)
    } else {
        Err(Refusal::Argument("document", "preflist or primaries"))
    }
}

/// A version of a topology: its token and its canonical form.
pub fn version<'a, T: Argument<'a>>(token: &T, canonical: &T) -> Result<(Token, &'a str), Refusal> {
    Ok((text(token, "token")?.parse()?, text(canonical, "canonical")?))
}

/// The version of a ring's topology as texts: token, UUID of the cluster, canonical form.
pub fn version_of(ring: &Ring) -> [String; 3] {
    let snapshot = Snapshot::of(ring);
    let canonical = snapshot.canonical();
    let token = Token { ordinal: ring.rvsn_sum(), digest: TopologyDigest::of(&canonical) };
    [token.to_string(), snapshot.cluster().uuid.to_string(), canonical]
}

/// The UUID of a cluster.
pub fn cluster<'a>(term: &impl Argument<'a>) -> Result<Uuid, Refusal> {
    text(term, "cluster")?.parse().map_err(|_| Refusal::Argument("cluster", "a UUID"))
}
