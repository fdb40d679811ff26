//! What calls have in common of their arguments: the ring, the key asked about, the nodes that are
//! up. What every call for a key needs is inlined into each, as in [`question`].

use ringtail_core::{KeyHash, NVal, UpNodes, hash_key, question};
use rustler::{Atom, Term};

use crate::fault::{Failure, Fault};
use crate::loaded::LoadedRing;
use crate::terms::Given;
use crate::work::Work;

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
    let n = question::n_val(&Given(n))?;
    let (hash, work) = key_hash(bucket_type, bucket, key, keyfun)?;
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
        hash: question::hash(&Given(hash))?,
        n: question::n_val(&Given(n))?,
        work: Work::none(),
    })
}

/// The hash of a key given as four terms, and what it took.
#[inline(always)]
pub fn key_hash<'a>(
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
) -> Result<(KeyHash, Work), Failure> {
    let keyfun = question::keyfun(&Given(keyfun))?;
    let object = [&Given(bucket_type), &Given(bucket), &Given(key)];
    let [bucket_type, bucket, key] = question::object(object)?;
    let work = Work::hashing(bucket_type.len() + bucket.len() + key.len());
    Ok((hash_key(bucket_type, bucket, key, keyfun), work))
}

/// The up nodes.
pub fn up_nodes(loaded: &LoadedRing, term: Term) -> Result<UpNodes, Failure> {
    let ring = loaded.ring();
    Ok(question::up_nodes(&Given(term), ring, |Given(name)| {
        let name = Atom::from_term(name).ok()?;
        Some(loaded.atoms().node(term.get_env(), name, ring))
    })?)
}
