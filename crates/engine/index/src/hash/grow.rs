//! Online growth: splits the next bucket, in the order of linear hashing.
//!
//! Decisions:
//! - docs/decisions/0029-hash-tables-grow-linearly-and-the-split-level.md
//! - docs/decisions/0030-a-new-bucket-is-readable-before-the-old-one-redirects.md
//! - docs/decisions/0169-a-free-header-says-nothing-about-its-row.md

use super::create::allocate_segment;
use super::{Directory, HashTable, SEGMENTS_MAX, read_directory, root};
use crate::error::IndexError;
use fabric::{Batch, Env, FailurePoint, Mutant, Span};
use layout::bucket::{self, Identity};
use layout::row::{HEADER, LINK, VERSION};
use layout::{GlobalPtr, NodeId, VersionWord};
use memory::{Label, Pool};

/// Failure points of a split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HashStep {
    /// The grow lock and the bucket's insert word are held.
    BucketLocked,
    /// All rows that move are locked.
    RowsLocked,
    /// The new bucket is complete; nothing leads to it yet.
    NewBucketWritten,
    /// The old bucket redirects its readers to the new one, which has the rows that moved. The root
    /// counts it, and everything but the grow lock is unlocked.
    Split,
}

impl HashStep {
    /// Every step, for sweeps that kill at each of them.
    pub const ALL: &[Self] =
        &[Self::BucketLocked, Self::RowsLocked, Self::NewBucketWritten, Self::Split];
}

impl FailurePoint for HashStep {
    fn name(self) -> &'static str {
        match self {
            Self::BucketLocked => "hash::BucketLocked",
            Self::RowsLocked => "hash::RowsLocked",
            Self::NewBucketWritten => "hash::NewBucketWritten",
            Self::Split => "hash::Split",
        }
    }
}

/// Result of an attempt to grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    Grown,
    /// Another process holds a lock; try again later.
    Busy,
    Full,
}

/// A block of a chain as read; its arena copy is updated during the split.
struct Block {
    ptr: GlobalPtr,
    span: Span,
    slots: u32,
}

/// Splits the next bucket. `timestamp` is a number of the caller's lane that serves this attempt
/// only.
///
/// 1. Lock the root's grow word and the bucket's insert word; lock every row that moves.
/// 2. Write the new bucket, its rows still locked. It is private until step 3.
/// 3. Raise the old bucket's split level: from now on its readers look in the new one.
/// 4. Mark the moved rows MOVED, clear their tags, count the bucket in the root, unlock everything.
///
/// Steps 3 and 4 are one batch, so that others complete it if the process dies.
///
/// A reader that found a row in the old bucket before step 3 has the same row as all others: no row
/// that moves changes before step 4.
///
/// Rows are only moved in versions for which `is_installed` confirms that all their words have
/// arrived.
pub async fn grow<E: Env>(
    env: &E,
    table: &HashTable,
    pool: &mut Pool,
    nodes: &[NodeId],
    label: Label,
    timestamp: VersionWord,
    is_installed: &dyn Fn(VersionWord) -> bool,
) -> Result<Growth, IndexError> {
    assert!(timestamp == timestamp.timestamp(), "a lock's owner is a number without flags");
    assert!(!nodes.is_empty(), "a new segment goes to some memory server");
    if !lock_root(env, table, timestamp).await? {
        return Ok(Growth::Busy);
    }
    let directory = read_directory(env, table).await?;
    let target = table.bucket_count(&directory);
    if target >> table.segment_shift >= SEGMENTS_MAX {
        unlock_root(env, table).await?;
        return Ok(Growth::Full);
    }
    let prepared = ensure_segment(env, table, nodes, label, target).await;
    let directory = match prepared {
        Ok(directory) => directory,
        Err(error) => {
            unlock_root(env, table).await?;
            return Err(error);
        }
    };
    let result = split(env, table, &directory, pool, target, (timestamp, is_installed)).await;
    unlock_root(env, table).await?;
    result
}

async fn lock_root<E: Env>(
    env: &E,
    table: &HashTable,
    owner: VersionWord,
) -> Result<bool, IndexError> {
    let mut batch = Batch::new();
    let swap = batch.compare_and_swap(
        table.root.add_words(root::GROW),
        0,
        owner.locked_by_upkeep().word(),
    );
    let batch = env.execute(batch).await?;
    Ok(batch.swapped(swap))
}

async fn unlock_root<E: Env>(env: &E, table: &HashTable) -> Result<(), IndexError> {
    let mut batch = Batch::new();
    batch.write_word(table.root.add_words(root::GROW), 0);
    env.execute(batch).await?;
    Ok(())
}

/// Ensures that the segment of bucket `target` exists.
async fn ensure_segment<E: Env>(
    env: &E,
    table: &HashTable,
    nodes: &[NodeId],
    label: Label,
    target: u64,
) -> Result<Directory, IndexError> {
    let mut directory = read_directory(env, table).await?;
    let count = directory.segments.len() as u64;
    if target >> table.segment_shift < count {
        return Ok(directory);
    }
    let node = nodes[(count % nodes.len() as u64) as usize];
    let segment = allocate_segment(env, table, node, label).await?;
    let mut batch = Batch::new();
    batch.write_word(table.root.add_words(root::SEGMENT + count), segment.word());
    batch.write_word(table.root.add_words(root::COUNT), count + 1);
    env.execute(batch).await?;
    directory.segments.push(segment);
    Ok(directory)
}

async fn split<E: Env>(
    env: &E,
    table: &HashTable,
    directory: &Directory,
    pool: &mut Pool,
    target: u64,
    (timestamp, is_installed): (VersionWord, &dyn Fn(VersionWord) -> bool),
) -> Result<Growth, IndexError> {
    let old = table.bucket(directory, directory.split);
    let new = table.bucket(directory, target);
    let Some((batch, insert, is_spoilt)) = lock_bucket(env, old, new, timestamp).await? else {
        return Ok(Growth::Busy);
    };
    env.reach(HashStep::BucketLocked).await;
    let level = directory.level + 1;
    let batch = match env.mutant(Mutant::HashRedirectFirst) {
        true => redirect_first(env, batch, old, directory.split, level).await?,
        false => batch,
    };
    let (batch, blocks) = read_chain(env, batch, table, old).await?;
    let modulus = table.initial_buckets << level;
    assert!(!blocks.is_empty(), "a chain begins with its bucket");
    debug_assert!(
        target < modulus && target % (modulus / 2) == directory.split,
        "a split halves a bucket"
    );
    let moving = slots_that_move(&batch, table, &blocks, modulus, target);
    // Nothing has changed yet: without memory the split stops here and leaves the bucket as it was.
    let spare = match allocate_blocks(env, table, pool, moving.len()).await {
        Ok(spare) => spare,
        Err(error) => {
            unlock_bucket(env, old, insert).await?;
            return Err(error);
        }
    };
    let locked = lock_rows(env, batch, table, &moving, (timestamp, is_installed));
    let Some(batch) = locked.await? else {
        unlock_bucket(env, old, insert).await?;
        spare.into_iter().for_each(|block| pool.free(env, block, table.layout.overflow_words()));
        return Ok(Growth::Busy);
    };
    env.reach(HashStep::RowsLocked).await;
    // A reader that misses a key in the new bucket sees there what was collected in the old one.
    let forgets = env.mutant(Mutant::HashForgetCollected);
    let collected = if forgets { 0 } else { batch.word(blocks[0].span.at + bucket::COLLECTED) };
    let identity = Identity { bucket: target, level };
    let mut batch = batch;
    batch.clear_verbs();
    if is_spoilt {
        clear(&mut batch, new, table.layout.slot(table.layout.slots));
    }
    post_new_bucket(&mut batch, table, spare, new, &moving, identity, collected, timestamp);
    let batch = env.execute(batch).await?;
    env.reach(HashStep::NewBucketWritten).await;
    let mut batch = batch;
    batch.clear_verbs();
    post_redirection(&mut batch, old, directory.split, level);
    batch.fence();
    post_retirement(env, &mut batch, table, &blocks, &moving);
    post_count(&mut batch, table, directory);
    // Buckets, blocks and root may be on several servers.
    batch.fence();
    post_release(&mut batch, table, old, new, &moving, timestamp);
    env.execute(batch).await?;
    env.reach(HashStep::Split).await;
    Ok(Growth::Grown)
}

/// A slot that moves: its position, the words read, and its address.
struct Moving {
    block: usize,
    index: u32,
    from: GlobalPtr,
    span: Span,
    tag_hash: u64,
    to: std::cell::Cell<GlobalPtr>,
}

/// Allocates the overflow blocks that a new bucket with `count` used slots needs; all of them or
/// none.
async fn allocate_blocks<E: Env>(
    env: &E,
    table: &HashTable,
    pool: &mut Pool,
    count: usize,
) -> Result<Vec<GlobalPtr>, IndexError> {
    let beyond = count.saturating_sub(table.layout.slots as usize);
    let mut blocks = Vec::new();
    for _ in 0..beyond.div_ceil(table.layout.overflow_slots as usize) {
        match pool.allocate(env, table.layout.overflow_words()).await {
            Ok(block) => blocks.push(block),
            Err(error) => {
                blocks
                    .drain(..)
                    .for_each(|block| pool.free(env, block, table.layout.overflow_words()));
                return Err(error.into());
            }
        }
    }
    Ok(blocks)
}

/// Locks a bucket. Returns its insert word from before, and whether a process died after it had
/// written the new bucket.
async fn lock_bucket<E: Env>(
    env: &E,
    bucket: GlobalPtr,
    new: GlobalPtr,
    owner: VersionWord,
) -> Result<Option<(Batch, u64, bool)>, IndexError> {
    let mut batch = Batch::new();
    let insert = batch.read(bucket, 1);
    let of_new = batch.read(new, 1);
    batch = env.execute(batch).await?;
    let (insert, is_spoilt) = (batch.word(insert.at), batch.word(of_new.at) != 0);
    if VersionWord::from_word(insert).is_locked() {
        return Ok(None);
    }
    batch.clear_verbs();
    let swap = batch.compare_and_swap(bucket, insert, owner.locked_by_upkeep().word());
    batch = env.execute(batch).await?;
    let is_held = batch.swapped(swap) || env.mutant(Mutant::HashSplitUnlocked);
    Ok(is_held.then_some((batch, insert, is_spoilt)))
}

async fn unlock_bucket<E: Env>(env: &E, bucket: GlobalPtr, insert: u64) -> Result<(), IndexError> {
    let mut batch = Batch::new();
    batch.write_word(bucket, insert);
    env.execute(batch).await?;
    Ok(())
}

/// Reads the bucket and all its overflow blocks; the insert word is locked, so the chain does not
/// change.
async fn read_chain<E: Env>(
    env: &E,
    mut batch: Batch,
    table: &HashTable,
    bucket: GlobalPtr,
) -> Result<(Batch, Vec<Block>), IndexError> {
    let mut blocks = Vec::new();
    let (mut ptr, mut slots) = (bucket, table.layout.slots);
    while !ptr.is_null() {
        batch.clear_verbs();
        let span = batch.read(ptr, table.layout.slot(slots));
        batch = env.execute(batch).await?;
        let next = GlobalPtr::from_word(batch.word(span.at + bucket::LINK));
        blocks.push(Block { ptr, span, slots });
        (ptr, slots) = (next, table.layout.overflow_slots);
    }
    Ok((batch, blocks))
}

fn slots_that_move(
    batch: &Batch,
    table: &HashTable,
    blocks: &[Block],
    modulus: u64,
    target: u64,
) -> Vec<Moving> {
    let mut moving = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let tags = batch.word(block.span.at + bucket::TAGS);
        for index in 0..block.slots {
            let at = table.layout.slot(index);
            let key = Span {
                at: block.span.at + at + table.layout.key_at,
                words: table.layout.key_words,
            };
            if bucket::tag_of(block.slots, tags, index) == 0 {
                continue;
            }
            let (hash, tag_hash) = table.locator.hash(batch.words(key));
            if hash % modulus != target {
                continue;
            }
            let span = Span { at: block.span.at + at, words: table.layout.slot_words };
            let from = block.ptr.add_words(u64::from(at));
            moving.push(Moving {
                block: number,
                index,
                from,
                span,
                tag_hash,
                to: GlobalPtr::NULL.into(),
            });
        }
    }
    moving
}

/// Locks every row that moves and reads it untorn; on any conflict releases the locks it got.
async fn lock_rows<E: Env>(
    env: &E,
    mut batch: Batch,
    table: &HashTable,
    moving: &[Moving],
    (owner, is_installed): (VersionWord, &dyn Fn(VersionWord) -> bool),
) -> Result<Option<Batch>, IndexError> {
    if !table.rows || moving.is_empty() || env.mutant(Mutant::HashCopyUnlocked) {
        return Ok(Some(batch));
    }
    batch.clear_verbs();
    let header = |batch: &Batch, slot: &Moving| batch.word(slot.span.at + HEADER);
    let locked = moving.iter().any(|slot| VersionWord::from_word(header(&batch, slot)).is_locked());
    if locked && !env.mutant(Mutant::HashStealRowLocks) {
        return Ok(None);
    }
    let mut swaps = Vec::with_capacity(moving.len());
    for slot in moving {
        let expected = header(&batch, slot);
        swaps.push(batch.compare_and_swap(slot.from, expected, owner.locked_by_upkeep().word()));
    }
    batch = env.execute(batch).await?;
    let complete = swaps.iter().all(|&swap| batch.swapped(swap));
    batch.clear_verbs();
    for (slot, &swap) in moving.iter().zip(&swaps) {
        if !complete && batch.swapped(swap) {
            let header = header(&batch, slot);
            batch.write_word(slot.from, header);
        } else if complete {
            // A read before the lock may be torn; now the row does not change.
            let words = slot.span.words;
            let again = batch.read(slot.from, words);
            debug_assert_eq!(again.words, words);
        }
    }
    batch = env.execute(batch).await?;
    if !complete {
        return Ok(None);
    }
    let trusts = env.mutant(Mutant::HashMoveHalfInstalled);
    if !trusts && !are_installed(&batch, moving, is_installed) {
        batch.clear_verbs();
        for slot in moving {
            let header = header(&batch, slot);
            batch.write_word(slot.from, header);
        }
        env.execute(batch).await?;
        return Ok(None);
    }
    if !env.mutant(Mutant::HashTrustFirstCopy) {
        copy_back(&mut batch, moving);
    }
    Ok(Some(batch))
}

/// Whether the versions of rows that were read under their locks are completely installed: a header
/// may arrive before the image of the same write, and a late word would hit the next row in the
/// slot.
fn are_installed(
    batch: &Batch,
    moving: &[Moving],
    is_installed: &dyn Fn(VersionWord) -> bool,
) -> bool {
    under_locks(batch, moving).all(|(slot, at)| {
        let version = batch.word(at + VERSION);
        version == batch.word(slot.span.at + HEADER)
            && is_installed(VersionWord::from_word(version))
    })
}

/// The rows with the arena offsets of the reads under their locks: at the end of the arena, in
/// order.
fn under_locks<'a>(
    batch: &Batch,
    moving: &'a [Moving],
) -> impl Iterator<Item = (&'a Moving, u32)> + use<'a> {
    let total: u32 = moving.iter().map(|slot| slot.span.words).sum();
    assert!(total as usize <= batch.arena_words(), "the rows were read again before");
    let first = batch.arena_words() as u32 - total;
    moving.iter().scan(first, |next, slot| {
        let at = *next;
        *next += slot.span.words;
        Some((slot, at))
    })
}

/// Copies the rows that were read under their locks over their first reads. The header keeps its
/// value from before the lock.
fn copy_back(batch: &mut Batch, moving: &[Moving]) {
    for (slot, at) in under_locks(batch, moving) {
        assert!(at >= slot.span.at + slot.span.words, "the second reading is behind the first");
        let image = Span { at: at + VERSION, words: slot.span.words - VERSION };
        batch.shift(image, slot.span.at + VERSION);
    }
}

/// Writes the moved slots into the new bucket and, if necessary, its overflow blocks. Rows stay
/// locked.
#[allow(clippy::too_many_arguments, reason = "one step of a split, with all that it touches")]
fn post_new_bucket(
    batch: &mut Batch,
    table: &HashTable,
    spare: Vec<GlobalPtr>,
    new: GlobalPtr,
    moving: &[Moving],
    identity: Identity,
    collected: u64,
    owner: VersionWord,
) {
    let (mut block, mut slots, mut used, mut tags) = (new, table.layout.slots, 0, 0);
    let mut spare = spare.into_iter();
    for slot in moving {
        if used == slots {
            let next = spare.next().expect("as many were allocated as the slots need");
            clear(batch, next, table.layout.overflow_words());
            batch.write_word(block.add_words(u64::from(bucket::LINK)), next.word());
            batch.write_word(block.add_words(u64::from(bucket::TAGS)), tags);
            (block, slots, used, tags) = (next, table.layout.overflow_slots, 0, 0);
        }
        let to = block.add_words(u64::from(table.layout.slot(used)));
        slot.to.set(to);
        let copy = batch.duplicate(slot.span);
        if table.rows {
            batch.set_word(copy.at + HEADER, owner.locked_by_upkeep().word());
        }
        batch.write(to, copy);
        tags = bucket::with_tag(slots, tags, used, bucket::tag(slots, slot.tag_hash));
        used += 1;
    }
    assert!(spare.next().is_none(), "no block stays without slots");
    batch.write_word(block.add_words(u64::from(bucket::TAGS)), tags);
    batch.write_word(new.add_words(u64::from(bucket::COLLECTED)), collected);
    batch.write_word(new.add_words(u64::from(bucket::IDENTITY)), identity.word());
    batch.write_word(new, owner.locked_by_upkeep().word());
}

fn clear(batch: &mut Batch, at: GlobalPtr, words: u32) {
    let zeros = batch.reserve(words);
    batch.words_mut(zeros).fill(0);
    batch.write(at, zeros);
}

/// Sends the readers of a bucket to the one that it is split into. For a mutant.
#[cold]
async fn redirect_first<E: Env>(
    env: &E,
    mut batch: Batch,
    old: GlobalPtr,
    number: u64,
    level: u32,
) -> Result<Batch, IndexError> {
    batch.clear_verbs();
    post_redirection(&mut batch, old, number, level);
    Ok(env.execute(batch).await?)
}

fn post_redirection(batch: &mut Batch, old: GlobalPtr, number: u64, level: u32) {
    let identity = Identity { bucket: number, level }.word();
    batch.write_word(old.add_words(u64::from(bucket::IDENTITY)), identity);
}

/// Empties the slots of moved rows: MOVED in the header for readers that still have the address,
/// then the tag, so that the slot can be reused. The version becomes NONE: no reader takes the
/// copy.
fn post_retirement<E: Env>(
    env: &E,
    batch: &mut Batch,
    table: &HashTable,
    blocks: &[Block],
    moving: &[Moving],
) {
    for slot in moving {
        assert!(!slot.to.get().is_null(), "a row is copied before it goes");
        if table.rows {
            batch.write_word(slot.from.add_words(u64::from(VERSION)), 0);
            batch.write_word(slot.from.add_words(u64::from(LINK)), 0);
            let unlocked = env.mutant(Mutant::HashMovedRowUnlocked);
            let header = if unlocked {
                batch.word(slot.span.at + HEADER)
            } else {
                VersionWord::MOVED.word()
            };
            batch.write_word(slot.from, header);
        } else {
            // A reader of the whole bucket compares keys, and would follow an outdated pointer.
            let zeros = batch.reserve(slot.span.words);
            batch.words_mut(zeros).fill(0);
            batch.write(slot.from, zeros);
        }
        let tags_at = blocks[slot.block].span.at + bucket::TAGS;
        let slots = blocks[slot.block].slots;
        debug_assert!(bucket::tag_of(slots, batch.word(tags_at), slot.index) != 0);
        let tags = bucket::with_tag(slots, batch.word(tags_at), slot.index, 0);
        batch.set_word(tags_at, tags);
        batch.write_word(blocks[slot.block].ptr.add_words(u64::from(bucket::TAGS)), tags);
    }
}

fn post_count(batch: &mut Batch, table: &HashTable, directory: &Directory) {
    let round_complete = directory.split + 1 == table.initial_buckets << directory.level;
    let state = match round_complete {
        true => u64::from(directory.level + 1) << 56,
        false => u64::from(directory.level) << 56 | (directory.split + 1),
    };
    batch.write_word(table.root.add_words(root::STATE), state);
}

fn post_release(
    batch: &mut Batch,
    table: &HashTable,
    old: GlobalPtr,
    new: GlobalPtr,
    moving: &[Moving],
    timestamp: VersionWord,
) {
    if table.rows {
        for slot in moving {
            let header = batch.word(slot.span.at + HEADER);
            debug_assert!(!VersionWord::from_word(header).is_locked(), "a release unlocks");
            batch.write_word(slot.to.get(), header);
        }
    }
    batch.write_word(new, timestamp.word());
    batch.write_word(old, timestamp.word());
}
