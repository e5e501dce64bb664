//! The handshake over TCP before the first verb: identities, and the addresses of both ends of the
//! connection and of the region. The TCP connection stays open: when it closes, the other side has
//! ended.
//!
//! Decision: docs/decisions/0087-rdma-connections-are-introduced-over-tcp.md

use super::flight::Region;
use super::{Endpoint, VerbsError};
use crate::identity::{ANSWER_BYTES, Hello, Refusal, Welcome};
use crate::proof::{Purpose, prove};
use crate::secret::Secret;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const MAGIC: u64 = u64::from_le_bytes(*b"namdbRDM");
pub(super) const OFFER_BYTES: usize = 64;

/// The address of one side's end of the connection, and the region that it gives access to.
///
/// ```text
/// byte | field            | bytes | meaning
///    0 | magic            |     8 | "namdbRDM"
///    8 | gid              |    16 | the port's address
///   24 | number           |     4 | the end's number on its device
///   28 | sequence         |     4 | number of the first packet
///   32 | local identifier |     2 | the port's number in an InfiniBand network
///   34 | transfer unit    |     1 | maximal packet size, in the library's code
///   35 | reads served     |     1 | reads and atomics served concurrently
///   36 | key              |     4 | key of the region; 0 without one (callers, compute servers)
///   40 | address          |     8 | start address of the region
///   48 | region bytes     |     8 | size of the region
///   56 | reserved         |     8 | 0
/// ```
/// A server's offer follows its welcome; a caller's follows its hello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offer {
    pub(super) endpoint: Endpoint,
    pub(super) region: Region,
}

impl Offer {
    pub(super) fn encode(&self) -> [u8; OFFER_BYTES] {
        let mut bytes = [0; OFFER_BYTES];
        let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
        let end = &self.endpoint;
        put(0, &MAGIC.to_le_bytes());
        put(8, &end.gid);
        put(24, &end.number.to_le_bytes());
        put(28, &end.sequence.to_le_bytes());
        put(32, &end.local_identifier.to_le_bytes());
        put(34, &[end.transfer_unit, end.reads_served]);
        put(36, &self.region.key.to_le_bytes());
        put(40, &self.region.address.to_le_bytes());
        put(48, &self.region.bytes.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; OFFER_BYTES]) -> Result<Self, Refusal> {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let int = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        if long(0) != MAGIC {
            return Err(Refusal::new(
                "the peer does not use RDMA; use the same fabric on both sides",
            ));
        }
        let endpoint = Endpoint {
            number: int(24),
            local_identifier: u16::from_le_bytes([bytes[32], bytes[33]]),
            gid: bytes[8..24].try_into().expect("16 bytes"),
            sequence: int(28) & 0xff_ffff,
            transfer_unit: bytes[34],
            reads_served: bytes[35],
        };
        Ok(Self { endpoint, region: Region { address: long(40), key: int(36), bytes: long(48) } })
    }
}

/// Bytes of a server's answer: a welcome and its offer, or a refusal padded with zeros.
pub(super) const OFFERED_BYTES: usize = ANSWER_BYTES + OFFER_BYTES;

/// Connects to a server, proves the cluster's secret, and exchanges offers with it. Waits at most
/// `time_max` for each step.
pub(super) fn introduce(
    address: SocketAddr,
    (secret, hello): (&Secret, &Hello),
    offer: &Offer,
    time_max: Duration,
) -> Result<(TcpStream, Offer), VerbsError> {
    let node = hello.node;
    let refused = |source| VerbsError::Peer { node, address, reason: format!("{source}") };
    let connect = || -> std::io::Result<(TcpStream, [u8; OFFERED_BYTES])> {
        let mut stream = TcpStream::connect_timeout(&address, time_max)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(time_max))?;
        stream.set_write_timeout(Some(time_max))?;
        let message = [&hello.encode()[..], &offer.encode()].concat();
        let mut answer = [0; OFFERED_BYTES];
        prove(&mut stream, secret, Purpose::Verbs, &message, &mut answer)?;
        stream.set_nonblocking(true)?;
        Ok((stream, answer))
    };
    let (stream, answer) = connect().map_err(refused)?;
    let (welcome, offer) = answer.split_first_chunk().expect("a welcome is first");
    let offer = offer.try_into().expect("an offer is last");
    let name = |refusal: Refusal| VerbsError::Peer { node, address, reason: refusal.to_string() };
    Welcome::decode(welcome).map_err(name)?;
    Ok((stream, Offer::decode(offer).map_err(name)?))
}

/// Whether the other side has closed the connection. It sends nothing more after the handshake.
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    match stream.peek(&mut [0]) {
        Ok(_) => true,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_arrives_as_it_was_made() {
        let endpoint = Endpoint {
            number: 17,
            local_identifier: 3,
            gid: *b"0123456789abcdef",
            sequence: 0x12_3456,
            transfer_unit: 3,
            reads_served: 16,
        };
        let region = Region { address: 0x7f00_0000_1000, key: 99, bytes: 1 << 30 };
        let offer = Offer { endpoint, region };
        let mut bytes = offer.encode();
        assert_eq!(Offer::decode(&bytes), Ok(offer));
        bytes[0] = b'x';
        assert!(Offer::decode(&bytes).is_err());
    }
}
