//! Atomics are atomic.

use crate::help::{client, hostile, word};
use fabric::{Batch, Env, Fabric};
use sim::{Endpoint, World};

const SEEDS: u64 = 300;
const CLIENTS: u16 = 4;

async fn add(env: Endpoint) {
    for _ in 0..10 {
        let mut batch = Batch::new();
        batch.fetch_and_add(word(0, 0), 1);
        env.execute(batch).await.expect("the server is alive");
    }
}

/// Adds one to a plain word under a lock taken by compare-and-swap.
async fn add_under_lock(env: Endpoint) {
    for _ in 0..3 {
        loop {
            let mut batch = Batch::new();
            let lock = batch.compare_and_swap(word(0, 0), 0, 1);
            let batch = env.execute(batch).await.expect("the server is alive");
            if batch.swapped(lock) {
                break;
            }
            env.yield_now().await;
        }
        let mut batch = Batch::new();
        let value = batch.read(word(0, 1), 1);
        let mut batch = env.execute(batch).await.expect("the server is alive");
        let value = batch.word(value.at);
        batch.reset();
        batch.write_word(word(0, 1), value + 1);
        batch.write_word(word(0, 0), 0);
        env.execute(batch).await.expect("the server is alive");
    }
}

#[test]
fn no_addition_is_lost() {
    for seed in 0..SEEDS {
        let world = World::new(hostile(seed, "additions"));
        for index in 0..CLIENTS {
            let env = client(&world, index);
            world.spawn_on(&env.clone(), add(env));
        }
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        assert_eq!(world.peek(word(0, 0)), 10 * u64::from(CLIENTS), "{}", world.identity());
    }
}

#[test]
fn a_swapped_lock_excludes() {
    for seed in 0..SEEDS {
        let world = World::new(hostile(seed, "lock"));
        for index in 0..CLIENTS {
            let env = client(&world, index);
            world.spawn_on(&env.clone(), add_under_lock(env));
        }
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        assert_eq!(world.peek(word(0, 1)), 3 * u64::from(CLIENTS), "{}", world.identity());
    }
}
