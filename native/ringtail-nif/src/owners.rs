//! Partitions and their owners as terms.
//!
//! An index is a 160-bit integer, for which the NIF interface has no constructor but the external
//! term format. Copying terms that are kept elsewhere is cheaper, and was still a third of a call
//! for a key. Rings of usual sizes therefore answer for single keys with places on a grid, which
//! are small integers, and `ringtail_nif_indices` puts its literals in their stead.

use ringtail_core::{Index, NodeId, Position, PreflistEntry, PreflistKind};
use rustler::{Atom, Encoder, Env, Term};

use crate::fault::Failure;
use crate::loaded::LoadedRing;

mod atoms {
    rustler::atoms! { primary, fallback }
}

/// What `ringtail_nif_indices:primaries/1` wants: `{Place, Node, Place, Node, Place, Node}` for
/// three owners, which is what most buckets have, for any other number `[Node, Place, ...]`, the
/// last first.
#[inline(always)]
pub fn places<'a>(
    env: Env<'a>,
    loaded: &LoadedRing,
    step: u32,
    mut owners: impl ExactSizeIterator<Item = (Position, NodeId)>,
) -> Result<Term<'a>, Failure> {
    if owners.len() == 3 {
        let mut next = || {
            let (position, node) = owners.next().expect("there are three");
            Ok::<_, Failure>((position.0 * step, loaded.node_atom(env, node)?))
        };
        let ((place1, node1), (place2, node2), (place3, node3)) = (next()?, next()?, next()?);
        return Ok((place1, node1, place2, node2, place3, node3).encode(env));
    }
    owners.try_fold(Term::list_new_empty(env), |list, (position, node)| {
        Ok(list.list_prepend(position.0 * step).list_prepend(loaded.node_atom(env, node)?))
    })
}

/// What `ringtail_nif_indices:preflist/1` wants: [`places`] for three primaries, otherwise `[Kind,
/// Node, Place, ...]`, the last first.
pub fn annotated_places<'a>(
    env: Env<'a>,
    loaded: &LoadedRing,
    step: u32,
    entries: &[PreflistEntry],
) -> Result<Term<'a>, Failure> {
    if entries.len() == 3 && entries.iter().all(|entry| entry.kind == PreflistKind::Primary) {
        return places(env, loaded, step, entries.iter().map(|entry| (entry.position, entry.node)));
    }
    entries.iter().try_fold(Term::list_new_empty(env), |list, entry| {
        let node = loaded.node_atom(env, entry.node)?;
        Ok(list
            .list_prepend(entry.position.0 * step)
            .list_prepend(node)
            .list_prepend(kind_atom(entry.kind)))
    })
}

pub fn kind_atom(kind: PreflistKind) -> Atom {
    match kind {
        PreflistKind::Primary => atoms::primary(),
        PreflistKind::Fallback => atoms::fallback(),
    }
}

/// Makes terms `{Index, Node}`.
pub struct Pairs<'a, 'r> {
    env: Env<'a>,
    loaded: &'r LoadedRing,
    /// `{Index, Owner}` by position, for as many positions as are remembered.
    made: Vec<Option<Term<'a>>>,
}

impl<'a, 'r> Pairs<'a, 'r> {
    /// For an answer in which no position occurs twice.
    pub fn once(env: Env<'a>, loaded: &'r LoadedRing) -> Self {
        Self { env, loaded, made: Vec::new() }
    }

    /// For the answers of a batch, which share the terms.
    pub fn shared(env: Env<'a>, loaded: &'r LoadedRing) -> Self {
        Self { env, loaded, made: vec![None; loaded.ring().size() as usize] }
    }

    pub fn env(&self) -> Env<'a> {
        self.env
    }

    /// For the owner of a position or for a stand-in of it.
    pub fn pair(&mut self, position: Position, node: NodeId) -> Result<Term<'a>, Failure> {
        let owned = self.loaded.ring().owner(position) == node;
        let mut slot = self.made.get_mut(position.0 as usize).filter(|_| owned);
        if let Some(Some(made)) = slot {
            return Ok(*made);
        }
        let atom = self.loaded.node_atom(self.env, node)?;
        let made =
            (index_term(self.env, &self.loaded.ring().index(position)), atom).encode(self.env);
        if let Some(slot) = &mut slot {
            **slot = Some(made);
        }
        Ok(made)
    }
}

/// An index as the integer Erlang knows.
fn index_term<'a>(env: Env<'a>, index: &Index) -> Term<'a> {
    const VERSION: u8 = 131;
    const SMALL_BIG_EXT: u8 = 110;
    let mut bytes = [0u8; 24];
    bytes[..4].copy_from_slice(&[VERSION, SMALL_BIG_EXT, 20, 0]);
    bytes[4..].copy_from_slice(index.as_bytes());
    bytes[4..].reverse();
    env.binary_to_term(&bytes).expect("twenty digits of a small big are a valid term").0
}
