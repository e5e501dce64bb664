//! A caller that breaks the protocol: after admission it keeps using the region's key whatever the
//! server says.

use super::device::connect;
use super::world::{add, secret, with_server, word};
use fabric::proof::{Purpose, prove};
use fabric::verbs::{
    Action, CompletionQueue, Endpoint, Piece, Place, QueuePair, QueueSizes, Registered, Request,
};
use fabric::{Hello, ServerAddress};
use std::collections::BTreeSet;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;
use std::time::Duration;

const HOLDER: u64 = 5;
const LIVING: u64 = 6;
/// Bytes of an offer, which follows a caller's hello and a server's welcome.
const OFFER_BYTES: usize = 64;
/// Bytes of a server's answer: its welcome and its offer.
const OFFERED_BYTES: usize = 256 + OFFER_BYTES;

/// Its end of the connection, and the region's address and key.
pub struct Holder {
    pair: QueuePair,
    control: TcpStream,
    pub address: u64,
    pub key: u32,
    /// Number of the server's first packet.
    sequence: u32,
}

impl Holder {
    /// Connects to `server`, with that server's identity and key.
    pub fn connect(place: &Place, server: &ServerAddress) -> Self {
        let queue = CompletionQueue::new(&place.device, 64).expect("a completion queue");
        let memory = Registered::map("test", 4096, &place.device, false).expect("a page");
        let sizes = QueueSizes { sends: 32, receives: 8, inline_bytes: 64 };
        let pair = QueuePair::new(Arc::new(memory), queue, sizes).expect("a queue pair");
        let connect = connect(place, false);
        let (control, offer) = introduce(place, server, pair.number());
        let int = |at: usize| u32::from_le_bytes(offer[at..at + 4].try_into().expect("4 bytes"));
        let peer = Endpoint {
            number: int(24),
            local_identifier: 0,
            gid: offer[8..24].try_into().expect("16 bytes"),
            sequence: int(28),
            transfer_unit: offer[34],
            reads_served: offer[35],
        };
        let address = u64::from_le_bytes(offer[40..48].try_into().expect("8 bytes"));
        let mut holder = Self { pair, control, address, key: int(36), sequence: int(28) };
        holder.pair.initialize(&connect).expect("a fresh queue pair");
        holder.pair.connect(&connect, &peer).expect("a port of this host");
        holder
    }

    /// Writes `value` to word 0 of the region. Returns whether the card reports success.
    pub fn write(&mut self, value: u64) -> bool {
        self.pair.memories()[0].words(0, 1).expect("a word")[0].store(value, Release);
        let remote = self.address + word(0).offset();
        let request = Request {
            id: value,
            action: Action::Write { remote, key: self.key },
            local: Piece { memory: 0, offset: 0, bytes: 8 },
            is_signaled: true,
        };
        self.pair.post(&[request]).expect("the queue has room");
        let mut completions = Vec::new();
        while self.pair.queue().poll(&mut completions).expect("a queue") == 0 {
            std::thread::yield_now();
        }
        completions[0].is_success
    }
}

/// Does the handshake of a caller, with its proof of the cluster's secret. Returns the server's
/// offer.
fn introduce(place: &Place, server: &ServerAddress, number: u32) -> (TcpStream, [u8; OFFER_BYTES]) {
    let hello = Hello {
        node: server.node,
        cluster: 1,
        epoch: 1,
        server: server.identity,
        key: server.key,
        caller: HOLDER,
        endpoint: 0,
        process: 0,
        program: "test".to_owned(),
    };
    let mut offer = [0; OFFER_BYTES];
    offer[..8].copy_from_slice(b"namdbRDM");
    offer[8..24].copy_from_slice(&place.gid);
    offer[24..28].copy_from_slice(&number.to_le_bytes());
    offer[28..32].copy_from_slice(&17_u32.to_le_bytes());
    offer[34..36].copy_from_slice(&[place.state.transfer_unit, 4]);
    let mut control = TcpStream::connect(server.address).expect("it listens");
    let (message, mut answer) = ([&hello.encode()[..], &offer].concat(), [0; OFFERED_BYTES]);
    let proven = prove(&mut control, &secret(), Purpose::Verbs, &message, &mut answer);
    proven.expect("it is let in");
    (control, *answer.last_chunk().expect("an offer is last"))
}

#[test]
fn who_was_fenced_reaches_nothing_with_the_key_it_holds() {
    with_server(|scene| {
        let living = scene.connect_as(LIVING, 0).expect("a server");
        let mut holder = Holder::connect(&scene.place, &scene.server());
        assert!(holder.write(70), "it is a caller like any other");
        assert_eq!(living.block_on(add(&living.endpoint())), Ok(70));
        let fenced = scene.callers.fence(2, BTreeSet::from([LIVING]), Duration::from_secs(20));
        assert_eq!(fenced, Ok(()));
        assert!(!holder.write(90), "nobody answers");
        assert_eq!(living.block_on(add(&living.endpoint())), Ok(71), "nothing was written");
        drop(holder.control);
    });
}

#[test]
fn nobody_foresees_the_numbers_of_packets() {
    let mut sequences = Vec::new();
    for _ in 0..2 {
        with_server(|scene| {
            let holder = Holder::connect(&scene.place, &scene.server());
            sequences.push(holder.sequence);
        });
    }
    // Empty without a device.
    sequences.dedup();
    assert_ne!(sequences.len(), 1, "servers that start begin with the same number");
}
