//! How weak memory is, and how much time cards and cores take: every strength does what it says.

use crate::help::{both, client, hostile, word};
use fabric::{Batch, Env, Fabric, FabricError};
use layout::NodeId;
use sim::{Fault, FaultKind, Interval, Network, PlannedFault, SimConfig, Tearing, When, World};
use std::collections::BTreeSet;

const SEEDS: u64 = 1500;
const NOTHING: Interval = Interval::new(0, 0);

/// The values of three words that a reader sees while a client writes them, over many seeds.
fn patterns(tearing: Tearing) -> BTreeSet<Vec<u64>> {
    let pattern = |seed| {
        let world = World::new(SimConfig { tearing, ..hostile(seed, "tearing") });
        let (writer, reader) = (client(&world, 0), client(&world, 1));
        world.spawn_on(&writer.clone(), async move {
            let mut batch = Batch::new();
            let new = batch.put(&[1; 3]);
            batch.write(word(0, 0), new);
            writer.execute(batch).await.expect("the server is alive");
        });
        world.block_on(&reader, async {
            reader.sleep_ns(reader.random() % 2000).await;
            let mut batch = Batch::new();
            let span = batch.read(word(0, 0), 3);
            reader.execute(batch).await.expect("the server is alive").words(span).to_vec()
        })
    };
    (0..SEEDS).map(pattern).collect()
}

#[test]
fn words_are_torn_as_the_strength_says() {
    assert_eq!(patterns(Tearing::AnyOrder).len(), 8);
    assert_eq!(patterns(Tearing::None), BTreeSet::from([vec![0; 3], vec![1; 3]]));
    // Both verbs go through the words from the first to the last: either may be ahead first.
    let in_order = patterns(Tearing::InOrder);
    assert!(in_order.contains(&vec![1, 0, 0]) && in_order.contains(&vec![0, 1, 1]), "{in_order:?}");
    assert!(in_order.len() < 8, "{in_order:?}");
}

#[test]
fn in_posting_order_nothing_is_overtaken() {
    let overtaken = |seed, in_posting_order| {
        let world = World::new(SimConfig { in_posting_order, ..hostile(seed, "in order") });
        let (first, second) = (client(&world, 0), client(&world, 1));
        world.spawn_on(&second.clone(), async move {
            for index in [1, 0] {
                let mut batch = Batch::new();
                batch.write_word(word(0, index), 1);
                second.execute(batch).await.expect("the server is alive");
            }
        });
        world.block_on(&first, async {
            first.sleep_ns(first.random() % 8000).await;
            let mut batch = Batch::new();
            let (a, b) = (batch.read(word(0, 0), 1), batch.read(word(0, 1), 1));
            let batch = first.execute(batch).await.expect("the server is alive");
            batch.words(a) == [1] && batch.words(b) == [0]
        })
    };
    assert!((0..SEEDS).any(|seed| overtaken(seed, false)));
    assert!((0..SEEDS).all(|seed| !overtaken(seed, true)));
}

#[test]
fn a_write_is_visible_long_before_it_completes() {
    let late_ns = Interval::new(40_000, 50_000);
    let late =
        SimConfig { late_completion_one_in: 1, late_completion_ns: late_ns, ..SimConfig::new(1) };
    let world = World::new(late);
    let env = client(&world, 0);
    let own = env.clone();
    world.spawn_on(&env, async move {
        let mut batch = Batch::new();
        batch.write_word(word(0, 0), 1);
        own.execute(batch).await.expect("the server is alive");
        assert!(own.now_ns() > 40_000);
    });
    world.run_for(3000);
    assert_eq!(world.peek(word(0, 0)), 1);
    assert_eq!(world.run_until_idle(), 0);
}

#[test]
fn a_late_verb_happens_after_its_sender_gave_up() {
    let mut happened = [0; 2];
    for seed in 0..200 {
        let world = World::new(hostile(seed, "late verb"));
        world.plan(&PlannedFault { when: When::Batch(1), fault: Fault::LateVerb });
        let env = client(&world, 0);
        let is_there = world.block_on(&env, async {
            let mut batch = Batch::new();
            batch.write_word(word(0, 0), 1);
            batch.fetch_and_add(word(0, 1), 1);
            batch.read(word(0, 2), 8);
            let error = env.execute(batch).await.map(drop);
            assert_eq!(error, Err(FabricError::Unreachable(NodeId(0))));
            [world.peek(word(0, 0)), world.peek(word(0, 1))]
        });
        assert!(world.now_ns() < 1_100_000, "{}", world.identity());
        world.run_for(2_100_000);
        world.run_until_idle();
        assert_eq!(world.peek_words(word(0, 0), 2), [1, 1], "{}", world.identity());
        let late = is_there.iter().filter(|&&value| value == 0).count() as u64;
        // One that came between the error and the first look at memory is late, too.
        assert!(world.coverage().of(FaultKind::LateVerb) >= late, "{}", world.identity());
        happened[usize::from(late > 0)] += 1;
        // A later batch of the same place in the tables is another one.
        let mut batch = Batch::new();
        let seen = batch.read(word(0, 0), 1);
        let batch = world.block_on(&env, env.execute(batch)).expect("the server is alive");
        assert_eq!(batch.words(seen), [1]);
    }
    assert!(happened[0] > 20 && happened[1] > 20, "{happened:?}");
}

fn bare() -> SimConfig {
    let config = SimConfig { compute_nodes: 8, wake_ns: NOTHING, word_ns: 0, ..SimConfig::new(1) };
    SimConfig {
        read_ns: NOTHING,
        write_ns: NOTHING,
        atomic_ns: NOTHING,
        answer_ns: NOTHING,
        ..config
    }
}

#[test]
fn a_server_serves_as_many_reads_as_its_card_can() {
    let network = Network::connect_ib();
    let world = World::new(SimConfig { network: Some(network), ..bare() });
    let lone = client(&world, 0);
    let read = |env: sim::Endpoint, rounds: u64| async move {
        for _ in 0..rounds {
            let mut batch = Batch::new();
            for index in 0..16 {
                batch.read(word(0, index), 1);
            }
            env.execute(batch).await.expect("the server is alive");
        }
    };
    world.block_on(&lone, read(lone.clone(), 1));
    // It posts sixteen, one after another.
    assert!((3500..4000).contains(&world.now_ns()), "{}", world.now_ns());
    let start_ns = world.now_ns();
    for index in 0..8 {
        for _ in 0..4 {
            let env = client(&world, index);
            world.spawn_on(&env.clone(), read(env, 100));
        }
    }
    world.run_until_idle();
    let per_read_ns = (world.now_ns() - start_ns) as f64 / (8.0 * 4.0 * 100.0 * 16.0);
    assert!((8.9..9.4).contains(&per_read_ns), "{per_read_ns}");
}

#[test]
fn tasks_share_the_cores_of_their_node() {
    let takes_ns = |cores| {
        let core_cost_ns = Interval::new(1000, 1000);
        let world = World::new(SimConfig { cores, core_cost_ns, ..bare() });
        let env = client(&world, 0);
        for _ in 0..12 {
            let own = env.clone();
            world.spawn_on(&env, async move {
                both(async {}, own.sleep_ns(1)).await;
            });
        }
        world.run_until_idle();
        world.now_ns()
    };
    // Each of the twelve tasks runs twice.
    assert_eq!((takes_ns(1), takes_ns(4)), (24_000, 6000));
    assert!((2000..2010).contains(&takes_ns(0)));
}
