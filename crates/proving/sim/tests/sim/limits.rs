//! A run that fails reports seed, scenario and virtual time first.

use crate::help::client;
use fabric::Env;
use sim::{Interval, SimConfig, World};

fn world() -> World {
    World::new(SimConfig {
        event_limit: 10_000,
        time_limit_ns: 1_000_000_000,
        wake_ns: Interval::new(0, 0),
        ..SimConfig::new(5).named("limits")
    })
}

#[test]
#[should_panic(expected = "seed 5, scenario \"limits\", virtual time 0 ns: deadlock")]
fn a_deadlock_is_noticed() {
    let world = world();
    world.block_on(&client(&world, 0), async { std::future::pending::<()>().await });
}

#[test]
#[should_panic(expected = "the run exceeds its limit of events")]
fn an_endless_loop_is_noticed() {
    let world = world();
    let env = client(&world, 0);
    world.block_on(&env, async {
        loop {
            env.yield_now().await;
        }
    });
}

#[test]
#[should_panic(expected = "the run exceeds its limit of virtual time")]
fn endless_waiting_is_noticed() {
    let world = world();
    let env = client(&world, 0);
    world.block_on(&env, env.sleep_ns(2_000_000_000));
}

#[test]
#[should_panic(expected = "seed 5, scenario \"limits\", virtual time 700 ns: an invariant")]
fn a_panic_in_a_task_names_the_run() {
    let world = world();
    let env = client(&world, 0);
    world.spawn_on(&env.clone(), async move {
        env.sleep_ns(700).await;
        panic!("an invariant does not hold");
    });
    world.run_until_idle();
}

#[test]
#[should_panic(expected = "the endpoint of block_on was killed")]
fn block_on_a_killed_endpoint_is_refused() {
    let world = world();
    let env = client(&world, 0);
    world.kill(&env);
    world.block_on(&env, async {});
}
