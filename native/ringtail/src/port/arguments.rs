//! Arguments from Erlang, checked one by one so that a wrong one is named.

use ringtail_core::term::{Elements, Term};
use ringtail_core::{KeyHash, Keyfun, NVal, Ring, UpNodes, hash_key};

use super::fault::Fault;

/// A binary argument.
pub fn bytes<'a>(term: &Term<'a>, name: &'static str) -> Result<&'a [u8], Fault> {
    term.binary().ok_or(Fault::Argument(name, "a binary"))
}

/// `std` or `bucketonly`.
pub fn keyfun(term: &Term) -> Result<Keyfun, Fault> {
    match term.atom().as_deref() {
        Some("std") => Ok(Keyfun::Std),
        Some("bucketonly") => Ok(Keyfun::BucketOnly),
        _ => Err(Fault::Argument("keyfun", "std or bucketonly")),
    }
}

/// The n_val; that it fits the ring is for the ring to say.
pub fn n_val(term: &Term) -> Result<NVal, Fault> {
    let n = term.u64().and_then(|n| u32::try_from(n).ok());
    Ok(NVal::new(n.ok_or(Fault::Argument("n", "an integer from 1 to the ring size"))?)?)
}

/// The hash of a key given as three terms.
pub fn key_hash([bucket_type, bucket, key]: [&Term; 3], keyfun: Keyfun) -> Result<KeyHash, Fault> {
    Ok(hash_key(bytes(bucket_type, "type")?, bytes(bucket, "bucket")?, bytes(key, "key")?, keyfun))
}

/// A hash that riak_core computed.
pub fn hash(term: &Term) -> Result<KeyHash, Fault> {
    const EXPECTED: Fault = Fault::Argument("hash", "a binary of 20 bytes");
    Ok(KeyHash::from_bytes(bytes(term, "hash")?.try_into().map_err(|_| EXPECTED)?))
}

/// A binary argument that holds UTF-8.
pub fn text<'a>(term: &Term<'a>, name: &'static str) -> Result<&'a str, Fault> {
    str::from_utf8(bytes(term, name)?).map_err(|_| Fault::Argument(name, "UTF-8"))
}

/// A list of binaries that hold UTF-8.
pub fn texts<'a>(term: &Term<'a>, name: &'static str) -> Result<Vec<&'a str>, Fault> {
    list(term, Fault::Argument(name, "a list of binaries"))?
        .map(|element| text(&element, name))
        .collect()
}

/// The keys of a batch, `{Type, Bucket, Key}` each, hashed as they are read.
pub fn key_hashes<'a>(
    keys: &Term<'a>,
    keyfun: Keyfun,
) -> Result<impl ExactSizeIterator<Item = Result<KeyHash, Fault>>, Fault> {
    Ok(list(keys, Fault::Argument("keys", "a list"))?.map(move |entry| {
        let [bucket_type, bucket, key] =
            entry.tuple().ok_or(Fault::Argument("keys", "a list of {Type, Bucket, Key}"))?;
        key_hash([&bucket_type, &bucket, &key], keyfun)
    }))
}

/// The up nodes: `all`, or a list of node names, of which those that are not in the ring hold no
/// partition and do not matter.
pub fn up_nodes(ring: &Ring, term: &Term) -> Result<UpNodes, Fault> {
    const EXPECTED: Fault = Fault::Argument("up nodes", "a list of atoms, or the atom all");
    if term.is_atom("all") {
        return Ok(ring.all_up());
    }
    let mut up = ring.up_nodes([]);
    for element in list(term, EXPECTED)? {
        if let Some(node) = ring.node_id(&element.atom().ok_or(EXPECTED)?) {
            up.insert(node);
        }
    }
    Ok(up)
}

fn list<'a>(term: &Term<'a>, otherwise: Fault) -> Result<Elements<'a>, Fault> {
    term.list().ok_or(otherwise)
}
