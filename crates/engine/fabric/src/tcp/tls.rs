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
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
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
        let chain = chain(certificate)?;
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

    /// Checks that others will accept a certificate now: it was signed by the authority, has not
    /// expired, may be used by callers, and is for each of `names`, which are those of servers.
    ///
    /// # Errors
    /// The first flaw, with the remedy.
    pub fn check(authority: &[u8], certificate: &[u8], names: &[String]) -> Result<(), TlsError> {
        let roots = Arc::new(roots(authority)?);
        let chain = chain(certificate)?;
        let (own, above) = chain.split_first().expect("a chain has a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unusable = |error: VerifierBuilderError| TlsError::Keys(error.to_string());
        let callers = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone());
        let servers = WebPkiServerVerifier::builder_with_provider(roots, provider);
        let (callers, servers) =
            (callers.build().map_err(unusable)?, servers.build().map_err(unusable)?);
        let (now, nobody) = (UnixTime::now(), "a caller");
        let as_caller = callers.verify_client_cert(own, above, now);
        as_caller.map_err(|error| TlsError::Certificate(flaw(&error, nobody)))?;
        for name in names {
            let server = ServerName::try_from(name.as_str())
                .map_err(|error| TlsError::Certificate(format!("cannot be for {name}: {error}")))?;
            let as_server = servers.verify_server_cert(own, above, &server, &[], now);
            as_server.map_err(|error| TlsError::Certificate(flaw(&error, name)))?;
        }
        Ok(())
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

/// The certificates of a PEM file, at least one.
fn chain(certificate: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    match chain {
        Ok(chain) if chain.is_empty() => {
            Err(TlsError::Pem("certificate", "it contains none".to_owned()))
        }
        Ok(chain) => Ok(chain),
        Err(error) => Err(TlsError::Pem("certificate", error.to_string())),
    }
}

/// Why a certificate does not prove that its holder is `name`, and the remedy.
fn flaw(error: &Error, name: &str) -> String {
    use CertificateError as Flaw;
    match error {
        Error::InvalidCertificate(Flaw::Expired | Flaw::ExpiredContext { .. }) => {
            format!("has expired; make a new one and restart the servers ({error})")
        }
        Error::InvalidCertificate(Flaw::NotValidYet | Flaw::NotValidYetContext { .. }) => {
            format!("is not valid yet; check the clock of this host, or make a new one ({error})")
        }
        Error::InvalidCertificate(Flaw::NotValidForName | Flaw::NotValidForNameContext { .. }) => {
            format!("is not for {name}; make one with this subject alternative name ({error})")
        }
        Error::InvalidCertificate(Flaw::UnknownIssuer | Flaw::BadSignature) => {
            format!(
                "was not signed by the authority in `tls.ca`; use files of one authority ({error})"
            )
        }
        Error::InvalidCertificate(Flaw::InvalidPurpose | Flaw::InvalidPurposeContext { .. }) => {
            format!("may not be used by {name}; make one for servers and clients ({error})")
        }
        _ => format!("cannot be used ({error}); make a new one"),
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
pub(super) struct Session {
    connection: Connection,
    /// Whether the peer has sent anything.
    has_received: bool,
}

impl Session {
    /// The accepting side.
    pub fn accept(keys: &TlsKeys) -> io::Result<Self> {
        let connection = ServerConnection::new(keys.server.clone()).map_err(io::Error::other)?;
        Ok(Self { connection: connection.into(), has_received: false })
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
        Ok(Self { connection: connection.into(), has_received: false })
    }

    /// Reads decrypted bytes; 0 means that the peer has closed the connection.
    pub fn read(&mut self, stream: &mut TcpStream, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(room) {
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
        if self.connection.read_tls(stream)? == 0 {
            return Ok(false);
        }
        self.has_received = true;
        let processed = self.connection.process_new_packets();
        // Sends the handshake's next message, or the alert with its error.
        let flushed = self.flush(stream);
        processed.map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, sentence(&error, self.is_server()))
        })?;
        flushed?;
        Ok(true)
    }

    /// Whether the peer has sent anything.
    pub fn has_received(&self) -> bool {
        self.has_received
    }

    /// Whether the handshake is still running.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Encrypts bytes, unless earlier ones are still buffered.
    pub fn write(&mut self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
        self.flush(stream)?;
        if self.is_unsent() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.connection.writer().write(bytes)?;
        self.flush(stream)?;
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    /// Sends encrypted bytes as far as possible without blocking.
    pub fn flush(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(stream) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Tells the peer that nothing more follows.
    pub fn end(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        self.connection.send_close_notify();
        self.flush(stream)
    }

    /// Whether encrypted bytes are still buffered.
    pub fn is_unsent(&self) -> bool {
        self.connection.wants_write()
    }

    fn is_server(&self) -> bool {
        matches!(self.connection, Connection::Server(_))
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
