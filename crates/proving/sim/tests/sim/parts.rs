//! Parts of batches that take effect at one moment: a lone client sees no difference.

use crate::help::{client, word};
use fabric::{Batch, Env, Fabric, FabricError, SlotGeometry};
use layout::row::{Cover, LINK};
use layout::{VersionWord, bucket};
use sim::{BrokenPromises, Carrier, Endpoint, Interval, Network, SimConfig, World};

const NOTHING: Interval = Interval::new(0, 0);
/// Words of each server that batches touch.
const WORDS: u64 = 64;
const ROW_WORDS: u32 = 8;
const KEY: u64 = 77;

/// Two memory servers in a world where only hardware takes time.
fn config(seed: u64, carrier: Carrier, parts_at_once: bool) -> SimConfig {
    let config = SimConfig {
        server_words: vec![4096; 2],
        read_ns: NOTHING,
        write_ns: NOTHING,
        atomic_ns: NOTHING,
        answer_ns: NOTHING,
        call_ns: NOTHING,
        wake_ns: NOTHING,
        word_ns: 0,
        network: Some(Network::connect_ib()),
        parts_at_once,
        carrier,
        ..SimConfig::new(seed)
    };
    config.named(if parts_at_once { "parts" } else { "words" })
}

fn geometry() -> SlotGeometry {
    let (slot_words, key_at) = (ROW_WORDS as u16, 3);
    SlotGeometry { slots: 4, key_words: 1, key_at, tag: 9, slot_words, rows: true }
}

/// A batch of a dozen random verbs, one after another, to words of two servers.
fn drawn(env: &Endpoint) -> Batch {
    let mut batch = Batch::new();
    let up_to = |most: u64| env.random() % (most + 1);
    for _ in 0..12 {
        let at = word(up_to(1) as u16, 8 * up_to(WORDS / 8 - 5));
        let cover = if up_to(1) == 0 { Cover::All } else { Cover::AllButLink };
        // A row has few values, so that swaps succeed and keys are found.
        let row: Vec<u64> = (0..u64::from(ROW_WORDS))
            .map(|word| if word == 3 { KEY + up_to(1) } else { up_to(2) })
            .collect();
        batch.fence();
        match up_to(8) {
            0 => {
                batch.read(at, ROW_WORDS);
            }
            1 => {
                batch.read_row(at, ROW_WORDS, cover);
            }
            2 => {
                let span = batch.put(&row);
                batch.write(at, span);
            }
            3 => {
                let span = batch.put(&row);
                batch.write_row(at, span, 0, cover);
            }
            4 | 5 => {
                let span = batch.put(&row);
                batch.install_row(at, span, LINK + 1, cover);
            }
            6 => {
                batch.compare_and_swap(at, up_to(2), up_to(2));
            }
            7 => drop(batch.fetch_and_add(at.add_words(up_to(7)), 1)),
            _ => {
                let key = batch.put(&[KEY]);
                batch.find_slot(at, geometry(), key);
            }
        }
    }
    batch
}

/// All results and effects of random batches, one after another.
fn played(config: SimConfig, is_loaded: bool) -> (Vec<Vec<u64>>, Vec<u64>) {
    let world = World::new(config);
    let env = client(&world, 0);
    let play = async {
        let mut found = Vec::new();
        for _ in 0..40 {
            let batch = drawn(&env);
            let batch = env.execute(batch).await.expect("the servers are alive");
            found.push(batch.arena().to_vec());
        }
        found
    };
    let found = if is_loaded { world.load(&env, play) } else { world.block_on(&env, play) };
    let left = (0..2).flat_map(|server| world.peek_words(word(server, 0), WORDS));
    (found, left.collect())
}

#[test]
fn one_client_finds_and_leaves_what_it_would_word_by_word() {
    for carrier in [Carrier::Card, Carrier::Caller, Carrier::Server] {
        for seed in 0..200 {
            let usual = played(config(seed, carrier, false), false);
            let parts = played(config(seed, carrier, true), false);
            assert!(usual == parts, "seed {seed}, {carrier:?}");
            let loaded = played(config(seed, carrier, true), true);
            assert!(usual == loaded, "seed {seed}, {carrier:?}, loaded");
            let loaded = played(config(seed, carrier, false), true);
            assert!(usual == loaded, "seed {seed}, {carrier:?}, loaded, word by word");
        }
    }
}

#[test]
fn parts_take_effect_whole() {
    let world = World::new(config(1, Carrier::Card, true));
    for index in 0..4 {
        let env = client(&world, index);
        world.spawn_on(&env.clone(), async move {
            for round in 0..200 {
                let mut batch = Batch::new();
                let image = batch.put(&[1000 * u64::from(index) + round; 16]);
                batch.write(word(0, 0), image);
                batch.write(word(1, 0), image);
                let seen = batch.read(word(0, 0), 16);
                let other = batch.read(word(1, 0), 16);
                let batch = env.execute(batch).await.expect("the servers are alive");
                for span in [seen, other] {
                    let words = batch.words(span);
                    assert_eq!(words, [1000 * u64::from(index) + round; 16]);
                }
            }
        });
    }
    assert_eq!(world.run_until_idle(), 0);
    // Two parts, a landing and a run for each batch.
    assert_eq!(world.events(), 4 * (200 * 4 + 1));
}

#[test]
fn parts_take_effect_when_the_last_of_them_does() {
    let effect_ns = |verbs: u64| {
        let world = World::new(config(1, Carrier::Card, true));
        let env = client(&world, 0);
        world.spawn_on(&env.clone(), async move {
            let mut batch = Batch::new();
            (0..verbs).for_each(|place| batch.write_word(word(0, place), 1));
            env.execute(batch).await.expect("the server is alive");
        });
        while world.peek(word(0, 0)) == 0 {
            world.run_for(1);
        }
        assert_eq!(world.peek(word(0, verbs - 1)), 1);
        world.now_ns()
    };
    // Fifty of them are posted one after another.
    let posting_ns = 50 * Network::connect_ib().core.post_ps / 1000;
    let later_ns = effect_ns(51) - effect_ns(1);
    assert!(later_ns.abs_diff(posting_ns) < 20, "{later_ns} for {posting_ns}");
}

#[test]
fn equal_seeds_make_equal_runs() {
    let run = |seed| {
        let world = World::new(config(seed, Carrier::Card, true));
        for index in 0..4 {
            let env = client(&world, index);
            world.spawn_on(&env.clone(), async move {
                for _ in 0..50 {
                    env.execute(drawn(&env)).await.expect("the servers are alive");
                }
            });
        }
        assert_eq!(world.run_until_idle(), 0);
        (world.now_ns(), world.fingerprint(), world.peek_words(word(0, 0), WORDS))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_key_that_is_missing_costs_a_card_a_second_fetch() {
    let takes_ns = |key: u64| {
        let world = World::new(config(1, Carrier::Card, true));
        let env = client(&world, 0);
        let find = || {
            let mut batch = Batch::new();
            let key = batch.put(&[key]);
            batch.find_slot(word(0, 0), geometry(), key);
            world.block_on(&env, env.execute(batch)).expect("the server is alive");
        };
        let mut row = [0; ROW_WORDS as usize];
        (row[1], row[3]) = (1, KEY);
        let slot = word(0, u64::from(bucket::SLOTS));
        let mut batch = Batch::new();
        let image = batch.put(&row);
        batch.install_row(slot, image, LINK + 1, Cover::AllButLink);
        world.block_on(&env, env.execute(batch)).expect("the server is alive");
        find();
        let (start_ns, reads) = (world.now_ns(), env.counters().counts().verbs);
        find();
        (world.now_ns() - start_ns, env.counters().counts().verbs - reads)
    };
    let (found_ns, found_reads) = takes_ns(KEY);
    let (missing_ns, missing_reads) = takes_ns(KEY + 1);
    assert_eq!((found_reads, missing_reads), (1, 2));
    assert!(missing_ns.abs_diff(2 * found_ns) < 20, "{found_ns}, {missing_ns}");
}

#[test]
fn memory_that_is_not_a_row_reads_as_torn() {
    let world = World::new(config(1, Carrier::Card, true));
    let env = client(&world, 0);
    world.poke(word(0, 5), 1);
    let mut batch = Batch::new();
    let row = batch.read_row(word(0, 0), ROW_WORDS, Cover::All);
    let batch = world.block_on(&env, env.execute(batch)).expect("the server is alive");
    assert_eq!(batch.words(row)[1], VersionWord::TORN.word());
}

#[test]
fn verbs_outside_and_to_dead_servers_are_refused() {
    let world = World::new(config(1, Carrier::Card, true));
    let env = client(&world, 0);
    let outside = |world: &World| {
        let mut batch = Batch::new();
        batch.write_word(word(0, 0), 1);
        batch.read(word(0, 1 << 20), 1);
        world.block_on(&env, env.execute(batch)).expect_err("it is outside")
    };
    assert!(matches!(outside(&world), FabricError::OutOfRange { .. }));
    assert_eq!(world.peek(word(0, 0)), 1, "what came before it is done");
    world.kill_node(layout::NodeId(1));
    let mut batch = Batch::new();
    batch.read(word(1, 0), 1);
    let error = world.block_on(&env, env.execute(batch)).expect_err("it is dead");
    assert!(matches!(error, FabricError::Unreachable(node) if node.0 == 1));
}

#[test]
#[should_panic(expected = "break no promises")]
fn parts_at_once_exclude_weak_memory() {
    let broken = BrokenPromises { untorn_rows: true, ..BrokenPromises::default() };
    World::new(SimConfig { broken, ..config(1, Carrier::Card, true) });
}
