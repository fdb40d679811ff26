//! Compressed terms: `term_to_binary(Term, [compressed])`.

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::DecodeError;

/// The most a compressed term may inflate to.
pub(crate) const INFLATED_LIMIT: usize = 64 << 20;

/// The first piece of memory; from there it doubles with what really comes.
const FIRST: usize = 16 << 10;

/// Inflates what follows the claimed size. The claim is checked and bounds the memory, but none is
/// taken because of it. `offset` is where `deflated` stands in the input, which has nothing after
/// it.
pub(crate) fn inflate(
    deflated: &[u8],
    claimed: usize,
    offset: usize,
) -> Result<Vec<u8>, DecodeError> {
    if claimed > INFLATED_LIMIT {
        return Err(DecodeError::InflatesTooLarge { limit: INFLATED_LIMIT });
    }
    let mut stream = Decompress::new(true);
    let mut inflated = Vec::new();
    loop {
        if inflated.len() == inflated.capacity() {
            // One byte more than claimed, so that a stream which goes on is seen.
            let room = claimed + 1 - inflated.len();
            inflated.reserve_exact(inflated.len().max(FIRST).min(room));
        }
        let (before, rest) = (stream.total_in(), &deflated[stream.total_in() as usize..]);
        let status = stream.decompress_vec(rest, &mut inflated, FlushDecompress::None);
        if inflated.len() > claimed {
            return Err(DecodeError::InflatedSize { claimed });
        }
        let read = stream.total_in() as usize;
        match status.map_err(|_| DecodeError::BadCompression)? {
            Status::StreamEnd if inflated.len() < claimed => {
                return Err(DecodeError::InflatedSize { claimed });
            }
            Status::StreamEnd if read < deflated.len() => {
                return Err(DecodeError::TrailingBytes {
                    offset: offset + read,
                    count: deflated.len() - read,
                });
            }
            Status::StreamEnd => return Ok(inflated),
            Status::Ok | Status::BufError => {
                let full = inflated.len() == inflated.capacity();
                if read == deflated.len() && before == stream.total_in() && !full {
                    return Err(DecodeError::Truncated { len: offset + deflated.len() });
                }
            }
        }
    }
}
