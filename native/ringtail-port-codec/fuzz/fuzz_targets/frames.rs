//! A stream of any bytes in pieces of any size: the same frames come out as if it came at once, and
//! what is in them is read or refused. Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run frames --
//! -max_total_time=60` in `native/ringtail-port-codec`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringtail_core::term::Term;
use ringtail_port_codec::{Frames, Received, Request, id_of_head};

const LIMIT: usize = 4096;

fn came(bytes: &[u8], pieces: impl Iterator<Item = usize>) -> Vec<Result<Vec<u8>, usize>> {
    let mut frames = Frames::with_limit(LIMIT);
    let mut came = Vec::new();
    let mut rest = bytes;
    for size in pieces.chain(std::iter::repeat(usize::MAX)) {
        if rest.is_empty() {
            break;
        }
        let spare = frames.spare();
        let count = size.clamp(1, spare.len().min(rest.len()));
        let (piece, after) = rest.split_at(count);
        spare[..count].copy_from_slice(piece);
        frames.filled(count);
        rest = after;
        while let Some(received) = frames.next() {
            came.push(match received {
                Received::Frame(frame) => Ok(frame.to_vec()),
                Received::TooLarge { length, head } => {
                    let _ = id_of_head(head);
                    Err(length)
                }
            });
        }
    }
    came
}

/// Looks at everything a term could be, and at its elements a few levels deep.
fn look(term: &Term, depth: u32) {
    let _ = (term.atom(), term.binary(), term.u64(), term.is_atom("ok"));
    if depth == 0 {
        return;
    }
    if let Some(elements) = term.tuple_up_to(16) {
        elements.iter().for_each(|element| look(element, depth - 1));
    }
    if let Some(elements) = term.list() {
        let count = elements.len();
        assert_eq!(elements.clone().count(), count);
        elements.take(100).for_each(|element| look(&element, depth - 1));
    }
}

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (sizes, bytes) = input;
    let whole = came(&bytes, std::iter::empty());
    assert_eq!(came(&bytes, sizes.iter().map(|&size| usize::from(size))), whole);
    for frame in whole.iter().flatten().chain([&bytes]) {
        if let Ok(Request::Call { arguments, .. }) = Request::parse(frame) {
            arguments.iter().for_each(|argument| look(argument, 3));
        }
        if let Ok(term) = Term::of_message(frame) {
            look(&term, 4);
        }
    }
});
