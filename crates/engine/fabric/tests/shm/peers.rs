//! Compute servers with services: nodes without a region, whose handlers access regions of memory
//! servers.

use crate::parts::{COUNT, ECHO, NODE, PEER, PEER_IDENTITY, REFUSE, SLEEP, WORD};
use crate::play::{Folder, Player, hello, secret};
use crate::verbs::read;
use fabric::shm::{ConnectConfig, ConnectError, connect};
use fabric::{CallError, Fabric, Hello, LocalEnv, LocalWorld, run_now};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first message to the compute server.
fn peer_hello() -> Hello {
    Hello { node: PEER, server: PEER_IDENTITY, key: PEER_IDENTITY, ..hello(1) }
}

fn connect_to(folder: &Folder, peer: Hello) -> Result<Arc<LocalWorld>, ConnectError> {
    connect(&ConnectConfig {
        peers: vec![peer],
        ..ConnectConfig::new(&folder.0, secret(), vec![hello(1)])
    })
}

fn count(env: &LocalEnv) -> Result<u64, CallError> {
    let answer = run_now(env.call(PEER, COUNT, Vec::new()))?;
    Ok(u64::from_le_bytes(answer.try_into().expect("a word")))
}

#[test]
fn handlers_use_the_regions_of_memory_servers() {
    let folder = Folder::new();
    let (_server, _peer) = (Player::start("server", &folder), Player::start("peer", &folder));
    let world = connect_to(&folder, peer_hello()).expect("both are there");
    assert_eq!(world.server_count(), 1, "a compute server has no region");
    let env = world.endpoint();
    let counted: Result<Vec<u64>, _> = (0..3).map(|_| count(&env)).collect();
    assert_eq!(counted, Ok(vec![0, 1, 2]));
    assert_eq!(read(&env, WORD), Ok(3));
    let long = vec![7; 100_000];
    assert_eq!(run_now(env.call(PEER, ECHO, long.clone())), Ok(long));
    let none = run_now(env.call(PEER, REFUSE, Vec::new()));
    assert_eq!(none, Err(CallError::NoSuchService(PEER, REFUSE)));
    let too_long = run_now(env.call(PEER, ECHO, vec![0; (64 << 20) + 1]));
    assert!(matches!(too_long, Err(CallError::Refused(sentence)) if sentence.contains("at most")));
}

#[test]
fn who_is_not_meant_is_refused_with_the_reason() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let absent = connect_to(&folder, peer_hello()).err().expect("nobody is there").to_string();
    assert!(absent.starts_with("cannot connect to compute server 4 at"), "{absent}");
    // A caller that does not need the peer connects, and its calls fail.
    let (peers, config) =
        (vec![peer_hello()], ConnectConfig::new(&folder.0, secret(), vec![hello(1)]));
    let world = connect(&ConnectConfig { peers, needs_peers: false, ..config });
    let env = world.expect("the memory server is there").endpoint();
    assert!(count(&env).is_err());
    let _peer = Player::start("peer", &folder);
    let other = Hello { server: 1, ..peer_hello() };
    let refused = connect_to(&folder, other).err().expect("it does not fit").to_string();
    let expected = "compute server 4 refused: compute server 4 was started again";
    assert!(refused.starts_with(expected), "{refused}");
}

#[test]
fn a_compute_server_that_is_killed_ends_calls_and_memory_servers_stay() {
    let folder = Folder::new();
    let (_server, mut peer) = (Player::start("server", &folder), Player::start("peer", &folder));
    let world = connect_to(&folder, peer_hello()).expect("both are there");
    let env = world.endpoint();
    let start = std::thread::scope(|scope| {
        let other = world.endpoint();
        let waits = scope.spawn(move || run_now(other.call(PEER, SLEEP, vec![0; 20_000])));
        std::thread::sleep(Duration::from_millis(100));
        peer.kill();
        let start = Instant::now();
        assert_eq!(waits.join().expect("it waits"), Err(CallError::Unreachable(PEER)));
        start
    });
    assert!(start.elapsed() < Duration::from_secs(2), "it hung for {:?}", start.elapsed());
    assert_eq!(count(&env), Err(CallError::Unreachable(PEER)));
    assert_eq!(run_now(env.call(NODE, ECHO, vec![1])), Ok(vec![1]));
}
