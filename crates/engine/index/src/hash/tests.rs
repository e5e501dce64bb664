//! Growth without memory.

use super::*;
use crate::error::IndexError;
use fabric::{Batch, Fabric, LocalEnv, LocalWorld, WorldConfig, run_now};
use layout::row::{HEADER, KEY, VERSION};
use layout::{NodeId, RegionId, RowLayout, SlotId, VersionWord, bucket, region};
use memory::extent::{allocate_extent, free_label};
use memory::{EXTENT_SERVICE, ExtentService, Extents, Label, Pool};
use std::sync::Arc;

const NODE: NodeId = NodeId(0);
/// Fills the rest of the memory.
const BALLAST: Label = Label(9);
const BALLAST_BYTES: u64 = 64 * 1024;
const LABEL: Label = Label(1);
const ROWS: usize = 5;

fn world() -> LocalEnv {
    let bytes = 4 << 20;
    let world = LocalWorld::new(&WorldConfig { server_bytes: vec![bytes], seed: 1 });
    let world = world.expect("memory for a test");
    let extents = Arc::new(Extents::new(RegionId(0), bytes));
    world.register(NODE, EXTENT_SERVICE, Arc::new(ExtentService(extents)));
    world.endpoint()
}

/// One bucket with a chain of rows that all move when it is split.
fn long_chain(env: &LocalEnv) -> HashTable {
    chain_of(env, ROWS)
}

fn chain_of(env: &LocalEnv, rows: usize) -> HashTable {
    let row = RowLayout { key_words: 1, payload_words: 1, checksummed: false };
    let layout = BucketLayout::inlined(1, row);
    let table = run_now(create(env, &[NODE], LABEL, layout, true, Locator::Hashed, 1));
    let table = table.expect("there is room");
    let directory = run_now(read_directory(env, &table)).expect("it was just made");
    let moves = |key: &u64| table.locator.hash(&[*key]).0 % 2 == 1;
    let mut pool = Pool::new(LABEL, vec![NODE]);
    let mut batch = Batch::new();
    let mut block = table.bucket(&directory, 0);
    for key in (1..).filter(moves).take(rows) {
        let version = VersionWord::new(SlotId(1), key).word();
        let slot = block.add_words(u64::from(layout.slot(0)));
        for (word, value) in [(HEADER, version), (VERSION, version), (KEY, key), (KEY + 1, !key)] {
            batch.write_word(slot.add_words(u64::from(word)), value);
        }
        let tags = bucket::with_tag(2, 0, 0, bucket::tag(2, table.locator.hash(&[key]).1));
        batch.write_word(block.add_words(u64::from(bucket::TAGS)), tags);
        let next = run_now(pool.allocate(env, layout.overflow_words())).expect("there is room");
        batch.write_word(block.add_words(u64::from(bucket::LINK)), next.word());
        block = next;
    }
    run_now(env.execute(batch)).expect("the server is alive");
    table
}

fn checked(env: &LocalEnv, table: &HashTable) -> HashReport {
    checked_with(env, table, ROWS)
}

fn checked_with(env: &LocalEnv, table: &HashTable, rows: usize) -> HashReport {
    let report = run_now(check(env, table)).expect("readable");
    assert_eq!(report.errors, Vec::<String>::new());
    assert_eq!((&report.locked, &report.locked_rows), (&Vec::new(), &Vec::new()));
    assert_eq!(report.used_slots, rows as u64);
    report
}

#[test]
fn a_split_without_memory_leaves_everything_as_it_was() {
    let env = world();
    let table = long_chain(&env);
    checked(&env, &table);
    // A pool takes a smaller extent where a large one no longer fits, so every page is taken.
    for bytes in [BALLAST_BYTES, region::HEADER_BYTES] {
        while run_now(allocate_extent(&env, NODE, bytes, BALLAST)).is_ok() {}
    }
    let mut pool = Pool::new(LABEL, vec![NODE]);
    for attempt in 1..4 {
        let number = VersionWord::new(SlotId(2), attempt);
        let grown = run_now(grow(&env, &table, &mut pool, &[NODE], LABEL, number, &|_| true));
        assert!(matches!(grown, Err(IndexError::OutOfMemory(_))), "{grown:?}");
        assert_eq!(checked(&env, &table).buckets, 1);
    }
    run_now(free_label(&env, NODE, BALLAST)).expect("the server is alive");
    let number = VersionWord::new(SlotId(2), 4);
    let grown = run_now(grow(&env, &table, &mut pool, &[NODE], LABEL, number, &|_| true));
    assert_eq!(grown, Ok(Growth::Grown));
    assert_eq!(checked(&env, &table).buckets, 2);
}

#[test]
fn a_bucket_that_a_dead_process_has_written_is_cleared() {
    let env = world();
    let table = chain_of(&env, 1);
    let directory = run_now(read_directory(&env, &table)).expect("it was just made");
    let (first, new) = (table.bucket(&directory, 0), table.bucket(&directory, 1));
    let words = table.layout.slot(table.layout.slots);
    let mut batch = Batch::new();
    // The links of both buckets would lead to the same block.
    let link = batch.read(first.add_words(u64::from(bucket::LINK)), 1);
    batch = run_now(env.execute(batch)).expect("the server is alive");
    let link = batch.word(link.at);
    batch.clear_verbs();
    let spoilt = batch.reserve(words);
    batch.words_mut(spoilt).fill(VersionWord::new(SlotId(9), 1).locked_by_upkeep().word());
    batch.write(new, spoilt);
    batch.write_word(new.add_words(u64::from(bucket::LINK)), link);
    batch.write_word(new.add_words(u64::from(bucket::TAGS)), u64::MAX);
    batch = run_now(env.execute(batch)).expect("the server is alive");
    let mut pool = Pool::new(LABEL, vec![NODE]);
    let number = VersionWord::new(SlotId(2), 4);
    let grown = run_now(grow(&env, &table, &mut pool, &[NODE], LABEL, number, &|_| true));
    assert_eq!(grown, Ok(Growth::Grown));
    assert_eq!(checked_with(&env, &table, 1).buckets, 2);
    batch.reset();
    let written = batch.read(new, words);
    let batch = run_now(env.execute(batch)).expect("the server is alive");
    let row_end = table.layout.slot(1) as usize;
    assert_eq!(batch.words(written)[bucket::LINK as usize], 0);
    assert!(batch.words(written)[row_end..].iter().all(|word| *word == 0), "{written:?}");
}

#[test]
fn a_slot_that_is_being_emptied_is_whole_only_while_its_bucket_is_held() {
    let env = world();
    let table = long_chain(&env);
    let directory = run_now(read_directory(&env, &table)).expect("it was just made");
    let first = table.bucket(&directory, 0);
    let mut batch = Batch::new();
    let link = batch.read(first.add_words(u64::from(bucket::LINK)), 1);
    batch = run_now(env.execute(batch)).expect("the server is alive");
    // In the chain, whose blocks have no lock of their own.
    let second = GlobalPtr::from_word(batch.word(link.at));
    batch.reset();
    let zeros = batch.reserve(table.layout.slot_words);
    batch.words_mut(zeros).fill(0);
    batch.write(second.add_words(u64::from(table.layout.slot(0))), zeros);
    batch = run_now(env.execute(batch)).expect("the server is alive");
    let report = run_now(check(&env, &table)).expect("readable");
    assert_eq!(report.errors, ["slot 0 of bucket 0 has a tag that does not match its key"]);
    batch.reset();
    let held = VersionWord::new(SlotId(1), 9).locked();
    batch.write_word(first.add_words(u64::from(bucket::INSERT)), held.word());
    run_now(env.execute(batch)).expect("the server is alive");
    let report = run_now(check(&env, &table)).expect("readable");
    assert_eq!(report.errors, [""; 0]);
    assert_eq!(report.locked, [first]);
}

#[test]
fn a_segment_beyond_that_of_the_next_split_is_an_error() {
    let env = world();
    let row = RowLayout { key_words: 1, payload_words: 1, checksummed: false };
    let layout = BucketLayout::inlined(1, row);
    for (buckets, most) in [(15, 1), (16, 2), (17, 2)] {
        let table = run_now(create(&env, &[NODE], LABEL, layout, true, Locator::Hashed, buckets));
        let table = table.expect("there is room");
        assert_eq!(table.segment_shift, 4);
        for count in buckets.div_ceil(16)..4 {
            let segment = run_now(create::allocate_segment(&env, &table, NODE, LABEL));
            let mut batch = Batch::new();
            let at = table.root.add_words(root::SEGMENT + count - 1);
            batch.write_word(at, segment.expect("there is room").word());
            batch.write_word(table.root.add_words(root::COUNT), count);
            run_now(env.execute(batch)).expect("the server is alive");
            let report = run_now(check(&env, &table)).expect("readable");
            let error = format!("{count} segments for {buckets} buckets, at most {most}");
            let expected = if count > most { vec![error] } else { vec![] };
            assert_eq!((report.buckets, report.errors), (buckets, expected));
        }
    }
}

#[test]
fn a_root_that_counts_too_few_segments_is_reported() {
    let env = world();
    let table = long_chain(&env);
    for state in [1 << 56 | (1 << 40), 63 << 56, 64 << 56, 200 << 56] {
        let mut batch = Batch::new();
        batch.write_word(table.root.add_words(root::STATE), state);
        run_now(env.execute(batch)).expect("the server is alive");
        let report = run_now(check(&env, &table)).expect("readable");
        let first = report.errors.first().map(String::as_str);
        let expected = "the root counts 1 segments, for 16 buckets, which are fewer than it has";
        assert_eq!(first, Some(expected), "state {state:x}");
    }
}
