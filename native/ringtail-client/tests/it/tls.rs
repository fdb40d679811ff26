//! https: whom it trusts, and what it says when it does not.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use ringtail_client::{Client, Config, Error, ObjectName, TlsOptions};
use ringtail_testcluster::{Cluster, Layout};
use rustls::pki_types::PrivateKeyDer;

use super::{content, put};

/// A CA of these tests.
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
    directory: tempfile::TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            certificate,
            issuer: Issuer::new(params, key),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Trust in it.
    pub fn trusted(&self) -> TlsOptions {
        TlsOptions { ca: Some(self.ca()), identity: None }
    }

    fn ca(&self) -> PathBuf {
        self.write("ca.pem", &self.certificate.pem())
    }

    fn issue(&self, name: &str) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()])
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        (certificate, key)
    }

    /// A cluster whose nodes bear a certificate of that name, and want one of their clients or not.
    pub fn cluster(&self, name: &str, host: &str, clients: bool) -> Cluster {
        let (certificate, key) = self.issue(name);
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if clients {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(self.certificate.der().clone()).unwrap();
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
                Arc::new(roots),
                provider,
            );
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        Cluster::with(Layout {
            host: host.into(),
            tls: Some(Arc::new(config)),
            nodes: 3,
            ..Layout::default()
        })
    }
}

fn connect(url: &str, tls: TlsOptions) -> Result<Client, Error> {
    Client::connect(Config::new([url])?.tls(tls))
}

#[test]
fn objects_over_tls() {
    let authority = Authority::new();
    let cluster = authority.cluster("localhost", "localhost", false);
    let tls = TlsOptions { ca: Some(authority.ca()), identity: None };
    let client = connect(&cluster.url(0), tls).unwrap();
    let name = ObjectName::new("b", "k");
    let large = vec![9; 2_000_000];
    put(&client, &name, &large);
    for _ in 0..10 {
        assert!(content(&client, &name) == large);
    }
    assert!(client.stats().connections < 10, "connections are kept: {:?}", client.stats());
}

#[test]
fn a_certificate_of_another_name_an_unknown_issuer_and_no_tls_at_all() {
    let authority = Authority::new();
    let cluster = authority.cluster("elsewhere", "localhost", false);
    let tls = TlsOptions { ca: Some(authority.ca()), identity: None };
    let error = connect(&cluster.url(0), tls.clone()).unwrap_err();
    assert!(error.to_string().contains("another host's"), "{error}");
    let error =
        connect(&cluster.url(0), TlsOptions { ca: Some(Authority::new().ca()), identity: None })
            .unwrap_err();
    assert!(error.to_string().contains("--cacert"), "{error}");
    let plain = Cluster::start(1);
    let error =
        connect(&plain.url(0).replace("http://127.0.0.1", "https://localhost"), tls).unwrap_err();
    assert!(error.to_string().contains("TLS"), "{error}");
    assert!(connect(&cluster.url(0).replace("https", "http"), TlsOptions::default()).is_err());
}

#[test]
fn a_client_certificate_is_shown() {
    let authority = Authority::new();
    let cluster = authority.cluster("localhost", "localhost", true);
    let (certificate, key) = authority.issue("someone");
    let identity = (
        authority.write("c.pem", &certificate.pem()),
        authority.write("k.pem", &key.serialize_pem()),
    );
    let ca = Some(authority.ca());
    let client =
        connect(&cluster.url(0), TlsOptions { ca: ca.clone(), identity: Some(identity) }).unwrap();
    put(&client, &ObjectName::new("b", "k"), b"x");
    assert!(connect(&cluster.url(0), TlsOptions { ca, identity: None }).is_err());
}

#[test]
fn files_that_are_no_certificates() {
    let authority = Authority::new();
    let junk = authority.write("junk.pem", "not PEM");
    let missing = PathBuf::from("/nowhere/ca.pem");
    for tls in [
        TlsOptions { ca: Some(junk.clone()), identity: None },
        TlsOptions { ca: Some(missing), identity: None },
        TlsOptions { ca: Some(authority.ca()), identity: Some((junk.clone(), junk)) },
    ] {
        let error = connect("https://localhost:1", tls).unwrap_err();
        assert!(matches!(&error, Error::BadTls(text) if text.contains(".pem")), "{error}");
    }
}
