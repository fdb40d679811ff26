//! What is no node, or lies: each a clear error.

use std::time::{Duration, Instant};

use ringtail_client::{BadAnswer, Client, Config, DiscoveryError, Error, ErrorKind, TopologyError};
use ringtail_testcluster::{Cluster, Fault, serve_bytes};

use super::{eventually, put};

fn connect(url: &str) -> Error {
    Client::connect(Config::new([url]).unwrap()).unwrap_err()
}

fn answered(bytes: impl Into<Vec<u8>>) -> Error {
    connect(&format!("http://127.0.0.1:{}", serve_bytes(bytes.into())))
}

/// The error when a node's topology is this.
fn topology(fault: Fault) -> Error {
    let cluster = Cluster::start(1);
    cluster.fault(0, fault);
    connect(&cluster.url(0))
}

fn told(error: &Error) -> &TopologyError {
    match error {
        Error::Discovery(DiscoveryError::Topology(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// What was wrong with an answer that made no sense.
fn fault(error: &Error) -> String {
    match told(error) {
        TopologyError::BadAnswer(BadAnswer { fault, .. }) => fault.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn riak_without_ringtail_is_told_how_to_install_it() {
    let error = topology(Fault::NoRingtail);
    assert!(matches!(told(&error), TopologyError::NotRingtail { .. }), "{error}");
    assert!(error.to_string().contains("ringtail:start()"), "{error}");
    assert!(error.to_string().contains("a Riak node without it"), "{error}");
}

#[test]
fn html_instead_of_json() {
    let html = "<html><body>Welcome to nginx</body></html>";
    let page =
        format!("HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: {}\r\n\r\n{html}", html.len());
    let error = answered(page);
    assert!(
        matches!(told(&error), TopologyError::NotRingtail { what, .. }
            if what.contains("HTML") && what.contains("nginx")),
        "{error}"
    );
    let error = topology(Fault::TopologyJson(html.into()));
    assert!(fault(&error).contains("HTML"), "{error}");
}

#[test]
fn truncated_json_and_a_body_that_breaks_off() {
    let whole = r#"{"full":true,"token":"4-9f3ac21b77d0e1aa","cluster":{"uuid":"#;
    let error = topology(Fault::TopologyJson(whole.into()));
    assert!(fault(&error).contains("EOF"), "{error}");
    let cluster = Cluster::start(1);
    let (uuid, node) = ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", cluster.uuid(0));
    let head = format!(
        "HTTP/1.1 200 OK\r\nX-Ringtail-Cluster: {uuid}\r\nX-Ringtail-Node: {node}\r\n\
         Content-Length: 9999\r\n\r\n{{"
    );
    let error = answered(head);
    assert!(fault(&error).contains("breaks off"), "{error}");
}

#[test]
fn ten_megabytes_of_junk_are_not_read() {
    let start = Instant::now();
    for junk in [vec![0xff; 10_000_000], vec![b'A'; 10_000_000]] {
        let error = answered(junk.clone());
        assert!(fault(&error).contains("HTTP"), "{error}");
        let mut body = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        body.extend_from_slice(&junk);
        assert!(matches!(told(&answered(body)), TopologyError::NotRingtail { .. }));
        let mut head = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        head.extend_from_slice(&junk);
        fault(&answered(head));
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn wrong_types_and_documents_that_contradict_themselves() {
    let cluster = Cluster::start(1);
    let uuid = ringtail_core::topology::cluster_uuid("test");
    let node = cluster.uuid(0);
    let document = |token: &str, size: &str, owners: &str| {
        format!(
            r#"{{"full":true,"token":{token},"cluster":{{"uuid":"{uuid}","name":"test"}},
               "ring_size":{size},"resizing":false,
               "members":[{{"uuid":"{node}","name":"n","status":"valid","endpoints":[]}}],
               "owners":{owners},"up":[]}}"#
        )
    };
    let token = r#""4-9f3ac21b77d0e1aa""#;
    let one = format!(r#"{{"0":"{node}"}}"#);
    for (document, why) in [
        ("[]".to_owned(), "no JSON of that kind"),
        (document("7", "1", &one), "expected a string"),
        (document(r#""4""#, "1", &one), "token"),
        (document(token, r#""1""#, &one), "invalid type"),
        (document(token, "1", r#"{"0":7}"#), "no JSON of that kind"),
        (document(token, "1", "{}"), "each of the 1 partitions"),
        (document(token, "0", "{}"), "each of the 0 partitions"),
        (document(token, "4000000000", &one), "each of the 4000000000 partitions"),
        (document(token, "1", r#"{"0":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}"#), "no member"),
        (document(token, "1", &one), "not what its token"),
    ] {
        let error = topology(Fault::TopologyJson(document.clone()));
        assert!(fault(&error).contains(why), "{document}: {error}");
        assert_eq!(error.kind(), ErrorKind::Failed);
    }
}

#[test]
fn a_node_that_starts_to_lie_does_not_disturb_a_running_client() {
    let cluster = Cluster::start(3);
    let client = super::client(&cluster);
    let name = ringtail_client::ObjectName::new("b", "k");
    put(&client, &name, b"x");
    let before = client.view().token();
    let lies = [
        Fault::TopologyJson("{".into()),
        Fault::TopologyJson("[]".into()),
        Fault::TopologyBytes(vec![0; 100_000]),
        Fault::NoRingtail,
    ];
    for lie in lies {
        (0..2).for_each(|node| cluster.fault(node, lie.clone()));
        cluster.rotate();
        eventually("the honest node is asked", || {
            client.refresh(Duration::from_secs(1)).token() == cluster.token()
        });
    }
    assert_ne!(client.view().token(), before);
}

#[test]
fn security_in_the_way_is_told_as_such() {
    for (status, hint) in [(401, "user and password"), (403, "grant"), (426, "https")] {
        let error = answered(format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n"));
        assert!(matches!(told(&error), TopologyError::Refused(_)), "{error}");
        assert!(error.to_string().contains(hint), "{error}");
    }
}

#[test]
fn seeds_that_do_not_go_together() {
    assert!(Config::new(Vec::<String>::new()).is_err());
    assert!(
        Config::new(["http://a:1", "https://b:2"])
            .unwrap_err()
            .to_string()
            .contains("all http or all https")
    );
    assert!(Config::new(["http://u:p@a:1", "http://v:p@b:2"]).is_err());
    assert_eq!(Config::new(["a:1"]).unwrap_err().kind(), ErrorKind::Usage);
}
