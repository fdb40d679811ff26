//! `ringtail keys --count`: how many keys each node has.

use std::io;

use ringtail_core::{NVal, NodeId, Position, Ring};
use serde::Serialize;

use super::sink::Sink;
use crate::keytext::shown;
use crate::output::{Output, Style};
use crate::table::{Align, Table};

/// Keys counted by the position of their first primary; nodes are looked at only at the end.
pub struct Counts<'a> {
    ring: &'a Ring,
    n: NVal,
    keys: Vec<u64>,
}

/// The answer, and its form in JSON.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Document {
    ring_size: u32,
    n: u32,
    /// All keys.
    keys: u64,
    nodes: Vec<NodeCount>,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
struct NodeCount {
    node: String,
    /// Keys it is a primary of.
    keys: u64,
    /// Keys it is the first primary of.
    first: u64,
    /// Partitions of keys' preflists that it owns: more than `keys` where a preflist names it
    /// twice.
    copies: u64,
}

impl<'a> Counts<'a> {
    pub fn new(ring: &'a Ring, n: NVal) -> Self {
        Self { ring, n, keys: vec![0; ring.size() as usize] }
    }

    pub fn write(&self, out: &mut Output) -> io::Result<()> {
        let document = self.document();
        match out.style {
            Style::Json => out.json(&document),
            Style::Plain => table(&document).write_plain(out, None),
            Style::Table => table(&document).write_aligned(out),
        }
    }

    /// Every node of the ring, also those without keys, in order of their names.
    fn document(&self) -> Document {
        let nodes = self.ring.nodes().iter().enumerate();
        let counts = nodes.map(|(id, name)| self.node(NodeId(id as u16), name)).collect();
        Document {
            ring_size: self.ring.size(),
            n: self.n.get(),
            keys: self.keys.iter().sum(),
            nodes: counts,
        }
    }

    /// One pass around the ring; `owned` counts the node's partitions among the n from the current
    /// position on.
    fn node(&self, node: NodeId, name: &str) -> NodeCount {
        let size = self.keys.len();
        let n = self.n.get() as usize;
        let owns = |at: usize| u64::from(self.ring.owner(Position((at % size) as u32)) == node);
        let mut count = NodeCount { node: name.to_owned(), keys: 0, first: 0, copies: 0 };
        let mut owned: u64 = (0..n).map(owns).sum();
        for (at, &keys) in self.keys.iter().enumerate() {
            count.first += keys * owns(at);
            count.copies += keys * owned;
            count.keys += keys * u64::from(owned > 0);
            owned = owned + owns(at + n) - owns(at);
        }
        count
    }
}

impl Sink for Counts<'_> {
    #[inline]
    fn key(&mut self, _: &[u8], position: Position) -> io::Result<()> {
        self.keys[position.0 as usize] += 1;
        Ok(())
    }

    /// There is nothing to show before the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn table(document: &Document) -> Table {
    let columns = ["NODE", "KEYS", "FIRST", "COPIES"];
    let mut table = Table::new(
        &columns.map(|name| (name, if name == "NODE" { Align::Left } else { Align::Right })),
    );
    let mut row = |name: String, counts: [u64; 3]| {
        table.row([vec![name], counts.map(|count| count.to_string()).to_vec()].concat());
    };
    for node in &document.nodes {
        row(shown(node.node.as_bytes()), [node.keys, node.first, node.copies]);
    }
    row("total".to_owned(), [document.keys, document.keys, document.keys * u64::from(document.n)]);
    table
}
