//! The polling thread of a memory server: serves the connections of all its fabrics.

use crate::patience::{Patience, Step, Waiter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::time::{Duration, Instant};

/// The server side of one fabric: its listener and connections.
pub trait Port {
    /// Accepts connections and executes arrived requests; returns the number of requests (0: no
    /// work).
    fn serve(&mut self) -> usize;

    /// Prepares for sleep: from now on clients must wake the server. Returns whether something has
    /// arrived meanwhile.
    fn arm(&mut self) -> bool;

    /// Ends the preparation: the server polls, and clients need not wake it.
    fn disarm(&mut self);

    /// Appends the descriptors that become readable when a client wakes the server or connects.
    fn descriptors<'a>(&'a self, to: &mut Vec<BorrowedFd<'a>>);
}

/// Statistics of a polling thread. Only that thread counts; any thread may read.
#[derive(Debug, Default)]
pub struct ServeCounters {
    pub requests: AtomicU64,
    /// Polls of the ports.
    pub rounds: AtomicU64,
    /// Polls that found work: requests per busy round show how well system calls are shared.
    pub busy_rounds: AtomicU64,
    /// Yields to other threads.
    pub yields: AtomicU64,
    pub sleeps: AtomicU64,
    /// Whether the thread executes no request, and begins none before this is false.
    is_asleep: AtomicBool,
}

/// Interval at which a round's end is looked for.
const ROUND_LOOK: Duration = Duration::from_micros(50);

impl ServeCounters {
    /// Waits until every request that the polling thread had begun has ended: what another thread
    /// did before this call, such as raising the epoch of an admission, then counts for all
    /// requests. Returns whether that was so `within` the time.
    pub fn await_round(&self, within: Duration) -> bool {
        // Pairs with the fence between two rounds: a round that is not counted yet ends before
        // the thread executes a request that has seen everything before this.
        fence(SeqCst);
        let before = self.rounds.load(SeqCst);
        let start = now();
        while !self.is_asleep.load(SeqCst) && self.rounds.load(SeqCst) == before {
            if start.elapsed() > within {
                return false;
            }
            std::thread::park_timeout(ROUND_LOOK);
        }
        true
    }
}

/// A port that an engine serves, whose rounds are counted.
pub struct Counted<P> {
    port: P,
    counters: Arc<ServeCounters>,
}

impl<P> Counted<P> {
    pub fn new(port: P, counters: Arc<ServeCounters>) -> Self {
        Self { port, counters }
    }
}

impl<P: Port> Port for Counted<P> {
    fn serve(&mut self) -> usize {
        let requests = self.port.serve();
        add(&self.counters.rounds, 1);
        fence(SeqCst);
        if requests > 0 {
            add(&self.counters.requests, requests as u64);
            add(&self.counters.busy_rounds, 1);
        }
        requests
    }

    fn arm(&mut self) -> bool {
        add(&self.counters.sleeps, 1);
        self.counters.is_asleep.store(true, SeqCst);
        self.port.arm()
    }

    fn disarm(&mut self) {
        self.port.disarm();
        self.counters.is_asleep.store(false, SeqCst);
        // As in `serve`.
        fence(SeqCst);
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<BorrowedFd<'a>>) {
        self.port.descriptors(to);
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "waiting for a thread is not part of a run")]
    Instant::now()
}

/// Serves `ports` until `stop` is set, which it notices within the longest sleep of `patience`.
pub fn serve(
    ports: &mut [Box<dyn Port>],
    stop: &AtomicBool,
    patience: Patience,
    counters: &ServeCounters,
) {
    let mut waiter = Waiter::new(patience);
    while !stop.load(Relaxed) {
        let requests: usize = ports.iter_mut().map(|port| port.serve()).sum();
        add(&counters.rounds, 1);
        fence(SeqCst);
        if requests > 0 {
            add(&counters.requests, requests as u64);
            add(&counters.busy_rounds, 1);
            waiter.busy();
            continue;
        }
        match waiter.idle() {
            Step::Spin => {}
            Step::Yield => add(&counters.yields, 1),
            Step::Sleep => {
                add(&counters.sleeps, 1);
                counters.is_asleep.store(true, SeqCst);
                let is_woken = sleep(ports, patience.sleep_ns_max);
                counters.is_asleep.store(false, SeqCst);
                // Requests behind this see what a thread did that saw the sleep.
                fence(SeqCst);
                if is_woken {
                    waiter.busy();
                }
            }
        }
    }
    counters.is_asleep.store(true, SeqCst);
}

/// Only the polling thread counts, so load and store suffice.
fn add(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed) + by, Relaxed);
}

/// Sleeps until a descriptor of a port becomes readable, and returns whether one did.
fn sleep(ports: &mut [Box<dyn Port>], duration_ns: u64) -> bool {
    // Arms all ports, even if the first has work: each is disarmed below.
    let arrived = ports.iter_mut().fold(false, |arrived, port| port.arm() | arrived);
    let woken = arrived || {
        let mut descriptors = Vec::new();
        ports.iter().for_each(|port| port.descriptors(&mut descriptors));
        let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut waited: Vec<PollFd<'_>> = descriptors.into_iter().map(readable).collect();
        wait_ready(&mut waited, duration_ns)
    };
    ports.iter_mut().for_each(|port| port.disarm());
    woken
}

/// Sleeps until one of `waited` is ready or `duration_ns` have passed, and returns whether one is.
/// A signal counts as ready, so that the caller checks for its effect.
pub(crate) fn wait_ready(waited: &mut [PollFd<'_>], duration_ns: u64) -> bool {
    let timeout = Timespec {
        tv_sec: (duration_ns / 1_000_000_000) as i64,
        tv_nsec: (duration_ns % 1_000_000_000) as i64,
    };
    poll(waited, Some(&timeout)) != Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::time::Duration;

    /// A port that receives bytes.
    struct Bytes {
        stream: UnixStream,
        armed: bool,
    }

    impl Port for Bytes {
        fn serve(&mut self) -> usize {
            assert!(!self.armed, "a server that works is awake");
            self.stream.read(&mut [0; 16]).unwrap_or(0)
        }

        fn arm(&mut self) -> bool {
            self.armed = true;
            false
        }

        fn disarm(&mut self) {
            self.armed = false;
        }

        fn descriptors<'a>(&'a self, to: &mut Vec<BorrowedFd<'a>>) {
            to.push(self.stream.as_fd());
        }
    }

    fn wait_for(condition: impl Fn() -> bool) {
        while !condition() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_server_sleeps_when_there_is_nothing_to_do_and_is_woken() {
        let (mut client, stream) = UnixStream::pair().expect("a pair of sockets");
        stream.set_nonblocking(true).expect("a flag of a socket");
        let shared = Arc::new((AtomicBool::new(false), ServeCounters::default()));
        let server = shared.clone();
        // Without a wake-up it would sleep for an hour.
        let patience = Patience { spin_ns: 1000, awake_ns: 2000, sleep_ns_max: 3_600_000_000_000 };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut ports: [Box<dyn Port>; 1] = [Box::new(Bytes { stream, armed: false })];
                serve(&mut ports, &server.0, patience, &server.1);
            });
            let (stop, counters) = &*shared;
            wait_for(|| counters.sleeps.load(Relaxed) == 1);
            let rounds = counters.rounds.load(Relaxed);
            std::thread::yield_now();
            assert_eq!(counters.rounds.load(Relaxed), rounds, "it does not look while it sleeps");
            client.write_all(&[1, 2, 3]).expect("a server that reads");
            wait_for(|| counters.requests.load(Relaxed) == 3);
            wait_for(|| counters.sleeps.load(Relaxed) == 2);
            stop.store(true, Relaxed);
            client.write_all(&[4]).expect("a server that reads");
        });
        assert!(shared.1.yields.load(Relaxed) > 0 && shared.1.busy_rounds.load(Relaxed) > 0);
    }

    /// A port that executes a request until the test lets it end.
    struct Request {
        is_under_way: Arc<AtomicBool>,
        may_end: Arc<AtomicBool>,
    }

    impl Port for Request {
        fn serve(&mut self) -> usize {
            self.is_under_way.store(true, SeqCst);
            wait_for(|| self.may_end.load(SeqCst));
            self.is_under_way.store(false, SeqCst);
            1
        }

        fn arm(&mut self) -> bool {
            false
        }

        fn disarm(&mut self) {}

        fn descriptors<'a>(&'a self, _to: &mut Vec<BorrowedFd<'a>>) {}
    }

    #[test]
    fn a_round_ends_with_the_requests_that_had_begun() {
        let (is_under_way, may_end) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (stop, counters) = (AtomicBool::new(false), ServeCounters::default());
        let port = Request { is_under_way: is_under_way.clone(), may_end: may_end.clone() };
        std::thread::scope(|scope| {
            let (stop, counters) = (&stop, &counters);
            scope.spawn(move || {
                serve(&mut [Box::new(port)], stop, Patience::default(), counters);
            });
            wait_for(|| is_under_way.load(SeqCst));
            let short = Duration::from_millis(20);
            assert!(!counters.await_round(short), "a request is under way");
            stop.store(true, SeqCst);
            let waiting = scope.spawn(|| counters.await_round(Duration::from_secs(20)));
            may_end.store(true, SeqCst);
            assert!(waiting.join().expect("it does not panic"));
        });
    }

    #[test]
    fn nobody_waits_for_a_server_that_sleeps() {
        let (_client, stream) = UnixStream::pair().expect("a pair of sockets");
        stream.set_nonblocking(true).expect("a flag of a socket");
        let (stop, counters) = (AtomicBool::new(false), ServeCounters::default());
        let patience = Patience { spin_ns: 1000, awake_ns: 2000, sleep_ns_max: 1_000_000_000 };
        std::thread::scope(|scope| {
            let (stop, counters) = (&stop, &counters);
            scope.spawn(move || {
                let mut ports: [Box<dyn Port>; 1] = [Box::new(Bytes { stream, armed: false })];
                serve(&mut ports, stop, patience, counters);
            });
            wait_for(|| counters.sleeps.load(Relaxed) == 1);
            let rounds = counters.rounds.load(Relaxed);
            assert!(counters.await_round(Duration::from_millis(500)));
            assert_eq!(counters.rounds.load(Relaxed), rounds, "it was not waited for");
            stop.store(true, SeqCst);
        });
    }

    #[test]
    fn nobody_rings_for_as_long_as_the_longest_sleep() {
        let (_client, stream) = UnixStream::pair().expect("a pair of sockets");
        let mut waited = [PollFd::new(&stream, PollFlags::IN)];
        assert!(!wait_ready(&mut waited, Duration::from_millis(1).as_nanos() as u64));
    }
}
