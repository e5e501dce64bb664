//! Calls from one process to another.

use crate::parts::{COUNT, ECHO, NODE, REFUSE, SLEEP};
use crate::play::{Folder, Player, hello, secret, world};
use fabric::shm::{ConnectConfig, connect};
use fabric::{CallError, Fabric, LocalEnv, ServiceId, run_now};
use std::time::{Duration, Instant};

fn call(env: &LocalEnv, service: ServiceId, request: &[u8]) -> Result<Vec<u8>, CallError> {
    run_now(env.call(NODE, service, request.to_vec()))
}

#[test]
fn calls_of_every_length_are_answered() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let world = world(&folder.0);
    let env = world.endpoint();
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n ^ n >> 8) as u8).collect();
    for length in [0, 1, 7, 8, 4031, 4032, 4033, 8064, 8065, 100_000, 3_000_000] {
        let answer = call(&env, ECHO, &bytes[..length]).expect("an echo");
        assert!(answer == bytes[..length], "{length} bytes came back as {}", answer.len());
    }
}

#[test]
fn refusals_arrive_with_their_sentence() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let world = world(&folder.0);
    let env = world.endpoint();
    let refused = CallError::Refused("3 bytes are no reason".to_owned());
    assert_eq!(call(&env, REFUSE, &[1, 2, 3]), Err(refused));
    let missing = ServiceId(999);
    assert_eq!(call(&env, missing, &[]), Err(CallError::NoSuchService(NODE, missing)));
    let long = call(&env, ECHO, &vec![0; (64 << 20) + 1]).expect_err("it is too long");
    let sentence = "the request has 67108865 bytes, at most 67108864 can be sent";
    assert_eq!(long.to_string(), sentence);
}

#[test]
fn ten_thousand_calls_of_four_threads_are_carried_out_once_each() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let world = world(&folder.0);
    let mut numbers: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let env = world.endpoint();
                scope.spawn(move || -> Vec<u64> {
                    let number = |_| call(&env, COUNT, &[]).expect("a number");
                    let words = (0..2500).map(number);
                    words.map(|word| u64::from_le_bytes(word.try_into().expect("a word"))).collect()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it counts")).collect()
    });
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..10_000), "every number is given once");
}

#[test]
fn more_calls_than_slots_wait_for_one() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let world = world(&folder.0);
    std::thread::scope(|scope| {
        for _ in 0..80 {
            let env = world.endpoint();
            scope.spawn(move || assert_eq!(call(&env, SLEEP, &[0; 2]), Ok(Vec::new())));
        }
    });
}

#[test]
fn a_call_that_takes_too_long_ends_and_its_slot_comes_back() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let mut config = ConnectConfig::new(&folder.0, secret(), vec![hello(1)]);
    config.call_timeout = Duration::from_millis(50);
    let world = connect(&config).expect("the server lets us in");
    let env = world.endpoint();
    let start = Instant::now();
    assert_eq!(call(&env, SLEEP, &[0; 400]), Err(CallError::Unreachable(NODE)));
    assert!(start.elapsed() < Duration::from_millis(390), "{:?}", start.elapsed());
    std::thread::sleep(Duration::from_millis(500));
    // Far more calls than slots.
    for _ in 0..1000 {
        assert_eq!(call(&env, ECHO, &[5]), Ok(vec![5]));
    }
}

#[test]
fn a_caller_that_fell_asleep_is_woken_by_the_answer() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let world = world(&folder.0);
    let env = world.endpoint();
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(call(&env, SLEEP, &[0; 2]), Ok(Vec::new()));
    }
    // No thread sleeps longer than 100 ms without checking.
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
}

/// Processor time of a process in clock ticks of 10 ms.
fn processor_ticks(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("its name is in parentheses");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Fields 14 and 15 of the whole line, after two removed ones.
    [fields[11], fields[12]].iter().map(|field| field.parse::<u64>().expect("a number")).sum()
}

#[test]
fn an_idle_server_uses_no_processor_and_wakes_for_a_call() {
    let folder = Folder::new();
    let server = Player::start("server", &folder);
    let world = world(&folder.0);
    let env = world.endpoint();
    for _ in 0..3 {
        assert_eq!(call(&env, ECHO, &[1]), Ok(vec![1]));
        std::thread::sleep(Duration::from_millis(100));
        let before = processor_ticks(server.process());
        std::thread::sleep(Duration::from_secs(1));
        let ticks = processor_ticks(server.process()) - before;
        assert!(ticks <= 1, "{ticks} ticks of 10 ms in an idle second");
    }
}
