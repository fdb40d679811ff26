//! Whatever pieces a stream arrives in, the same frames come out.

use proptest::prelude::*;
use ringtail_port_codec::{Frames, Received};

const LIMIT: usize = 300;

#[derive(Clone, Debug, PartialEq)]
enum Came {
    Frame(Vec<u8>),
    TooLarge(usize, Vec<u8>),
}

fn stream(contents: &[Vec<u8>]) -> Vec<u8> {
    contents
        .iter()
        .flat_map(|content| [&(content.len() as u32).to_be_bytes()[..], content].concat())
        .collect()
}

fn expected(contents: &[Vec<u8>]) -> Vec<Came> {
    let came = |content: &Vec<u8>| match content.len() {
        length if length > LIMIT => {
            let head = if content[0] == 131 { 16 } else { 1 };
            Came::TooLarge(length, content[..head].to_vec())
        }
        _ => Came::Frame(content.clone()),
    };
    contents.iter().map(came).collect()
}

/// Feeds a stream in pieces that end at the given places, and takes out what is whole after each.
fn fed(bytes: &[u8], ends: impl Iterator<Item = usize>, frames: &mut Frames) -> Vec<Came> {
    let mut came = Vec::new();
    let mut at = 0;
    for end in ends.chain([bytes.len()]) {
        while at < end {
            let spare = frames.spare();
            let count = spare.len().min(end - at);
            spare[..count].copy_from_slice(&bytes[at..at + count]);
            frames.filled(count);
            at += count;
            while let Some(received) = frames.next() {
                came.push(match received {
                    Received::Frame(frame) => Came::Frame(frame.to_vec()),
                    Received::TooLarge { length, head } => Came::TooLarge(length, head.to_vec()),
                });
            }
        }
    }
    came
}

fn contents() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let content = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..60),
        1 => prop::collection::vec(any::<u8>(), LIMIT - 2..LIMIT + 3),
        1 => prop::collection::vec(any::<u8>(), LIMIT + 1..2000),
        1 => prop::collection::vec(any::<u8>(), LIMIT..2000)
            .prop_map(|rest| [&[131][..], &rest].concat()),
    ];
    prop::collection::vec(content, 0..12)
}

proptest! {
    #[test]
    fn any_split_gives_the_same_frames(
        contents in contents(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let bytes = stream(&contents);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.sort_unstable();
        let mut frames = Frames::with_limit(LIMIT);
        prop_assert_eq!(fed(&bytes, ends.into_iter(), &mut frames), expected(&contents));
        prop_assert!(frames.between_frames());
    }

    #[test]
    fn byte_by_byte_gives_the_same_frames(contents in contents()) {
        let bytes = stream(&contents);
        let mut frames = Frames::with_limit(LIMIT);
        prop_assert_eq!(fed(&bytes, 1..bytes.len().max(1), &mut frames), expected(&contents));
    }

    #[test]
    fn a_stream_cut_short_gives_what_was_whole(
        contents in contents(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = stream(&contents);
        let cut = cut.index(bytes.len() + 1);
        let mut frames = Frames::with_limit(LIMIT);
        let came = fed(&bytes[..cut], std::iter::empty(), &mut frames);
        prop_assert!(expected(&contents).starts_with(&came));
        let mut boundaries = contents.iter().scan(0, |end, content| {
            *end += 4 + content.len();
            Some(*end)
        });
        let at_a_boundary = cut == 0 || boundaries.any(|end| end == cut);
        prop_assert_eq!(frames.between_frames(), at_a_boundary);
    }
}

#[test]
fn a_large_frame_that_holds_no_term_is_told_at_its_first_byte() {
    let mut frames = Frames::default();
    for (byte, told) in b"GET /".iter().zip([false, false, false, false, true]) {
        frames.spare()[0] = *byte;
        frames.filled(1);
        assert_eq!(frames.next().is_some(), told);
    }
}

#[test]
fn a_claimed_length_takes_no_memory() {
    let mut frames = Frames::default();
    frames.spare()[..4].copy_from_slice(&(60u32 << 20).to_be_bytes());
    frames.filled(4);
    assert_eq!(frames.next(), None);
    assert!(frames.spare().len() <= 64 * 1024);
}

#[test]
fn frames_of_many_megabytes_pass_and_their_room_is_given_back() {
    let large = vec![7; 20 << 20];
    let mut frames = Frames::default();
    let contents = [vec![1], large, vec![2]];
    let came = fed(&stream(&contents), std::iter::empty(), &mut frames);
    assert!(came.into_iter().zip(contents).all(|(came, content)| came == Came::Frame(content)));
    assert!(frames.spare().len() <= 64 * 1024);
}
