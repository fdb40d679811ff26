//! Configurations that no client can be made of.
#![deny(clippy::wildcard_enum_match_arm)]

use std::path::PathBuf;

use rustls::pki_types::pem;

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is nothing to start from.
    #[error("no seed was given: name at least one node's URL")]
    NoSeed,
    /// A seed that is no URL of a node.
    #[error("{url:?} is no address of a node: {what}; write http://HOST:PORT or https://HOST:PORT")]
    BadSeed {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A client is one user.
    #[error("the seeds name different users or passwords")]
    DifferentUsers,
    /// A user and a password, but no https to send them over: nothing was sent.
    #[error(
        "user and password go over https only, and {url} is http: give the https URL of a node \
         (listener.https in its riak.conf), or no user. Riak's security wants https as well"
    )]
    InsecureCredentials {
        /// The first http seed.
        url: String,
    },
    /// Certificates or keys that cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Why there can be no TLS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// Its own code wants it otherwise.
    #[error("TLS cannot be set up: {0}")]
    SetUp(#[source] rustls::Error),
    /// Nobody could be trusted.
    #[error("the system has no root certificates: install ca-certificates, or give a CA file")]
    NoRoots,
    /// A file that cannot be read, or is no PEM.
    #[error("cannot read a {what} from {}: {cause}; it should be a PEM file", .path.display())]
    Unreadable {
        /// What should be in it.
        what: &'static str,
        /// Its name.
        path: PathBuf,
        /// Why.
        #[source]
        cause: pem::Error,
    },
    /// A file without what it was given for.
    #[error("{} holds no certificate; it should be a PEM file", .0.display())]
    Empty(PathBuf),
    /// A CA that is none.
    #[error("{} holds a certificate that is none: {cause}", .path.display())]
    BadCertificate {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: rustls::Error,
    },
    /// A key of another certificate.
    #[error(
        "the certificate {} and the key {} do not go together: {cause}",
        .certificate.display(),
        .key.display()
    )]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        #[source]
        cause: rustls::Error,
    },
}

impl ConfigError {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::NoSeed | Self::DifferentUsers => "bad_request",
            Self::BadSeed { .. } => "bad_seed",
            Self::InsecureCredentials { .. } => "insecure_credentials",
            Self::Tls(_) => "bad_tls",
        }
    }
}
