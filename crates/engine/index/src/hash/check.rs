//! The full structural check of a hash table.

use super::{Directory, HashTable, read_directory};
use crate::error::IndexError;
use fabric::{Batch, Env, Mutant, Note, Span};
use layout::bucket::{self, Identity};
use layout::row::{ChainWord, HEADER, LINK, VERSION};
use layout::{GlobalPtr, VersionWord};
use std::collections::BTreeSet;

/// Longest chain of blocks; a longer one is taken for a cycle.
const CHAIN_BLOCKS_MAX: u32 = 100_000;

/// Buckets per batch: they share a round trip.
const TOGETHER: u64 = 32;

/// Result of a full check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HashReport {
    /// Number of buckets, without overflow blocks.
    pub buckets: u64,
    pub overflow_blocks: u64,
    /// Slots in use, tombstones and old pointers included.
    pub used_slots: u64,
    /// Buckets with a locked insert word: a transaction holds it, or a dead lane has left it.
    pub locked: Vec<GlobalPtr>,
    /// Locked rows in slots.
    pub locked_rows: Vec<GlobalPtr>,
    /// Pointers in slots that hold no rows; null pointers included.
    pub leads_to: Vec<GlobalPtr>,
    /// Version buffers of rows in slots.
    pub buffers: Vec<GlobalPtr>,
    /// Structural errors, in words.
    pub errors: Vec<String>,
}

/// Reads every bucket and checks: keys belong to their bucket and occur once, tags match their
/// keys, chains end, identities match the table's state, and no segment is without use. Meant for
/// an idle table; under load it may report changes in progress.
pub async fn check<E: Env>(env: &E, table: &HashTable) -> Result<HashReport, IndexError> {
    let directory = read_directory(env, table).await?;
    let mut report = HashReport::default();
    let mut batch = Batch::new();
    // A damaged root may count buckets that have no memory.
    let known = (directory.segments.len() as u64) << table.segment_shift;
    let counted = counted_buckets(table, &directory);
    let count = counted.map_or(known, |counted| counted.min(known));
    if counted != Some(count) {
        let segments = directory.segments.len();
        report.errors.push(format!(
            "the root counts {segments} segments, for {known} buckets, which are fewer than it has"
        ));
    }
    for begin in (0..count).step_by(TOGETHER as usize) {
        let numbers = begin..(begin + TOGETHER).min(count);
        batch.reset();
        let words = table.layout.slot(table.layout.slots);
        let read = |number| batch.read(table.bucket(&directory, number), words);
        let spans: Vec<Span> = numbers.clone().map(read).collect();
        batch = env.execute(batch).await?;
        let firsts: Vec<Vec<u64>> =
            spans.into_iter().map(|span| batch.words(span).to_vec()).collect();
        for (number, first) in numbers.zip(firsts) {
            let at = table.bucket(&directory, number);
            batch = check_chain(env, table, &mut report, (number, at, first), batch).await?;
        }
    }
    check_segments(table, &mut report, directory.segments.len() as u64);
    Ok(report)
}

/// The number of buckets that the root counts; `None` if it is impossible.
fn counted_buckets(table: &HashTable, directory: &Directory) -> Option<u64> {
    let at_level = 1u64.checked_shl(directory.level)?.checked_mul(table.initial_buckets)?;
    at_level.checked_add(directory.split)
}

/// Checks that there is memory for the buckets and for the next split, and no more.
fn check_segments(table: &HashTable, report: &mut HashReport, segments: u64) {
    let most = (report.buckets >> table.segment_shift) + 1;
    if segments > most {
        let buckets = report.buckets;
        report.errors.push(format!("{segments} segments for {buckets} buckets, at most {most}"));
    }
}

/// Checks a bucket, whose first block was read, with its overflow blocks.
async fn check_chain<E: Env>(
    env: &E,
    table: &HashTable,
    report: &mut HashReport,
    (number, at, first): (u64, GlobalPtr, Vec<u64>),
    mut batch: Batch,
) -> Result<Batch, IndexError> {
    report.buckets += 1;
    let mut bucket = Bucket { number, level: 0, is_held: false, keys: BTreeSet::new() };
    check_header(table, report, at, &mut bucket, &first);
    check_slots(env, table, report, at, &mut bucket, table.layout.slots, &first);
    let mut block = GlobalPtr::from_word(first[bucket::LINK as usize]);
    let mut blocks = 1;
    while !block.is_null() {
        batch.reset();
        let slots = table.layout.overflow_slots;
        let span = batch.read(block, table.layout.slot(slots));
        batch = env.execute(batch).await?;
        let words = batch.words(span);
        report.overflow_blocks += 1;
        env.note(|| Note::Reaches { at: block });
        check_slots(env, table, report, block, &mut bucket, slots, words);
        blocks += 1;
        if blocks > CHAIN_BLOCKS_MAX {
            report.errors.push(format!("the chain of bucket {number} does not end"));
            break;
        }
        block = GlobalPtr::from_word(words[bucket::LINK as usize]);
    }
    Ok(batch)
}

/// A bucket with its chain. Only its first block has a header: overflow blocks have neither lock
/// nor identity.
struct Bucket {
    number: u64,
    level: u32,
    is_held: bool,
    /// The keys seen so far.
    keys: BTreeSet<Vec<u64>>,
}

fn check_header(
    table: &HashTable,
    report: &mut HashReport,
    at: GlobalPtr,
    bucket: &mut Bucket,
    words: &[u64],
) {
    let identity = words[bucket::IDENTITY as usize];
    bucket.is_held = VersionWord::from_word(words[bucket::INSERT as usize]).is_locked();
    bucket.level = Identity::from_word(identity).level;
    let number = bucket.number;
    if bucket.is_held {
        report.locked.push(at);
    }
    if identity != 0 && Identity::from_word(identity).bucket != number {
        report.errors.push(format!(
            "bucket {number} has the identity of bucket {}",
            Identity::from_word(identity).bucket
        ));
    }
    if number >= table.initial_buckets && identity == 0 {
        report.errors.push(format!("bucket {number} was never split off"));
    }
}

fn check_slots<E: Env>(
    env: &E,
    table: &HashTable,
    report: &mut HashReport,
    block: GlobalPtr,
    bucket: &mut Bucket,
    slots: u32,
    words: &[u64],
) {
    let Bucket { number, level, is_held, .. } = *bucket;
    let tags = words[bucket::TAGS as usize];
    for index in (0..slots).filter(|&index| bucket::tag_of(slots, tags, index) != 0) {
        report.used_slots += 1;
        let slot = &words[table.layout.slot(index) as usize..][..table.layout.slot_words as usize];
        let key = &slot[table.layout.key_at as usize..][..table.layout.key_words as usize];
        let (hash, tag_hash) = table.locator.hash(key);
        if bucket::tag(slots, tag_hash) != bucket::tag_of(slots, tags, index) {
            // Slots are emptied before their tags. An owner that died, or lost the server, in
            // between holds the bucket.
            if is_held && !env.mutant(Mutant::HashCheckHeldSlots) {
                continue;
            }
            report.errors.push(format!(
                "slot {index} of bucket {number} has a tag that does not match its key"
            ));
        }
        // An owner that died during a split holds the bucket, and moved rows are in two places.
        let is_elsewhere = level > 0 && hash % (table.initial_buckets << level) != number;
        if is_elsewhere && !is_held {
            report
                .errors
                .push(format!("slot {index} of bucket {number} belongs to another bucket"));
        }
        if !bucket.keys.insert(key.to_vec()) {
            report.errors.push(format!("bucket {number} holds a key twice: {key:x?}"));
        }
        if table.rows {
            report.buffers.push(ChainWord::from_word(slot[LINK as usize]).buffer());
            let header = VersionWord::from_word(slot[HEADER as usize]);
            // Header and image may be one write, whose words arrive in any order: a commit is in
            // progress.
            let version = VersionWord::from_word(slot[VERSION as usize]);
            if header.is_locked() || (!env.is_coherent() && header != version) {
                report.locked_rows.push(block.add_words(u64::from(table.layout.slot(index))));
            } else if header != version {
                report
                    .errors
                    .push(format!("row {index} of bucket {number}: header and version differ"));
            }
        } else {
            report.leads_to.push(GlobalPtr::from_word(slot[0]));
        }
    }
}
