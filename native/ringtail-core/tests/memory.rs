//! The decoder's bound of memory: below three times the input and 1 MiB, for a compressed term
//! three times what it inflates to. One test, because the allocator counts for the whole process.

use peak_alloc::PeakAlloc;
use ringtail_core::testing::{AtomEncoding, Etf, Record, compress, deflate, encode, spread};
use ringtail_core::{MAX_NODES, MemberStatus, PendingParts, PendingStatus, Ring, RingParts};

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

const MIB: usize = 1 << 20;

/// Decodes and returns the most memory that took, the ring itself included.
fn peak(bytes: &[u8]) -> (usize, Result<Ring, ringtail_core::DecodeError>) {
    let before = PEAK.current_usage();
    PEAK.reset_peak_usage();
    let ring = Ring::decode(bytes);
    (PEAK.peak_usage() - before, ring)
}

fn check(name: &str, bytes: &[u8], input: usize, accepted: bool) {
    let (peak, ring) = peak(bytes);
    assert_eq!(ring.is_ok(), accepted, "{name}: {:?}", ring.err());
    let bound = 3 * input + MIB;
    println!("{name}: input {input}, peak {peak}, of bound {:.2}", peak as f64 / bound as f64);
    assert!(peak < bound, "{name}: {peak} bytes for an input of {input}");
}

fn plain(name: &str, bytes: &[u8], accepted: bool) {
    check(name, bytes, bytes.len(), accepted);
}

fn short(parts: &RingParts) -> Vec<u8> {
    encode(parts, Record::Current, AtomEncoding::SmallUtf8)
}

/// The shortest distinct names there are.
fn name(number: usize) -> String {
    let digit = |value: usize| char::from(b'!' + (value % 90) as u8);
    [digit(number), digit(number / 90), digit(number / 8100)][..2 + usize::from(number >= 8100)]
        .iter()
        .collect()
}

#[test]
fn memory_stays_within_three_times_the_input() {
    plain("spread 64", &short(&spread(64, 5)), true);
    plain("spread 4096", &short(&spread(4096, 60)), true);
    plain("spread 262144", &short(&spread(1 << 18, 60)), true);
    check(
        "spread 4096, compressed",
        &compress(&short(&spread(4096, 60))),
        short(&spread(4096, 60)).len(),
        true,
    );

    // Nothing but distinct names.
    let mut names = spread(1, 1);
    names.members = (0..MAX_NODES - 1).map(|number| (name(number), MemberStatus::Down)).collect();
    plain("all members distinct", &short(&names), true);
    let mut owners = spread(MAX_NODES as u32, 1);
    owners.members.clear();
    owners.owners.iter_mut().enumerate().for_each(|(number, (_, owner))| *owner = name(number));
    plain("all owners distinct", &short(&owners), true);

    // The entries that weigh least in the input.
    let mut members = spread(1, 1);
    members.members = vec![(String::new(), MemberStatus::Down); 250_000];
    plain("one member again and again", &short(&members), false);
    for count in [(1 << 17) + 1, 250_000] {
        let mut pending = spread(1, 1);
        let transfer = PendingParts {
            index: pending.owners[0].0,
            owner: String::new(),
            next_owner: String::new(),
            status: PendingStatus::Awaiting,
        };
        pending.pending = vec![transfer; count];
        plain("many transfers", &short(&pending), true);
        check(
            "many transfers, compressed",
            &compress(&short(&pending)),
            short(&pending).len(),
            true,
        );
    }

    // Lengths that lie.
    let mut lie = Etf::new(AtomEncoding::SmallUtf8);
    lie.tuple(11).atom("chstate_v2").atom("a@b").vclock(1).tuple(2).integer(u64::from(u32::MAX));
    let (head, huge) = (lie.bytes, u32::MAX.to_be_bytes());
    for tag in [105, 108, 109, 111, 116] {
        let bytes = [&head[..], &[tag], &huge, &[106; 100]].concat();
        plain("length that lies", &bytes, false);
    }
    let owners =
        [&head[..], &[108, 0, 4, 0, 0], &[104, 2, 97, 0, 119, 0].repeat(0x4_0000)].concat();
    plain("one owner again and again", &owners, false);

    // Deep and wide.
    for term in [&[104, 1][..], &[108, 0, 0, 0, 1], &[116, 0, 0, 0, 1, 106]] {
        let deep =
            [&[131][..], &[104, 11, 119, 10], b"chstate_v2", &term.repeat(1_000_000)].concat();
        plain("nested deep", &deep, false);
    }

    // Compressed terms that inflate far beyond what they say, far short of it, or up to the limit
    // and no ring.
    let mut bomb = deflate(&vec![106; 64 * MIB], 0);
    for claimed in [0, 1000, 64 * MIB - 1, 64 * MIB] {
        bomb[2..6].copy_from_slice(&(claimed as u32).to_be_bytes());
        check("inflates to the limit", &bomb, claimed.max(bomb.len()), false);
    }
    for claimed in [64 * MIB, 64 * MIB + 1, u32::MAX as usize] {
        plain("inflates short of its claim", &deflate(&[106; 100], claimed), false);
    }
}
