//! The order of verbs: every guaranteed order holds for all seeds, every other one breaks for some
//! seed.

use crate::help::{client, hostile, word};
use fabric::{Batch, Env, Fabric};
use layout::row::Cover;
use sim::{BrokenPromises, Endpoint, SimConfig, World};

const SEEDS: u64 = 1500;

/// Checks whether a completed batch, and memory after it, are as the order demands.
type Check = Box<dyn Fn(&Batch, &World) -> bool>;
/// Fills a batch.
type Post = fn(&mut Batch) -> Check;
/// The values of A and B that a completed batch has read.
type Found = Box<dyn Fn(&Batch) -> (u64, u64)>;

/// Whether, in the world of `config`, a lone batch of `post` ends as `holds` demands.
fn holds(config: SimConfig, post: Post) -> bool {
    let world = World::new(config);
    let env = client(&world, 0);
    world.block_on(&env, async {
        let mut batch = Batch::new();
        let check = post(&mut batch);
        let batch = env.execute(batch).await.expect("the servers are alive");
        check(&batch, &world)
    })
}

fn write_then_read(batch: &mut Batch) -> Check {
    let new = batch.put(&[7; 5]);
    batch.write(word(0, 0), new);
    let seen = batch.read(word(0, 0), 5);
    Box::new(move |batch, _| batch.words(seen) == [7; 5])
}

fn write_then_write(batch: &mut Batch) -> Check {
    let (old, new) = (batch.put(&[6; 5]), batch.put(&[7; 5]));
    batch.write(word(0, 0), old);
    batch.write(word(0, 0), new);
    batch.write_word(word(0, 4), 8);
    Box::new(move |_, world| world.peek_words(word(0, 0), 5) == [7, 7, 7, 7, 8])
}

fn write_then_swap(batch: &mut Batch) -> Check {
    let new = batch.put(&[7; 5]);
    batch.write(word(0, 0), new);
    let swap = batch.compare_and_swap(word(0, 3), 7, 8);
    Box::new(move |batch, _| batch.swapped(swap))
}

fn row_then_row(batch: &mut Batch) -> Check {
    let image = batch.put(&[0, 7, 7, 7, 7, 0]);
    batch.write_row(word(0, 0), image, 0, Cover::All);
    let seen = batch.read_row(word(0, 0), 6, Cover::All);
    Box::new(move |batch, _| batch.words(seen)[1..5] == [7; 4])
}

fn atomic_then_read(batch: &mut Batch) -> Check {
    batch.compare_and_swap(word(0, 0), 0, 7);
    let seen = batch.read(word(0, 0), 1);
    Box::new(move |batch, _| batch.words(seen) == [7])
}

fn atomic_then_atomic(batch: &mut Batch) -> Check {
    batch.fetch_and_add(word(0, 0), 7);
    let swap = batch.compare_and_swap(word(0, 0), 7, 8);
    Box::new(move |batch, _| batch.swapped(swap))
}

fn read_fence_write(batch: &mut Batch) -> Check {
    let seen = batch.read(word(0, 0), 5);
    let swap = batch.fetch_and_add(word(0, 1), 0);
    batch.fence();
    let new = batch.put(&[7; 5]);
    batch.write(word(0, 0), new);
    Box::new(move |batch, _| batch.words(seen) == [0; 5] && batch.found(swap) == 0)
}

#[test]
fn granted_orders_hold_for_every_seed() {
    let granted: [Post; 7] = [
        write_then_read,
        write_then_write,
        write_then_swap,
        row_then_row,
        atomic_then_read,
        atomic_then_atomic,
        read_fence_write,
    ];
    for (number, post) in granted.into_iter().enumerate() {
        for seed in 0..SEEDS {
            let config = hostile(seed, "granted order");
            assert!(holds(config, post), "seed {seed}: order {number}");
        }
    }
}

#[test]
fn a_broken_promise_shows() {
    let writes = BrokenPromises { write_before_later: true, ..Default::default() };
    let atomics = BrokenPromises { atomic_before_later: true, ..Default::default() };
    let fence = BrokenPromises { fence: true, ..Default::default() };
    let cases: [(BrokenPromises, Post); 7] = [
        (writes, write_then_read),
        (writes, write_then_write),
        (writes, write_then_swap),
        (writes, row_then_row),
        (atomics, atomic_then_read),
        (atomics, atomic_then_atomic),
        (fence, read_fence_write),
    ];
    for (number, (broken, post)) in cases.into_iter().enumerate() {
        let config = |seed| SimConfig { broken, ..hostile(seed, "broken order") };
        assert!((0..SEEDS).any(|seed| !holds(config(seed), post)), "case {number}");
    }
}

/// Runs `reader`'s batch beside a client that writes B and then A, each complete before the next.
fn beside_b_then_a(seed: u64, post: fn(&mut Batch) -> Found) -> (u64, u64) {
    let world = World::new(hostile(seed, "B then A"));
    let (reader, writer) = (client(&world, 0), client(&world, 1));
    world.spawn_on(&writer.clone(), async move {
        for index in [1, 0] {
            let mut batch = Batch::new();
            batch.write_word(word(0, index), 1);
            writer.execute(batch).await.expect("the servers are alive");
        }
    });
    world.block_on(&reader, async {
        reader.sleep_ns(reader.random() % 8000).await;
        let mut batch = Batch::new();
        let found = post(&mut batch);
        found(&reader.execute(batch).await.expect("the servers are alive"))
    })
}

/// Runs `post`'s batch, which reads A and then writes B, beside a client that sets A when B is set.
/// Returns whether A was read after B was written.
fn read_saw_later_write(seed: u64, atomic: bool) -> bool {
    let world = World::new(hostile(seed, "A before B"));
    let (first, second) = (client(&world, 0), client(&world, 1));
    world.spawn_on(&second.clone(), async move {
        while read_word(&second, word(0, 1)).await == 0 {
            second.yield_now().await;
        }
        let mut batch = Batch::new();
        batch.write_word(word(0, 0), 1);
        second.execute(batch).await.expect("the servers are alive");
    });
    world.block_on(&first, async {
        let mut batch = Batch::new();
        let found = if atomic {
            batch.fetch_and_add(word(0, 0), 0);
            0
        } else {
            batch.read(word(0, 0), 1).at
        };
        batch.write_word(word(0, 1), 1);
        first.execute(batch).await.expect("the servers are alive").word(found) == 1
    })
}

async fn read_word(env: &Endpoint, at: layout::GlobalPtr) -> u64 {
    let mut batch = Batch::new();
    let span = batch.read(at, 1);
    env.execute(batch).await.expect("the servers are alive").word(span.at)
}

#[test]
fn reads_are_not_ordered() {
    let read_read = |batch: &mut Batch| -> Found {
        let (a, b) = (batch.read(word(0, 0), 1).at, batch.read(word(0, 1), 1).at);
        Box::new(move |batch| (batch.word(a), batch.word(b)))
    };
    let seen: Vec<_> = (0..SEEDS).map(|seed| beside_b_then_a(seed, read_read)).collect();
    for pair in [(0, 0), (0, 1), (1, 1), (1, 0)] {
        assert!(seen.contains(&pair), "{pair:?} never seen");
    }
}

#[test]
fn a_fence_orders_reads() {
    let read_fence_read = |batch: &mut Batch| -> Found {
        let a = batch.read(word(0, 0), 1).at;
        batch.fence();
        let b = batch.read(word(0, 1), 1).at;
        Box::new(move |batch| (batch.word(a), batch.word(b)))
    };
    for seed in 0..SEEDS {
        assert_ne!(beside_b_then_a(seed, read_fence_read), (1, 0), "seed {seed}");
    }
}

#[test]
fn a_read_and_a_later_atomic_are_not_ordered() {
    let read_atomic = |batch: &mut Batch| -> Found {
        let (a, b) = (batch.read(word(0, 0), 1).at, batch.fetch_and_add(word(0, 1), 0));
        Box::new(move |batch| (batch.word(a), batch.found(b)))
    };
    assert!((0..SEEDS).any(|seed| beside_b_then_a(seed, read_atomic) == (1, 0)));
}

#[test]
fn an_atomic_and_a_later_read_are_ordered() {
    let atomic_read = |batch: &mut Batch| -> Found {
        let (a, b) = (batch.fetch_and_add(word(0, 0), 0), batch.read(word(0, 1), 1).at);
        Box::new(move |batch| (batch.found(a), batch.word(b)))
    };
    for seed in 0..SEEDS {
        assert_ne!(beside_b_then_a(seed, atomic_read), (1, 0), "seed {seed}");
    }
}

#[test]
fn a_write_may_overtake_earlier_reads_and_atomics() {
    for atomic in [false, true] {
        assert!((0..SEEDS).any(|seed| read_saw_later_write(seed, atomic)), "atomic: {atomic}");
    }
}

#[test]
fn verbs_to_different_servers_are_not_ordered() {
    let overtaken = |seed| {
        let world = World::new(hostile(seed, "two servers"));
        let (writer, reader) = (client(&world, 0), client(&world, 1));
        world.spawn_on(&writer.clone(), async move {
            let mut batch = Batch::new();
            batch.write_word(word(0, 0), 1);
            batch.write_word(word(1, 0), 1);
            writer.execute(batch).await.expect("the servers are alive");
        });
        world.block_on(&reader, async {
            while read_word(&reader, word(1, 0)).await == 0 {}
            read_word(&reader, word(0, 0)).await == 0
        })
    };
    assert!((0..SEEDS).any(overtaken));
}

#[test]
fn long_verbs_are_torn_in_any_order() {
    let mut patterns = std::collections::BTreeSet::new();
    for seed in 0..SEEDS {
        let world = World::new(hostile(seed, "tearing"));
        let (writer, reader) = (client(&world, 0), client(&world, 1));
        world.spawn_on(&writer.clone(), async move {
            let mut batch = Batch::new();
            let new = batch.put(&[1; 3]);
            batch.write(word(0, 0), new);
            writer.execute(batch).await.expect("the servers are alive");
        });
        let seen = world.block_on(&reader, async {
            reader.sleep_ns(reader.random() % 2000).await;
            let mut batch = Batch::new();
            let span = batch.read(word(0, 0), 3);
            reader.execute(batch).await.expect("the servers are alive").words(span).to_vec()
        });
        patterns.insert(seen);
    }
    assert_eq!(patterns.len(), 8, "every mixture of old and new words: {patterns:?}");
}
