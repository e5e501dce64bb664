//! Faults of nodes, processes, links, cards, clocks and memory, and their counters.

use crate::help::{Step, both, client, hostile, word};
use fabric::{Batch, CallError, Env, Fabric, FabricError, Reply, Service, ServiceId};
use layout::NodeId;
use sim::{
    Endpoint, Fault, FaultKind, FaultRate, Interval, Memory, PlannedFault, SimConfig, When, World,
};
use std::sync::Arc;

const SERVER: NodeId = NodeId(0);
const UNREACHABLE: FabricError = FabricError::Unreachable(SERVER);
const ECHO: ServiceId = ServiceId(5);

async fn write(env: &Endpoint, index: u64, value: u64) -> Result<(), FabricError> {
    let mut batch = Batch::new();
    batch.write_word(word(0, index), value);
    env.execute(batch).await.map(drop)
}

/// The duration of a write, in virtual time.
fn write_takes_ns(world: &World, env: &Endpoint) -> u64 {
    let start_ns = world.now_ns();
    world.block_on(env, write(env, 0, 1)).expect("the server can be reached");
    world.now_ns() - start_ns
}

fn quiet(seed: u64, scenario: &str) -> World {
    World::new(SimConfig::new(seed).named(scenario).with_servers(&[2048, 2048]))
}

/// Answers with the request.
struct Echo;

impl Service<Endpoint> for Echo {
    fn handle<'a>(&'a self, _env: &'a Endpoint, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move { Ok(request.to_vec()) })
    }
}

#[test]
fn a_paused_process_wakes_up_and_still_writes() {
    for seed in 0..100 {
        let world = World::new(hostile(seed, "zombie"));
        world.pause_at("test::First", 1, 500_000_000);
        let (zombie, other) = (client(&world, 0), client(&world, 1));
        let env = zombie.clone();
        world.spawn_on(&zombie, async move {
            // One batch is under way when the process stops; another comes when it wakes up.
            let posted = write(&env, 0, 7);
            let paused = async {
                env.reach(Step::First).await;
                write(&env, 1, 7).await
            };
            assert_eq!(both(posted, paused).await, (Ok(()), Ok(())));
        });
        world.block_on(&other, other.sleep_ns(400_000_000));
        assert_eq!(world.peek_words(word(0, 0), 2), [7, 0], "{}", world.identity());
        world.block_on(&other, write(&other, 1, 3)).expect("the server is alive");
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        assert_eq!(world.peek(word(0, 1)), 7, "{}: the zombie writes", world.identity());
        let coverage = world.coverage();
        assert!(coverage.of(FaultKind::ProcessPause) > 0);
        assert_eq!(coverage.of(FaultKind::Zombie), 1, "{}", world.identity());
    }
}

/// Faults precede all other events of their moment, also at the very first moment.
#[test]
fn a_fault_may_be_planned_for_the_first_moment() {
    let world = quiet(1, "from the start");
    let env = client(&world, 0);
    let fault = Fault::Crash { node: SERVER };
    world.plan(&PlannedFault { when: When::At(0), fault });
    assert_eq!(world.block_on(&env, write(&env, 0, 7)), Err(UNREACHABLE));
    assert_eq!(world.coverage().of(FaultKind::NodeCrash), 1);
}

#[test]
fn a_paused_process_waits_to_be_resumed() {
    let world = quiet(1, "paused");
    let env = client(&world, 0);
    let own = env.clone();
    world.spawn_on(&env, async move { write(&own, 0, 7).await.expect("the server is alive") });
    world.pause(&env);
    assert_eq!(world.run_until_idle(), 1);
    assert_eq!(world.peek(word(0, 0)), 0);
    world.resume(&env);
    assert_eq!(world.run_until_idle(), 0);
    assert_eq!(world.peek(word(0, 0)), 7);
}

#[test]
fn a_delayed_link_takes_longer_in_one_direction() {
    let world = quiet(2, "delay");
    let env = client(&world, 0);
    assert!(write_takes_ns(&world, &env) < 10_000);
    let delay = |from, to| Fault::LinkDelay {
        from,
        to,
        delay_ns: Interval::new(50_000, 60_000),
        lasts_ns: 1_000_000,
    };
    world.inject(&delay(env.node(), SERVER));
    assert!((50_000..70_000).contains(&write_takes_ns(&world, &env)));
    world.heal(env.node(), SERVER);
    assert!(write_takes_ns(&world, &env) < 10_000);
    assert_eq!(world.coverage().of(FaultKind::LinkDelay), 1);
}

#[test]
fn a_lost_connection_ends_its_batches_and_no_others() {
    let mut written = [false; 2];
    for seed in 0..200 {
        let world = quiet(seed, "connection loss");
        let (env, other) = (client(&world, 0), client(&world, 1));
        let elsewhere = async {
            let mut batch = Batch::new();
            batch.write_word(word(1, 0), 1);
            env.execute(batch).await.map(drop)
        };
        let fault = Fault::ConnectionLoss { from: env.node(), to: SERVER };
        world.plan(&PlannedFault { when: When::At(700), fault });
        let beside = other.clone();
        world.spawn_on(&other, async move { write(&beside, 1, 1).await.expect("not cut") });
        let results = world.block_on(&env, both(write(&env, 0, 1), elsewhere));
        assert_eq!(results, (Err(UNREACHABLE), Ok(())), "{}", world.identity());
        world.run_until_idle();
        assert_eq!(world.coverage().of(FaultKind::ConnectionLoss), 1);
        written[world.peek(word(0, 0)) as usize] = true;
        assert_eq!(world.block_on(&env, write(&env, 0, 2)), Ok(()), "a new connection");
    }
    assert_eq!(written, [true, true]);
}

#[test]
fn no_connection_within_a_node_is_lost() {
    let world = quiet(1, "connection loss within a node");
    let env = world.service_endpoint(SERVER);
    let fault = Fault::ConnectionLoss { from: SERVER, to: SERVER };
    for at_ns in (0..2_000).step_by(100) {
        world.plan(&PlannedFault { when: When::At(at_ns), fault: fault.clone() });
    }
    for value in 1..20 {
        assert_eq!(world.block_on(&env, write(&env, 0, value)), Ok(()), "{}", world.identity());
    }
    assert!(world.now_ns() > 2_000);
    assert_eq!(world.coverage().of(FaultKind::ConnectionLoss), 0);
}

#[test]
fn a_partition_stops_both_ways_or_one_and_heals() {
    for (blocked_to_server, lasts_ns) in [(true, u64::MAX), (false, u64::MAX), (true, 90_000)] {
        let world = quiet(3, "partition");
        world.register(SERVER, ECHO, Arc::new(Echo));
        let (env, other) = (client(&world, 0), client(&world, 1));
        let (from, to) = match blocked_to_server {
            true => (env.node(), SERVER),
            false => (SERVER, env.node()),
        };
        world.inject(&Fault::OneWayPartition { from, to, lasts_ns });
        let result = world.block_on(&env, write(&env, 0, 7));
        if lasts_ns < u64::MAX {
            // Cards send again: a short partition is only a delay.
            assert_eq!(result, Ok(()));
            assert!(world.now_ns() > lasts_ns);
            continue;
        }
        assert_eq!(result, Err(UNREACHABLE));
        let happened = u64::from(!blocked_to_server);
        assert_eq!(world.peek(word(0, 0)), 7 * happened, "the answers are lost, or the verbs");
        let answer = world.block_on(&env, env.call(SERVER, ECHO, vec![1]));
        assert_eq!(answer, Err(CallError::Unreachable(SERVER)));
        assert_eq!(world.block_on(&other, write(&other, 0, 8)), Ok(()));
        world.heal(from, to);
        assert_eq!(world.block_on(&env, write(&env, 0, 9)), Ok(()));
        assert_eq!(world.block_on(&env, env.call(SERVER, ECHO, vec![1])), Ok(vec![1]));
        assert!(world.coverage().of(FaultKind::OneWayPartition) >= 2);
    }
}

#[test]
fn a_full_partition_cuts_nodes_off_from_all_others() {
    let world = quiet(4, "full partition");
    let (inside, outside) = (client(&world, 0), client(&world, 1));
    let nodes = vec![inside.node(), NodeId(1)];
    world.inject(&Fault::FullPartition { nodes, lasts_ns: u64::MAX });
    assert_eq!(world.block_on(&inside, write(&inside, 0, 1)), Err(UNREACHABLE));
    assert_eq!(world.block_on(&outside, write(&outside, 0, 1)), Ok(()));
    let mut batch = Batch::new();
    batch.write_word(word(1, 0), 1);
    assert!(world.block_on(&inside, inside.execute(batch)).is_ok(), "on the same side");
    world.stop_faults();
    assert_eq!(world.block_on(&inside, write(&inside, 0, 1)), Ok(()));
    assert!(world.coverage().of(FaultKind::FullPartition) > 0);
}

#[test]
fn a_batch_is_carried_out_though_its_completion_is_lost() {
    for seed in 0..100 {
        let world = World::new(hostile(seed, "lost completion"));
        let env = client(&world, 0);
        world.plan(&PlannedFault { when: When::Batch(2), fault: Fault::LostCompletion });
        assert_eq!(world.block_on(&env, write(&env, 0, 1)), Ok(()));
        assert_eq!(world.block_on(&env, write(&env, 1, 1)), Err(UNREACHABLE));
        assert_eq!(world.peek(word(0, 1)), 1, "{}", world.identity());
        assert_eq!(world.block_on(&env, write(&env, 2, 1)), Ok(()));
        assert_eq!(world.coverage().of(FaultKind::LostCompletion), 1);
    }
}

#[test]
fn a_second_completion_is_dropped() {
    for seed in 0..200 {
        let rate = FaultRate::new(1, 1);
        let config = hostile(seed, "twice").with_fault(FaultKind::DuplicateCompletion, rate);
        let world = World::new(config);
        for index in 0..2 {
            let env = client(&world, index);
            world.spawn_on(&env.clone(), async move {
                for round in 1..=10 {
                    // A read that is completed too early finds something else.
                    let mut batch = Batch::new();
                    batch.write_word(word(0, u64::from(index)), round);
                    let seen = batch.read(word(0, u64::from(index)), 1);
                    let batch = env.execute(batch).await.expect("the server is alive");
                    assert_eq!(batch.words(seen), [round]);
                }
            });
        }
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        assert_eq!(world.coverage().of(FaultKind::DuplicateCompletion), 20);
    }
}

#[test]
fn a_grey_card_is_slow_for_a_while() {
    let world = quiet(5, "grey");
    let env = client(&world, 0);
    world.inject(&Fault::GreyCard { node: SERVER, factor: 50, lasts_ns: 100_000 });
    assert!(write_takes_ns(&world, &env) > 25_000);
    world.run_for(100_000);
    assert!(write_takes_ns(&world, &env) < 10_000);
    assert_eq!(world.coverage().of(FaultKind::GreyCard), 1);
}

#[test]
fn clocks_jump_and_drift_and_sleepers_with_them() {
    let world = quiet(6, "clocks");
    let (env, other) = (client(&world, 0), client(&world, 1));
    let fault = Fault::ClockJump { node: env.node(), by_ns: 9_000_000 };
    world.plan(&PlannedFault { when: When::At(1_000_000), fault });
    world.block_on(&env, env.sleep_ns(10_000_000));
    assert!((1_000_000..1_001_000).contains(&world.now_ns()), "{}", world.now_ns());
    assert!(env.now_ns() >= 10_000_000 && other.now_ns() < 1_001_000);
    world.inject(&Fault::ClockDrift { node: env.node(), parts_per_million: 250_000 });
    let (start_ns, shown_ns) = (world.now_ns(), env.now_ns());
    world.block_on(&env, env.sleep_ns(5_000_000));
    assert!((4_000_000..4_001_000).contains(&(world.now_ns() - start_ns)));
    assert!(env.now_ns() - shown_ns >= 5_000_000);
    world.stop_faults();
    let shown_ns = env.now_ns();
    world.run_for(1000);
    assert_eq!(env.now_ns() - shown_ns, 1000);
}

#[test]
fn a_full_memory_server_refuses_for_a_while() {
    let world = quiet(7, "full");
    let env = world.service_endpoint(SERVER);
    assert!(!env.refuses_memory());
    world.inject(&Fault::MemoryFull { node: SERVER, lasts_ns: 1000 });
    assert!(env.refuses_memory() && !world.service_endpoint(NodeId(1)).refuses_memory());
    world.run_for(1000);
    assert!(!env.refuses_memory());
    assert_eq!(world.coverage().of(FaultKind::MemoryFull), 1);
}

#[test]
fn a_restarted_server_has_its_memory_or_not_and_refuses_old_keys() {
    for memory in [Memory::Kept, Memory::Lost] {
        let world = quiet(8, "restart");
        world.register(SERVER, ECHO, Arc::new(Echo));
        let (before, under_way) = (client(&world, 0), client(&world, 1));
        assert_eq!(world.block_on(&before, write(&before, 0, 7)), Ok(()));
        let own = under_way.clone();
        world.spawn_on(&under_way, async move {
            assert_eq!(write(&own, 1, 7).await, Err(UNREACHABLE), "posted in the earlier life");
        });
        world.run_for(300);
        world.restart_node(SERVER, memory);
        assert_eq!(world.run_until_idle(), 0);
        let kept = if memory == Memory::Kept { 7 } else { 0 };
        assert_eq!(world.peek_words(word(0, 0), 2), [kept, 0]);
        assert_eq!(world.block_on(&before, write(&before, 1, 1)), Err(UNREACHABLE), "old keys");
        assert_eq!(world.block_on(&before, write(&before, 1, 1)), Ok(()), "new keys");
        let after = client(&world, 2);
        assert_eq!(world.block_on(&after, write(&after, 1, 2)), Ok(()));
        let answer = world.block_on(&after, after.call(SERVER, ECHO, vec![4]));
        match memory {
            Memory::Kept => assert_eq!(answer, Ok(vec![4])),
            Memory::Lost => assert_eq!(answer, Err(CallError::NoSuchService(SERVER, ECHO))),
        }
        let coverage = world.coverage();
        assert_eq!(coverage.of(FaultKind::StaleKey), 2);
        assert_eq!(coverage.of(FaultKind::NodeCrash), 1);
    }
}

/// Clients that continue whatever happens to their batches, among faults of all kinds.
fn among_faults(config: SimConfig) -> World {
    let world = World::new(config);
    for index in 0..3 {
        let env = client(&world, index);
        world.spawn_on(&env.clone(), async move {
            for round in 0..100 {
                let _ = write(&env, round % 8, round).await;
                env.reach(Step::First).await;
                env.sleep_ns(env.random() % 20_000).await;
            }
        });
    }
    world.run_until_idle();
    world
}

fn with_all_faults(seed: u64) -> SimConfig {
    let kinds = FaultKind::ALL.into_iter().filter(|kind| kind.has_rate());
    kinds.fold(hostile(seed, "all faults"), |config, kind| match kind.is_timed() {
        true if kind == FaultKind::NodeCrash => {
            config.with_fault(kind, FaultRate::new(5_000_000, 200_000))
        }
        true => config.with_fault(kind, FaultRate::new(500_000, 200_000)),
        false => config.with_fault(kind, FaultRate::new(50, 1)),
    })
}

#[test]
fn faults_happen_by_chance_and_again_by_the_plan_that_they_leave() {
    let mut sum = sim::Coverage::default();
    for seed in 0..40 {
        let world = among_faults(with_all_faults(seed));
        sum.add(&world.coverage());
        let plan = world.faults_by_chance();
        assert!(!plan.is_empty(), "{}", world.identity());
        let again = among_faults(SimConfig { plan, ..hostile(seed, "all faults") });
        assert_eq!(again.fingerprint(), world.fingerprint(), "{}", world.identity());
    }
    for kind in FaultKind::ALL.into_iter().filter(|kind| kind.has_rate()) {
        // No code allocates memory here.
        assert!(sum.of(kind) > 0 || kind == FaultKind::MemoryFull, "{kind} never happened:\n{sum}");
    }
    assert!(sum.killed["test::First"] > 0 && sum.reached["test::First"] > 1000);
}

#[test]
fn a_batch_with_a_stale_key_does_nothing_to_that_server() {
    let world = World::new(hostile(1, "stale"));
    let knows = client(&world, 0);
    assert_eq!(world.block_on(&knows, write(&knows, 0, 1)), Ok(()));
    world.restart_node(SERVER, Memory::Kept);
    let mut batch = Batch::new();
    (0..3).for_each(|index| batch.write_word(word(0, index), 7));
    assert_eq!(world.block_on(&knows, knows.execute(batch)).err(), Some(UNREACHABLE));
    world.run_for(10_000_000);
    assert_eq!(world.peek_words(word(0, 0), 3), [1, 0, 0]);
    assert_eq!(world.block_on(&knows, write(&knows, 0, 2)), Ok(()));
}

#[test]
fn a_server_in_its_first_life_has_no_stale_keys() {
    let world = World::new(hostile(1, "first life"));
    world.restart_node(client(&world, 1).node(), Memory::Kept);
    let late = client(&world, 2);
    assert_eq!(world.block_on(&late, write(&late, 0, 3)), Ok(()));
}

#[test]
fn random_faults_start_on_request() {
    let world = World::new(hostile(1, "started"));
    let env = client(&world, 0);
    for round in 0..50 {
        assert_eq!(world.block_on(&env, write(&env, 0, round)), Ok(()));
    }
    assert_eq!(world.faults_by_chance(), []);
    let rates = [FaultKind::LostCompletion, FaultKind::LinkDelay];
    world.start_faults(&rates.map(|kind| (kind, FaultRate::new(2, 1))).into());
    let started_ns = world.now_ns();
    let lost = (0..50).filter(|&round| world.block_on(&env, write(&env, 0, round)).is_err());
    assert!(lost.count() > 10);
    let moment = |planned: &PlannedFault| match planned.when {
        When::At(at_ns) => Some(at_ns),
        _ => None,
    };
    let first_ns = world.faults_by_chance().iter().find_map(moment);
    assert!(first_ns.is_some_and(|first_ns| first_ns > started_ns), "{first_ns:?}");
}

#[test]
fn when_faults_stop_every_batch_completes() {
    for seed in 0..40 {
        let kinds = [
            FaultKind::ProcessPause,
            FaultKind::FullPartition,
            FaultKind::ConnectionLoss,
            FaultKind::LostCompletion,
        ];
        let config = kinds.into_iter().fold(hostile(seed, "liveness"), |config, kind| {
            config.with_fault(
                kind,
                FaultRate::new(if kind.is_timed() { 2000 } else { 2 }, u64::MAX / 4),
            )
        });
        let world = World::new(config);
        let env = client(&world, 0);
        world.run_for(1_000_000);
        world.stop_faults();
        for round in 0..20 {
            assert_eq!(world.block_on(&env, write(&env, 0, round)), Ok(()), "{}", world.identity());
        }
    }
}
