//! Promises of the contract that a switch breaks: each holds for every seed, and fails for some
//! seed if broken. The tests for the order of verbs are in `order`, for rows in `rows`, for buckets
//! in `buckets`.

use crate::help::{client, hostile, unless, word};
use fabric::{Batch, CallError, Env, Fabric, Reply, Service, ServiceId};
use layout::NodeId;
use sim::{BrokenPromises, Carrier, Endpoint, FaultKind, FaultRate, SimConfig, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SEEDS: u64 = 400;

/// The promise holds for all seeds and, if it is broken, fails for some seed.
fn shows(promise: fn(SimConfig) -> bool, broken: BrokenPromises) {
    for seed in 0..SEEDS {
        assert!(promise(hostile(seed, "kept")), "seed {seed}");
    }
    let is_broken = |seed| !promise(SimConfig { broken, ..hostile(seed, "broken") });
    assert!((0..SEEDS).any(is_broken), "{broken:?} breaks nothing");
}

async fn read_word(env: &Endpoint, index: u64) -> u64 {
    let mut batch = Batch::new();
    let span = batch.read(word(0, index), 1);
    env.execute(batch).await.expect("the server is alive").word(span.at)
}

async fn write_word(env: &Endpoint, index: u64, value: u64) {
    let mut batch = Batch::new();
    batch.write_word(word(0, index), value);
    env.execute(batch).await.expect("the server is alive");
}

/// No reader sees half of a word.
fn words_are_whole(config: SimConfig) -> bool {
    let world = World::new(config);
    let (writer, reader) = (client(&world, 0), client(&world, 1));
    world.spawn_on(&writer.clone(), async move { write_word(&writer, 0, u64::MAX).await });
    world.block_on(&reader, async {
        loop {
            match read_word(&reader, 0).await {
                0 => {}
                value => return value == u64::MAX,
            }
        }
    })
}

#[test]
fn a_word_is_whole() {
    shows(words_are_whole, BrokenPromises { whole_words: true, ..Default::default() });
}

/// Another client sees a write that its writer knows to be complete.
fn complete_is_visible(config: SimConfig) -> bool {
    let world = World::new(config);
    let (writer, reader) = (client(&world, 0), client(&world, 1));
    world.block_on(&writer, async {
        write_word(&writer, 0, 1).await;
        write_word(&writer, 1, 1).await;
    });
    world.block_on(&reader, async { (read_word(&reader, 0).await, read_word(&reader, 1).await) })
        == (1, 1)
}

#[test]
fn a_complete_write_is_visible() {
    shows(
        complete_is_visible,
        BrokenPromises { visible_when_complete: true, ..Default::default() },
    );
}

/// Additions of several clients add up.
fn additions_add_up(mut config: SimConfig) -> bool {
    config.atomic_window_ns = 500;
    let world = World::new(config);
    for index in 0..4 {
        let env = client(&world, index);
        world.spawn_on(&env.clone(), async move {
            for _ in 0..5 {
                let mut batch = Batch::new();
                batch.fetch_and_add(word(0, 0), 1);
                env.execute(batch).await.expect("the server is alive");
            }
        });
    }
    world.run_until_idle();
    world.peek(word(0, 0)) == 20
}

#[test]
fn atomics_exclude_each_other() {
    shows(additions_add_up, BrokenPromises { atomics_exclude: true, ..Default::default() });
}

/// The owner of a lock releases it by a plain write while others try to take it.
fn a_plain_write_unlocks(mut config: SimConfig) -> bool {
    config.atomic_window_ns = 500;
    let world = World::new(config);
    world.poke(word(0, 0), 9);
    let (owner, other) = (client(&world, 0), client(&world, 1));
    world.spawn_on(&other.clone(), async move {
        for _ in 0..5 {
            let mut batch = Batch::new();
            batch.compare_and_swap(word(0, 0), 8, 1);
            other.execute(batch).await.expect("the server is alive");
        }
    });
    world.spawn_on(&owner.clone(), async move { write_word(&owner, 0, 7).await });
    world.run_until_idle();
    world.peek(word(0, 0)) == 7
}

#[test]
fn a_failed_swap_writes_nothing() {
    let broken = BrokenPromises { failed_swap_writes_nothing: true, ..Default::default() };
    shows(a_plain_write_unlocks, broken);
}

/// Adds to a word beside a client that writes to it plainly; returns whether the write was lost.
fn addition_loses_a_write(carrier: Carrier, seed: u64, broken: BrokenPromises) -> bool {
    let config =
        SimConfig { carrier, broken, atomic_window_ns: 500, ..hostile(seed, "mixed access") };
    let world = World::new(config);
    let [adder, writer] = [0, 1].map(|index| world.endpoint(world.compute_node(index)));
    world.spawn_on(&adder.clone(), async move {
        let mut batch = Batch::new();
        batch.fetch_and_add(word(0, 0), 1);
        adder.execute(batch).await.expect("the server is alive");
    });
    world.spawn_on(&writer.clone(), async move { write_word(&writer, 0, 100).await });
    world.run_until_idle();
    world.peek(word(0, 0)) < 100
}

#[test]
fn a_plain_write_into_an_atomic_is_lost_unless_memory_is_coherent() {
    let none = BrokenPromises::default();
    assert!((0..SEEDS).any(|seed| addition_loses_a_write(Carrier::Card, seed, none)));
    assert!((0..SEEDS).all(|seed| !addition_loses_a_write(Carrier::Caller, seed, none)));
    let broken = BrokenPromises { atomics_with_cpu: true, ..none };
    assert!((0..SEEDS).any(|seed| addition_loses_a_write(Carrier::Caller, seed, broken)));
}

#[test]
fn a_processor_that_stores_into_an_atomic_loses_its_word() {
    let lost = |seed| {
        let config = SimConfig { atomic_window_ns: 2000, ..SimConfig::new(seed) };
        let world = World::new(config);
        let env = client(&world, 0);
        world.spawn_on(&env.clone(), async move {
            let mut batch = Batch::new();
            batch.compare_and_swap(word(0, 0), 0, 1);
            env.execute(batch).await.expect("the server is alive");
        });
        world.run_for(2000);
        world.poke(word(0, 0), 100);
        world.run_until_idle();
        world.peek(word(0, 0)) == 1
    };
    assert!((0..SEEDS).any(lost), "services touch words that clients swap by verbs only");
    let world = World::new(SimConfig {
        carrier: Carrier::Caller,
        atomic_window_ns: 2000,
        ..SimConfig::new(1)
    });
    assert_eq!(world.peek(word(0, 0)), 0);
}

/// Counts its calls.
#[derive(Default)]
struct Counter(AtomicU64);

impl Service<Endpoint> for Counter {
    fn handle<'a>(&'a self, _env: &'a Endpoint, _request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move { Ok::<_, CallError>(vec![self.0.fetch_add(1, Relaxed) as u8]) })
    }
}

/// Every call is handled once, though it arrives twice.
fn calls_are_answered_once(config: SimConfig) -> bool {
    let world = World::new(SimConfig { duplicate_call_one_in: 1, ..config });
    let counter = Arc::new(Counter::default());
    world.register(NodeId(0), ServiceId(1), counter.clone());
    let env = client(&world, 0);
    world.block_on(&env, async {
        for _ in 0..5 {
            env.call(NodeId(0), ServiceId(1), Vec::new()).await.expect("the server is alive");
        }
    });
    world.run_until_idle();
    counter.0.load(Relaxed) == 5
}

#[test]
fn a_repeated_call_is_answered_once() {
    shows(calls_are_answered_once, BrokenPromises { answered_once: true, ..Default::default() });
}

/// A client that drops a future finds the words as they were posted.
fn dropped_buffers_are_kept(config: SimConfig) -> bool {
    let world = World::new(config);
    let env = client(&world, 0);
    world.block_on(&env, async {
        let mut batch = Batch::new();
        let words = batch.put(&[7; 5]);
        batch.write(word(0, 0), words);
        let patience_ns = env.random() % 2000;
        unless(env.execute(batch), env.sleep_ns(patience_ns)).await;
    });
    world.run_until_idle();
    world.peek_words(word(0, 0), 5) == [7; 5]
}

#[test]
fn verbs_own_their_buffers_until_they_complete() {
    let broken = BrokenPromises { buffers_until_complete: true, ..Default::default() };
    shows(dropped_buffers_are_kept, broken);
}

/// A batch that has completed has read its own write, though completions come twice.
fn batches_complete_once(config: SimConfig) -> bool {
    let config = config.with_fault(FaultKind::DuplicateCompletion, FaultRate::new(1, 1));
    let world = World::new(SimConfig { in_posting_order: true, ..config });
    let env = client(&world, 0);
    world.block_on(&env, async {
        for round in 1..=20 {
            write_word(&env, 0, round).await;
            let start_ns = env.now_ns();
            env.sleep_ns(1).await;
            // A write that is said to be complete is there at once.
            if world.peek(word(0, 0)) != round || env.now_ns() == start_ns {
                return false;
            }
        }
        true
    })
}

#[test]
fn a_second_completion_completes_nothing_else() {
    shows(batches_complete_once, BrokenPromises { completes_once: true, ..Default::default() });
}
