//! Searching for a key while slots come and go.

use crate::help::word;
use fabric::{Batch, Env, Fabric, SlotGeometry, SlotRead, Span};
use layout::row::Cover;
use layout::{BucketLayout, RowLayout, VersionWord, bucket};
use sim::{BrokenPromises, Carrier, Endpoint, SimConfig, World};

const SEEDS: u64 = 2000;
const HASH: u64 = 0x0700_0000_0000_0000;
const OTHER: u64 = 0x0900_0000_0000_0000;

fn row(coherent: bool) -> RowLayout {
    RowLayout { key_words: 1, payload_words: 3, checksummed: !coherent }
}

fn layout(coherent: bool) -> BucketLayout {
    BucketLayout::inlined(3, row(coherent))
}

/// A row with key 70; each word of its payload contains its version.
fn image(coherent: bool, version: u64) -> Vec<u64> {
    let mut words = vec![version, version, 0, 70, version, version, version];
    words.resize(row(coherent).words() as usize, 0);
    words
}

async fn find(env: &Endpoint, batch: Batch) -> (Batch, Span) {
    let mut batch = batch;
    batch.reset();
    let key = batch.put(&[70]);
    let geometry = SlotGeometry::bucket(&layout(env.is_coherent()), true, HASH);
    let span = batch.find_slot(word(0, 0), geometry, key);
    (env.execute(batch).await.expect("the server is alive"), span)
}

async fn write(env: &impl Env, index: u32, value: u64) {
    let mut batch = Batch::new();
    batch.write_word(word(0, u64::from(index)), value);
    env.execute(batch).await.expect("the server is alive");
}

/// Inserts the key into slot 1 under the insert lock, changes it, and collects it again. The
/// collection changes the bucket's identity words, like a split that moves the key.
async fn insert_change_collect(env: Endpoint) {
    let slot = layout(env.is_coherent()).slot(1);
    write(&env, bucket::INSERT, VersionWord::TORN.word()).await;
    for version in 1..=3 {
        let mut batch = Batch::new();
        let span = batch.put(&image(env.is_coherent(), version));
        batch.write_row(word(0, u64::from(slot)), span, 0, Cover::AllButLink);
        env.execute(batch).await.expect("the server is alive");
        if version == 1 {
            let tags = bucket::with_tag(3, 0, 1, bucket::tag(3, HASH));
            write(&env, bucket::TAGS, tags).await;
            write(&env, bucket::INSERT, 1).await;
        }
    }
    env.sleep_ns(env.random() % 10_000).await;
    write(&env, bucket::INSERT, VersionWord::TORN.word()).await;
    write(&env, bucket::COLLECTED, 5).await;
    write(&env, bucket::IDENTITY, 7).await;
    write(&env, bucket::TAGS, 0).await;
    let mut batch = Batch::new();
    let empty = batch.put(&vec![0; row(env.is_coherent()).words() as usize]);
    batch.write_row(word(0, u64::from(slot)), empty, 0, Cover::AllButLink);
    env.execute(batch).await.expect("the server is alive");
    write(&env, bucket::INSERT, 2).await;
}

/// How often a lookup found the key, how often it missed it, and how often its words were
/// inconsistent.
#[derive(Default)]
struct Seen {
    hits: u64,
    misses: u64,
    misfits: u64,
}

/// Looks for the key until it is collected.
async fn look(env: Endpoint, seed: u64) -> Seen {
    let mut seen = Seen::default();
    let mut batch = Batch::new();
    loop {
        let span;
        (batch, span) = find(&env, batch).await;
        let words = batch.words(span);
        if words[SlotRead::INDEX as usize] == SlotRead::MISSING {
            seen.misses += 1;
            let [insert, collected, identity] =
                [bucket::INSERT, bucket::COLLECTED, bucket::IDENTITY].map(|n| words[n as usize]);
            // Inserted, then missing: the key was collected, although the bucket's identity words
            // are the old ones.
            let fits = (collected, identity) == (5, 7);
            seen.misfits += u64::from((1..=2).contains(&insert) && !fits);
            if insert == 2 {
                return seen;
            }
        } else {
            seen.hits += 1;
            assert_eq!(words[SlotRead::INDEX as usize], 1, "seed {seed}");
            let slot = &words[SlotRead::SLOT as usize..];
            let version = slot[1];
            // A coherent reader that saw the tag and the key may then copy the emptied slot.
            let is_emptied = env.is_coherent() && slot[1..7] == [0; 6];
            if version != VersionWord::TORN.word() && !is_emptied {
                assert_eq!(slot[3..7], [70, version, version, version], "seed {seed}");
            }
        }
    }
}

fn beside_a_writer(carrier: Carrier, seed: u64, broken: BrokenPromises) -> Seen {
    let config = SimConfig::hostile(seed).named("buckets").with_servers(&[1024]);
    let world = World::new(SimConfig { carrier, broken, ..config });
    let writer = world.endpoint(world.compute_node(0));
    let reader = world.endpoint(world.compute_node(1));
    world.spawn_on(&writer.clone(), insert_change_collect(writer));
    world.block_on(&reader, look(reader.clone(), seed))
}

#[test]
fn a_miss_is_never_concluded_from_words_that_do_not_fit() {
    let (mut hits, mut misses) = (0, 0);
    let none = BrokenPromises::default();
    for seed in 0..SEEDS {
        for carrier in [Carrier::Card, Carrier::Caller] {
            let seen = beside_a_writer(carrier, seed, none);
            hits += seen.hits;
            misses += seen.misses;
            assert_eq!(seen.misfits, 0, "seed {seed}");
        }
    }
    assert!(hits > SEEDS && misses > 2 * SEEDS, "hits {hits}, misses {misses}");
}

#[test]
fn without_the_promise_a_miss_comes_with_words_that_do_not_fit() {
    let broken = BrokenPromises { fitting_misses: true, ..Default::default() };
    assert!((0..SEEDS).any(|seed| beside_a_writer(Carrier::Card, seed, broken).misfits > 0));
    assert!((0..SEEDS).any(|seed| beside_a_writer(Carrier::Caller, seed, broken).misfits > 0));
}

#[test]
fn a_miss_costs_one_round_trip_more_where_memory_is_not_coherent() {
    assert_eq!((cost(Carrier::Card, HASH), cost(Carrier::Card, OTHER)), (1, 2));
    assert_eq!((cost(Carrier::Caller, HASH), cost(Carrier::Caller, OTHER)), (1, 1));
}

/// Round trips of two lookups in one batch in a bucket that holds key 70 with hash [`HASH`].
fn cost(carrier: Carrier, hash: u64) -> u64 {
    let world = World::new(SimConfig::new(1).with_servers(&[1024]).carried_by(carrier));
    let env = world.endpoint(world.compute_node(0));
    world.block_on(&env, async {
        let slot = word(0, u64::from(layout(env.is_coherent()).slot(2)));
        let mut batch = Batch::new();
        let span = batch.put(&image(env.is_coherent(), 3));
        batch.write_row(slot, span, 0, Cover::AllButLink);
        env.execute(batch).await.expect("the server is alive");
        write(&env, bucket::TAGS, bucket::with_tag(3, 0, 2, bucket::tag(3, HASH))).await;
        let before = env.counters().counts().round_trips;
        let mut batch = Batch::new();
        let key = batch.put(&[if hash == HASH { 70 } else { 71 }]);
        let geometry = SlotGeometry::bucket(&layout(env.is_coherent()), true, hash);
        let found = [0, 1].map(|_| batch.find_slot(word(0, 0), geometry, key));
        let batch = env.execute(batch).await.expect("the server is alive");
        let expected = if hash == HASH { 2 } else { SlotRead::MISSING };
        for span in found {
            assert_eq!(batch.words(span)[SlotRead::INDEX as usize], expected);
        }
        env.counters().counts().round_trips - before
    })
}

#[test]
fn slots_outside_rows_are_plain_words() {
    let outside = BucketLayout::outside(4, 2);
    let world = World::new(SimConfig::new(1).with_servers(&[1024]));
    world.poke_words(word(0, u64::from(outside.slot(3))), &[4711, 0, 9]);
    let env = world.endpoint(world.compute_node(0));
    let found = |key: [u64; 2]| {
        world.block_on(&env, async {
            let mut batch = Batch::new();
            let key = batch.put(&key);
            let geometry = SlotGeometry::bucket(&outside, false, HASH);
            let span = batch.find_slot(word(0, 0), geometry, key);
            let batch = env.execute(batch).await.expect("the server is alive");
            (batch.words(span)[SlotRead::INDEX as usize], batch.word(span.at + SlotRead::SLOT))
        })
    };
    assert_eq!(found([0, 9]), (3, 4711));
    assert_eq!(found([0, 0]).0, SlotRead::MISSING, "an empty slot holds no key, not even zero");
}
