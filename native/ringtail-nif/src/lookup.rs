//! Rings, hashes, primaries and preflists.

use ringtail_core::{
    KeyHash, MemberStatus, NodeId, Position, PreflistEntry, PreflistKind, Ring, question,
};
use rustler::{Atom, Encoder, Env, ResourceArc, Term};

use crate::args::{self, Asked};
use crate::fault::{Failure, answer, binary, whole};
use crate::loaded::LoadedRing;
use crate::owners::{Pairs, annotated_places, kind_atom, places};
use crate::terms::Given;
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
    let ring = Ring::decode(question::bytes(&Given(bytes), "ring")?)?;
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

/// What runs a call for one key: the same call on a normal scheduler, or as its twin on a dirty
/// one.
#[derive(Clone, Copy)]
enum Scheduler {
    /// The time that the call takes is reckoned with. Partitions are named by places on the grid,
    /// without an `ok` around the answer, if the ring lies on it; else by indices.
    Normal,
    /// Its time is nobody's slice. Partitions are named by their indices.
    Dirty,
}

/// Each call for one key and its dirty twin.
macro_rules! twins {
    ($(
        $(#[$about:meta])*
        $normal:ident, $dirty:ident($($argument:ident),*): |$env:ident, $on:ident| $answer:expr;
    )*) => {$(
        $(#[$about])*
        #[rustler::nif]
        #[allow(clippy::too_many_arguments)] // those of an Erlang function, one term each
        fn $normal<'a>(env: Env<'a>, $($argument: Term<'a>),*) -> Term<'a> {
            let ($env, $on) = (env, Scheduler::Normal);
            $answer
        }

        #[rustler::nif(schedule = "DirtyCpu")]
        #[allow(clippy::too_many_arguments)]
        fn $dirty<'a>(env: Env<'a>, $($argument: Term<'a>),*) -> Term<'a> {
            let ($env, $on) = (env, Scheduler::Dirty);
            $answer
        }
    )*};
}

twins! {
    /// `{ok, Hash}`
    chash, chash_dirty(bucket_type, bucket, key, keyfun): |env, on|
        chash_answer(env, args::key_hash(bucket_type, bucket, key, keyfun), on);

    /// `{ok, [{Index, Node}]}`, or what [`places`] makes.
    primaries_places, primaries_dirty(ring, bucket_type, bucket, key, keyfun, n): |env, on|
        primaries_answer(env, args::asked(ring, bucket_type, bucket, key, keyfun, n), on);

    /// The primaries of a hash that riak_core computed, for keyfuns that only it knows.
    primaries_of_hash_places, primaries_of_hash_dirty(ring, hash, n): |env, on|
        primaries_answer(env, args::asked_by_hash(ring, hash, n), on);

    /// `{ok, [{{Index, Node}, primary | fallback}]}`, or what [`annotated_places`] makes.
    preflist_places, preflist_dirty(ring, bucket_type, bucket, key, keyfun, n, up): |env, on|
        preflist_answer(env, args::asked(ring, bucket_type, bucket, key, keyfun, n), up, on);

    /// The preflist of a hash that riak_core computed.
    preflist_of_hash_places, preflist_of_hash_dirty(ring, hash, n, up): |env, on|
        preflist_answer(env, args::asked_by_hash(ring, hash, n), up, on);
}

#[inline(always)]
fn chash_answer<'a>(
    env: Env<'a>,
    hashed: Result<(KeyHash, Work), Failure>,
    on: Scheduler,
) -> Term<'a> {
    let told = hashed.map(|(hash, work)| {
        if let Scheduler::Normal = on {
            work.account(env);
        }
        binary(env, hash.as_bytes())
    });
    answer(env, told)
}

#[inline(always)]
fn primaries_answer<'a>(
    env: Env<'a>,
    asked: Result<Asked<'a>, Failure>,
    on: Scheduler,
) -> Term<'a> {
    let answered = asked.and_then(|Asked { loaded, hash, n, work }| {
        if let Scheduler::Normal = on {
            work.naming(n).account(env);
        }
        let primaries =
            loaded.ring().primaries(&hash, n)?.map(|primary| (primary.position, primary.node));
        match (on, loaded.grid_step()) {
            (Scheduler::Normal, Some(step)) => places(env, loaded, step, primaries),
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

fn preflist_answer<'a>(
    env: Env<'a>,
    asked: Result<Asked<'a>, Failure>,
    up: Term<'a>,
    on: Scheduler,
) -> Term<'a> {
    let answered = asked.and_then(|Asked { loaded, hash, n, work }| {
        let up = args::up_nodes(loaded, up)?;
        let entries = loaded.ring().preflist(&hash, n, &up)?;
        if let Scheduler::Normal = on {
            let all_primary = entries.len() == n.get() as usize
                && entries.last().is_some_and(|entry| entry.kind == PreflistKind::Primary);
            let named = work.naming(n);
            if all_primary { named } else { named.passing_by(loaded.ring().size()) }.account(env);
        }
        match (on, loaded.grid_step()) {
            (Scheduler::Normal, Some(step)) => annotated_places(env, loaded, step, &entries),
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
            let n = question::n_val(&Given(n))?;
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
            let n = question::n_val(&Given(n))?;
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
    let hashes = question::key_hashes(&Given(keys), &Given(keyfun))?;
    let answers = hashes
        .map(|hash: Result<_, Failure>| each(&hash?))
        .collect::<Result<Vec<Term>, Failure>>()?;
    Ok(list(env, answers))
}

/// A list without the second vector that encoding a `Vec` of terms would take.
fn list<'a>(env: Env<'a>, terms: Vec<Term<'a>>) -> Term<'a> {
    terms.into_iter().rev().fold(Term::list_new_empty(env), |tail, head| tail.list_prepend(head))
}
