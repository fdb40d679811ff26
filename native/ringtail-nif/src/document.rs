//! JSON documents as binaries.

use ringtail_core::question;
use rustler::{Env, Term};
use serde::Serialize;

use crate::args::{self, Asked};
use crate::fault::{Failure, answer, binary};
use crate::terms::Given;

/// Dirty: a document grows with the ring. Kinds: `cluster_preflist`, `ring_summary`,
/// `ring_summary_owners`.
#[rustler::nif(schedule = "DirtyCpu")]
fn document<'a>(env: Env<'a>, ring: Term<'a>, kind: Term<'a>) -> Term<'a> {
    answer(env, ring_document(env, ring, kind))
}

fn ring_document<'a>(env: Env<'a>, ring: Term<'a>, kind: Term<'a>) -> Result<Term<'a>, Failure> {
    json(env, &question::ring_document(&Given(kind), args::ring(ring)?.ring())?)
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
        let up = args::up_nodes(loaded, up)?;
        json(env, &question::key_document(&Given(kind), loaded.ring(), &hash, n, &up)?)
    });
    answer(env, made)
}

/// A document as a binary term.
pub fn json<'a>(env: Env<'a>, document: &impl Serialize) -> Result<Term<'a>, Failure> {
    Ok(binary(env, &serde_json::to_vec(document)?))
}
