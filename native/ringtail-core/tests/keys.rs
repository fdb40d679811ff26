//! Names of objects: their hashes at the edges, and how they are written.

use proptest::prelude::*;
use ringtail_core::keys::{parse_hex, percent_decode, percent_encode};
use ringtail_core::{Index, KeyHash, KeyTextError, Keyfun, hash_key};
use sha1::{Digest, Sha1};

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| at as u8).collect()
}

/// What `crypto:hash(sha, term_to_binary(Term))` says on OTP 25: empty names, names around the
/// length up to which a term is put together on the stack, names of 1 MiB.
#[test]
fn hashes_of_names_of_any_length() {
    let hashes = [
        (
            "default",
            0,
            0,
            "1417248365275265496003891039691873816308647017133",
            "25482132260030922686313269337430864404501707675",
        ),
        (
            "t",
            0,
            0,
            "260425457298043930166713542176198034382679186393",
            "361636379624673262698068618675923659992769777479",
        ),
        (
            "default",
            0,
            5,
            "1467958976721863911844793074115902610360589137",
            "25482132260030922686313269337430864404501707675",
        ),
        (
            "default",
            5,
            0,
            "1153612258449434946507645259744457634182333159059",
            "1353464482575597545808236364960202297625711226159",
        ),
        (
            "default",
            245,
            246,
            "1063042298358338673252967256601552242631652551541",
            "820982067162120092271739684534160836943878087704",
        ),
        (
            "default",
            246,
            246,
            "870098568935879633421877534498695564925290133568",
            "793538671369278043220656211530869046338859989803",
        ),
        (
            "default",
            246,
            247,
            "714025066792324387295612949221845525347051907542",
            "793538671369278043220656211530869046338859989803",
        ),
        (
            "t",
            245,
            246,
            "289056925124992045506958487704689294599100539372",
            "1456694849727437370605259157800810733187780200994",
        ),
        (
            "t",
            246,
            246,
            "1039378665726017187320820049127715293613633687023",
            "102647442351365486427058372887915542337464941029",
        ),
        (
            "default",
            65535,
            65536,
            "53983348953033042076557958090028271410781264875",
            "116490118893597313895219328356686719263311263084",
        ),
        (
            "default",
            1048576,
            1048576,
            "153236376088939756989164112841522511751859456667",
            "878091196700508711692530545971245875743176606965",
        ),
        (
            "maps",
            1048576,
            3,
            "134248030489918582969248275000135394469731957315",
            "1217608300344208456781597988381833227069228598789",
        ),
        (
            "maps",
            3,
            1048576,
            "109721011248232358447272888200847562241589331385",
            "1128993241518550032724133658173406368292492957042",
        ),
    ];
    for (bucket_type, bucket, key, std, bucketonly) in hashes {
        let (bucket, key) = (bytes(bucket), bytes(key));
        let hash = |keyfun| hash_key(bucket_type.as_bytes(), &bucket, &key, keyfun).to_string();
        assert_eq!(hash(Keyfun::Std), std, "{bucket_type} {} {}", bucket.len(), key.len());
        assert_eq!(hash(Keyfun::BucketOnly), bucketonly, "{bucket_type} {}", bucket.len());
    }
}

/// The padding is our own for short terms, so every length around the ends of blocks is compared
/// with the hasher.
#[test]
fn hashes_of_every_length() {
    let binary = |bytes: &[u8]| [&[109], &(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
    let digest = |term: &[u8]| KeyHash::from_bytes(Sha1::digest(term).into());
    for len in 0..600 {
        for (bucket, key) in [(0, len), (len, 0), (len / 3, len - len / 3)] {
            let (bucket, key) = (bytes(bucket), bytes(key));
            let plain = [&[131, 104, 2], &binary(&bucket)[..], &binary(&key)].concat();
            assert_eq!(hash_key(b"default", &bucket, &key, Keyfun::Std), digest(&plain), "{len}");
            let typed =
                [&[131, 104, 2, 104, 2], &binary(b"maps")[..], &binary(&bucket), &binary(&key)]
                    .concat();
            assert_eq!(hash_key(b"maps", &bucket, &key, Keyfun::Std), digest(&typed), "{len}");
            let alone = [&[131, 104, 2], &binary(b"maps")[..], &binary(&bucket)].concat();
            assert_eq!(
                hash_key(b"maps", &bucket, &key, Keyfun::BucketOnly),
                digest(&alone),
                "{len}"
            );
        }
    }
}

#[test]
fn keyfuns_by_name() {
    for keyfun in [Keyfun::Std, Keyfun::BucketOnly] {
        assert_eq!(keyfun.as_str().parse(), Ok(keyfun));
        assert_eq!(format!("chash_{keyfun}_keyfun").parse(), Ok(keyfun));
        assert_eq!(serde_json::to_value(keyfun).unwrap(), keyfun.as_str());
    }
    let error = "my_keyfun".parse::<Keyfun>().unwrap_err();
    assert_eq!(error.code(), "custom_keyfun");
    assert!(error.to_string().contains("my_keyfun"));
}

#[test]
fn key_text_that_cannot_be_read() {
    assert_eq!(parse_hex(""), Ok(vec![]));
    assert_eq!(parse_hex("00fFaB"), Ok(vec![0, 255, 171]));
    assert_eq!(parse_hex("abc"), Err(KeyTextError::OddHex { len: 3 }));
    assert_eq!(parse_hex("0x00"), Err(KeyTextError::NotHex { at: 1 }));
    assert_eq!(parse_hex("abg"), Err(KeyTextError::NotHex { at: 2 }));
    assert_eq!(parse_hex("é"), Err(KeyTextError::NotHex { at: 0 }));
    assert_eq!(percent_decode(b"a+b%2Fc%00"), Ok(b"a+b/c\0".to_vec()));
    for (text, at) in [("%", 0), ("ab%4", 2), ("%41%zz", 3), ("100%", 3), ("%+1", 0)] {
        assert_eq!(percent_decode(text.as_bytes()), Err(KeyTextError::BadPercent { at }), "{text}");
    }
    for error in [
        KeyTextError::OddHex { len: 3 },
        KeyTextError::NotHex { at: 1 },
        KeyTextError::BadPercent { at: 3 },
    ] {
        assert!(!error.to_string().is_empty() && !error.code().contains(' '));
    }
}

#[test]
fn numbers_at_the_edge_of_the_circle() {
    let top = "1461501637330902918203684832716283019655932542975";
    let index: Index = top.parse().unwrap();
    assert_eq!(index.as_bytes(), &[255; 20]);
    assert_eq!(index.to_string(), top);
    assert_eq!(Index::ZERO.to_string(), "0");
    assert_eq!(format!("{:>3}|{:<3}|", Index::ZERO, Index::ZERO), "  0|0  |");
    assert_eq!("007".parse::<Index>().unwrap().to_string(), "7");
    let beyond = "1461501637330902918203684832716283019655932542976";
    assert_eq!(beyond.parse::<Index>().unwrap_err().code(), "index_too_large");
    assert_eq!("9".repeat(1000).parse::<Index>().unwrap_err().code(), "index_too_large");
    for text in ["", "-1", "+1", "1.0", " 1", "0x1", "１"] {
        assert_eq!(text.parse::<KeyHash>().unwrap_err().code(), "not_decimal", "{text:?}");
    }
    assert!(serde_json::from_str::<Index>("7").is_err(), "an index in JSON is a string");
    assert_eq!(serde_json::to_string(&index).unwrap(), format!("\"{top}\""));
}

proptest! {
    #[test]
    fn any_key_can_be_written(key in prop::collection::vec(any::<u8>(), 0..64)) {
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert_eq!(parse_hex(&hex).unwrap(), key.clone());
        prop_assert_eq!(percent_decode(percent_encode(&key).as_bytes()).unwrap(), key);
    }

    #[test]
    fn numbers_survive_text(bytes in any::<[u8; 20]>()) {
        let index = Index::from_bytes(bytes);
        let number = num_bigint::BigUint::from_bytes_be(&bytes);
        prop_assert_eq!(index.to_string(), number.to_string());
        prop_assert_eq!(index.to_string().parse::<Index>().unwrap(), index);
        let json = serde_json::to_string(&index).unwrap();
        prop_assert_eq!(serde_json::from_str::<Index>(&json).unwrap(), index);
    }
}
