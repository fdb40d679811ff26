//! https: whom it trusts, and what it says when it does not.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use ringtail_client::{Client, Config, ConfigError, Error, ObjectName, TlsOptions};
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

    /// A server that bears a certificate of that name, and wants one of its clients or not.
    fn server(&self, name: &str, clients: bool) -> rustls::ServerConfig {
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
        builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()
    }

    /// A cluster of such servers.
    pub fn cluster(&self, name: &str, host: &str, clients: bool) -> Cluster {
        let config = self.server(name, clients);
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
        assert!(matches!(error, Error::Config(ConfigError::Tls(_))), "{error}");
        assert!(error.to_string().contains(".pem"), "{error}");
    }
}

/// Whoever connects is sent these bytes slowly.
fn trickling(bytes: impl Fn(&mut TcpStream) -> Vec<u8> + Send + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            for byte in bytes(&mut stream) {
                if stream.write_all(&[byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    });
    port
}

/// Connecting fails in a time that is far below what the whole of it takes.
fn gives_up(port: u16, tls: TlsOptions) -> Error {
    let (done, ended) = std::sync::mpsc::channel();
    let url = format!("https://127.0.0.1:{port}");
    std::thread::spawn(move || done.send(connect(&url, tls).unwrap_err()));
    ended.recv_timeout(Duration::from_secs(60)).expect("a deadline holds")
}

#[test]
fn a_handshake_byte_by_byte_does_not_outlast_the_time_to_connect() {
    // A record of 16 KB that never ends.
    let port = trickling(|_| [&[22, 3, 3, 0x40, 0][..], &[0; 16_384]].concat());
    let authority = Authority::new();
    let error = gives_up(port, authority.trusted());
    assert!(error.to_string().contains("deadline"), "{error}");
}

#[test]
fn an_answer_byte_by_byte_in_one_record_does_not_outlast_its_time() {
    let authority = Authority::new();
    let tls = authority.trusted();
    let config = authority.server("127.0.0.1", false);
    let port = trickling(move |stream| {
        let mut session = rustls::ServerConnection::new(Arc::new(config.clone())).unwrap();
        let mut request = [0; 4096];
        while session.is_handshaking() || session.reader().read(&mut request).is_err() {
            if session.complete_io(stream).is_err() {
                return Vec::new();
            }
        }
        session.writer().write_all(&[b'x'; 16_000]).unwrap();
        let mut record = Vec::new();
        session.write_tls(&mut record).unwrap();
        record
    });
    let error = gives_up(port, tls);
    assert!(error.to_string().contains("deadline"), "{error}");
}
