//! get, head, put and delete against a cluster in this process.

use std::process::Stdio;

use ringtail_testcluster::{Cluster, Fault};
use serde_json::{Value, json};

use crate::support::{Dir, complaint, said};
use crate::terminal::{screen, terminal};

const BINARY: &[u8] = b"\0\xff\r\n%binary\n";

#[test]
fn an_object_goes_there_and_back_with_all_it_bears() {
    let (dir, cluster) = (Dir::new(), Cluster::start(4));
    let (dead, url) = ("http://127.0.0.1:1", cluster.url(1));
    dir.file("in", BINARY);
    let put = [
        "put",
        dead,
        &url,
        "--type",
        "mult",
        "b%2Fc",
        "k%00+",
        "--file",
        "in",
        "--content-type",
        "image/x",
    ];
    let fields = [
        "--meta",
        "Colour=blue=ish",
        "--meta",
        "n=1",
        "--index",
        "age_int=7",
        "--index",
        "age_int=8",
    ];
    assert_eq!(dir.says(&[&put[..], &fields].concat()), "");
    let at = |command: &'static str| [command, &url, "--type", "mult", "b%2Fc", "k%00+"];
    assert_eq!(dir.run(&at("get")).stdout, BINARY);
    assert_eq!(dir.says(&[&at("get")[..], &["--file", "out"]].concat()), "");
    assert_eq!(std::fs::read(dir.path("out")).unwrap(), BINARY);

    let head = dir.says(&at("head"));
    for line in [
        "content_type\timage/x",
        "length\t12",
        "meta.Colour\tblue=ish",
        "meta.n\t1",
        "index.age_int\t7",
        "index.age_int\t8",
    ] {
        assert!(head.lines().any(|shown| shown == line), "{line:?} is not in {head}");
    }
    let vclock = head.lines().find_map(|line| line.strip_prefix("vclock\t")).unwrap();

    let object = dir.json(&[&["--json"], &at("get")[..]].concat());
    assert_eq!(object["content_base64"], "AP8NCiViaW5hcnkK");
    assert_eq!((&object["bucket"], &object["key"]), (&json!("b/c"), &json!("k%00+")));
    assert_eq!(object["meta"], json!({"Colour": "blue=ish", "n": "1"}));
    assert_eq!(object["vclock"], vclock);

    let again = [&at("put")[..], &["--vclock", vclock, "--content-type", "text/plain"]].concat();
    assert_eq!(said(dir.run_with(&again, b"from stdin")), "");
    assert_eq!(dir.says(&at("get")), "from stdin");
    assert_eq!(dir.says(&at("delete")), "");
    let (status, text) = complaint(&dir.run(&at("get")));
    assert_eq!((status, text.as_str()), (3, "error: there is no object mult/b/c/k%00+\n"));
    assert_eq!(complaint(&dir.run(&at("delete"))).0, 3);
    assert_eq!(complaint(&dir.run(&at("head"))).0, 3);
}

#[test]
fn verbose_tells_which_node_was_chosen_and_why() {
    let (dir, cluster) = (Dir::new(), Cluster::start(4));
    let url = cluster.url(0);
    let output = dir.run_with(&["put", "-v", &url, "--type", "n1", "b", "k", "--file", "-"], b"x");
    let text = String::from_utf8(output.stderr).unwrap();
    let primary = cluster.primaries("n1", "b", "k")[0];
    let expected = format!(
        "chose {} at {}: the only primary of the key",
        cluster.name(primary),
        cluster.url(primary)
    );
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains(&format!("topology {} from {url}", cluster.token())), "{text}");
}

#[test]
fn siblings_are_an_error_that_names_them_or_one_document() {
    let (dir, cluster) = (Dir::new(), Cluster::start(3));
    let url = cluster.url(0);
    let at = |command: &'static str| [command, &url, "--type", "mult", "b", "s"];
    for content in ["one", "two"] {
        said(dir.run_with(
            &[&at("put")[..], &["--content-type", "text/plain"]].concat(),
            content.as_bytes(),
        ));
    }
    let (status, text) = complaint(&dir.run(&at("get")));
    assert_eq!(status, 1);
    assert!(text.contains("2 siblings") && text.contains("--vtag (vtag1, vtag2)"), "{text}");
    assert_eq!(dir.says(&[&at("get")[..], &["--vtag", "vtag2"]].concat()), "two");
    let document = dir.json(&[&["--json"], &at("get")[..]].concat());
    let contents: Vec<&Value> =
        document["siblings"].as_array().unwrap().iter().map(|s| &s["content"]).collect();
    assert_eq!(contents, [&json!("one"), &json!("two")]);
    let head = dir.says(&at("head"));
    assert!(head.contains("sibling\tvtag1\nsibling\tvtag2\n"), "{head}");
    let vclock = document["vclock"].as_str().unwrap();
    said(dir.run_with(&[&at("put")[..], &["--vclock", vclock]].concat(), b"both"));
    assert_eq!(dir.says(&at("get")), "both");
}

#[test]
fn conditions_have_their_outcome() {
    let (dir, cluster) = (Dir::new(), Cluster::start(3));
    let url = cluster.url(0);
    let put = ["put", &url, "b", "k", "--if-none-match", "*"];
    said(dir.run_with(&put, b"1"));
    let (status, text) = complaint(&dir.run_with(&[&["--json"], &put[..]].concat(), b"2"));
    assert_eq!((status, text.contains("precondition_failed")), (1, true), "{text}");
    let etag = dir.json(&["--json", "head", &url, "b", "k"])["etag"].as_str().unwrap().to_owned();
    let same = dir.run(&["get", &url, "b", "k", "--if-none-match", &etag]);
    assert!(same.status.success() && same.stdout.is_empty());
    assert_eq!(dir.says(&["get", &url, "b", "k"]), "1");
}

#[test]
fn a_file_that_is_there_survives_a_get_that_fails() {
    let (dir, cluster) = (Dir::new(), Cluster::start(3));
    let url = cluster.url(0);
    dir.file("kept", b"precious");
    assert_eq!(complaint(&dir.run(&["get", &url, "b", "none", "--file", "kept"])).0, 3);
    assert_eq!(std::fs::read(dir.path("kept")).unwrap(), b"precious");
    let (status, text) = complaint(&dir.run(&["get", &url, "b", "none", "--file", "no/such/dir"]));
    assert_eq!(status, 3, "{text}");
    said(dir.run_with(&["put", &url, "b", "k"], b"x"));
    let (status, text) = complaint(&dir.run(&["get", &url, "b", "k", "--file", "no/such/dir"]));
    assert!(status == 1 && text.contains("no/such/dir"), "{text}");
    assert_eq!(std::fs::read_dir(dir.path(".")).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn what_goes_wrong_has_its_status_and_says_what_to_do() {
    let (dir, cluster) = (Dir::new(), Cluster::start(2));
    let url = cluster.url(0);
    let plain = Cluster::start(1);
    plain.fault(0, Fault::NoRingtail);
    let plain = plain.url(0);
    for (args, status, code, hint) in [
        (&["get", "10.0.0.1:8098", "b", "k"][..], 2, "bad_seed", "http://HOST:PORT"),
        (&["get", "b", "k"], 2, "usage", "URL"),
        (&["get", &url, "b", "%zz"], 2, "bad_percent", "key"),
        (&["get", &url, "", "k"], 2, "bad_request", "bucket is empty"),
        (&["get", &url, "b", "k", "--pr", "some"], 2, "usage", "--pr"),
        (&["get", &url, "b", "k", "--timeout", "0"], 2, "usage", "--timeout"),
        (&["get", &url, "b", "k", "--user", "ann"], 2, "no_password", "RINGTAIL_PASSWORD"),
        (&["get", &url, "b", "k", "--cert", "x"], 2, "usage", "--cert-key"),
        (
            &["get", "https://127.0.0.1:1", "b", "k", "--cacert", "none.pem"],
            2,
            "bad_tls",
            "none.pem",
        ),
        (&["get", &url, "--type", "none", "b", "k"], 3, "no_bucket_type", "riak admin bucket-type"),
        (&["get", &plain, "b", "k"], 1, "not_ringtail", "ringtail:start()"),
        (&["get", "http://127.0.0.1:1", "b", "k"], 4, "unreachable", "refused"),
        (&["get", &url, "b", "k", "--pr", "9"], 1, "refused", "n value"),
        (&["put", &url, "b", "k", "--file", "none"], 1, "file_not_found", "none"),
        (&["put", &url, "b", "k", "--file", "."], 1, "is_a_directory", "directory"),
        (&["put", &url, "b", "k", "--meta", "novalue"], 2, "usage", "equals sign"),
        (&["put", &url, "b", "k", "--meta", "a b=c"], 2, "bad_request", "header"),
        (&["put", &url, "b", "k", "--vclock", "no clock"], 2, "usage", "X-Riak-Vclock"),
        (&["topology", &url, "--from", "x"], 2, "bad_token", "4-9f3ac21b77d0e1aa"),
    ] {
        let (said, text) = complaint(&dir.run(&[&["--json"], args].concat()));
        assert_eq!(said, status, "{args:?}: {text}");
        let error: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{args:?}: {text}"));
        assert_eq!(error["error"], code, "{args:?}: {text}");
        assert!(error["message"].as_str().unwrap().contains(hint), "{args:?}: {text}");
    }
    cluster.kill(0);
    cluster.kill(1);
    assert_eq!(complaint(&dir.run(&["put", &url, "b", "k"])).0, 4);
}

#[test]
fn large_objects_show_a_bar_on_a_terminal_and_nothing_in_a_pipe() {
    let (dir, cluster) = (Dir::new(), Cluster::start(3));
    let url = cluster.url(0);
    let large: Vec<u8> = (0..5_000_000u32).map(|at| (at >> 7) as u8).collect();
    dir.file("large", &large);
    for args in [
        &["put", &url, "b", "k", "--file", "large"][..],
        &["get", &url, "b", "k", "--file", "back"],
    ] {
        let (master, slave) = terminal();
        let mut command = dir.ringtail(args);
        let mut child =
            command.env("TERM", "xterm").stdout(Stdio::null()).stderr(slave).spawn().unwrap();
        drop(command);
        let text = screen(master);
        assert!(child.wait().unwrap().success(), "{text}");
        assert!(text.contains("MiB"), "{args:?}: {text:?}");
    }
    assert!(std::fs::read(dir.path("back")).unwrap() == large);
    assert_eq!(dir.says(&["put", &url, "b", "k", "--file", "large"]), "");
    assert!(dir.run(&["get", &url, "b", "k"]).stdout == large);
}

#[test]
fn a_stream_of_unknown_length_is_stored() {
    let (dir, cluster) = (Dir::new(), Cluster::start(3));
    let large = vec![b'x'; 3_000_000];
    said(dir.run_with(&["put", &cluster.url(0), "b", "k"], &large));
    assert!(dir.run(&["get", &cluster.url(0), "b", "k"]).stdout == large);
}

#[test]
fn a_password_is_neither_shown_nor_sent_over_http() {
    let (dir, cluster) = (Dir::new(), Cluster::start(1));
    let url = cluster.url(0);
    let mut command = dir.ringtail(&["put", "-v", &url, "b", "k", "--user", "ann"]);
    let output = command.env("RINGTAIL_PASSWORD", "s cret").output().unwrap();
    let (status, text) = complaint(&output);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("https") && !text.contains("cret"), "{text}");
    assert!(cluster.log(0).is_empty());
    let inside = url.replace("http://", "http://ann:s%20cret@");
    let (status, text) = complaint(&dir.run(&["get", "-v", &inside, "b", "k"]));
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("https") && !text.contains("cret"), "{text}");
    assert!(cluster.log(0).is_empty());
}
