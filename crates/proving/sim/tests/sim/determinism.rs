//! A seed and a scenario are the whole run.

use crate::help::{Step, client, hostile, word};
use fabric::{Batch, CallError, Env, Fabric, Reply, Service, ServiceId};
use layout::NodeId;
use layout::row::Cover;
use sim::{Endpoint, FaultKind, FaultRate, SimConfig, World};
use std::sync::Arc;

struct Echo;

impl Service<Endpoint> for Echo {
    fn handle<'a>(&'a self, env: &'a Endpoint, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            env.yield_now().await;
            let mut batch = Batch::new();
            batch.fetch_and_add(word(1, 0), env.random() % 100);
            env.execute(batch).await.map_err(|_| CallError::Unreachable(env.node()))?;
            Ok(request.to_vec())
        })
    }
}

/// A mix of all operations. Returns trace, fingerprint, time, and the final words.
fn run(seed: u64) -> (String, u64, u64, Vec<u64>) {
    let mut config = SimConfig { trace: true, ..hostile(seed, "everything") };
    let rate = FaultRate::new(40_000, 10_000);
    for kind in [FaultKind::ProcessPause, FaultKind::LinkDelay, FaultKind::GreyCard] {
        config = config.with_fault(kind, rate);
    }
    config = config.with_fault(FaultKind::DuplicateCompletion, FaultRate::new(3, 1));
    let world = World::new(config);
    world.register(NodeId(1), ServiceId(1), Arc::new(Echo));
    world.kill_at("test::Second", 3);
    for index in 0..3 {
        let env = client(&world, index);
        let own = env.clone();
        world.spawn_on(&env, async move {
            let mut batch = Batch::new();
            for round in 0..4 {
                batch.reset();
                let span = batch.put(&[0, round, own.random(), round, round, 0]);
                batch.write_row(word(0, 8 * (own.random() % 4)), span, 0, Cover::All);
                batch.read_row(word(0, 8 * (own.random() % 4)), 6, Cover::All);
                batch = own.execute(batch).await.expect("the servers are alive");
                own.reach(Step::First).await;
                let answer = own.call(NodeId(1), ServiceId(1), vec![round as u8]).await;
                assert_eq!(answer, Ok(vec![round as u8]));
                own.reach(Step::Second).await;
                own.sleep_ns(own.random() % 1000).await;
            }
        });
    }
    world.run_until_idle();
    let words = world.peek_words(word(0, 0), 40);
    (world.take_trace(), world.fingerprint(), world.now_ns(), words)
}

#[test]
fn a_run_repeats_byte_for_byte() {
    for seed in 0..100 {
        let (first, second) = (run(seed), run(seed));
        assert!(first.0.lines().count() > 50, "the trace is too short to tell anything");
        assert_eq!(first, second, "seed {seed}");
    }
}

#[test]
fn another_seed_is_another_run() {
    let fingerprints: std::collections::BTreeSet<u64> = (0..50).map(|seed| run(seed).1).collect();
    assert_eq!(fingerprints.len(), 50);
}

#[test]
fn the_fingerprint_does_not_depend_on_writing_the_trace() {
    let fingerprint = |trace| {
        let world = World::new(SimConfig { trace, ..hostile(3, "trace") });
        let env = client(&world, 0);
        world.block_on(&env, async {
            let mut batch = Batch::new();
            batch.read(word(0, 0), 9);
            env.execute(batch).await.expect("the server is alive");
        });
        (world.fingerprint(), world.take_trace().is_empty())
    };
    let (with, without) = (fingerprint(true), fingerprint(false));
    assert_eq!((with.0, with.1, without.1), (without.0, false, true));
}
