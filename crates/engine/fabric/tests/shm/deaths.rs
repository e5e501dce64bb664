//! Processes that are killed during their work.

use crate::parts::{ECHO, NODE, SLEEP, WORD, add, admission, server_world};
use crate::play::{Folder, Player, hello, try_connect, world};
use crate::verbs::read;
use fabric::shm::{Callers, FenceError, Fenced, ShmPort};
use fabric::{CallError, Fabric, FabricError, Patience, Port, ServeCounters, port, run_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time limit for all others to notice.
const BOUND: Duration = Duration::from_secs(2);

#[test]
fn a_killed_server_is_unreachable_to_every_endpoint_and_nothing_hangs() {
    let folder = Folder::new();
    let mut server = Player::start("server", &folder);
    let world = world(&folder.0);
    let killed = AtomicBool::new(false);
    let start = std::thread::scope(|scope| {
        for number in 0..4 {
            let (env, killed) = (world.endpoint(), &killed);
            scope.spawn(move || {
                let error = loop {
                    if let Err(error) = read(&env, WORD) {
                        break error;
                    }
                };
                assert!(killed.load(Relaxed), "reader {number} lost a server that lives");
                assert_eq!(error, FabricError::Unreachable(NODE));
            });
        }
        for number in 0..4 {
            let (env, killed) = (world.endpoint(), &killed);
            scope.spawn(move || {
                // One caller waits for an answer when the server is killed, the others wait for
                // their turn.
                let error = run_now(env.call(NODE, SLEEP, vec![0; 10_000]));
                assert!(killed.load(Relaxed), "caller {number} lost a server that lives");
                assert_eq!(error, Err(CallError::Unreachable(NODE)));
            });
        }
        std::thread::sleep(Duration::from_millis(200));
        killed.store(true, Relaxed);
        server.kill();
        let start = Instant::now();
        let env = world.endpoint();
        while read(&env, WORD).is_ok() {
            assert!(start.elapsed() < BOUND, "a dead server can still be read");
        }
        let later = run_now(env.call(NODE, ECHO, vec![1]));
        assert_eq!(later, Err(CallError::Unreachable(NODE)));
        start
    });
    assert!(start.elapsed() < BOUND, "somebody hung for {:?}", start.elapsed());
}

#[test]
fn a_server_that_was_killed_starts_again_at_once() {
    let folder = Folder::new();
    let mut first = Player::start("server", &folder);
    let old = world(&folder.0);
    assert_eq!(add(&old.endpoint(), WORD), 0);
    first.kill();
    let _second = Player::start("server", &folder);
    let new = world(&folder.0);
    assert_eq!(add(&new.endpoint(), WORD), 0, "memory of its own");
    let start = Instant::now();
    while read(&old.endpoint(), WORD).is_ok() {
        assert!(start.elapsed() < BOUND, "the old server can still be read");
    }
    let again = run_now(old.endpoint().call(NODE, ECHO, vec![1]));
    assert_eq!(again, Err(CallError::Unreachable(NODE)));
}

/// A memory server on a thread of this process, so that tests can inspect it. It stops on drop.
struct Server {
    callers: Arc<Callers>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    fn start(folder: &Folder) -> Self {
        let port = ShmPort::new(&folder.0, admission(), &server_world()).expect("a free place");
        let (callers, stop) = (port.callers().clone(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut ports: [Box<dyn Port>; 1] = [Box::new(port)];
            port::serve(&mut ports, &stopped, Patience::default(), &ServeCounters::default());
        });
        Self { callers, stop, thread: Some(thread) }
    }

    fn wait_for_connections(&self, count: u64) {
        let start = Instant::now();
        while self.callers.connection_count() != count {
            assert!(start.elapsed() < BOUND, "{} connections", self.callers.connection_count());
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

#[test]
fn a_compute_process_that_dies_in_mid_call_leaves_nothing_behind() {
    let folder = Folder::new();
    let server = Server::start(&folder);
    let mut caller = Player::start("caller", &folder);
    let mut sleeper = Player::start("sleeper", &folder);
    let own = world(&folder.0);
    let env = own.endpoint();
    server.wait_for_connections(3);
    caller.kill();
    sleeper.kill();
    assert_eq!(run_now(env.call(NODE, ECHO, vec![1])), Ok(vec![1]));
    server.wait_for_connections(1);
    drop((env, own));
    server.wait_for_connections(0);
    assert_eq!(server.callers.broken_count(), 0);
}

#[test]
fn a_fenced_process_is_dead_and_does_not_come_back() {
    let folder = Folder::new();
    let server = Server::start(&folder);
    let mut caller = Player::start("caller", &folder);
    let identity = u64::from(caller.process());
    assert_eq!(server.callers.fence(identity, BOUND), Ok(Fenced::Killed));
    assert!(caller.has_ended());
    assert_eq!(server.callers.fence(identity, BOUND), Ok(Fenced::Absent));
    let refused = try_connect(&folder.0, hello(identity)).map(|_| ());
    let sentence = refused.expect_err("it was fenced").to_string();
    assert!(sentence.contains("the caller was declared dead"), "{sentence}");
    assert_eq!(server.callers.fence(12345, BOUND), Ok(Fenced::Absent));
    let own = try_connect(&folder.0, hello(7)).expect("others are welcome");
    assert_eq!(server.callers.fence(7, BOUND), Err(FenceError::Own));
    drop(own);
}

#[test]
fn a_second_connection_of_the_same_name_replaces_the_first() {
    let folder = Folder::new();
    let server = Server::start(&folder);
    let first = try_connect(&folder.0, hello(7)).expect("welcome");
    let second = try_connect(&folder.0, hello(7)).expect("welcome");
    let start = Instant::now();
    while read(&first.endpoint(), WORD).is_ok() {
        assert!(start.elapsed() < BOUND, "the first one is still connected");
    }
    assert_eq!(read(&second.endpoint(), WORD), Ok(0));
    server.wait_for_connections(1);
}
