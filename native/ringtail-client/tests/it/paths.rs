//! Where nodes have their topology.

use ringtail_client::{
    AnswerFault, Client, Config, Error, ExecutionError, ObjectName, Pass, PassTo,
};
use ringtail_testcluster::{Cluster, Fault};

use super::{client, content, put};

fn asked(cluster: &Cluster, nodes: usize) -> Vec<(String, u16)> {
    let logged = (0..nodes).flat_map(|node| cluster.log(node));
    logged
        .filter(|logged| !logged.is_object())
        .map(|logged| (logged.target, logged.status))
        .collect()
}

#[test]
fn a_cluster_with_other_prefixes_is_found() {
    let cluster = Cluster::start(3);
    (0..3).for_each(|node| cluster.fault(node, Fault::OtherPrefixes));
    let client = client(&cluster);
    let name = ObjectName::new("b", "k");
    put(&client, &name, b"x");
    assert_eq!(content(&client, &name), b"x");
    assert!(client.document("/topology").unwrap().starts_with(b"{"));
    assert!(asked(&cluster, 3).iter().all(|(target, _)| !target.starts_with("/explore/")));
    let error = client.document("/preflist").unwrap_err();
    assert!(
        matches!(&error, Error::Execution(ExecutionError::BadAnswer(bad))
            if matches!(bad.fault, AnswerFault::NoDocuments)
                && bad.to_string().contains("prefixes")),
        "{error}"
    );
}

#[test]
fn older_nodes_are_asked_where_they_have_it() {
    for closes in [false, true] {
        let cluster = Cluster::start(3);
        (0..3).for_each(|node| cluster.fault(node, Fault::OldPaths { closes }));
        let client = Client::connect(Config::new([cluster.url(0)]).unwrap()).unwrap();
        let name = ObjectName::new("b", "k");
        put(&client, &name, b"x");
        assert_eq!(content(&client, &name), b"x");
        let document = Pass {
            method: "GET",
            to: PassTo::Document("/topology"),
            query: "",
            fields: Vec::new(),
            timeout: std::time::Duration::from_secs(10),
            patience: std::time::Duration::from_secs(1),
        };
        assert_eq!(client.pass(document, None).unwrap().status, 200);
        let missed = asked(&cluster, 3).iter().filter(|(_, status)| *status == 404).count();
        assert!(missed <= 3, "each node is asked once at the path it does not have: {missed}");
    }
}
