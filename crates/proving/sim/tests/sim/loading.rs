//! Loading: verbs and calls at once, without time and without events.

use crate::help::{client, word};
use fabric::{Batch, CallError, Env, Fabric, Reply, Service, ServiceId};
use layout::NodeId;
use sim::{Endpoint, Network, SimConfig, World};
use std::sync::Arc;

const SUM: ServiceId = ServiceId(7);

/// Adds the first byte of a request to a word of its server, and answers with the previous value.
struct Sum;

impl Service<Endpoint> for Sum {
    fn handle<'a>(&'a self, env: &'a Endpoint, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut batch = Batch::new();
            let found = batch.fetch_and_add(word(env.node().0, 0), u64::from(request[0]));
            let batch = env.execute(batch).await.expect("the server is alive");
            Ok(vec![batch.found(found) as u8])
        })
    }
}

fn world() -> World {
    let config = SimConfig { network: Some(Network::connect_ib()), ..SimConfig::hostile(3) };
    let world = World::new(config.named("loading").with_servers(&[4096, 4096]));
    world.register(NodeId(1), SUM, Arc::new(Sum));
    world
}

#[test]
fn loading_takes_no_time_and_no_events() {
    let world = world();
    let env = client(&world, 0);
    let events = world.events();
    let answers = world.load(&env, async {
        let mut answers = Vec::new();
        for number in 0..100 {
            let mut batch = Batch::new();
            batch.write_word(word(0, number), number);
            batch.fence();
            let seen = batch.read(word(0, number), 1);
            let batch = env.execute(batch).await.expect("the servers are alive");
            assert_eq!(batch.words(seen), [number]);
            answers.push(env.call(NodeId(1), SUM, vec![1]).await.expect("it is there")[0]);
        }
        answers
    });
    assert_eq!(answers, (0..100).collect::<Vec<u8>>());
    // The main task is woken once, some time after.
    assert_eq!(world.events() - events, 1);
    assert_eq!(world.peek_words(word(0, 0), 100), (0..100).collect::<Vec<u64>>());
    assert_eq!(world.peek(word(1, 0)), 100);
    let nobody = world.load(&env, env.call(NodeId(0), SUM, vec![1]));
    assert_eq!(nobody, Err(CallError::NoSuchService(NodeId(0), SUM)));
}

#[test]
fn loaded_words_are_there_and_time_passes_afterwards() {
    let world = world();
    let env = client(&world, 0);
    let add = || async {
        let mut batch = Batch::new();
        batch.fetch_and_add(word(0, 0), 1);
        env.execute(batch).await.expect("the server is alive");
    };
    world.block_on(&env, add());
    world.run_until_idle();
    world.load(&env, add());
    let loaded_ns = world.now_ns();
    world.block_on(&env, add());
    assert!(world.now_ns() > loaded_ns + 1000);
    assert_eq!(world.peek(word(0, 0)), 3);
}

#[test]
#[should_panic(expected = "a world is loaded at rest, but 1 batches are under way")]
fn a_world_is_loaded_at_rest() {
    let world = world();
    let env = client(&world, 0);
    let own = env.clone();
    world.spawn_on(&env, async move {
        let mut batch = Batch::new();
        batch.write_word(word(0, 0), 1);
        own.execute(batch).await.expect("the server is alive");
    });
    world.run_for(10_000);
    let posted = client(&world, 1);
    let later = posted.clone();
    world.spawn_on(&posted, async move {
        later.sleep_ns(1).await;
        let mut batch = Batch::new();
        batch.write_word(word(0, 1), 1);
        later.execute(batch).await.expect("the server is alive");
    });
    let mut left_ns = 10_000;
    while world.peek(word(0, 1)) == 0 && left_ns > 0 {
        world.run_for(1);
        left_ns -= 1;
    }
    world.load(&env, async {});
}
