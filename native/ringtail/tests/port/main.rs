//! `ringtail port` as an Erlang VM meets it.

mod support;

use std::io::{ErrorKind, Write};
use std::time::Duration;

use ringtail_core::{Keyfun, hash_key};
use support::{Port, atom, binary, error, frame, list, number, tuple};

/// A deadline, for a machine with much else to do.
const AT_ONCE: Duration = Duration::from_secs(30);

fn chash(key: &[u8]) -> Vec<eetf::Term> {
    vec![binary("t"), binary("b"), binary(key), atom("std")]
}

fn hash(key: &[u8]) -> Vec<u8> {
    hash_key(b"t", b"b", key, Keyfun::Std).as_bytes().to_vec()
}

#[test]
fn answers_whatever_pieces_the_requests_come_in() {
    let mut port = Port::start();
    let requests: Vec<u8> = (1..=20u64)
        .flat_map(|id| {
            frame(tuple(vec![number(id), atom("chash"), tuple(chash(&id.to_be_bytes()))]))
        })
        .collect();
    for size in [1, 2, 3, 7, 50, requests.len()] {
        for piece in requests.chunks(size) {
            port.send_bytes(piece);
        }
        for id in 1..=20u64 {
            assert_eq!(port.receive(), (id, "ok".into(), binary(hash(&id.to_be_bytes()))));
        }
    }
}

#[test]
fn a_frame_too_large_is_refused_and_the_next_one_served() {
    let mut port = Port::start();
    port.call(7, "chash", chash(&vec![0; 65 << 20]));
    port.call(8, "chash", chash(b"k"));
    let (id, kind, value) = port.receive();
    assert_eq!((id, kind.as_str(), error(&value).0.as_str()), (7, "error", "frame_too_large"));
    assert_eq!(port.receive(), (8, "ok".into(), binary(hash(b"k"))));
}

#[test]
fn unknown_operations_and_wrong_arguments_are_answers() {
    let mut port = Port::start();
    let code = |port: &mut Port, operation: &str, arguments| {
        port.answer(operation, arguments).unwrap_err().0
    };
    assert_eq!(code(&mut port, "no_such_operation", vec![]), "unknown_operation");
    assert_eq!(code(&mut port, "chash", vec![]), "bad_arity");
    assert_eq!(code(&mut port, "ring_size", vec![binary([0; 20])]), "no_such_ring");
    assert_eq!(code(&mut port, "ring_load", vec![binary([0; 20]), binary("junk")]), "not_a_ring");
    assert_eq!(port.answer("chash", chash(b"k")), Ok(binary(hash(b"k"))));
}

#[test]
fn garbage_ends_it_with_a_message() {
    for garbage in [
        &b"\0\0\0\x05hello"[..],
        b"\0\0\0\0",
        b"GET / HTTP/1.1\r\n\r\n",
        b"help\n",
        &frame(atom("hello")),
    ] {
        let mut port = Port::start();
        port.send_bytes(garbage);
        let (status, said) = port.ended(AT_ONCE);
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.starts_with("ringtail port: a frame "), "{said}");
    }
}

#[test]
fn it_ends_when_stdin_is_closed() {
    let mut port = Port::start();
    assert!(port.answer("version", vec![]).is_ok());
    port.stdin = None;
    assert_eq!(port.ended(AT_ONCE).0.code(), Some(0));
}

/// Its answers are not read, so its reader and its workers stand still, and much of what was sent
/// is unread.
#[test]
fn it_ends_when_stdin_is_closed_although_nobody_reads_its_answers() {
    let mut port = Port::start();
    let ring = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../test/vectors/rings/live4_my.etf"
    ))
    .unwrap();
    assert!(port.answer("ring_load", vec![binary([7; 20]), binary(ring)]).is_ok());
    let key = |k: u64| tuple(vec![binary("t"), binary("b"), binary(k.to_be_bytes())]);
    let slow = vec![binary([7; 20]), list((0..1000).map(key).collect()), atom("std"), number(3)];
    let requests: Vec<u8> = (1..300u64)
        .flat_map(|id| {
            let slow = frame(tuple(vec![number(id), atom("primaries_many"), tuple(slow.clone())]));
            let quick = frame(tuple(vec![number(id), atom("chash"), tuple(chash(b"k"))]));
            [slow, quick.repeat(100)].concat()
        })
        .collect();
    let mut stdin = port.stdin.take().unwrap();
    rustix::io::ioctl_fionbio(&stdin, true).unwrap();
    let (mut sent, mut refused) = (0, 0);
    while refused < 50 {
        assert!(sent < requests.len(), "everything was taken although no answer was read");
        match stdin.write(&requests[sent..]) {
            Ok(count) => sent += count,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refused += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    drop(stdin);
    assert_eq!(port.ended(AT_ONCE).0.code(), Some(0));
}
