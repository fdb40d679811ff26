//! What the ways to answer `ringtail keys` have in common.

use std::io;

use ringtail_core::Position;

/// What becomes of the keys.
pub trait Sink {
    /// Takes a key and the position of its first primary.
    fn key(&mut self, key: &[u8], position: Position) -> io::Result<()>;

    /// Called before a read, which may wait for long: whoever types or feeds keys slowly sees each
    /// answer at once.
    fn flush(&mut self) -> io::Result<()>;
}
