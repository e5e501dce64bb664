//! The place of `tls` in programs that are built without it: no keys, and so no encrypted session.
//!
//! Decision: docs/decisions/0300-a-program-that-embeds-the-library-compiles-no-network.md

use crate::tcp::tls_error::TlsError;
use layout::NodeId;
use std::io;
use std::net::TcpStream;

/// Keys that nobody can have.
#[derive(Clone, Debug)]
pub enum TlsKeys {}

impl TlsKeys {
    /// Refuses keys.
    pub fn from_pem(_authority: &[u8], _certificate: &[u8], _key: &[u8]) -> Result<Self, TlsError> {
        Err(TlsError::NotBuilt)
    }

    /// Refuses certificates.
    pub fn check(_: &[u8], _: &[u8], _: &[String]) -> Result<(), TlsError> {
        Err(TlsError::NotBuilt)
    }
}

/// A session that nobody can have.
pub(super) enum Session {}

impl Session {
    pub fn accept(keys: &TlsKeys) -> io::Result<Self> {
        match *keys {}
    }

    pub fn connect(keys: &TlsKeys, _node: NodeId) -> io::Result<Self> {
        match *keys {}
    }

    pub fn connect_by_name(keys: &TlsKeys, _name: String) -> io::Result<Self> {
        match *keys {}
    }

    pub fn read(&mut self, _stream: &mut TcpStream, _room: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub fn receive(&mut self, _stream: &mut TcpStream) -> io::Result<bool> {
        match *self {}
    }

    pub fn has_received(&self) -> bool {
        match *self {}
    }

    pub fn is_handshaking(&self) -> bool {
        match *self {}
    }

    pub fn write(&mut self, _stream: &mut TcpStream, _bytes: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub fn flush(&mut self, _stream: &mut TcpStream) -> io::Result<()> {
        match *self {}
    }

    pub fn end(&mut self, _stream: &mut TcpStream) -> io::Result<()> {
        match *self {}
    }

    pub fn is_unsent(&self) -> bool {
        match *self {}
    }
}

/// Whether the bytes begin a TLS alert.
pub(super) fn begins_alert(bytes: &[u8]) -> bool {
    bytes.starts_with(&[21, 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_refused_with_the_remedy() {
        let refused = TlsKeys::from_pem(b"", b"", b"").expect_err("there is no TLS");
        assert!(refused.to_string().contains("build it with the feature `tls` of `namdb`"));
    }
}
