//! The division of the hash circle into partitions.

use std::fmt;
use std::num::NonZeroU32;

use thiserror::Error;

use crate::index::{Index, KeyHash, Position};
use crate::wide::Wide;

/// The number of partitions of a ring, with the increment worked out.
///
/// Any size from 1 up is divided exactly as Riak divides it: partition `i` is named `i *
/// increment`, where `increment = 2^160 div size` (`chash:ring_increment/1`). For a size that is no
/// power of two a few hashes at the very top lie beyond the last partition; `chash:next_index/2`
/// wraps them to position 1, and so does [`position_of`](RingSize::position_of).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    size: NonZeroU32,
    increment: Wide,
}

impl RingSize {
    /// Refuses 0.
    pub fn new(size: u32) -> Result<RingSize, RingSizeError> {
        let size = NonZeroU32::new(size).ok_or(RingSizeError::Zero)?;
        let (increment, _) = Wide::RING_TOP.div_rem(u64::from(size.get()));
        Ok(RingSize { size, increment })
    }

    /// The number of partitions.
    pub fn get(self) -> u32 {
        self.size.get()
    }

    /// The distance between two indices; `None` for a ring of one partition, whose increment
    /// (2^160) is itself no index.
    pub fn increment(self) -> Option<Index> {
        self.increment.to_be_bytes().map(Index::from_bytes)
    }

    pub(crate) fn wide_increment(self) -> Wide {
        self.increment
    }

    /// Every position in ring order.
    pub fn positions(self) -> impl ExactSizeIterator<Item = Position> {
        (0..self.get()).map(Position)
    }

    /// The name of the partition at a position.
    ///
    /// # Panics
    /// If the position is not below the ring size.
    pub fn index_of(self, position: Position) -> Index {
        assert!(position.0 < self.get(), "position {position} in a ring of {self} partitions");
        let index = self.increment.mul_add(u64::from(position.0), 0).and_then(Wide::to_be_bytes);
        Index::from_bytes(index.expect("a position times the increment is below 2^160"))
    }

    /// The position an index names, `None` if it names no partition of a ring of this size.
    pub fn position_of_index(self, index: &Index) -> Option<Position> {
        let position = self.quotient(&index.as_hash());
        let on_grid = position < self.get() && self.index_of(Position(position)) == *index;
        on_grid.then_some(Position(position))
    }

    /// Where the preflist of a hash starts: `((hash div increment) + 1) rem size`, the partition
    /// *after* the one the hash falls into (`chash:next_index/2`).
    #[inline]
    pub fn position_of(self, hash: &KeyHash) -> Position {
        let next = u64::from(self.quotient(hash)) + 1;
        let size = u64::from(self.get());
        // The quotient is at most `size`, so one subtraction is the remainder.
        Position(if next < size { next } else { next - size } as u32)
    }

    /// `hash div increment` without a long division.
    ///
    /// `top * size / 2^64` falls short of `hash / increment` by less than `(size + 1) / 2^64`: by
    /// what the low 96 bits of the hash add, and by what rounding the increment down adds (below
    /// `size^2 / 2^160`). So the integer part is right unless the fraction is that close to one,
    /// which happens once in 2^32 hashes or less; then the product decides.
    #[inline]
    fn quotient(self, hash: &KeyHash) -> u32 {
        let size = u64::from(self.get());
        let product = u128::from(hash.top()) * u128::from(size);
        let estimate = (product >> 64) as u32;
        if (product as u64) < u64::MAX - size - 1 {
            return estimate;
        }
        let next = self.increment.mul_add(u64::from(estimate) + 1, 0).expect("at most 2^160");
        if hash.wide() >= next { estimate + 1 } else { estimate }
    }
}

impl fmt::Display for RingSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.size.fmt(f)
    }
}

/// A size no ring has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RingSizeError {
    /// Size 0.
    #[error("a ring has at least one partition: give the cluster's ring size")]
    Zero,
}

impl RingSizeError {
    /// `empty_ring`.
    pub fn code(&self) -> &'static str {
        match self {
            RingSizeError::Zero => "empty_ring",
        }
    }
}
