//! Calls: handled once, answered whatever happens to messages, failed if the service is dead.

use crate::help::{Step, both, client, hostile, unless, word};
use fabric::{Batch, CallError, Env, Fabric, Reply, Service, ServiceId};
use layout::NodeId;
use sim::{Endpoint, Fault, Network, PlannedFault, SimConfig, When, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ADDER: ServiceId = ServiceId(3);
const SERVER: NodeId = NodeId(0);

/// Adds one to a word by verbs, and answers with the request and its own name.
#[derive(Default)]
struct Adder {
    handled: AtomicU64,
}

impl Service<Endpoint> for Adder {
    fn handle<'a>(&'a self, env: &'a Endpoint, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            self.handled.fetch_add(1, Relaxed);
            assert_eq!(env.node(), SERVER);
            let mut batch = Batch::new();
            batch.fetch_and_add(word(0, 0), 1);
            env.execute(batch).await.map_err(|_| CallError::Unreachable(SERVER))?;
            env.reach(Step::First).await;
            if request.is_empty() {
                return Err(CallError::Refused(String::from("an empty request")));
            }
            Ok(request.to_vec())
        })
    }
}

fn world_with_adder(config: SimConfig) -> (World, Arc<Adder>) {
    let world = World::new(config);
    let adder = Arc::new(Adder::default());
    world.register(SERVER, ADDER, adder.clone());
    (world, adder)
}

#[test]
fn repeated_calls_are_handled_once() {
    for seed in 0..500 {
        let config = SimConfig { duplicate_call_one_in: 1, ..hostile(seed, "repeats") };
        let (world, adder) = world_with_adder(config);
        for index in 0..3 {
            let env = client(&world, index);
            world.spawn_on(&env.clone(), async move {
                for number in 1..=5 {
                    // Two concurrent calls of one endpoint must not take each other's place.
                    let one = env.call(SERVER, ADDER, vec![number]);
                    let two = env.call(SERVER, ADDER, vec![number, number]);
                    let (one, two) = both(one, two).await;
                    assert_eq!((one, two), (Ok(vec![number]), Ok(vec![number, number])));
                }
                assert_eq!(env.counters().counts().calls, 10);
            });
        }
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        assert_eq!(world.peek(word(0, 0)), 30, "{}", world.identity());
        assert_eq!(adder.handled.load(Relaxed), 30, "{}", world.identity());
    }
}

#[test]
fn a_call_whose_caller_gave_up_disturbs_no_later_one() {
    for seed in 0..500 {
        let config = SimConfig { duplicate_call_one_in: 2, ..hostile(seed, "given up") };
        let (world, adder) = world_with_adder(config);
        let env = client(&world, 0);
        world.block_on(&env, async {
            for number in 1..=5 {
                let patience_ns = env.random() % 20_000;
                let call = env.call(SERVER, ADDER, vec![0]);
                unless(call, env.sleep_ns(patience_ns)).await;
                let answer = env.call(SERVER, ADDER, vec![number]).await;
                assert_eq!(answer, Ok(vec![number]), "{}", world.identity());
            }
        });
        world.run_until_idle();
        let handled = adder.handled.load(Relaxed);
        assert!((5..=10).contains(&handled), "{}: handled {handled}", world.identity());
    }
}

#[test]
fn errors_of_a_service_arrive() {
    let (world, _adder) = world_with_adder(hostile(1, "errors"));
    let env = client(&world, 0);
    world.block_on(&env, async {
        let refused = env.call(SERVER, ADDER, Vec::new()).await;
        assert_eq!(refused, Err(CallError::Refused(String::from("an empty request"))));
        let missing = env.call(SERVER, ServiceId(9), vec![1]).await;
        assert_eq!(missing, Err(CallError::NoSuchService(SERVER, ServiceId(9))));
    });
}

#[test]
fn calls_to_killed_services_end_as_unreachable() {
    for seed in 0..300 {
        let (world, _adder) = world_with_adder(hostile(seed, "killed services"));
        let env = client(&world, 0);
        let caller = env.clone();
        world.spawn_on(&env, async move {
            // At some moment of this loop the services die, perhaps while a handler is running.
            while caller.call(SERVER, ADDER, vec![1]).await.is_ok() {}
            let again = caller.call(SERVER, ADDER, vec![1]).await;
            assert_eq!(again, Err(CallError::Unreachable(SERVER)));
        });
        world.run_for(20_000 + seed * 100);
        world.kill_services(SERVER);
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        world.block_on(&env, async {
            let mut batch = Batch::new();
            batch.write_word(word(0, 1), 1);
            env.execute(batch).await.expect("the memory outlives the services");
        });
        world.revive_node(SERVER);
        let answer = world.block_on(&env, env.call(SERVER, ADDER, vec![1]));
        assert_eq!(answer, Ok(vec![1]), "{}", world.identity());
    }
}

#[test]
fn without_a_time_limit_a_dead_node_never_answers() {
    let config = SimConfig { unreachable_after_ns: None, ..hostile(1, "silence") };
    let (world, _adder) = world_with_adder(config);
    world.kill_node(SERVER);
    let env = client(&world, 0);
    for is_call in [true, false] {
        let env = env.clone();
        world.spawn_on(&env.clone(), async move {
            if is_call {
                let _ = env.call(SERVER, ADDER, vec![1]).await;
            } else {
                let mut batch = Batch::new();
                batch.read(word(0, 0), 1);
                let _ = env.execute(batch).await;
            }
        });
    }
    assert_eq!(world.run_until_idle(), 2);
}

#[test]
fn the_call_of_a_dead_caller_may_arrive_or_not() {
    let mut handled = [false; 2];
    for seed in 0..100 {
        let (world, adder) = world_with_adder(SimConfig::new(seed).named("dead caller"));
        let env = client(&world, 0);
        let caller = env.clone();
        world.spawn_on(&env, async move {
            let _ = caller.call(SERVER, ADDER, vec![1]).await;
        });
        world.run_for(1000);
        world.kill(&env);
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        handled[adder.handled.load(Relaxed) as usize] = true;
    }
    assert_eq!(handled, [true, true]);
}

/// The time of a call with a request of `bytes` bytes and an answer of the same length.
fn call_takes_ns(world: &World, bytes: usize) -> u64 {
    let (env, start_ns) = (client(world, 0), world.now_ns());
    let answer = world.block_on(&env, env.call(SERVER, ADDER, vec![1; bytes]));
    assert_eq!(answer.map(|answer| answer.len()), Ok(bytes));
    world.now_ns() - start_ns
}

#[test]
fn a_call_takes_the_latency_of_its_links_and_the_time_of_its_bytes_both_ways() {
    const LATENCY_NS: u64 = 50_000;
    let mut network = Network::connect_ib();
    network.card.wire_ps = LATENCY_NS * 1000;
    // A gigabit a second.
    (network.card.ports, network.card.port_bytes_per_s) = (1, 125_000_000);
    let config = SimConfig { network: Some(network), ..SimConfig::new(1) };
    let (world, _adder) = world_with_adder(config);
    let short_ns = call_takes_ns(&world, 1);
    // The request, the handler's atomic there and back, the answer.
    assert!((4 * LATENCY_NS..5 * LATENCY_NS).contains(&short_ns), "{short_ns}");
    let long_ns = call_takes_ns(&world, 10_001) - short_ns;
    assert!((150_000..170_000).contains(&long_ns), "80 us each way: {long_ns}");
}

/// The faults that lose a connection between a client and the server and that are over before the
/// next message is sent.
fn losses(client: NodeId) -> [Fault; 4] {
    [
        Fault::ConnectionLoss { from: client, to: SERVER },
        Fault::OneWayPartition { from: client, to: SERVER, lasts_ns: 1 },
        Fault::OneWayPartition { from: SERVER, to: client, lasts_ns: 1 },
        Fault::FullPartition { nodes: vec![client], lasts_ns: 1 },
    ]
}

/// Calls once while `fault` comes at its moment: the caller gets no answer and gives up at a fixed
/// time after the fault. Returns how often the handler has run.
fn lose_a_call(seed: u64, when: When, fault: Fault) -> u64 {
    const UNREACHABLE_AFTER_NS: u64 = 1_000_000;
    let (world, adder) = world_with_adder(SimConfig::new(seed).named("lost call"));
    let kind = fault.kind();
    world.plan(&PlannedFault { when, fault });
    let env = client(&world, 0);
    let answer = world.block_on(&env, env.call(SERVER, ADDER, vec![1]));
    assert_eq!(answer, Err(CallError::Unreachable(SERVER)), "{kind}, {}", world.identity());
    let failed_ns = world.now_ns() - UNREACHABLE_AFTER_NS;
    assert!(failed_ns < 10_000, "{kind}, {}: reported after {failed_ns} ns", world.identity());
    assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
    assert!(world.coverage().of(kind) > 0, "{kind}, {}", world.identity());
    let handled = adder.handled.load(Relaxed);
    assert_eq!(world.peek(word(0, 0)), handled, "what handlers do stands: {}", world.identity());
    let again = world.block_on(&env, env.call(SERVER, ADDER, vec![2]));
    assert_eq!(again, Ok(vec![2]), "a new connection: {}", world.identity());
    handled
}

#[test]
fn a_request_under_way_is_lost_with_its_connection() {
    for number in 0..4 {
        let mut handled = [false; 2];
        for seed in 0..200 {
            let fault = losses(NodeId(1))[number].clone();
            handled[lose_a_call(seed, When::At(1000), fault) as usize] = true;
        }
        // A fault that only stops answers lets the request arrive; one that stops requests may come
        // too late for one.
        let is_of_answers = number == 2;
        assert_eq!(handled, [!is_of_answers, true], "{:?}", losses(NodeId(1))[number]);
    }
}

#[test]
fn an_answer_is_lost_with_its_connection_but_the_effects_remain() {
    for seed in 0..50 {
        for fault in losses(NodeId(1)) {
            let when = When::Point { name: String::from("test::First"), nth: 1 };
            assert_eq!(lose_a_call(seed, when, fault), 1);
        }
    }
}
