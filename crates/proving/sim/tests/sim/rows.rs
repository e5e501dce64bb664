//! Rows arrive untorn or marked as torn while a client writes them.

use crate::help::word;
use fabric::{Batch, Env, Fabric};
use layout::VersionWord;
use layout::row::{Cover, LINK, VERSION};
use sim::{BrokenPromises, Carrier, Endpoint, SimConfig, World};

const SEEDS: u64 = 3000;
const WORDS: u32 = 9;
const WRITES: u64 = 6;

/// Header, image, and room for a checksum; every word of the image contains its version.
fn image(version: u64) -> [u64; WORDS as usize] {
    let mut words = [version; WORDS as usize];
    words[WORDS as usize - 1] = 0;
    words
}

async fn write_all(env: Endpoint, cover: Cover) {
    let mut batch = Batch::new();
    for version in 1..=WRITES {
        batch.reset();
        let span = batch.put(&image(version));
        let link = batch.put(&[version]);
        // Everybody else but the lock's owner must survive without the words before `first`.
        batch.write_row(word(0, 0), span, LINK, cover);
        if cover == Cover::AllButLink {
            batch.write(word(0, u64::from(LINK)), link);
        }
        batch = env.execute(batch).await.expect("the server is alive");
        env.yield_now().await;
    }
}

/// Reads the row until its last version is there. Returns how many images were seen, and how many
/// of them were torn although not marked.
async fn read_all(env: Endpoint, cover: Cover) -> (u64, u64) {
    let (mut seen, mut torn, mut last) = (0, 0, 0);
    let mut batch = Batch::new();
    while last < WRITES {
        batch.reset();
        let span = batch.read_row(word(0, 0), WORDS, cover);
        batch = env.execute(batch).await.expect("the server is alive");
        let words = batch.words(span);
        let version = words[VERSION as usize];
        if version != VersionWord::TORN.word() {
            assert!(version >= last, "a version goes back");
            let checked = [VERSION as usize].into_iter().chain(3..WORDS as usize - 1);
            let is_torn = checked.clone().any(|index| words[index] != version)
                || cover == Cover::All && words[LINK as usize] != version;
            torn += u64::from(is_torn);
            seen += 1;
            last = version;
        }
    }
    (seen, torn)
}

fn beside_a_writer(config: SimConfig, cover: Cover) -> (u64, u64) {
    let world = World::new(config);
    let writer = world.endpoint(world.compute_node(0));
    let reader = world.endpoint(world.compute_node(1));
    world.spawn_on(&writer.clone(), write_all(writer, cover));
    let result = world.block_on(&reader, read_all(reader.clone(), cover));
    assert_eq!(world.peek(word(0, 0)), 0, "write_row never touches the header");
    result
}

async fn install_all(env: Endpoint) {
    let mut batch = Batch::new();
    for version in 1..=WRITES {
        batch.reset();
        let span = batch.put(&image(version));
        batch.install_row(word(0, 0), span, LINK + 1, Cover::AllButLink);
        batch = env.execute(batch).await.expect("the server is alive");
        env.yield_now().await;
    }
}

/// Looks at header, image and link one after another until the last version is there. Returns how
/// many images were seen in the middle of an installation.
async fn watch_all(env: Endpoint) -> u64 {
    let (mut under_way, mut last) = (0, 0);
    let mut batch = Batch::new();
    while last < WRITES {
        batch.reset();
        let header = batch.read(word(0, 0), 1);
        batch.fence();
        let row = batch.read_row(word(0, 0), WORDS, Cover::AllButLink);
        batch.fence();
        let link = batch.read(word(0, u64::from(LINK)), 1);
        batch = env.execute(batch).await.expect("the server is alive");
        let (header, link) = (batch.words(header)[0], batch.words(link)[0]);
        let version = batch.words(row)[VERSION as usize];
        if version != VersionWord::TORN.word() {
            assert!(header <= version, "the header stands before its row");
            assert!(version <= link, "the row stands before its link");
            under_way += u64::from(header < version);
        }
        last = header;
    }
    under_way
}

fn beside_an_installer(config: SimConfig) -> u64 {
    let world = World::new(config);
    let writer = world.endpoint(world.compute_node(0));
    let reader = world.endpoint(world.compute_node(1));
    world.spawn_on(&writer.clone(), install_all(writer));
    world.block_on(&reader, watch_all(reader.clone()))
}

#[test]
fn an_installed_row_has_its_link_first_and_its_header_last() {
    let mut under_way = 0;
    for seed in 0..SEEDS {
        under_way += beside_an_installer(config(seed));
        under_way += beside_an_installer(config(seed).carried_by(Carrier::Caller));
    }
    assert!(under_way > 0, "nobody looked while a row was installed");
}

fn config(seed: u64) -> SimConfig {
    SimConfig::hostile(seed).named("rows").with_servers(&[1024])
}

#[test]
fn no_row_arrives_torn() {
    let mut seen = 0;
    for seed in 0..SEEDS {
        for cover in [Cover::All, Cover::AllButLink] {
            let results = [
                beside_a_writer(config(seed), cover),
                beside_a_writer(config(seed).carried_by(Carrier::Caller), cover),
            ];
            for (images, torn) in results {
                assert_eq!(torn, 0, "seed {seed}, {cover:?}");
                seen += images;
            }
        }
    }
    assert!(seen > 4 * SEEDS, "too few images were seen: {seen}");
}

#[test]
fn without_the_check_rows_arrive_torn() {
    let broken = BrokenPromises { untorn_rows: true, ..Default::default() };
    for carrier in [Carrier::Card, Carrier::Caller] {
        let config = |seed| SimConfig { carrier, broken, ..config(seed) };
        let torn: u64 = (0..SEEDS).map(|seed| beside_a_writer(config(seed), Cover::All).1).sum();
        assert!(torn > 0, "{carrier:?}");
    }
}

fn read_once(carrier: Carrier, words: &[u64]) -> (u64, u64) {
    let world = World::new(config(1).carried_by(carrier));
    world.poke_words(word(0, 0), words);
    let env = world.endpoint(world.compute_node(0));
    world.block_on(&env, async {
        let mut batch = Batch::new();
        let span = batch.read_row(word(0, 0), words.len() as u32, Cover::AllButLink);
        let batch = env.execute(batch).await.expect("the server is alive");
        (batch.words(span)[VERSION as usize], env.counters().counts().round_trips)
    })
}

#[test]
fn a_row_that_stays_torn_is_delivered_as_torn_and_its_retries_are_counted() {
    let torn = VersionWord::TORN.word();
    assert_eq!(read_once(Carrier::Card, &[0, 5, 0, 5, 5, 1]), (torn, 64));
    assert_eq!(read_once(Carrier::Caller, &[0, torn, 0, 5, 5]), (torn, 1));
}

#[test]
fn memory_that_was_never_written_holds_no_version() {
    assert_eq!(read_once(Carrier::Card, &[0; 6]), (0, 1));
    assert_eq!(read_once(Carrier::Card, &[9, 0, 8, 0, 0, 0]), (0, 1));
    assert_eq!(read_once(Carrier::Caller, &[0; 6]), (0, 1));
}
