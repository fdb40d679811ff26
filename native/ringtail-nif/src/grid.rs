//! The grid on which rings of usual sizes lie.

/// The places of `ringtail_nif_indices`; a ring lies on it if its size divides this.
const GRID: u32 = 4096;

/// How far apart on the grid the partitions of a ring of this size are; `None` if they are not on
/// it.
pub fn grid_step(size: u32) -> Option<u32> {
    GRID.is_multiple_of(size).then(|| GRID / size)
}
