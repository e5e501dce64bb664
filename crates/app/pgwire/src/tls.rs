//! TLS 1.3 for clients: certificate and key of the server.

use crate::login::binding::end_point;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use rustls::{Error, ServerConfig};
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// The protocol that clients name if they begin with TLS at once [PostgreSQL 17, section 55.2.11].
pub const PROTOCOL: &[u8] = b"postgresql";

/// The files of a server's certificate and key, and what was read from them.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Loaded>,
}

/// A certificate with its key, for new connections.
#[derive(Clone)]
pub struct Loaded {
    pub config: Arc<ServerConfig>,
    /// Identifies the certificate, see [`crate::login::binding`].
    pub binding: Option<Arc<[u8]>>,
}

/// Files that cannot be used.
#[derive(Debug)]
pub enum TlsFault {
    /// A file cannot be read.
    Read(PathBuf, io::Error),
    /// A file is not PEM of the expected kind.
    Pem(PathBuf, &'static str, String),
    /// Everybody on this host may read the key.
    Open(PathBuf),
    /// Certificate and key do not match, or their kind is not supported.
    Unusable(PathBuf, PathBuf, Error),
}

impl fmt::Display for TlsFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => {
                let path = path.display();
                write!(
                    formatter,
                    "cannot read {path}: {error}; name a file that this user may read"
                )
            }
            Self::Pem(path, what, error) => {
                let path = path.display();
                write!(
                    formatter,
                    "{path} has no {what} in PEM ({error}); such a file begins with -----BEGIN"
                )
            }
            Self::Open(path) => {
                let path = path.display();
                write!(
                    formatter,
                    "other users may read the private key {path}; run `chmod 600 {path}`"
                )
            }
            Self::Unusable(certificate, key, error) => {
                let (certificate, key) = (certificate.display(), key.display());
                write!(
                    formatter,
                    "the certificate {certificate} and the key {key} cannot be used together: {error}"
                )
            }
        }
    }
}

impl std::error::Error for TlsFault {}

impl Tls {
    /// Reads certificate and key. The certificate's file also has those between it and the
    /// authority.
    ///
    /// # Errors
    /// A file cannot be used.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, TlsFault> {
        let current = RwLock::new(load(certificate, key)?);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), current })
    }

    /// Reads the files again, for new connections.
    ///
    /// # Errors
    /// A file cannot be used; the old ones stay in use.
    pub fn reload(&self) -> Result<(), TlsFault> {
        let loaded = load(&self.certificate, &self.key)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    pub fn current(&self) -> Loaded {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tls")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

fn load(certificate: &Path, key: &Path) -> Result<Loaded, TlsFault> {
    let read =
        |path: &Path| std::fs::read(path).map_err(|error| TlsFault::Read(path.to_owned(), error));
    let pem = |path: &Path, what, error: String| TlsFault::Pem(path.to_owned(), what, error);
    let bytes = read(certificate)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let chain = chain.map_err(|error| pem(certificate, "certificate", error.to_string()))?;
    let Some(own) = chain.first() else {
        return Err(pem(certificate, "certificate", "it contains none".to_owned()));
    };
    let binding = end_point(own).map(Arc::from);
    let metadata = std::fs::metadata(key).map_err(|error| TlsFault::Read(key.to_owned(), error))?;
    // As in PostgreSQL: a group may read keys that the administrator owns.
    let others = if metadata.uid() == 0 { 0o027 } else { 0o077 };
    if metadata.mode() & others != 0 {
        return Err(TlsFault::Open(key.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|error| pem(key, "private key", error.to_string()))?;
    let unusable = |error| TlsFault::Unusable(certificate.to_owned(), key.to_owned(), error);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(unusable)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Loaded { config: Arc::new(config), binding })
}
