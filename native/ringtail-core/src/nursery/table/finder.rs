//! Finds a key among separators without following a pointer for each comparison.

use crate::nursery::key::Key;

/// What all separators begin with, and the eight bytes of each that come next, as numbers that
/// compare as those bytes do. The separators themselves are looked at only where these bytes are
/// the key's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finder {
    shared: Box<[u8]>,
    heads: Box<[u64]>,
}

impl Finder {
    pub(super) fn new(separators: &[Key]) -> Self {
        let shared = match separators {
            [] => &[],
            [first, .., last] => shared(first.as_bytes(), last.as_bytes()),
            [only] => only.as_bytes(),
        };
        let heads = separators.iter().map(|key| head(&key.as_bytes()[shared.len()..])).collect();
        Self { shared: shared.into(), heads }
    }

    /// How many of the separators are not above the key.
    #[inline]
    pub(super) fn find(&self, key: &[u8], separators: &[Key]) -> usize {
        let Some(rest) = key.strip_prefix(&*self.shared) else {
            return if key < &*self.shared { 0 } else { separators.len() };
        };
        let wanted = head(rest);
        let low = self.heads.partition_point(|&head| head < wanted);
        if self.heads.get(low) != Some(&wanted) {
            return low;
        }
        // A head is filled up with zeros, so `k` and `k\0` have the same one.
        let same = self.heads[low..].partition_point(|&head| head == wanted);
        let alike = &separators[low..low + same];
        low + alike.partition_point(|separator| separator.as_bytes() <= key)
    }
}

/// What both begin with. Of sorted keys, the first and the last have the least in common.
fn shared<'k>(one: &'k [u8], other: &[u8]) -> &'k [u8] {
    let len = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    &one[..len]
}

#[inline]
fn head(bytes: &[u8]) -> u64 {
    if let Some(head) = bytes.first_chunk() {
        return u64::from_be_bytes(*head);
    }
    let mut head = [0; 8];
    head[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(head)
}
