//! Admission of callers, and attacks by strangers.

use crate::parts::{ECHO, NODE, admission, server_world};
use crate::play::{CLUSTER, Folder, KEY, Player, hello, secret, try_connect, world};
use fabric::identity::ANSWER_BYTES;
use fabric::proof::{self, CHALLENGE_BYTES, Claim, Purpose, SEAL_BYTES};
use fabric::shm::{ConnectConfig, ShmPort, connect as connect_to};
use fabric::{Fabric, Hello, Secret, run_now};
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

/// A process of this user that knows everything but the secret gets no descriptor and no sentence.
#[test]
fn who_does_not_know_the_secret_learns_the_version_and_nothing_else() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let other = Secret::new([8; 32]);
    let config = ConnectConfig::new(&folder.0, other.clone(), vec![hello(1)]);
    let refused = connect_to(&config).map(|_| ()).expect_err("another cluster's secret");
    assert!(refused.to_string().contains("does not accept the secret"), "{refused}");
    let stranger = knock(&folder.0);
    let (bytes, descriptors) = introduce(&stranger, &other, &hello(1));
    assert_eq!((bytes, descriptors.len()), (proof::version().to_vec(), 0));
    // The greeting of a member, recorded and sent again.
    let member = knock(&folder.0);
    send(&member, &proof::opening(&secret()), SendFlags::NOSIGNAL).expect("it listens");
    let challenge = answer(&member).0.try_into().expect("a challenge has a fixed length");
    let hello = hello(1).encode();
    let (_, proof) = Claim::to(&challenge, &secret(), Purpose::Verbs, &hello);
    let recorded = [&proof[..], &hello].concat();
    for (is_replayed, descriptors) in [(false, 3), (true, 0)] {
        let socket = if is_replayed { knock(&folder.0) } else { member.try_clone().expect("one") };
        if is_replayed {
            send(&socket, &proof::opening(&secret()), SendFlags::NOSIGNAL).expect("it listens");
            assert_eq!(answer(&socket).0.len(), CHALLENGE_BYTES);
        }
        send(&socket, &recorded, SendFlags::NOSIGNAL).expect("it listens");
        let (bytes, given) = answer(&socket);
        assert_eq!(given.len(), descriptors);
        assert_eq!(bytes == proof::version(), is_replayed);
    }
    is_served(&folder.0);
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
    let mut bytes = vec![0; ANSWER_BYTES + SEAL_BYTES];
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

/// Opens the connection, and proves a secret for `hello`; the server's answer with its descriptors.
fn introduce(socket: &OwnedFd, secret: &Secret, hello: &Hello) -> (Vec<u8>, Vec<OwnedFd>) {
    send(socket, &proof::opening(secret), SendFlags::NOSIGNAL).expect("it listens");
    let challenge = answer(socket).0.try_into().expect("a challenge has a fixed length");
    let hello = hello.encode();
    let (_, proof) = Claim::to(&challenge, secret, Purpose::Verbs, &hello);
    send(socket, &[&proof[..], &hello].concat(), SendFlags::NOSIGNAL).expect("it listens");
    answer(socket)
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
        assert_eq!(bytes, proof::version(), "{length} bytes");
        assert!(descriptors.is_empty());
    }
    for length in [1, 127, 191, 193, 5000] {
        let stranger = knock(&folder.0);
        send(&stranger, &proof::opening(&secret()), SendFlags::NOSIGNAL).expect("it listens");
        assert_eq!(answer(&stranger).0.len(), CHALLENGE_BYTES);
        send(&stranger, &vec![0x20; length], SendFlags::NOSIGNAL).expect("it listens");
        let (bytes, descriptors) = answer(&stranger);
        assert_eq!(bytes, proof::version(), "{length} bytes behind the opening");
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
        let (_, descriptors) = introduce(&broken, &secret(), &hello(1000 + round));
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
