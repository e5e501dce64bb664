//! Optional encryption: TLS 1.3 with certificates on both sides.
//!
//! Each process has its own certificate, signed by the cluster's authority. That of memory server n
//! is for `memory-server-n.namdb`, that of compute server n for `compute-server-n.namdb`, so a
//! server's key cannot impersonate another server; hosts and addresses are not checked. A caller's
//! certificate may have any name. The polling thread does the handshakes for verbs between the
//! requests of other callers. In programs built without the feature `tls`, `no_tls` takes the place
//! of this module.
//!
//! Decision: docs/decisions/0082-tls-1-3-with-a-certificate-per-process-or-no-encryption.md

use crate::tcp::tls_error::TlsError;
use layout::NodeId;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Connection, Error,
    RootCertStore, ServerConfig, ServerConnection,
};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// The certificate of a process, and the authority whose certificates it accepts.
#[derive(Clone, Debug)]
pub struct TlsKeys {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl TlsKeys {
    /// Reads PEM: the certificate of the cluster's authority, this process' certificate followed by
    /// those between it and the authority, and this process' private key.
    pub fn from_pem(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let roots = Arc::new(roots(authority)?);
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = chain.map_err(|error| TlsError::Pem("certificate", error.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError::Pem("private key", error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unusable = |error: Error| TlsError::Keys(error.to_string());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| TlsError::Keys(error.to_string()))?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(unusable)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(unusable)?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(unusable)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(unusable)?;
        Ok(Self { server: Arc::new(server), client: Arc::new(client) })
    }

    /// The name in the certificate of server `node`.
    pub fn server_name(node: NodeId) -> String {
        match node.compute_server() {
            Some(number) => Self::compute_server_name(number),
            None => format!("memory-server-{}.namdb", node.0),
        }
    }

    /// The name in the certificate of compute server `number`.
    pub fn compute_server_name(number: u16) -> String {
        format!("compute-server-{number}.namdb")
    }
}

fn roots(authority: &[u8]) -> Result<RootCertStore, TlsError> {
    let wrong = |error: String| TlsError::Pem("authority's certificate", error);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(wrong("it contains none".to_owned())),
        false => Ok(roots),
    }
}

/// The TLS state of a connection.
pub(super) struct Session(Connection);

impl Session {
    /// The accepting side.
    pub fn accept(keys: &TlsKeys) -> io::Result<Self> {
        let connection = ServerConnection::new(keys.server.clone()).map_err(io::Error::other)?;
        Ok(Self(connection.into()))
    }

    /// The connecting side, which expects server `node`.
    pub fn connect(keys: &TlsKeys, node: NodeId) -> io::Result<Self> {
        Self::connect_by_name(keys, TlsKeys::server_name(node))
    }

    /// The connecting side, which expects a certificate for `name`.
    pub fn connect_by_name(keys: &TlsKeys, name: String) -> io::Result<Self> {
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        let connection =
            ClientConnection::new(keys.client.clone(), name).map_err(io::Error::other)?;
        Ok(Self(connection.into()))
    }

    /// Reads decrypted bytes; 0 means that the peer has closed the connection.
    pub fn read(&mut self, stream: &mut TcpStream, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            if !self.receive(stream)? {
                return Ok(0);
            }
        }
    }

    /// Receives once, and continues the handshake; `false` if the peer has closed the connection.
    pub fn receive(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        if self.0.read_tls(stream)? == 0 {
            return Ok(false);
        }
        let processed = self.0.process_new_packets();
        // Sends the handshake's next message, or the alert with its error.
        let flushed = self.flush(stream);
        processed.map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, sentence(&error, self.is_server()))
        })?;
        flushed?;
        Ok(true)
    }

    /// Whether the handshake is still running.
    pub fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Encrypts bytes, unless earlier ones are still buffered.
    pub fn write(&mut self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
        self.flush(stream)?;
        if self.is_unsent() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.0.writer().write(bytes)?;
        self.flush(stream)?;
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    /// Sends encrypted bytes as far as possible without blocking.
    pub fn flush(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(stream) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether encrypted bytes are still buffered.
    pub fn is_unsent(&self) -> bool {
        self.0.wants_write()
    }

    fn is_server(&self) -> bool {
        matches!(self.0, Connection::Server(_))
    }
}

/// Whether the bytes begin a TLS alert.
pub(super) fn begins_alert(bytes: &[u8]) -> bool {
    bytes.starts_with(&[21, 3])
}

/// The cause of an error, and where to look.
fn sentence(error: &Error, is_server: bool) -> String {
    let (other, whose) = if is_server { ("caller", "caller's") } else { ("server", "server's") };
    let (section, authority) = ("section `tls` of the cluster's file", "the authority in `tls.ca`");
    match error {
        Error::InvalidMessage(_) => {
            format!("the {other} does not speak TLS, which {section} requires ({error})")
        }
        Error::NoCertificatesPresented => {
            format!("the {other} has shown no certificate; give it one in {section}")
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("the certificate at this address is that of another server ({error})"),
        Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => {
            format!("the {whose} certificate was not signed by {authority} ({error})")
        }
        Error::InvalidCertificate(_) => {
            format!("the {whose} certificate is invalid ({error})")
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            format!("the {other} requires a certificate; name one in {section} ({error})")
        }
        Error::AlertReceived(_) => {
            format!(
                "the {other} ends the handshake: it trusts another authority or expects another name ({error})"
            )
        }
        _ => format!("the TLS handshake has failed ({error})"),
    }
}
