//! TLS: whom to trust, and who we are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::error::Error;

/// TLS options. By default the system's root certificates are trusted and no client certificate is
/// shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// A PEM file of the CAs to trust, instead of the system's.
    pub ca: Option<PathBuf>,
    /// PEM files of our certificate (with its chain) and of its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl TlsOptions {
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::BadTls(format!("TLS cannot be set up: {error}")))?
            .with_root_certificates(self.roots()?);
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let key_der = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| unreadable(key, "private key", &error))?;
                builder.with_client_auth_cert(chain, key_der).map_err(|error| {
                    Error::BadTls(format!(
                        "the certificate {} and the key {} do not go together: {error}",
                        certificate.display(),
                        key.display()
                    ))
                })?
            }
        };
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        let mut roots = RootCertStore::empty();
        let Some(ca) = &self.ca else {
            // Some stores hold certificates that cannot be parsed; those that can are enough.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(Error::BadTls(
                    "the system has no root certificates: install ca-certificates, or \
                     give a CA file"
                        .into(),
                ));
            }
            return Ok(roots);
        };
        for certificate in certificates(ca)? {
            roots.add(certificate).map_err(|error| {
                Error::BadTls(format!("{} holds a certificate that is none: {error}", ca.display()))
            })?;
        }
        Ok(roots)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(path, "certificate", &error))?;
    if certificates.is_empty() {
        return Err(Error::BadTls(format!(
            "{} holds no certificate; it should be a PEM file",
            path.display()
        )));
    }
    Ok(certificates)
}

fn unreadable(path: &Path, what: &str, error: &dyn std::error::Error) -> Error {
    Error::BadTls(format!(
        "cannot read a {what} from {}: {error}; it should be a PEM file",
        path.display()
    ))
}
