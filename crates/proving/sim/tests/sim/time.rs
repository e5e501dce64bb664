//! Virtual time, tasks, and randomness.

use crate::help::{client, hostile, unless};
use fabric::Env;
use sim::{SimConfig, World};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

#[test]
fn time_passes_only_by_events() {
    let world = World::new(SimConfig::new(1));
    let env = client(&world, 0);
    let before = world.now_ns();
    world.block_on(&env, env.sleep_ns(60_000_000_000));
    let passed_ns = world.now_ns() - before;
    assert!((60_000_000_000..60_000_001_000).contains(&passed_ns), "{passed_ns}");
    world.run_for(5);
    assert_eq!(world.now_ns(), before + passed_ns + 5);
}

#[test]
fn a_forgotten_sleep_does_not_pass_time() {
    let world = World::new(SimConfig::new(1));
    let env = client(&world, 0);
    world.block_on(&env, async {
        let slept = unless(env.sleep_ns(1_000_000), env.sleep_ns(10)).await;
        assert!(slept.is_none());
    });
    world.run_until_idle();
    assert!(world.now_ns() < 1000, "{}", world.now_ns());
}

#[test]
fn tasks_that_wake_together_run_in_any_order() {
    let mut orders = BTreeSet::new();
    for seed in 0..200 {
        let world = World::new(hostile(seed, "order of tasks"));
        let order = Rc::new(RefCell::new(Vec::new()));
        for index in 0..3 {
            let (env, order) = (client(&world, index), order.clone());
            world.spawn_on(&env.clone(), async move {
                env.yield_now().await;
                order.borrow_mut().push(index);
            });
        }
        assert_eq!(world.run_until_idle(), 0);
        orders.insert(order.take());
    }
    assert_eq!(orders.len(), 6, "{orders:?}");
}

#[test]
fn a_node_draws_its_own_numbers() {
    let numbers = |busy: bool| {
        let world = World::new(SimConfig::new(9));
        let (first, second) = (client(&world, 0), client(&world, 1));
        (0..10)
            .map(|_| {
                if busy {
                    second.random();
                }
                first.random()
            })
            .collect::<Vec<u64>>()
    };
    assert_eq!(numbers(false), numbers(true));
}

#[test]
fn a_world_that_is_dropped_drops_its_tasks() {
    let held = Rc::new(());
    let world = World::new(SimConfig::new(1));
    let env = client(&world, 0);
    let (inner, token) = (env.clone(), held.clone());
    world.spawn_on(&env, async move {
        inner.sleep_ns(u64::MAX).await;
        drop(token);
    });
    world.run_for(1000);
    drop(world);
    assert_eq!(Rc::strong_count(&held), 1);
}
