//! Questions of an Erlang VM: a wrong argument is named, and what it should have been.

use ringtail_core::question::{self, Refusal};
use ringtail_core::term::Term;
use ringtail_core::testing::spread;
use ringtail_core::{Keyfun, Ring, hash_key};

fn binary(bytes: &[u8]) -> Vec<u8> {
    [&[131, 109], &(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

fn atom(name: &str) -> Vec<u8> {
    [&[131, 119, name.len() as u8], name.as_bytes()].concat()
}

/// A list without its end, so that it can be made an improper one.
fn list(elements: &[&[u8]], tail: u8) -> Vec<u8> {
    let head = [&[131, 108], &(elements.len() as u32).to_be_bytes()[..]].concat();
    let elements: Vec<&[u8]> = elements.iter().map(|element| &element[1..]).collect();
    [head, elements.concat(), vec![tail]].concat()
}

fn term(message: &[u8]) -> Term<'_> {
    Term::of_message(message).expect("a term")
}

fn told<T>(asked: Result<T, Refusal>) -> (&'static str, String) {
    let refusal = asked.err().expect("a refusal");
    (refusal.code(), refusal.to_string())
}

#[test]
fn each_argument_that_is_wrong_is_named() {
    let (number, word, bytes) = (vec![131, 97, 7], atom("other"), binary(b"b\xff"));
    let (number, word, bytes) = (term(&number), term(&word), term(&bytes));
    let ring = Ring::from_parts(spread(8, 3)).unwrap();
    let hash = hash_key(b"default", b"b", b"k", Keyfun::Std);
    let n = question::n_val(&number).unwrap();
    let node = |_: Term| -> Option<Option<_>> { None };
    let refusals = [
        (told(question::bytes(&number, "ring")), "ring must be a binary"),
        (told(question::keyfun(&word)), "keyfun must be std or bucketonly"),
        (told(question::n_val(&word)), "n must be an integer from 1 to the ring size"),
        (told(question::object([&bytes, &bytes, &number])), "key must be a binary"),
        (told(question::hash(&bytes)), "hash must be a binary of 20 bytes"),
        (told(question::text(&bytes, "token")), "token must be UTF-8"),
        (told(question::texts(&word, "up nodes")), "up nodes must be a list of binaries"),
        (
            told(question::up_nodes(&word, &ring, node)),
            "up nodes must be a list of atoms, or the atom all",
        ),
        (
            told(question::ring_document(&word, &ring)),
            "document must be cluster_preflist, ring_summary or ring_summary_owners",
        ),
        (
            told(question::key_document(&word, &ring, &hash, n, &ring.all_up())),
            "document must be preflist or primaries",
        ),
        (told(question::cluster(&term(&binary(b"no")))), "cluster must be a UUID"),
    ];
    for ((code, detail), expected) in refusals {
        assert_eq!((code, detail.as_str()), ("bad_argument", expected));
    }
    assert_eq!(told(question::n_val(&term(&[131, 97, 0]))).0, "n_val_zero");
    assert_eq!(told(question::version(&term(&binary(b"x")), &bytes)).0, "bad_token");
}

#[test]
fn a_batch_names_the_key_that_is_none_and_no_list() {
    let keyfun = atom("std");
    let good = [&[131, 104, 3][..], &binary(b"t")[1..], &binary(b"b")[1..], &binary(b"k")[1..]];
    let good = good.concat();
    let batch = list(&[&good, &atom("other")], 106);
    let hashes = question::key_hashes(&term(&batch), &term(&keyfun)).unwrap();
    assert_eq!(hashes.len(), 2);
    let hashes: Vec<Result<_, Refusal>> = hashes.collect();
    assert_eq!(hashes[0], Ok(hash_key(b"t", b"b", b"k", Keyfun::Std)));
    let (_, detail) = told(hashes[1].clone());
    assert_eq!(detail, "keys must be a list of {Type, Bucket, Key}");
    for none in [atom("other"), [&list(&[&good], 97)[..], &[1]].concat()] {
        let (_, detail) =
            told(question::key_hashes::<_, Refusal>(&term(&none), &term(&keyfun)).map(drop));
        assert_eq!(detail, "keys must be a list");
    }
}
