//! Terms made once per ring and copied into each answer.
//!
//! An index is a 160-bit integer, for which the NIF interface has no constructor but the external term format; decoding three
//! of them costs more than hashing a short key. So pairs `{Index, Owner}`, and the lists of them that primaries are, live in
//! environments of their own, and an answer is one bounded copy. The environments are behind locks, because the VM lets only
//! one thread at a time use one. Each thread prefers its own shard and never waits: where all are taken it builds its terms
//! afresh.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringtail_core::{Index, NodeId, Position};
use rustler::env::SavedTerm;
use rustler::{Encoder, Env, OwnedEnv, Term};

use crate::fault::Failure;
use crate::loaded::LoadedRing;

mod atoms {
    rustler::atoms! { ok, primary }
}

/// A power of two, so that a thread finds its shard with a mask. More than this cost memory without need: eight threads in the
/// same microsecond on one ring are rare.
const SHARDS: usize = 8;

/// Larger rings than Riak has ever been run with are answered without a cache, which bounds its memory and the time it takes to
/// drop it.
const LARGEST_CACHED: u32 = 8192;

/// The shard this thread prefers; threads are numbered as they come by.
fn preferred_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: Cell<usize> = const { Cell::new(usize::MAX) });
    MINE.with(|mine| {
        if mine.get() == usize::MAX {
            mine.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        mine.get() % SHARDS
    })
}

/// The shards of one ring.
#[derive(Default)]
pub struct TermCache {
    shards: [Mutex<Shard>; SHARDS],
}

impl TermCache {
    /// Runs `work` with a shard this thread holds, or without one if all are taken (or were left by a panic).
    #[inline]
    pub fn with<R>(&self, loaded: &LoadedRing, work: impl FnOnce(&mut Terms<'_>) -> R) -> R {
        if loaded.ring().size() > LARGEST_CACHED {
            return work(&mut Terms { loaded, shard: None });
        }
        let first = preferred_shard();
        let free = (0..SHARDS).find_map(|step| self.shards[(first + step) % SHARDS].try_lock().ok());
        match free {
            Some(mut shard) => work(&mut Terms { loaded, shard: Some(&mut shard) }),
            None => work(&mut Terms { loaded, shard: None }),
        }
    }
}

/// Longer lists, and more combinations of length and form than a node has bucket types of distinct n_val, are put together from
/// pairs each time.
const LONGEST_CACHED_LIST: u32 = 8;
const MOST_TABLES: usize = 6;

/// How a list of owners is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `[{Index, Node}]`
    Plain,
    /// `{ok, [{Index, Node}]}`: what a call for one key answers, so that it is nothing but the copy.
    Answer,
    /// `[{{Index, Node}, primary}]`
    Annotated,
}

/// Filled as positions are asked for, so that a ring that is loaded and dropped costs nothing here.
#[derive(Default)]
struct Shard {
    /// Made with the first term.
    env: Option<OwnedEnv>,
    /// `{Index, Owner}` by position.
    pairs: Vec<Option<SavedTerm>>,
    /// Lists of owners by the position they start at.
    tables: Vec<Table>,
}

struct Table {
    n: u32,
    form: Form,
    lists: Vec<Option<SavedTerm>>,
}

impl Shard {
    /// The place in `tables` for lists of this shape, if they are to be kept.
    fn table(&mut self, n: u32, form: Form, size: usize) -> Option<usize> {
        let found = self.tables.iter().position(|table| table.n == n && table.form == form);
        if found.is_some() || n > LONGEST_CACHED_LIST || self.tables.len() == MOST_TABLES {
            return found;
        }
        self.tables.push(Table { n, form, lists: vec![None; size] });
        Some(self.tables.len() - 1)
    }
}

/// Makes terms, from a shard if there is one.
pub struct Terms<'c> {
    loaded: &'c LoadedRing,
    shard: Option<&'c mut Shard>,
}

impl Terms<'_> {
    /// `n` consecutive owners; `n` must fit the ring.
    #[inline]
    pub fn owner_list<'a>(
        &mut self,
        env: Env<'a>,
        first: Position,
        n: u32,
        form: Form,
    ) -> Result<Term<'a>, Failure> {
        let size = self.loaded.ring().size() as usize;
        let table = self.shard.as_mut().and_then(|shard| shard.table(n, form, size));
        let (Some(table), Some(shard)) = (table, self.shard.as_mut()) else {
            let owners = self.owner_pairs(env, consecutive(first, n, size))?;
            return Ok(list(env, owners, form));
        };
        let home = shard.env.get_or_insert_with(OwnedEnv::new);
        if let Some(kept) = &shard.tables[table].lists[first.0 as usize] {
            return Ok(home.run(|home_env| kept.load(home_env).in_env(env)));
        }
        // Built for the caller and copied home whole, so that it lies in one piece and is read in one go ever after.
        let owners = consecutive(first, n, size)
            .map(|position| fresh_owner_pair(env, self.loaded, position))
            .collect::<Result<Vec<Term>, Failure>>()?;
        let made = list(env, owners, form);
        shard.tables[table].lists[first.0 as usize] = Some(home.save(made));
        Ok(made)
    }

    /// `{Index, Owner}` for these positions.
    pub fn owner_pairs<'a>(
        &mut self,
        env: Env<'a>,
        mut positions: impl Iterator<Item = Position>,
    ) -> Result<Vec<Term<'a>>, Failure> {
        positions.try_fold(Vec::new(), |mut pairs, position| {
            pairs.push(self.owner_pair(env, position)?);
            Ok(pairs)
        })
    }

    fn owner_pair<'a>(&mut self, env: Env<'a>, position: Position) -> Result<Term<'a>, Failure> {
        let loaded = self.loaded;
        let Some(shard) = self.shard.as_mut() else {
            return fresh_owner_pair(env, loaded, position);
        };
        let home = shard.env.get_or_insert_with(OwnedEnv::new);
        if shard.pairs.is_empty() {
            shard.pairs.resize(loaded.ring().size() as usize, None);
        }
        let slot = &mut shard.pairs[position.0 as usize];
        if let Some(kept) = slot {
            return Ok(home.run(|home_env| kept.load(home_env).in_env(env)));
        }
        let made = fresh_owner_pair(env, loaded, position)?;
        *slot = Some(home.save(made));
        Ok(made)
    }

    /// `{Index, Node}` for the owner or for a stand-in of it.
    pub fn pair<'a>(&mut self, env: Env<'a>, position: Position, node: NodeId) -> Result<Term<'a>, Failure> {
        if self.loaded.ring().owner(position) == node {
            self.owner_pair(env, position)
        } else {
            fresh_pair(env, self.loaded, position, node)
        }
    }
}

/// Positions from `first` on, past the end of the ring to its beginning.
fn consecutive(first: Position, n: u32, size: usize) -> impl Iterator<Item = Position> {
    // The ring's size came from a u32.
    (first.0..size as u32).chain(0..first.0).take(n as usize).map(Position)
}

/// An Erlang list of pairs.
fn list<'a>(env: Env<'a>, pairs: Vec<Term<'a>>, form: Form) -> Term<'a> {
    let nil = Term::list_new_empty(env);
    let pairs = pairs.into_iter().rev();
    match form {
        Form::Plain => pairs.fold(nil, |tail, pair| tail.list_prepend(pair)),
        Form::Answer => (atoms::ok(), pairs.fold(nil, |tail, pair| tail.list_prepend(pair))).encode(env),
        Form::Annotated => pairs.fold(nil, |tail, pair| tail.list_prepend((pair, atoms::primary()))),
    }
}

fn fresh_owner_pair<'a>(env: Env<'a>, loaded: &LoadedRing, position: Position) -> Result<Term<'a>, Failure> {
    fresh_pair(env, loaded, position, loaded.ring().owner(position))
}

fn fresh_pair<'a>(
    env: Env<'a>,
    loaded: &LoadedRing,
    position: Position,
    node: NodeId,
) -> Result<Term<'a>, Failure> {
    let atom = loaded.node_atom(env, node)?;
    Ok((index_term(env, &loaded.ring().index(position)), atom).encode(env))
}

/// An index as the integer Erlang knows.
pub fn index_term<'a>(env: Env<'a>, index: &Index) -> Term<'a> {
    integer_term(env, index.as_bytes())
}

/// A big-endian 160-bit integer as a term.
fn integer_term<'a>(env: Env<'a>, big_endian: &[u8; 20]) -> Term<'a> {
    const VERSION: u8 = 131;
    const SMALL_BIG_EXT: u8 = 110;
    let mut bytes = [0u8; 24];
    bytes[..4].copy_from_slice(&[VERSION, SMALL_BIG_EXT, 20, 0]);
    bytes[4..].copy_from_slice(big_endian);
    bytes[4..].reverse();
    env.binary_to_term(&bytes).expect("twenty digits of a small big are a valid term").0
}
