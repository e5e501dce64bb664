//! Admission of callers, and attacks by strangers.

use crate::parts::{ECHO, NODE, admission, server_world};
use crate::play::{CLUSTER, Folder, KEY, Player, hello, try_connect, world};
use fabric::identity::ANSWER_BYTES;
use fabric::shm::ShmPort;
use fabric::{Fabric, Hello, Welcome, run_now};
use proptest::prelude::Rng;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, connect, recvmsg, send, socket_with, sockopt,
};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

#[test]
fn who_does_not_fit_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let cases = [
        (Hello { key: KEY + 1, ..hello(1) }, "was started again since the caller learned of it"),
        (
            Hello { cluster: CLUSTER + 1, ..hello(1) },
            "belongs to cluster 0xc2, this server to 0xc1",
        ),
        (
            Hello { program: "0.0.9".to_owned(), ..hello(1) },
            "the caller is namdb 0.0.9, this server",
        ),
        (Hello { epoch: 0, ..hello(1) }, "the caller is of epoch 0, memory server 0 of epoch 1"),
    ];
    for (wrong, expected) in cases {
        let refused = try_connect(&folder.0, wrong).map(|_| ()).expect_err("it does not fit");
        let sentence = refused.to_string();
        assert!(sentence.starts_with("memory server 0 refused: "), "{sentence}");
        assert!(sentence.contains(expected), "{sentence}");
    }
}

#[test]
fn where_nobody_listens_the_path_is_named() {
    let folder = Folder::new();
    let absent = try_connect(&folder.0, hello(1)).map(|_| ()).expect_err("there is no server");
    let path = folder.0.join("memory-server-0.socket");
    let expected = format!("cannot connect to memory server 0 at {}: ", path.display());
    assert!(absent.to_string().starts_with(&expected), "{absent}");
}

#[test]
fn a_second_server_does_not_take_the_place_of_one_that_lives() {
    let folder = Folder::new();
    let server = Player::start("server", &folder);
    let second = ShmPort::new(&folder.0, admission(), &server_world()).map(|_| ());
    let taken = second.expect_err("the first one lives").to_string();
    let expected = format!("memory server 0 runs already: process {} holds", server.process());
    assert!(taken.starts_with(&expected), "{taken}");
    world(&folder.0);
}

/// A connection that has sent an arbitrary first message.
fn knock(folder: &Path) -> OwnedFd {
    let kind = SocketType::SEQPACKET;
    let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    let socket = socket.expect("a socket");
    let timeout = Some(Duration::from_secs(5));
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, timeout).expect("a timeout");
    let path = folder.join(format!("memory-server-{}.socket", NODE.0));
    connect(&socket, &SocketAddrUnix::new(path).expect("a short path")).expect("a listener");
    socket
}

/// The answer with its descriptors.
fn answer(socket: &OwnedFd) -> (Vec<u8>, Vec<OwnedFd>) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; ANSWER_BYTES];
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let received = recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC);
    bytes.truncate(received.expect("an answer").bytes);
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(given) = message {
            descriptors.extend(given);
        }
    }
    (bytes, descriptors)
}

fn is_served(folder: &Path) {
    let world = try_connect(folder, hello(99)).expect("the server lets us in");
    let env = world.endpoint();
    assert_eq!(run_now(env.call(NODE, ECHO, vec![1, 2, 3])), Ok(vec![1, 2, 3]));
}

#[test]
fn strangers_who_talk_nonsense_or_say_nothing_harm_nobody() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    for length in [1, 127, 129, 5000] {
        let stranger = knock(&folder.0);
        send(&stranger, &vec![0x20; length], SendFlags::NOSIGNAL).expect("it listens");
        let (bytes, descriptors) = answer(&stranger);
        let bytes: [u8; ANSWER_BYTES] = bytes.try_into().expect("an answer has a fixed length");
        let refusal = Welcome::decode(&bytes).expect_err("nonsense");
        assert!(refusal.to_string().contains("not a namdb"), "{refusal}");
        assert!(descriptors.is_empty());
    }
    // More connections than the server polls at a time, all silent.
    let silent: Vec<OwnedFd> = (0..150).map(|_| knock(&folder.0)).collect();
    is_served(&folder.0);
    drop(silent);
    is_served(&folder.0);
}

#[test]
fn a_process_that_writes_garbage_loses_its_connection_and_nobody_else_does() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let good = world(&folder.0);
    let env = good.endpoint();
    let mut random = proptest::test_runner::TestRng::deterministic_rng(
        proptest::test_runner::RngAlgorithm::ChaCha,
    );
    for round in 0..20 {
        let broken = knock(&folder.0);
        send(&broken, &hello(1000 + round).encode(), SendFlags::NOSIGNAL).expect("it listens");
        let (_, descriptors) = answer(&broken);
        let [_region, segment, bell] = descriptors.try_into().expect("three descriptors");
        let mut garbage = vec![0; 16 * 4096];
        random.fill_bytes(&mut garbage);
        // The slots first, so that they are invalid once the bits are set.
        rustix::io::pwrite(&segment, &garbage, 4096).expect("a segment can be written");
        rustix::io::pwrite(&segment, &[0xff; 8], 0).expect("a segment can be written");
        rustix::io::write(&bell, &[1; 8]).expect("it rings");
        let start = Instant::now();
        let closed = loop {
            let flags = RecvFlags::DONTWAIT;
            match rustix::net::recv(&broken, &mut [0; 1], flags) {
                Err(Errno::AGAIN) => assert!(start.elapsed() < Duration::from_secs(2)),
                other => break other,
            }
        };
        assert_eq!(closed.map(|(_, bytes)| bytes), Ok(0), "the server hung up");
        assert_eq!(run_now(env.call(NODE, ECHO, vec![9])), Ok(vec![9]));
    }
}
