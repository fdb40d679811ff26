//! Arguments from Erlang, checked one by one so that a wrong one is named instead of a bare
//! `badarg`.
//!
//! What every call for a key needs is inlined into each: the calls, and the results passed through
//! memory, are a twentieth of what it takes.

use ringtail_core::{KeyHash, Keyfun, NVal, UpNodes, hash_key};
use rustler::types::list::ListIterator;
use rustler::{Atom, Binary, Term};

use crate::fault::{Failure, Fault};
use crate::loaded::LoadedRing;
use crate::work::Work;

mod atoms {
    rustler::atoms! { std, bucketonly, all }
}

/// The ring behind a handle.
#[inline(always)]
pub fn ring<'a>(term: Term<'a>) -> Result<&'a LoadedRing, Failure> {
    Ok(term.decode().map_err(|_| Fault::ForeignRing)?)
}

/// What is asked about one key: the arguments that its primaries and its preflist have in common.
pub struct Asked<'a> {
    pub loaded: &'a LoadedRing,
    pub hash: KeyHash,
    pub n: NVal,
    /// What it took to get so far.
    pub work: Work,
}

/// A question about a key.
#[inline(always)]
pub fn asked<'a>(
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
) -> Result<Asked<'a>, Failure> {
    let loaded = self::ring(ring)?;
    let n = n_val(n)?;
    let (hash, work) = key_hash(bucket_type, bucket, key, self::keyfun(keyfun)?)?;
    Ok(Asked { loaded, hash, n, work })
}

/// The same about a hash that riak_core computed.
pub fn asked_by_hash<'a>(
    ring: Term<'a>,
    hash: Term<'a>,
    n: Term<'a>,
) -> Result<Asked<'a>, Failure> {
    Ok(Asked {
        loaded: self::ring(ring)?,
        hash: self::hash(hash)?,
        n: n_val(n)?,
        work: Work::none(),
    })
}

/// A binary argument, not copied.
#[inline(always)]
pub fn bytes<'a>(term: Term<'a>, name: &'static str) -> Result<Binary<'a>, Failure> {
    Ok(Binary::from_term(term).map_err(|_| Fault::Argument(name, "a binary"))?)
}

/// `std` or `bucketonly`.
#[inline(always)]
pub fn keyfun(term: Term) -> Result<Keyfun, Failure> {
    if atoms::std() == term {
        Ok(Keyfun::Std)
    } else if atoms::bucketonly() == term {
        Ok(Keyfun::BucketOnly)
    } else {
        Err(Fault::Argument("keyfun", "std or bucketonly").into())
    }
}

/// The n_val; that it fits the ring is for the ring to say.
#[inline(always)]
pub fn n_val(term: Term) -> Result<NVal, Failure> {
    let n: u32 =
        term.decode().map_err(|_| Fault::Argument("n", "an integer from 1 to the ring size"))?;
    Ok(NVal::new(n)?)
}

/// The hash of a key given as four terms, and what it took.
#[inline(always)]
pub fn key_hash(
    bucket_type: Term,
    bucket: Term,
    key: Term,
    keyfun: Keyfun,
) -> Result<(KeyHash, Work), Failure> {
    let (bucket_type, bucket, key) =
        (bytes(bucket_type, "type")?, bytes(bucket, "bucket")?, bytes(key, "key")?);
    let work = Work::hashing(bucket_type.len() + bucket.len() + key.len());
    Ok((hash_key(&bucket_type, &bucket, &key, keyfun), work))
}

/// A hash that riak_core computed.
pub fn hash(term: Term) -> Result<KeyHash, Failure> {
    const EXPECTED: Fault = Fault::Argument("hash", "a binary of 20 bytes");
    let bytes: [u8; 20] = bytes(term, "hash")?.as_slice().try_into().map_err(|_| EXPECTED)?;
    Ok(KeyHash::from_bytes(bytes))
}

/// A binary argument that holds UTF-8.
pub fn text<'a>(term: Term<'a>, name: &'static str) -> Result<&'a str, Failure> {
    let bytes = Binary::from_term(term).map_err(|_| Fault::Argument(name, "a binary"))?;
    Ok(str::from_utf8(bytes.as_slice()).map_err(|_| Fault::Argument(name, "UTF-8"))?)
}

/// A list of binaries that hold UTF-8.
pub fn texts<'a>(term: Term<'a>, name: &'static str) -> Result<Vec<&'a str>, Failure> {
    list(term, Fault::Argument(name, "a list of binaries"))?
        .map(|element| text(element, name))
        .collect()
}

/// The keys of a batch, `{Type, Bucket, Key}` each, hashed as they are read.
pub fn key_hashes<'a>(
    keys: Term<'a>,
    keyfun: Keyfun,
) -> Result<impl Iterator<Item = Result<KeyHash, Failure>> + 'a, Failure> {
    Ok(list(keys, Fault::Argument("keys", "a list"))?.map(move |entry| {
        let (bucket_type, bucket, key): (Term, Term, Term) =
            entry.decode().map_err(|_| Fault::Argument("keys", "a list of {Type, Bucket, Key}"))?;
        Ok(key_hash(bucket_type, bucket, key, keyfun)?.0)
    }))
}

/// The up nodes: `all`, or a list of node names, of which those that are not in the ring hold no
/// partition and do not matter.
pub fn up_nodes(ring: &LoadedRing, term: Term) -> Result<UpNodes, Failure> {
    const EXPECTED: Fault = Fault::Argument("up nodes", "a list of atoms, or the atom all");
    if atoms::all() == term {
        return Ok(ring.ring().all_up());
    }
    let mut up = ring.ring().up_nodes([]);
    for name in list(term, EXPECTED)? {
        let name = Atom::from_term(name).map_err(|_| EXPECTED)?;
        if let Some(node) = ring.atoms().node(term.get_env(), name, ring.ring()) {
            up.insert(node);
        }
    }
    Ok(up)
}

/// A proper list; the iterator alone would meet the end of an improper one with a panic.
fn list(term: Term<'_>, otherwise: Fault) -> Result<ListIterator<'_>, Failure> {
    match (term.list_length(), term.into_list_iterator()) {
        (Ok(_), Ok(list)) => Ok(list),
        _ => Err(otherwise.into()),
    }
}
