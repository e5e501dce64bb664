//! The roles of the processes in these tests.

use crate::play::{CLUSTER, KEY, PROGRAM, REGION_BYTES, SERVER};
use fabric::shm::ShmPort;
use fabric::{
    Admission, Batch, CallError, Fabric, LocalEnv, LocalWorld, Patience, Port, Replicas, Reply,
    ServeCounters, ServerConfig, Service, ServiceId, Sharing, port, run_now,
};
use layout::{GlobalPtr, NodeId, RegionId};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub const NODE: NodeId = NodeId(0);
/// A compute server, and its identity, which is also its key.
pub const PEER: NodeId = NodeId::of_compute_server(4);
pub const PEER_IDENTITY: u64 = 0x9e;
/// Returns its request.
pub const ECHO: ServiceId = ServiceId(1);
/// Adds 1 to [`WORD`] on the server, and returns the old value.
pub const COUNT: ServiceId = ServiceId(2);
/// Answers after as many milliseconds as the request has bytes.
pub const SLEEP: ServiceId = ServiceId(3);
pub const REFUSE: ServiceId = ServiceId(4);

/// The word that all processes add to, and two more.
pub const WORD: GlobalPtr = GlobalPtr::new(RegionId(0), 4096);
pub const OTHER_WORD: GlobalPtr = GlobalPtr::new(RegionId(0), 8192);
/// Number of each kind of addition of an adding process.
pub const ADDITIONS: u64 = 200_000;

struct Simple(ServiceId);

impl Service<LocalEnv> for Simple {
    fn handle<'a>(&'a self, env: &'a LocalEnv, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            match self.0 {
                ECHO => Ok(request.to_vec()),
                COUNT => Ok(add(env, WORD).to_le_bytes().to_vec()),
                SLEEP => {
                    std::thread::sleep(Duration::from_millis(request.len() as u64));
                    Ok(Vec::new())
                }
                _ => Err(CallError::Refused(format!("{} bytes are no reason", request.len()))),
            }
        })
    }
}

/// A memory server's world, with its services.
pub fn server_world() -> Arc<LocalWorld> {
    let config = ServerConfig {
        node: NODE,
        server_count: 1,
        bytes: REGION_BYTES,
        replicas: Replicas::NONE,
        sharing: Sharing::File,
        seed: 1,
    };
    let (world, pages) = LocalWorld::memory_server(&config).expect("a little memory");
    assert!(pages.is_some(), "a shared region says what it is made of");
    for service in [ECHO, COUNT, SLEEP, REFUSE] {
        world.register(NODE, service, Arc::new(Simple(service)));
    }
    world
}

pub fn admission() -> Arc<Admission> {
    Arc::new(Admission {
        node: NODE,
        cluster: CLUSTER,
        secret: fabric::Secret::new([7; 32]),
        server: SERVER,
        key: KEY,
        region_bytes: REGION_BYTES,
        program: PROGRAM.to_owned(),
        epoch: 1.into(),
        members: Default::default(),
    })
}

pub fn say(word: &str) {
    println!("[{word}]");
    std::io::stdout().flush().expect("somebody reads");
}

fn wait_to_go() {
    std::io::stdin().read_line(&mut String::new()).expect("somebody writes");
}

/// Serves as a memory server until killed.
pub fn serve(folder: &Path) {
    serve_at(ShmPort::new(folder, admission(), &server_world()).expect("the place is free"));
}

/// Serves as a compute server until killed.
pub fn serve_calls(folder: &Path) {
    let world = crate::play::world(folder);
    for service in [ECHO, COUNT, SLEEP] {
        world.register(PEER, service, Arc::new(Simple(service)));
    }
    let own = admission();
    let admission = Admission {
        node: PEER,
        server: PEER_IDENTITY,
        key: PEER_IDENTITY,
        region_bytes: 0,
        cluster: own.cluster,
        secret: fabric::Secret::new([7; 32]),
        program: own.program.clone(),
        epoch: 1.into(),
        members: Default::default(),
    };
    let port = ShmPort::of_calls(folder, Arc::new(admission), &world);
    serve_at(port.expect("the place is free"));
}

fn serve_at(port: ShmPort) {
    say("ready");
    let mut ports: [Box<dyn Port>; 1] = [Box::new(port)];
    let (stop, counters) = (AtomicBool::new(false), ServeCounters::default());
    // Without the bell it would sleep for an hour.
    let patience = Patience { sleep_ns_max: 3_600_000_000_000, ..Patience::default() };
    port::serve(&mut ports, &stop, patience, &counters);
}

/// Adds 1 to `word`; returns the old value.
pub fn add(env: &LocalEnv, word: GlobalPtr) -> u64 {
    let mut batch = Batch::new();
    let swap = batch.fetch_and_add(word, 1);
    env.execute_now(&mut batch).expect("the server lives");
    batch.found(swap)
}

/// Adds 1 to `word` by compare-and-swap.
pub fn add_by_swaps(env: &LocalEnv, word: GlobalPtr) {
    let mut expected = 0;
    loop {
        let mut batch = Batch::new();
        let swap = batch.compare_and_swap(word, expected, expected + 1);
        env.execute_now(&mut batch).expect("the server lives");
        if batch.swapped(swap) {
            return;
        }
        expected = batch.found(swap);
    }
}

/// Adds to both words.
pub fn add_all(world: &Arc<LocalWorld>) {
    let env = world.endpoint();
    for _ in 0..ADDITIONS {
        add(&env, WORD);
        add_by_swaps(&env, OTHER_WORD);
    }
}

/// A compute process that adds after the word `go`.
pub fn add_when_told(world: &Arc<LocalWorld>) {
    say("ready");
    wait_to_go();
    add_all(world);
    say("added");
    wait_to_go();
}

/// A compute process that makes calls with long messages until killed.
pub fn call_forever(world: &Arc<LocalWorld>) {
    let env = world.endpoint();
    say("ready");
    loop {
        let answer = run_now(env.call(NODE, ECHO, vec![7; 100_000]));
        assert_eq!(answer.map(|bytes| bytes.len()), Ok(100_000));
    }
}

/// A compute process that is always waiting for an answer when killed.
pub fn wait_forever(world: &Arc<LocalWorld>) {
    let env = world.endpoint();
    say("ready");
    loop {
        let answer = run_now(env.call(NODE, SLEEP, vec![0; 100]));
        assert_eq!(answer, Ok(Vec::new()));
    }
}
