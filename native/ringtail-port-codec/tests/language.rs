//! Requests and answers, against another implementation of the external term format.

use std::convert::Infallible;

use eetf::{Atom, BigInteger, Binary, FixInteger, List, Term, Tuple};
use proptest::prelude::*;
use ringtail_port_codec::{Request, answer, id_of_head};

fn encoded(term: Term) -> Vec<u8> {
    let mut bytes = Vec::new();
    term.encode(&mut bytes).unwrap();
    bytes
}

fn integer(number: u64) -> Term {
    match i32::try_from(number) {
        Ok(number) => FixInteger::from(number).into(),
        Err(_) => BigInteger::from(number).into(),
    }
}

fn atom(name: &str) -> Term {
    Atom::from(name).into()
}

fn binary(bytes: &[u8]) -> Term {
    Binary::from(bytes).into()
}

fn tuple(elements: Vec<Term>) -> Term {
    Tuple::from(elements).into()
}

/// The term of the frame that `write` appends.
fn answered(write: impl FnOnce(&mut Vec<u8>)) -> Term {
    let mut out = vec![9, 9];
    write(&mut out);
    let (length, content) = out[2..].split_first_chunk::<4>().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, content.len());
    Term::decode(content).unwrap()
}

fn ids() -> impl Strategy<Value = u64> {
    prop_oneof![
        1u64..300,
        any::<u64>().prop_map(|id| id.max(1)),
        (0u32..64).prop_map(|bit| 1 << bit)
    ]
}

proptest! {
    #[test]
    fn calls(
        id in ids(),
        operation in "[a-z_]{1,30}",
        arguments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..16),
    ) {
        let binaries = arguments.iter().map(|bytes| binary(bytes)).collect();
        let given = tuple(vec![integer(id), atom(&operation), tuple(binaries)]);
        let frame = encoded(given);
        let request = Request::parse(&frame).unwrap();
        let Request::Call { id: read, operation: named, arguments: found } = request else {
            panic!("another request");
        };
        prop_assert_eq!(read, id);
        prop_assert_eq!(named, operation);
        let found: Vec<&[u8]> = found.iter().map(|term| term.binary().unwrap()).collect();
        prop_assert_eq!(found, arguments);
        prop_assert_eq!(id_of_head(&frame[..frame.len().min(16)]), Some(id));
    }

    #[test]
    fn words_about_a_request(
        id in ids(),
        count in any::<u64>(),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let frame = encoded(tuple(vec![atom("cancel"), integer(id)]));
        prop_assert_eq!(Request::parse(&frame).unwrap(), Request::Cancel { id });
        let frame = encoded(tuple(vec![atom("eof"), integer(id)]));
        prop_assert_eq!(Request::parse(&frame).unwrap(), Request::Eof { id });
        let frame = encoded(tuple(vec![atom("ack"), integer(id), integer(count)]));
        prop_assert_eq!(Request::parse(&frame).unwrap(), Request::Ack { id, count });
        let frame = encoded(tuple(vec![atom("data"), integer(id), binary(&bytes)]));
        prop_assert_eq!(Request::parse(&frame).unwrap(), Request::Data { id, bytes: &bytes });
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Request::parse(&bytes);
        let _ = id_of_head(&bytes);
        let _ = Request::parse(&[&[131][..], &bytes].concat());
        let _ = Request::parse(&[&[131, 104, 3, 97, 1][..], &bytes].concat());
    }

    #[test]
    fn a_call_cut_anywhere_is_refused(id in ids(), cut in any::<prop::sample::Index>()) {
        let arguments = tuple(vec![binary(b"abc"), List::nil().into()]);
        let frame = encoded(tuple(vec![integer(id), atom("chash"), arguments]));
        prop_assert!(Request::parse(&frame[..cut.index(frame.len())]).is_err());
    }

    #[test]
    fn answers(
        id in ids(),
        numbers in prop::collection::vec(any::<u64>(), 0..10),
        index in any::<[u8; 20]>(),
    ) {
        let said = answered(|out| {
            answer::ok::<Infallible>(out, id, |writer| {
                writer.tuple(3);
                writer.integer(&index);
                writer.list(numbers.iter(), |writer, number| {
                writer.u64(*number);
                Ok::<(), Infallible>(())
            })?;
                writer.atom("primary");
                Ok(())
            }, |_| unreachable!()).unwrap();
        });
        let as_big = |term: &Term| match term {
            Term::FixInteger(small) => BigInteger::from(small.value),
            Term::BigInteger(big) => big.clone(),
            other => panic!("{other} is no integer"),
        };
        let Term::Tuple(Tuple { elements }) = said else { panic!("no tuple") };
        prop_assert_eq!(as_big(&elements[0]), BigInteger::from(id));
        prop_assert_eq!(&elements[1], &atom("ok"));
        let Term::Tuple(Tuple { elements: value }) = &elements[2] else { panic!("no tuple") };
        prop_assert_eq!(as_big(&value[0]).value.to_bytes_be().1, {
            let zeros = index.iter().take_while(|&&byte| byte == 0).count().min(19);
            index[zeros..].to_vec()
        });
        let Term::List(List { elements: listed }) = &value[1] else { panic!("no list") };
        let listed: Vec<_> = listed.iter().map(as_big).collect();
        prop_assert_eq!(listed, numbers.into_iter().map(BigInteger::from).collect::<Vec<_>>());
        prop_assert_eq!(&value[2], &atom("primary"));
    }

    #[test]
    fn errors_and_progress(
        id in ids(),
        detail in ".{0,50}",
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let said = answered(|out| answer::error(out, id, "busy", &detail));
        let Term::Tuple(Tuple { elements }) = said else { panic!("no tuple") };
        let told = tuple(vec![binary(b"busy"), binary(detail.as_bytes())]);
        prop_assert_eq!(&elements[1..], &[atom("error"), told]);
        let said = answered(|out| answer::progress(out, id, |writer| writer.binary(&bytes)));
        let Term::Tuple(Tuple { elements }) = said else { panic!("no tuple") };
        prop_assert_eq!(&elements[1..], &[atom("progress"), binary(&bytes)]);
    }
}

#[test]
fn the_id_stands_where_the_vm_looks_for_it() {
    let mut out = Vec::new();
    answer::error(&mut out, 0x0102, "busy", "");
    assert_eq!(out[4..18], [131, 104, 3, 110, 8, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_failed_answer_leaves_nothing_and_a_long_detail_is_cut_between_characters() {
    let mut out = b"before".to_vec();
    let failed = answer::ok(
        &mut out,
        1,
        |writer| {
            writer.u64(7);
            Err("why")
        },
        |_| "too large",
    );
    assert_eq!((failed, &out[..]), (Err("why"), &b"before"[..]));
    let too_large = answer::ok(
        &mut out,
        1,
        |writer| {
            writer.binary(&vec![0; 65 << 20]);
            Ok(())
        },
        |_| "too large",
    );
    assert_eq!((too_large, &out[..]), (Err("too large"), &b"before"[..]));
    let said = answered(|out| answer::error(out, 1, "code", &"é".repeat(1024 * 1024)));
    let Term::Tuple(Tuple { elements }) = said else { panic!("no tuple") };
    let Term::Tuple(Tuple { elements }) = &elements[2] else { panic!("no tuple") };
    let Term::Binary(detail) = &elements[1] else { panic!("no binary") };
    assert!(detail.bytes.len() >= 1024 * 1024 - 1 && str::from_utf8(&detail.bytes).is_ok());
}

#[test]
fn what_is_no_request_is_refused() {
    let call = |id: Term| tuple(vec![id, atom("version"), tuple(vec![])]);
    assert!(Request::parse(&encoded(call(integer(1)))).is_ok());
    let no_requests = [
        call(integer(0)),
        call(FixInteger::from(-1).into()),
        call(atom("id")),
        tuple(vec![integer(1), binary(b"version"), tuple(vec![])]),
        tuple(vec![integer(1), atom("version"), List::nil().into()]),
        tuple(vec![integer(1), atom("version"), tuple(vec![integer(1); 17])]),
        tuple(vec![integer(1), atom("version")]),
        tuple(vec![atom("stop"), integer(1)]),
        tuple(vec![atom("ack"), integer(1), atom("many")]),
        atom("version"),
    ];
    for term in no_requests {
        assert!(Request::parse(&encoded(term.clone())).is_err(), "{term}");
    }
}

#[test]
fn a_piece_that_is_not_copied_makes_the_same_frame_as_one_that_is() {
    for length in [0, 1, 255, 65_536] {
        let piece = vec![7; length];
        let mut copied = b"before".to_vec();
        answer::progress(&mut copied, 9, |out| {
            out.tuple(2);
            out.atom("data");
            out.binary(&piece);
        });
        let mut around = b"before".to_vec();
        answer::binary_progress(&mut around, 9, "data", length);
        around.extend(&piece);
        assert_eq!(around, copied);
    }
}
