//! What the clients know: every write they tried, and which were acknowledged.

use ringtail_core::nursery::{Interval, Key};

/// Keys that are easy to take for each other, in order.
pub const KEYS: [&[u8]; 9] =
    [b"a", b"b\xff", b"k", b"k\0", b"k\x01", b"k\xff", b"l", b"\xc3\xa9", b"\xff\xff"];

/// An object of a cluster: which write of its key it is, and whether that was a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    pub write: u32,
    pub deleted: bool,
}

#[derive(Clone, Default)]
struct History {
    /// Whether each write, from 1 on, is a delete.
    deletes: Vec<bool>,
    acknowledged: u32,
    /// Writes that are on their way or running somewhere.
    outstanding: u32,
}

/// One writer a key, whose writes are numbered. A write that is not answered may still happen.
#[derive(Default)]
pub struct Model {
    keys: [History; KEYS.len()],
}

impl Model {
    pub fn write(&mut self, key: usize, deleted: bool) -> Object {
        let history = &mut self.keys[key];
        history.deletes.push(deleted);
        Object { write: history.deletes.len() as u32, deleted }
    }

    pub fn acknowledge(&mut self, key: usize, write: u32) {
        let acknowledged = &mut self.keys[key].acknowledged;
        *acknowledged = write.max(*acknowledged);
    }

    pub fn departs(&mut self, key: usize) {
        self.keys[key].outstanding += 1;
    }

    pub fn ends(&mut self, key: usize) {
        self.keys[key].outstanding -= 1;
    }

    /// A tombstone may be reaped when no older write of the key can come any more.
    pub fn is_alone(&self, key: usize) -> bool {
        self.keys[key].outstanding == 1
    }

    /// The last write that a read which begins now must see, or a later one.
    pub fn floor(&self, key: usize) -> u32 {
        self.keys[key].acknowledged
    }

    pub fn check(&self, key: usize, floor: u32, seen: Option<Object>) -> Result<(), String> {
        let fits = match seen.filter(|object| !object.deleted) {
            Some(object) => object.write >= floor,
            None => {
                let from = floor.saturating_sub(1) as usize;
                floor == 0 || self.keys[key].deletes[from..].contains(&true)
            }
        };
        if fits { Ok(()) } else { Err(format!("key {key}: {seen:?} where write {floor} is due")) }
    }
}

pub fn contains(interval: &Interval, key: usize) -> bool {
    interval.contains(KEYS[key])
}

pub fn separator(key: usize) -> Key {
    Key::new(KEYS[key]).expect("a short key")
}
