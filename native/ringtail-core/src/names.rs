//! Node names, each kept once.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::RingError;
use crate::node::{MAX_NODES, NodeId, NodeName};

/// Gives each distinct name a number in order of appearance; sorted only when all are known. The
/// table holds numbers, not names, which is what keeps a ring of nothing but distinct names within
/// the decoder's bound of memory.
#[derive(Default)]
pub(crate) struct Names {
    names: Vec<NodeName>,
    numbers: HashTable<u16>,
    hasher: DefaultHashBuilder,
    /// Neighbours in a list often share a node.
    last: u16,
}

impl Names {
    pub(crate) fn intern(&mut self, name: &str) -> Result<NodeId, RingError> {
        if self.names.get(usize::from(self.last)).is_some_and(|last| **last == *name) {
            return Ok(NodeId(self.last));
        }
        let hash = self.hasher.hash_one(name);
        let names = &self.names;
        if let Some(&number) =
            self.numbers.find(hash, |&number| *names[usize::from(number)] == *name)
        {
            self.last = number;
            return Ok(NodeId(number));
        }
        if self.names.len() == MAX_NODES {
            return Err(RingError::TooManyNodes { limit: MAX_NODES });
        }
        let number = self.names.len() as u16;
        self.names.push(NodeName::from(name));
        let (names, hasher) = (&self.names, &self.hasher);
        self.numbers
            .insert_unique(hash, number, |&number| hasher.hash_one(&*names[usize::from(number)]));
        self.last = number;
        Ok(NodeId(number))
    }

    /// How many names there are.
    pub(crate) fn len(&self) -> u16 {
        self.names.len() as u16
    }

    /// The names in order, and for each number given out the number after sorting.
    pub(crate) fn sorted(self) -> (Box<[NodeName]>, Vec<NodeId>) {
        let Names { names, .. } = self;
        let mut order: Vec<u16> = (0..names.len() as u16).collect();
        order.sort_unstable_by(|&a, &b| names[usize::from(a)].cmp(&names[usize::from(b)]));
        let mut ranks = vec![NodeId(0); names.len()];
        for (rank, &number) in order.iter().enumerate() {
            ranks[usize::from(number)] = NodeId(rank as u16);
        }
        let sorted = order.iter().map(|&number| names[usize::from(number)].clone()).collect();
        (sorted, ranks)
    }
}
