//! The resource behind a ring handle.

use std::collections::HashMap;
use std::sync::OnceLock;

use ringtail_core::{NodeId, Ring};
use rustler::{Atom, Env, Resource, Term};

use crate::fault::{Failure, Fault};
use crate::grid::grid_step;

/// A ring with what is needed to speak of it in terms of the VM.
pub struct LoadedRing {
    ring: Ring,
    atoms: NodeAtoms,
    grid_step: Option<u32>,
}

#[rustler::resource_impl]
impl Resource for LoadedRing {}

impl LoadedRing {
    pub fn new(env: Env, ring: Ring) -> Self {
        let atoms = NodeAtoms::new(env, &ring);
        let grid_step = grid_step(ring.size());
        Self { ring, atoms, grid_step }
    }

    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// How far apart the ring's partitions are on the grid of `ringtail_nif_indices`; `None` if
    /// they are not on it.
    pub fn grid_step(&self) -> Option<u32> {
        self.grid_step
    }

    pub fn atoms(&self) -> &NodeAtoms {
        &self.atoms
    }

    /// The node's atom, or the fault that names it.
    #[inline]
    pub fn node_atom(&self, env: Env, node: NodeId) -> Result<Atom, Failure> {
        self.atoms.atom(env, &self.ring, node)
    }
}

/// The VM's atoms for the nodes of a ring.
///
/// Atoms are never made here: a ring comes from outside, and atoms are for ever. A name the VM does
/// not know yet is looked up again when it is needed, since a node may be met after its ring was
/// loaded.
pub struct NodeAtoms {
    /// By node; empty where the VM did not know the name.
    atoms: Vec<OnceLock<Atom>>,
    /// The other way round, for the atoms known at load.
    nodes: HashMap<Atom, NodeId>,
}

impl NodeAtoms {
    fn new(env: Env, ring: &Ring) -> Self {
        let found = ring.nodes().iter().map(|name| existing_atom(env, name));
        let atoms: Vec<_> =
            found.map(|atom| atom.map_or_else(OnceLock::new, OnceLock::from)).collect();
        let nodes =
            (0..).map(NodeId).zip(&atoms).filter_map(|(node, atom)| Some((*atom.get()?, node)));
        Self { nodes: nodes.collect(), atoms }
    }

    #[inline]
    fn atom(&self, env: Env, ring: &Ring, node: NodeId) -> Result<Atom, Failure> {
        let cell = &self.atoms[usize::from(node.0)];
        if let Some(atom) = cell.get() {
            return Ok(*atom);
        }
        let name = ring.node_name(node);
        let atom = existing_atom(env, name).ok_or_else(|| Fault::UnknownNode(name.to_owned()))?;
        Ok(*cell.get_or_init(|| atom))
    }

    /// The node an atom names, if it is in the ring.
    pub fn node(&self, env: Env, atom: Atom, ring: &Ring) -> Option<NodeId> {
        let found = if self.atoms.len() <= FEW_NODES {
            let place = self.atoms.iter().position(|known| known.get() == Some(&atom));
            place.and_then(|place| u16::try_from(place).ok()).map(NodeId)
        } else {
            self.nodes.get(&atom).copied()
        };
        match found {
            Some(node) => Some(node),
            None if self.nodes.len() == self.atoms.len() => None,
            None => ring.node_id(&atom_name(atom.to_term(env))?),
        }
    }
}

/// Up to here comparing one by one is quicker than hashing.
const FEW_NODES: usize = 32;

const ETF_VERSION: u8 = 131;
const ATOM_UTF8_EXT: u8 = 118;

/// The atom of this name if the VM has it.
///
/// By the external term format in safe mode, which finds any atom and makes none: the interface's
/// own look-up before OTP 26 knows only names in Latin-1.
fn existing_atom(env: Env, name: &str) -> Option<Atom> {
    let length = u16::try_from(name.len()).ok()?;
    let mut bytes = vec![ETF_VERSION, ATOM_UTF8_EXT];
    bytes.extend(length.to_be_bytes());
    bytes.extend(name.as_bytes());
    let (term, _) = env.binary_to_term(&bytes)?;
    term.decode().ok()
}

/// The text of an atom, by the same way for the same reason.
fn atom_name(atom: Term) -> Option<String> {
    const SMALL_ATOM_UTF8_EXT: u8 = 119;
    const ATOM_EXT: u8 = 100;
    const SMALL_ATOM_EXT: u8 = 115;
    let bytes = atom.to_binary();
    let latin1 = |name: &[u8]| name.iter().copied().map(char::from).collect();
    match bytes.as_slice() {
        [ETF_VERSION, SMALL_ATOM_UTF8_EXT, _, name @ ..]
        | [ETF_VERSION, ATOM_UTF8_EXT, _, _, name @ ..] => String::from_utf8(name.to_vec()).ok(),
        [ETF_VERSION, ATOM_EXT, _, _, name @ ..] | [ETF_VERSION, SMALL_ATOM_EXT, _, name @ ..] => {
            Some(latin1(name))
        }
        _ => None,
    }
}
