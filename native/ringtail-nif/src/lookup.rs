//! Rings, hashes, primaries and preflists.

use ringtail_core::{KeyHash, MemberStatus, NodeId, Position, PreflistEntry, PreflistKind, Ring};
use rustler::{Atom, Encoder, Env, ResourceArc, Term};

use crate::args::{self, Asked};
use crate::fault::{Failure, answer, binary, whole};
use crate::loaded::LoadedRing;
use crate::owners::{Pairs, annotated_places, kind_atom, places};
use crate::work::Work;

mod atoms {
    rustler::atoms! {
        ok, undefined,
        joining, valid, leaving, exiting, down, invalid,
        ring_size, cluster_name, nodename, claimant, members, rvsn_sum, vclock_sum, resizing,
        pending,
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

/// A property list. Nodes are atoms; names that describe where the ring came from are binaries, for
/// they may be anything.
fn info<'a>(env: Env<'a>, loaded: &LoadedRing) -> Result<Term<'a>, Failure> {
    let ring = loaded.ring();
    let text = |value: Option<&str>| match value {
        Some(text) => binary(env, text.as_bytes()),
        None => atoms::undefined().encode(env),
    };
    let members = ring
        .members()
        .iter()
        .map(|member| {
            Ok((loaded.node_atom(env, member.node)?, status_atom(member.status)).encode(env))
        })
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
            let ring = loaded.ring();
            let positions = (0..ring.size()).map(Position);
            owner_list(
                &mut Pairs::once(env, loaded),
                positions.map(|position| (position, ring.owner(position))),
            )
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
    let hashed = hash(bucket_type, bucket, key, keyfun);
    answer(
        env,
        hashed.map(|(hash, work)| {
            work.account(env);
            binary(env, hash.as_bytes())
        }),
    )
}

#[rustler::nif(schedule = "DirtyCpu")]
fn chash_dirty<'a>(
    env: Env<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
) -> Term<'a> {
    let hashed = hash(bucket_type, bucket, key, keyfun);
    answer(env, hashed.map(|(hash, _)| binary(env, hash.as_bytes())))
}

fn hash(
    bucket_type: Term,
    bucket: Term,
    key: Term,
    keyfun: Term,
) -> Result<(KeyHash, Work), Failure> {
    args::key_hash(bucket_type, bucket, key, args::keyfun(keyfun)?)
}

/// How the answer for one key names partitions, and who reckons with the time it takes.
#[derive(Clone, Copy)]
enum Naming {
    /// `{ok, Owners}`, by their indices: on a dirty scheduler, whose time is nobody's slice.
    Indices,
    /// By places on the grid, without an `ok`, if the ring lies on it; else by indices. On a normal
    /// scheduler.
    Places,
}

/// `{ok, [{Index, Node}]}`, or what [`places`] makes.
#[rustler::nif]
fn primaries_places<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
) -> Term<'a> {
    primaries_answer(env, args::asked(ring, bucket_type, bucket, key, keyfun, n), Naming::Places)
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
    primaries_answer(env, args::asked(ring, bucket_type, bucket, key, keyfun, n), Naming::Indices)
}

/// The primaries of a hash that riak_core computed, for keyfuns that only it knows.
#[rustler::nif]
fn primaries_of_hash_places<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    hash: Term<'a>,
    n: Term<'a>,
) -> Term<'a> {
    primaries_answer(env, args::asked_by_hash(ring, hash, n), Naming::Places)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn primaries_of_hash_dirty<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    hash: Term<'a>,
    n: Term<'a>,
) -> Term<'a> {
    primaries_answer(env, args::asked_by_hash(ring, hash, n), Naming::Indices)
}

#[inline(always)]
fn primaries_answer<'a>(
    env: Env<'a>,
    asked: Result<Asked<'a>, Failure>,
    naming: Naming,
) -> Term<'a> {
    let answered = asked.and_then(|Asked { loaded, hash, n, work }| {
        if let Naming::Places = naming {
            work.naming(n).account(env);
        }
        let primaries =
            loaded.ring().primaries(&hash, n)?.map(|primary| (primary.position, primary.node));
        match (naming, loaded.grid_step()) {
            (Naming::Places, Some(step)) => places(env, loaded, step, primaries),
            _ => {
                Ok((atoms::ok(), owner_list(&mut Pairs::once(env, loaded), primaries)?).encode(env))
            }
        }
    });
    whole(env, answered)
}

/// `[{Index, Node}]`
fn owner_list<'a>(
    pairs: &mut Pairs<'a, '_>,
    owners: impl Iterator<Item = (Position, NodeId)>,
) -> Result<Term<'a>, Failure> {
    let owners = owners
        .map(|(position, node)| pairs.pair(position, node))
        .collect::<Result<Vec<Term>, Failure>>()?;
    Ok(list(pairs.env(), owners))
}

/// `{ok, [{{Index, Node}, primary | fallback}]}`, or what [`annotated_places`] makes.
#[rustler::nif]
#[allow(clippy::too_many_arguments)] // the arguments of an Erlang function, one term each
fn preflist_places<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    bucket_type: Term<'a>,
    bucket: Term<'a>,
    key: Term<'a>,
    keyfun: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    preflist_answer(env, args::asked(ring, bucket_type, bucket, key, keyfun, n), up, Naming::Places)
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
    preflist_answer(
        env,
        args::asked(ring, bucket_type, bucket, key, keyfun, n),
        up,
        Naming::Indices,
    )
}

/// The preflist of a hash that riak_core computed.
#[rustler::nif]
fn preflist_of_hash_places<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    hash: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    preflist_answer(env, args::asked_by_hash(ring, hash, n), up, Naming::Places)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn preflist_of_hash_dirty<'a>(
    env: Env<'a>,
    ring: Term<'a>,
    hash: Term<'a>,
    n: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    preflist_answer(env, args::asked_by_hash(ring, hash, n), up, Naming::Indices)
}

fn preflist_answer<'a>(
    env: Env<'a>,
    asked: Result<Asked<'a>, Failure>,
    up: Term<'a>,
    naming: Naming,
) -> Term<'a> {
    let answered = asked.and_then(|Asked { loaded, hash, n, work }| {
        let up = args::up_nodes(loaded, up)?;
        let entries = loaded.ring().preflist(&hash, n, &up)?;
        if let Naming::Places = naming {
            let all_primary = entries.len() == n.get() as usize
                && entries.last().is_some_and(|entry| entry.kind == PreflistKind::Primary);
            let named = work.naming(n);
            if all_primary { named } else { named.passing_by(loaded.ring().size()) }.account(env);
        }
        match (naming, loaded.grid_step()) {
            (Naming::Places, Some(step)) => annotated_places(env, loaded, step, &entries),
            _ => {
                Ok((atoms::ok(), annotated_list(&mut Pairs::once(env, loaded), &entries)?)
                    .encode(env))
            }
        }
    });
    whole(env, answered)
}

/// `[{{Index, Node}, primary | fallback}]`, the form of `riak_core_apl:get_apl_ann/4`.
fn annotated_list<'a>(
    pairs: &mut Pairs<'a, '_>,
    entries: &[PreflistEntry],
) -> Result<Term<'a>, Failure> {
    let annotated = entries.iter().map(|entry| {
        let pair = pairs.pair(entry.position, entry.node)?;
        Ok((pair, kind_atom(entry.kind)).encode(pairs.env()))
    });
    let annotated = annotated.collect::<Result<Vec<Term>, Failure>>()?;
    Ok(list(pairs.env(), annotated))
}

/// Dirty: a batch. `Keys` is a list of `{Type, Bucket, Key}`; the answer has one list of pairs for
/// each, in order.
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
            let mut pairs = Pairs::shared(env, loaded);
            batch(env, keys, keyfun, |hash| {
                let primaries = loaded.ring().primaries(hash, n)?;
                owner_list(&mut pairs, primaries.map(|primary| (primary.position, primary.node)))
            })
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
            let mut pairs = Pairs::shared(env, loaded);
            batch(env, keys, keyfun, |hash| {
                annotated_list(&mut pairs, &loaded.ring().preflist(hash, n, &up)?)
            })
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
