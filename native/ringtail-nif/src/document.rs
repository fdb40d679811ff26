//! JSON documents as binaries.

use ringtail_core::{ClusterPreflist, KeyPreflist, RingSummary};
use rustler::{Env, Term};
use serde::Serialize;

use crate::args::{self, Asked};
use crate::fault::{Failure, Fault, answer, binary};

mod atoms {
    rustler::atoms! { cluster_preflist, ring_summary, ring_summary_owners, preflist, primaries }
}

/// Dirty: a document grows with the ring. Kinds: `cluster_preflist`, `ring_summary`,
/// `ring_summary_owners`.
#[rustler::nif(schedule = "DirtyCpu")]
fn document<'a>(env: Env<'a>, ring: Term<'a>, kind: Term<'a>) -> Term<'a> {
    answer(env, ring_document(env, ring, kind))
}

fn ring_document<'a>(env: Env<'a>, ring: Term<'a>, kind: Term<'a>) -> Result<Term<'a>, Failure> {
    let loaded = args::ring(ring)?;
    let ring = loaded.ring();
    if atoms::cluster_preflist() == kind {
        json(env, &ClusterPreflist::of(ring))
    } else if atoms::ring_summary() == kind {
        json(env, &RingSummary::of(ring, false))
    } else if atoms::ring_summary_owners() == kind {
        json(env, &RingSummary::of(ring, true))
    } else {
        Err(Fault::Argument("document", "cluster_preflist, ring_summary or ring_summary_owners")
            .into())
    }
}

/// Dirty: JSON of one key's `preflist` (with fallbacks) or `primaries` (owners, up or not).
#[rustler::nif(schedule = "DirtyCpu")]
#[allow(clippy::too_many_arguments)] // the arguments of an Erlang function, one term each
fn key_document<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    kind: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    let asked = args::asked(ring, bucket_type, bucket, key, keyfun, n);
    let made = asked.and_then(|Asked { loaded, hash, n, .. }| {
        let ring = loaded.ring();
        let up = args::up_nodes(loaded, up)?;
        let document = if atoms::preflist() == kind {
            KeyPreflist::of(ring, &hash, n, &up)?
        } else if atoms::primaries() == kind {
            KeyPreflist::primaries_of(ring, &hash, n, &up)?
        } else {
            return Err(Fault::Argument("document", "preflist or primaries").into());
        };
        json(env, &document)
    });
    answer(env, made)
}

/// A document as a binary term.
pub fn json<'a>(env: Env<'a>, document: &impl Serialize) -> Result<Term<'a>, Failure> {
    Ok(binary(env, &serde_json::to_vec(document)?))
}
