//! What clap cannot check of an argument alone, for commands that read a ring.

use ringtail_core::{KeyTextError, NVal, Ring, keys};

use crate::failure::Failure;

/// Refuses more primaries than the ring has partitions, before any work is done.
pub fn check_n(ring: &Ring, n: NVal) -> Result<(), Failure> {
    ring.check_n(n).map_err(|error| Failure::usage(error.code(), format!("--n: {error}")))
}

/// Decodes hexadecimal text; blanks around it, such as a carriage return, are no part of it.
pub fn hex(text: &[u8]) -> Result<Vec<u8>, KeyTextError> {
    match std::str::from_utf8(text.trim_ascii()) {
        Ok(text) => keys::parse_hex(text),
        Err(error) => Err(KeyTextError::NotHex { at: error.valid_up_to() }),
    }
}
