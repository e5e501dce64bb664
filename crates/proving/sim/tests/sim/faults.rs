//! Kills, holds, lost completions, mutants.

use crate::help::{Step, client, hostile, word};
use fabric::{Batch, Env, Fabric, FabricError, Mutant};
use layout::NodeId;
use sim::{Endpoint, SimConfig, World};
use std::cell::Cell;
use std::rc::Rc;

async fn write(env: &Endpoint, index: u64, value: u64) -> Result<(), FabricError> {
    let mut batch = Batch::new();
    let words = batch.put(&[value; 4]);
    batch.write(word(0, index), words);
    env.execute(batch).await.map(|_| ())
}

/// Two rounds of: write, first point, write, second point.
async fn rounds(env: Endpoint) {
    for round in 1..=2 {
        write(&env, 0, round).await.expect("the server is alive");
        env.reach(Step::First).await;
        write(&env, 4, round).await.expect("the server is alive");
        env.reach(Step::Second).await;
    }
}

#[test]
fn a_kill_stops_a_group_exactly_at_the_named_arrival() {
    let left_behind = |point: &str, nth| {
        let world = World::new(hostile(nth, "kill"));
        world.kill_at(point, nth);
        let (victim, other) = (client(&world, 0), client(&world, 1));
        world.spawn_on(&victim, rounds(victim.clone()));
        let survivor = other.clone();
        world.spawn_on(&other, async move {
            survivor.sleep_ns(1_000_000).await;
            write(&survivor, 8, 3).await.expect("the server is alive");
        });
        assert_eq!(world.run_until_idle(), 0);
        assert!(victim.is_killed() && !other.is_killed());
        assert_eq!(world.peek(word(0, 8)), 3, "other groups go on");
        assert_eq!(world.reached()[point], nth);
        (world.peek(word(0, 0)), world.peek(word(0, 4)))
    };
    assert_eq!(left_behind("test::First", 1), (1, 0));
    assert_eq!(left_behind("test::Second", 1), (1, 1));
    assert_eq!(left_behind("test::First", 2), (2, 1));
    assert_eq!(left_behind("test::Second", 2), (2, 2));
}

#[test]
fn all_tasks_of_a_killed_group_are_dropped() {
    struct Noted(Rc<Cell<u32>>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let world = World::new(hostile(1, "drops"));
    world.kill_at("test::First", 1);
    let (victim, dropped) = (client(&world, 0), Rc::new(Cell::new(0)));
    for _ in 0..3 {
        let (env, noted) = (victim.clone(), Noted(dropped.clone()));
        victim.spawn(async move {
            env.sleep_ns(u64::MAX).await;
            drop(noted);
        });
    }
    let env = victim.clone();
    let result = world.run(&victim, async move {
        env.sleep_ns(1000).await;
        env.reach(Step::First).await;
        unreachable!("nobody passes the point it is killed at");
    });
    assert!(result.is_none(), "the killed endpoint has no result");
    assert_eq!(dropped.get(), 3);
    victim.spawn(async { unreachable!("a dead group starts no task") });
    assert_eq!(world.run_until_idle(), 0);
}

/// Kills a client right after it posted a write. Returns how many words were written.
fn written_by_the_dead(seed: u64) -> usize {
    let world = World::new(hostile(seed, "posted, then killed"));
    let victim = client(&world, 0);
    let env = victim.clone();
    world.spawn_on(&victim, async move {
        let _ = write(&env, 0, 1).await;
    });
    world.run_for(500);
    world.kill(&victim);
    world.run_until_idle();
    world.peek_words(word(0, 0), 4).iter().filter(|&&value| value == 1).count()
}

#[test]
fn verbs_of_the_dead_take_effect_wholly_partly_or_not_at_all() {
    let written: Vec<usize> = (0..1000).map(written_by_the_dead).collect();
    for words in [0, 2, 4] {
        assert!(written.contains(&words), "never {words} words");
    }
}

#[test]
fn the_dead_post_nothing_behind_a_fence() {
    let mut first_written = [false; 2];
    for seed in 0..100 {
        let world = World::new(SimConfig::new(seed).named("killed before a fence"));
        let victim = client(&world, 0);
        let env = victim.clone();
        world.spawn_on(&victim, async move {
            let mut batch = Batch::new();
            batch.write_word(word(0, 0), 1);
            batch.fence();
            batch.write_word(word(0, 1), 1);
            let _ = env.execute(batch).await;
        });
        // A first write takes effect from 500 ns on, and its sender knows it from 900 ns on.
        world.run_for(800);
        world.kill(&victim);
        world.run_until_idle();
        first_written[world.peek(word(0, 0)) as usize] = true;
        assert_eq!(world.peek(word(0, 1)), 0, "{}", world.identity());
    }
    assert_eq!(first_written, [true, true]);
}

#[test]
fn verbs_to_a_killed_node_end_as_unreachable() {
    for seed in 0..300 {
        let world = World::new(hostile(seed, "killed node"));
        let env = client(&world, 0);
        let writer = env.clone();
        world.spawn_on(&env, async move {
            let mut round = 1;
            while write(&writer, 0, round).await.is_ok() {
                round += 1;
            }
            assert_eq!(write(&writer, 0, 0).await, Err(FabricError::Unreachable(NodeId(0))));
        });
        world.run_for(10_000 + 10 * seed);
        world.kill_node(NodeId(0));
        let then = world.peek_words(word(0, 0), 4);
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        assert_eq!(world.peek_words(word(0, 0), 4), then, "{}", world.identity());
        world.revive_node(NodeId(0));
        assert_eq!(world.block_on(&env, write(&env, 0, 9)), Ok(()));
    }
}

#[test]
fn a_point_can_kill_a_whole_node() {
    let world = World::new(hostile(1, "node killed at a point"));
    world.kill_node_at("test::Second", 1);
    let (on_server, beside) = (world.endpoint(NodeId(0)), world.endpoint(NodeId(0)));
    world.spawn_on(&on_server, rounds(on_server.clone()));
    world.run_until_idle();
    assert!(on_server.is_killed() && beside.is_killed());
    let env = client(&world, 0);
    let result = world.block_on(&env, write(&env, 0, 9));
    assert_eq!(result, Err(FabricError::Unreachable(NodeId(0))));
}

#[test]
fn a_held_point_takes_its_time() {
    let world = World::new(SimConfig::new(1));
    world.hold_at("test::First", 2, 5_000_000);
    let env = client(&world, 0);
    world.block_on(&env, rounds(env.clone()));
    assert!((5_000_000..5_100_000).contains(&world.now_ns()), "{}", world.now_ns());
}

#[test]
fn a_lost_completion_leaves_open_what_happened() {
    let mut written = [false; 2];
    for seed in 0..200 {
        let config = SimConfig { lost_batch_one_in: 1, ..hostile(seed, "lost") };
        let world = World::new(config);
        let env = client(&world, 0);
        let result = world.block_on(&env, write(&env, 0, 1));
        assert_eq!(result, Err(FabricError::Unreachable(NodeId(0))));
        world.run_until_idle();
        written[usize::from(world.peek(word(0, 0)) == 1)] = true;
    }
    assert_eq!(written, [true, true]);
}

#[test]
fn addresses_outside_a_region_are_refused() {
    let world = World::new(hostile(1, "out of range"));
    let env = client(&world, 0);
    for at in [word(0, 2048 - 512), word(9, 0)] {
        let mut batch = Batch::new();
        batch.read(at, 1);
        let refused = world.block_on(&env, env.execute(batch)).map(|_| ());
        assert_eq!(refused, Err(FabricError::OutOfRange { at, words: 1 }));
    }
}

#[test]
fn mutants_are_switched_by_the_scenario_and_counted() {
    let world = World::new(SimConfig::new(1).with_mutant(Mutant::CommitSkipRowLocks));
    let env = client(&world, 0);
    assert!(env.mutant(Mutant::CommitSkipRowLocks) && !env.mutant(Mutant::CommitSkipEntry));
    assert_eq!(world.mutant_asked(Mutant::CommitSkipRowLocks), 1);
    assert_eq!(world.mutant_asked(Mutant::CommitSkipReaders), 0);
}
