//! The device itself: the effect of each request, and refused requests.

use super::place;
use fabric::verbs::{
    Action, Completion, CompletionQueue, Connect, Endpoint, Piece, Place, QueuePair, QueueSizes,
    Registered, Request,
};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Bytes of each side's memory.
const BYTES: u64 = 1 << 16;
/// The local words of requests; each test sets them.
const FIRST: Piece = Piece { memory: 0, offset: 0, bytes: 8 };

/// Both ends of a connection of this process to itself.
struct Loop {
    near: QueuePair,
    far: QueuePair,
    completions: Vec<Completion>,
    count: u64,
}

fn registered(place: &Place, is_remote: bool) -> Arc<Registered> {
    let memory = Registered::map("test", BYTES, &place.device, is_remote);
    Arc::new(memory.expect("little memory can be registered"))
}

fn end(place: &Place, is_remote: bool) -> QueuePair {
    let queue = CompletionQueue::new(&place.device, 64).expect("a completion queue");
    let sizes = QueueSizes { sends: 32, receives: 8, inline_bytes: 64 };
    QueuePair::new(registered(place, is_remote), queue, sizes).expect("a queue pair")
}

/// The settings of connections through this port.
pub fn connect(place: &Place, allows_verbs: bool) -> Connect {
    Connect {
        port: place.port,
        gid_index: place.gid_index,
        sequence: 17,
        reads_started: 4,
        reads_served: 4,
        transfer_unit: place.state.transfer_unit,
        allows_verbs,
        timeout: 14,
        retry_count: 3,
    }
}

impl Loop {
    fn new(place: &Place) -> Self {
        let (mut near, mut far) = (end(place, false), end(place, true));
        let endpoint = |pair: &QueuePair| Endpoint {
            number: pair.number(),
            local_identifier: place.state.local_identifier,
            gid: place.gid,
            sequence: 17,
            transfer_unit: place.state.transfer_unit,
            reads_served: 4,
        };
        let (here, there) = (endpoint(&near), endpoint(&far));
        near.initialize(&connect(place, false)).expect("a fresh queue pair");
        far.initialize(&connect(place, true)).expect("a fresh queue pair");
        near.connect(&connect(place, false), &there).expect("a port of this host");
        far.connect(&connect(place, true), &here).expect("a port of this host");
        Self { near, far, completions: Vec::new(), count: 0 }
    }

    fn remote(&self, offset: u64) -> (u64, u32) {
        let memory = &self.far.memories()[0];
        (memory.memory_address() + offset, memory.remote_key())
    }

    /// Posts requests with a completion for the last, and waits for it.
    fn run(&mut self, actions: &[(Action, Piece)]) -> Completion {
        let last = actions.len() - 1;
        let request = |(index, &(action, local)): (usize, &(Action, Piece))| Request {
            id: self.count + index as u64,
            action,
            local,
            is_signaled: index == last,
        };
        let requests: Vec<Request> = actions.iter().enumerate().map(request).collect();
        self.count += actions.len() as u64;
        self.near.post(&requests).expect("the queue has room");
        self.completions.clear();
        while self.near.queue().poll(&mut self.completions).expect("a queue") == 0 {
            std::thread::yield_now();
        }
        self.completions[0]
    }

    fn set(&self, pair: &QueuePair, offset: u64, value: u64) {
        pair.memories()[0].words(offset, 1).expect("a word")[0].store(value, Release);
    }

    fn get(&self, pair: &QueuePair, offset: u64) -> u64 {
        pair.memories()[0].words(offset, 1).expect("a word")[0].load(Acquire)
    }
}

#[test]
fn alone_every_request_does_what_it_says() {
    let Some(place) = place() else { return };
    println!("{place}: {:?}", place.limits);
    let mut pair = Loop::new(&place);
    let (remote, key) = pair.remote(4096);
    for word in 0..512 {
        pair.set(&pair.near, word * 8, word + 1);
    }
    let page = Piece { memory: 0, offset: 0, bytes: 4096 };
    let completion = pair.run(&[(Action::Write { remote, key }, page)]);
    assert!(completion.is_success, "{completion:?}");
    assert!((0..512).all(|word| pair.get(&pair.far, 4096 + word * 8) == word + 1));
    assert_eq!(pair.get(&pair.far, 8192), 0, "nothing beside it is written");

    let back = Piece { memory: 0, offset: 8192, bytes: 4096 };
    assert!(pair.run(&[(Action::Read { remote, key }, back)]).is_success);
    assert!((0..512).all(|word| pair.get(&pair.near, 8192 + word * 8) == word + 1));

    let swap = |expected, desired| Action::CompareAndSwap { remote, key, expected, desired };
    assert!(pair.run(&[(swap(1, 100), FIRST)]).is_success);
    assert_eq!((pair.get(&pair.near, 0), pair.get(&pair.far, 4096)), (1, 100));
    assert!(pair.run(&[(swap(1, 200), FIRST)]).is_success);
    assert_eq!((pair.get(&pair.near, 0), pair.get(&pair.far, 4096)), (100, 100), "it is refused");
    let add = Action::FetchAndAdd { remote, key, add: 11 };
    assert!(pair.run(&[(add, FIRST)]).is_success);
    assert_eq!((pair.get(&pair.near, 0), pair.get(&pair.far, 4096)), (100, 111));
}

#[test]
fn alone_a_chain_is_carried_out_in_order_and_tells_once() {
    let Some(place) = place() else { return };
    let mut pair = Loop::new(&place);
    let (remote, key) = pair.remote(0);
    pair.set(&pair.near, 0, 5);
    let second = Piece { memory: 0, offset: 8, bytes: 8 };
    for round in 0..50 {
        let value = 5 + round;
        pair.set(&pair.near, 0, value);
        let swap = Action::CompareAndSwap { remote, key, expected: value, desired: value + 1000 };
        let third = Piece { memory: 0, offset: 16, bytes: 8 };
        let chain = [
            (Action::Write { remote, key }, FIRST),
            (swap, second),
            (Action::Read { remote, key }, third),
        ];
        let completion = pair.run(&chain);
        assert!(completion.is_success, "{completion:?}");
        assert_eq!(completion.id, pair.count - 1);
        assert_eq!(pair.completions.len(), 1);
        assert_eq!((pair.get(&pair.near, 8), pair.get(&pair.near, 16)), (value, value + 1000));
    }
}

#[test]
fn alone_a_wrong_key_and_a_wrong_place_end_the_connection() {
    let Some(place) = place() else { return };
    for is_key in [true, false] {
        let mut pair = Loop::new(&place);
        let (remote, key) = pair.remote(0);
        let action = match is_key {
            true => Action::Read { remote, key: key ^ 0x5a },
            false => Action::Read { remote: remote + BYTES, key },
        };
        let completion = pair.run(&[(action, FIRST)]);
        assert!(!completion.is_success, "{completion:?}");
        let completion = pair.run(&[(Action::Read { remote, key }, FIRST)]);
        assert!(!completion.is_success, "the connection is gone: {completion:?}");
    }
}

#[test]
fn alone_messages_arrive_and_wake_who_sleeps() {
    let Some(place) = place() else { return };
    let mut pair = Loop::new(&place);
    let message = Piece { memory: 0, offset: 0, bytes: 4096 };
    pair.far.post_receive(7, message).expect("room for a message");
    let far = pair.far.queue().clone();
    far.arm().expect("a queue");
    assert!(!is_readable(&far), "nothing has come yet");
    pair.set(&pair.near, 0, 42);
    assert!(pair.run(&[(Action::Send, Piece { memory: 0, offset: 0, bytes: 24 })]).is_success);
    for _ in 0..100_000 {
        if is_readable(&far) {
            break;
        }
        std::thread::yield_now();
    }
    assert!(is_readable(&far), "the descriptor tells of the message");
    far.quiet();
    assert!(!is_readable(&far));
    let mut completions = Vec::new();
    assert_eq!(far.poll(&mut completions).expect("a queue"), 1);
    let completion = completions[0];
    assert!(completion.is_receive && completion.is_success, "{completion:?}");
    assert_eq!((completion.id, completion.bytes), (7, 24));
    assert_eq!(pair.get(&pair.far, 0), 42);
}

fn is_readable(queue: &CompletionQueue) -> bool {
    let mut descriptors =
        [rustix::event::PollFd::from_borrowed_fd(queue.as_fd(), rustix::event::PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut descriptors, Some(&now)).expect("a descriptor") == 1
}

#[test]
fn alone_a_closed_connection_refuses_everything() {
    let Some(place) = place() else { return };
    let mut pair = Loop::new(&place);
    let (remote, key) = pair.remote(0);
    pair.far.close().expect("a connected queue pair");
    let completion = pair.run(&[(Action::Read { remote, key }, FIRST)]);
    assert!(!completion.is_success, "{completion:?}");
}
