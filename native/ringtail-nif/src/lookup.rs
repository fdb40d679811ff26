//! Rings, hashes, primaries and preflists.

use ringtail_core::{KeyHash, MemberStatus, NVal, PreflistEntry, PreflistKind, Ring, UpNodes};
use rustler::{Atom, Encoder, Env, ResourceArc, Term};

use crate::args;
use crate::cache::Form;
use crate::fault::{Failure, answer, binary, whole};
use crate::loaded::LoadedRing;

mod atoms {
    rustler::atoms! {
        primary, fallback, undefined,
        joining, valid, leaving, exiting, down, invalid,
        ring_size, cluster_name, nodename, claimant, members, rvsn_sum, vclock_sum, resizing, pending,
    }
}

/// Dirty: time grows with the ring, and its bytes come from outside.
#[rustler::nif(schedule = "DirtyCpu")]
fn ring_load<'a>(env: Env<'a>, bytes: Term<'a>) -> Term<'a> {
    answer(env, load(env, bytes))
}

fn load<'a>(env: Env<'a>, bytes: Term<'a>) -> Result<Term<'a>, Failure> {
    let ring = Ring::decode(&args::bytes(bytes, "ring")?)?;
    Ok(ResourceArc::new(LoadedRing::new(env, ring)).encode(env))
}

#[rustler::nif]
fn ring_size<'a>(env: Env<'a>, ring: Term<'a>) -> Term<'a> {
    answer(env, args::ring(ring).map(|loaded| loaded.ring().size().encode(env)))
}

/// Dirty: as many members as the ring's sender liked.
#[rustler::nif(schedule = "DirtyCpu")]
fn ring_info<'a>(env: Env<'a>, ring: Term<'a>) -> Term<'a> {
    answer(env, args::ring(ring).and_then(|loaded| info(env, loaded)))
}

/// A property list. Nodes are atoms; names that describe where the ring came from are binaries, for they may be anything.
fn info<'a>(env: Env<'a>, loaded: &LoadedRing) -> Result<Term<'a>, Failure> {
    let ring = loaded.ring();
    let text = |value: Option<&str>| match value {
        Some(text) => binary(env, text.as_bytes()),
        None => atoms::undefined().encode(env),
    };
    let members = ring
        .members()
        .iter()
        .map(|member| Ok((loaded.node_atom(env, member.node)?, status_atom(member.status)).encode(env)))
        .collect::<Result<Vec<Term>, Failure>>()?;
    Ok(vec![
        (atoms::ring_size(), ring.size().encode(env)),
        (atoms::cluster_name(), text(ring.cluster_name())),
        (atoms::nodename(), text(ring.nodename())),
        (atoms::claimant(), text(ring.claimant())),
        (atoms::members(), members.encode(env)),
        (atoms::pending(), ring.pending().len().encode(env)),
        (atoms::rvsn_sum(), ring.rvsn_sum().encode(env)),
        (atoms::vclock_sum(), ring.vclock_sum().encode(env)),
        (atoms::resizing(), ring.resizing().encode(env)),
    ]
    .encode(env))
}

fn status_atom(status: MemberStatus) -> Atom {
    match status {
        MemberStatus::Joining => atoms::joining(),
        MemberStatus::Valid => atoms::valid(),
        MemberStatus::Leaving => atoms::leaving(),
        MemberStatus::Exiting => atoms::exiting(),
        MemberStatus::Down => atoms::down(),
        MemberStatus::Invalid => atoms::invalid(),
    }
}

/// Dirty: one pair for each partition.
#[rustler::nif(schedule = "DirtyCpu")]
fn owners<'a>(env: Env<'a>, ring: Term<'a>) -> Term<'a> {
    answer(
        env,
        args::ring(ring).and_then(|loaded| {
            let positions = (0..loaded.ring().size()).map(ringtail_core::Position);
            Ok(loaded.owner_pairs(env, positions)?.encode(env))
        }),
    )
}

#[rustler::nif]
fn chash<'a>(
    env: Env<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
) -> Term<'a> {
    answer(env, hash(env, bucket_type, bucket, key, keyfun))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn chash_dirty<'a>(
    env: Env<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
) -> Term<'a> {
    answer(env, hash(env, bucket_type, bucket, key, keyfun))
}

fn hash<'a>(
    env: Env<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
) -> Result<Term<'a>, Failure> {
    let hash = args::key_hash(bucket_type, bucket, key, args::keyfun(keyfun)?)?;
    Ok(binary(env, hash.as_bytes()))
}

#[rustler::nif]
fn primaries<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
) -> Term<'a> {
    whole(env, primaries_of(env, ring, bucket_type, bucket, key, keyfun, n))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn primaries_dirty<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
) -> Term<'a> {
    whole(env, primaries_of(env, ring, bucket_type, bucket, key, keyfun, n))
}

fn primaries_of<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
) -> Result<Term<'a>, Failure> {
    let loaded = args::ring(ring)?;
    let n = args::n_val(n)?;
    let hash = args::key_hash(bucket_type, bucket, key, args::keyfun(keyfun)?)?;
    primary_list(env, loaded, &hash, n, Form::Answer)
}

/// `[{Index, Node}]`, owners whether up or not; by itself or as a whole answer.
fn primary_list<'a>(
    env: Env<'a>,
    loaded: &LoadedRing,
    hash: &KeyHash,
    n: NVal,
    form: Form,
) -> Result<Term<'a>, Failure> {
    loaded.ring().check_n(n)?;
    loaded.owner_list(env, loaded.ring().position(hash), n, form)
}

/// The primaries of a hash that riak_core computed, for keyfuns that only it knows.
#[rustler::nif]
fn primaries_of_hash<'a>(env: Env<'a>, ring: Term<'a>, hash: Term<'a>, n: Term<'a>) -> Term<'a> {
    whole(env, hash_primaries(env, ring, hash, n))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn primaries_of_hash_dirty<'a>(env: Env<'a>, ring: Term<'a>, hash: Term<'a>, n: Term<'a>) -> Term<'a> {
    whole(env, hash_primaries(env, ring, hash, n))
}

fn hash_primaries<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    hash: Term<'a>,
    n: Term<'a>,
) -> Result<Term<'a>, Failure> {
    primary_list(env, args::ring(ring)?, &args::hash(hash)?, args::n_val(n)?, Form::Answer)
}

/// The preflist of a hash that riak_core computed.
#[rustler::nif]
fn preflist_of_hash<'a>(env: Env<'a>, ring: Term<'a>, hash: Term<'a>, n: Term<'a>, up: Term<'a>) -> Term<'a> {
    answer(env, hash_preflist(env, ring, hash, n, up))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn preflist_of_hash_dirty<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    hash: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    answer(env, hash_preflist(env, ring, hash, n, up))
}

fn hash_preflist<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    hash: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Result<Term<'a>, Failure> {
    let loaded = args::ring(ring)?;
    annotated_list(env, loaded, &args::hash(hash)?, args::n_val(n)?, &args::up_nodes(loaded, up)?)
}

#[rustler::nif]
#[allow(clippy::too_many_arguments)] // the arguments of an Erlang function, one term each
fn preflist<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    answer(env, preflist_of(env, ring, bucket_type, bucket, key, keyfun, n, up))
}

#[rustler::nif(schedule = "DirtyCpu")]
#[allow(clippy::too_many_arguments)]
fn preflist_dirty<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    answer(env, preflist_of(env, ring, bucket_type, bucket, key, keyfun, n, up))
}

#[allow(clippy::too_many_arguments)]
fn preflist_of<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Result<Term<'a>, Failure> {
    let loaded = args::ring(ring)?;
    let n = args::n_val(n)?;
    let hash = args::key_hash(bucket_type, bucket, key, args::keyfun(keyfun)?)?;
    let up = args::up_nodes(loaded, up)?;
    annotated_list(env, loaded, &hash, n, &up)
}

/// `[{{Index, Node}, primary | fallback}]`, the form of `riak_core_apl:get_apl_ann/4`.
fn annotated_list<'a>(
    env: Env<'a>,
    loaded: &LoadedRing,
    hash: &KeyHash,
    n: NVal,
    up: &UpNodes,
) -> Result<Term<'a>, Failure> {
    // The usual case, every primary up, is a list that is there already.
    if loaded.ring().primaries(hash, n)?.all(|primary| up.contains(primary.node)) {
        return loaded.owner_list(env, loaded.ring().position(hash), n, Form::Annotated);
    }
    let entries: Vec<PreflistEntry> = loaded.ring().preflist(hash, n, up)?;
    let pairs = loaded.pairs(env, entries.iter().map(|entry| (entry.position, entry.node)))?;
    let annotated = pairs.into_iter().zip(&entries).map(|(pair, entry)| {
        let kind = match entry.kind {
            PreflistKind::Primary => atoms::primary(),
            PreflistKind::Fallback => atoms::fallback(),
        };
        (pair, kind).encode(env)
    });
    Ok(list(env, annotated.collect()))
}

/// Dirty: a batch. `Keys` is a list of `{Type, Bucket, Key}`; the answer has one list of pairs for each, in order.
#[rustler::nif(schedule = "DirtyCpu")]
fn primaries_many<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    keys: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
) -> Term<'a> {
    answer(
        env,
        args::ring(ring).and_then(|loaded| {
            let n = args::n_val(n)?;
            batch(env, keys, keyfun, |hash| primary_list(env, loaded, hash, n, Form::Plain))
        }),
    )
}

/// Dirty: a batch, as `primaries_many`, for the annotated preflist.
#[rustler::nif(schedule = "DirtyCpu")]
fn preflist_many<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    keys: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    answer(
        env,
        args::ring(ring).and_then(|loaded| {
            let n = args::n_val(n)?;
            let up = args::up_nodes(loaded, up)?;
            batch(env, keys, keyfun, |hash| annotated_list(env, loaded, hash, n, &up))
        }),
    )
}

fn batch<'a>(
    env: Env<'a>,
    keys: Term<'a>,
    keyfun: Term<'a>,
    mut each: impl FnMut(&KeyHash) -> Result<Term<'a>, Failure>,
) -> Result<Term<'a>, Failure> {
    let hashes = args::key_hashes(keys, args::keyfun(keyfun)?)?;
    let answers = hashes.map(|hash| each(&hash?)).collect::<Result<Vec<Term>, Failure>>()?;
    Ok(list(env, answers))
}

/// A list without the second vector that encoding a `Vec` of terms would take.
fn list<'a>(env: Env<'a>, terms: Vec<Term<'a>>) -> Term<'a> {
    terms.into_iter().rev().fold(Term::list_new_empty(env), |tail, head| tail.list_prepend(head))
}

#[rustler::nif]
fn version(env: Env) -> Term {
    binary(env, env!("CARGO_PKG_VERSION").as_bytes())
}

/// For the suites: shows that a panic becomes an exception.
#[rustler::nif]
fn provoke_panic() -> bool {
    panic!("a panic was asked for by provoke_panic/0")
}

/// The same on a dirty scheduler.
#[rustler::nif(schedule = "DirtyCpu")]
fn provoke_panic_dirty() -> bool {
    panic!("a panic was asked for by provoke_panic_dirty/0")
}
