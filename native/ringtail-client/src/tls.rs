//! TLS: whom to trust, and who we are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::error::TlsError;

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
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::SetUp)?
            .with_root_certificates(self.roots()?);
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let key_der = PrivateKeyDer::from_pem_file(key)
                    .map_err(|cause| unreadable(key, "private key", cause))?;
                builder.with_client_auth_cert(chain, key_der).map_err(|cause| {
                    TlsError::Mismatch { certificate: certificate.clone(), key: key.clone(), cause }
                })?
            }
        };
        Ok(Arc::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        let Some(ca) = &self.ca else {
            // Some stores hold certificates that cannot be parsed; those that can are enough.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return if roots.is_empty() { Err(TlsError::NoRoots) } else { Ok(roots) };
        };
        for certificate in certificates(ca)? {
            roots
                .add(certificate)
                .map_err(|cause| TlsError::BadCertificate { path: ca.clone(), cause })?;
        }
        Ok(roots)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|cause| unreadable(path, "certificate", cause))?;
    if certificates.is_empty() {
        return Err(TlsError::Empty(path.to_owned()));
    }
    Ok(certificates)
}

fn unreadable(path: &Path, what: &'static str, cause: pem::Error) -> TlsError {
    TlsError::Unreadable { what, path: path.to_owned(), cause }
}
