//! User and password never go over http.

use std::time::Duration;

use ringtail_client::{
    Client, Config, ConfigError, Content, Error, ErrorKind, Event, ObjectName, Pass, PassTo,
};
use ringtail_testcluster::Cluster;

use super::tls::Authority;
use super::{Watched, put};

const AUTHORIZATION: (&str, &[u8]) = ("Authorization", b"Basic YW5uOnMgY3JldA==");

fn bears_it(cluster: &Cluster, nodes: usize) -> Vec<bool> {
    let logged = (0..nodes).flat_map(|node| cluster.log(node));
    let is_it = |(name, value): &(String, Vec<u8>)| {
        name.eq_ignore_ascii_case(AUTHORIZATION.0) && value == AUTHORIZATION.1
    };
    logged.map(|logged| logged.headers.iter().any(is_it)).collect()
}

fn passed<'a>(name: &'a ObjectName) -> Pass<'a> {
    Pass {
        method: "PUT",
        to: PassTo::Object(name),
        query: "",
        fields: vec![
            (AUTHORIZATION.0.to_lowercase(), AUTHORIZATION.1.to_vec()),
            ("Content-Type".into(), b"text/plain".to_vec()),
        ],
        timeout: Duration::from_secs(10),
        patience: Duration::from_secs(1),
    }
}

#[test]
fn credentials_are_not_sent_over_http_to_whoever_has_the_address() {
    let cluster = Cluster::start(2);
    let with_user = cluster.url(0).replace("http://", "http://ann:s%20cret@");
    let config = Config::new([cluster.url(0)]).unwrap().credentials("ann", "s cret");
    for error in [Config::new([with_user]).unwrap_err(), Client::connect(config).unwrap_err()] {
        assert!(matches!(error, Error::Config(ConfigError::InsecureCredentials { .. })), "{error}");
        assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, "insecure_credentials"));
        assert!(error.to_string().contains("https URL"), "{error}");
        assert!(!error.to_string().contains("cret"), "{error}");
    }
    assert!((0..2).all(|node| cluster.log(node).is_empty()), "nobody was asked anything");
}

#[test]
fn credentials_go_with_every_request_over_https() {
    let authority = Authority::new();
    let cluster = authority.cluster("localhost", "localhost", false);
    let url = cluster.url(0).replace("https://", "https://ann:s%20cret@");
    let client = Client::connect(Config::new([url]).unwrap().tls(authority.trusted())).unwrap();
    put(&client, &ObjectName::new("b", "k"), b"x");
    let bears = bears_it(&cluster, 3);
    assert!(bears.len() >= 3 && bears.iter().all(|&bears| bears), "{bears:?}");
}

#[test]
fn an_authorization_that_is_passed_on_goes_over_https_only() {
    let name = ObjectName::new("b", "k");
    let cluster = Cluster::start(2);
    let watched = Watched::new(&[cluster.url(0)]);
    let put = watched.client.pass(passed(&name), Some(Content::Bytes(b"x"))).unwrap();
    assert_eq!(put.status, 204);
    assert!(bears_it(&cluster, 2).iter().all(|&bears| !bears));
    assert!(watched.events().iter().any(|event| matches!(event, Event::Withheld { .. })));

    let authority = Authority::new();
    let cluster = authority.cluster("localhost", "localhost", false);
    let config = Config::new([cluster.url(0)]).unwrap().tls(authority.trusted());
    let client = Client::connect(config).unwrap();
    client.pass(passed(&name), Some(Content::Bytes(b"x"))).unwrap();
    assert_eq!(bears_it(&cluster, 3).iter().filter(|&&bears| bears).count(), 1);
}
