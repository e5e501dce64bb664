//! Executes a batch on shared memory, in posting order.
//!
//! Decisions:
//! - docs/decisions/0004-the-version-word-of-a-row-is-its-seqlock.md
//! - docs/decisions/0046-immediate-worlds-execute-without-a-future.md

use crate::batch::Batch;
use crate::error::FabricError;
use crate::local::world::LocalWorld;
use crate::raw::{load_words, prefetch_words, store_words};
use crate::verb::{ALWAYS_WRITTEN_END, SlotGeometry, SlotRead, Verb};
use layout::bucket;
use layout::row::{Cover, HEADER, LINK, VERSION};
use layout::{GlobalPtr, VersionWord};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, fence};

/// Number of retries before a torn image is returned as torn. A writer needs well under a
/// microsecond; one that was descheduled needs milliseconds, and the old version is available
/// meanwhile.
const TORN_RETRY_COUNT_MAX: u32 = 64;

/// Executes all verbs of `batch`. The processor orders memory as the contract promises: stores in
/// posting order, atomics as full barriers, reads never ahead of earlier atomics.
#[inline]
pub fn execute(world: &LocalWorld, batch: &mut Batch) -> Result<(), FabricError> {
    let has_choices = batch.choice_count() > 1;
    let (verbs, arena) = batch.parts_mut();
    if has_choices {
        prefetch_slots(world, verbs)?;
    }
    Executor { world, arena, stored: false }.execute_all(verbs)
}

/// Executes some verbs of a batch with this arena.
pub fn execute_verbs(
    world: &LocalWorld,
    verbs: &[Verb],
    arena: &mut [u64],
) -> Result<(), FabricError> {
    Executor { world, arena, stored: false }.execute_all(verbs)
}

/// Prefetches the slots of lookups in buckets of several slots; the bucket's tags select the slot.
#[inline]
fn prefetch_slots(world: &LocalWorld, verbs: &[Verb]) -> Result<(), FabricError> {
    for verb in verbs {
        let Verb::FindSlot { bucket, geometry, .. } = *verb else { continue };
        if geometry.slots == 1 {
            continue;
        }
        let words = world.words(bucket, geometry.words())?;
        let tags = words[bucket::TAGS as usize].load(Relaxed);
        if let Some(index) = slots(tags, &geometry).next() {
            let at = geometry.slot(index) as usize;
            prefetch_words(&words[at..at + usize::from(geometry.slot_words)]);
        }
    }
    Ok(())
}

/// Executes one verb after another.
struct Executor<'a> {
    world: &'a LocalWorld,
    arena: &'a mut [u64],
    /// Whether there was a store since the last barrier.
    stored: bool,
}

impl Executor<'_> {
    /// A processor may execute a load before its own earlier stores; the contract forbids that.
    #[inline]
    fn before_loads(&mut self) {
        if self.stored {
            fence(SeqCst);
            self.stored = false;
        }
    }

    /// Atomic instructions of x86-64 are full barriers themselves.
    #[inline]
    fn before_atomic(&mut self) {
        if cfg!(target_arch = "x86_64") {
            self.stored = false;
        } else {
            self.before_loads();
        }
    }

    /// One loop for all kinds of verbs, so that no verb returns a result through a call.
    #[inline]
    fn execute_all(mut self, verbs: &[Verb]) -> Result<(), FabricError> {
        let world = self.world;
        for verb in verbs {
            match *verb {
                Verb::Read { from, at, words } => {
                    self.before_loads();
                    load_all(world.words(from, words)?, self.span(at, words));
                }
                Verb::Write { to, at, words } => {
                    self.stored = true;
                    store_all(world.words(to, words)?, self.span(at, words));
                }
                Verb::WriteWord { to, value } => {
                    self.stored = true;
                    world.words(to, 1)?[0].store(value, Release);
                }
                Verb::CompareAndSwap { word, expected, desired, at } => {
                    self.before_atomic();
                    let word = &world.words(word, 1)?[0];
                    let result = word.compare_exchange(expected, desired, SeqCst, SeqCst);
                    self.arena[at as usize] = result.unwrap_or_else(|found| found);
                }
                Verb::FetchAndAdd { word, add, at } => {
                    self.before_atomic();
                    self.arena[at as usize] = world.words(word, 1)?[0].fetch_add(add, SeqCst);
                }
                Verb::ReadRow { from, at, words, .. } => {
                    self.before_loads();
                    read_row(world.words(from, words)?, self.span(at, words));
                }
                Verb::WriteRow { to, at, words, first, cover } => {
                    self.stored = true;
                    write_row(world.words(to, words)?, self.span(at, words), first, cover);
                }
                Verb::InstallRow { to, at, words, first, cover, .. } => {
                    self.stored = true;
                    install_row(
                        world.words(to, words)?,
                        self.span(at, words),
                        first as usize,
                        cover,
                    );
                }
                Verb::FindSlot { bucket, geometry, key, at } => {
                    self.before_loads();
                    find_slot(world, bucket, geometry, self.arena, key as usize, at as usize)?;
                }
                Verb::Fence => {
                    self.stored = false;
                    fence(SeqCst);
                }
            }
        }
        // A completed write is visible to every later verb, also to later loads of this endpoint.
        self.before_loads();
        Ok(())
    }

    #[inline]
    fn span(&mut self, at: u32, words: u32) -> &mut [u64] {
        &mut self.arena[at as usize..(at + words) as usize]
    }
}

#[inline]
fn load_all(from: &[AtomicU64], to: &mut [u64]) {
    load_words(from, to);
    fence(Acquire);
}

#[inline]
fn store_all(to: &[AtomicU64], from: &[u64]) {
    fence(Release);
    store_words(to, from);
}

/// A seqlock on the version word: the copy is intact if that word was the same and not TORN before
/// and after.
#[inline]
fn read_row(row: &[AtomicU64], to: &mut [u64]) {
    let version = VERSION as usize;
    for _ in 0..TORN_RETRY_COUNT_MAX {
        let before = row[version].load(Acquire);
        load_words(row, to);
        fence(Acquire);
        let after = row[version].load(Relaxed);
        if before == after && before != VersionWord::TORN.word() {
            to[version] = before;
            return;
        }
        std::hint::spin_loop();
    }
    to[version] = VersionWord::TORN.word();
}

/// The writer's half of the seqlock: TORN, payload, version. The caller holds the lock of the
/// image.
#[inline]
fn write_row(row: &[AtomicU64], image: &[u64], first: u32, cover: Cover) {
    let version = VERSION as usize;
    row[version].store(VersionWord::TORN.word(), Relaxed);
    fence(Release);
    let link = LINK as usize;
    let mut first = (first as usize).max(link + 1);
    if cover == Cover::All {
        let end = image.len().min(ALWAYS_WRITTEN_END as usize);
        store_words(&row[link..], &image[link..end]);
        first = first.max(end);
    }
    store_words(&row[first..], &image[first..]);
    row[version].store(image[version], Release);
}

/// Writes link, TORN, payload, version, header; the link of an old version is part of its untorn
/// image.
#[inline]
fn install_row(row: &[AtomicU64], image: &[u64], first: usize, cover: Cover) {
    let (version, link) = (VERSION as usize, LINK as usize);
    if cover == Cover::AllButLink {
        row[link].store(image[link], Release);
    }
    row[version].store(VersionWord::TORN.word(), Release);
    fence(Release);
    row[link].store(image[link], Relaxed);
    store_words(&row[first..], &image[first..]);
    row[version].store(image[version], Release);
    row[HEADER as usize].store(image[HEADER as usize], Release);
}

/// Finds the slot with the key and copies it. The insert word is read before the slots, so that a
/// swap from it proves a miss. Collected-up-to word and identity are read after the slots: a writer
/// that empties a slot changes them first, so a miss never comes with outdated words.
#[inline]
fn find_slot(
    world: &LocalWorld,
    bucket: GlobalPtr,
    geometry: SlotGeometry,
    arena: &mut [u64],
    key: usize,
    at: usize,
) -> Result<(), FabricError> {
    let words = world.words(bucket, geometry.words())?;
    let header = |word: u32| words[word as usize].load(Acquire);
    let insert = header(bucket::INSERT);
    let link = header(bucket::LINK);
    let tags = header(bucket::TAGS);
    let (before, result) = arena.split_at_mut(at);
    let key = &before[key..][..usize::from(geometry.key_words)];
    let (result, target) = result.split_at_mut(SlotRead::SLOT as usize);
    let target = &mut target[..usize::from(geometry.slot_words)];
    let slot = |index| &words[geometry.slot(index) as usize..];
    // With a single slot the address does not depend on the tags, so header and slot are fetched
    // together.
    let found = match geometry.slots {
        1 if bucket::tag_of(1, tags, 0) != geometry.tag => None,
        1 => copy_slot(slot(0), &geometry, key, target).then_some(0),
        _ => slots(tags, &geometry).find(|&index| copy_slot(slot(index), &geometry, key, target)),
    };
    if let Some(index) = found {
        result[SlotRead::INDEX as usize] = u64::from(index);
        return Ok(());
    }
    fence(Acquire);
    let (collected, identity) = (header(bucket::COLLECTED), header(bucket::IDENTITY));
    result.copy_from_slice(&[insert, collected, link, identity, tags, SlotRead::MISSING]);
    Ok(())
}

/// The slots that may hold the key. Tags are remote words and may have any value, so slots beyond
/// the bucket are never returned.
#[inline(always)]
fn slots(tags: u64, geometry: &SlotGeometry) -> impl Iterator<Item = u32> + use<> {
    let count = u32::from(geometry.slots);
    bucket::matching_slots(count, tags, geometry.tag).take_while(move |&index| index < count)
}

/// Copies a slot that holds `key`, and returns whether it does.
#[inline(always)]
fn copy_slot(slot: &[AtomicU64], geometry: &SlotGeometry, key: &[u64], target: &mut [u64]) -> bool {
    let key_at = usize::from(geometry.key_at);
    // The key of a row is compared after the copy; a single slot mostly holds the wanted one.
    let is_certain = geometry.rows && geometry.slots == 1;
    let holds = |(word, wanted): (&AtomicU64, &u64)| word.load(Relaxed) == *wanted;
    if !is_certain && !slot[key_at..].iter().zip(key).all(holds) {
        return false;
    }
    if !geometry.rows {
        load_all(slot, target);
        return true;
    }
    read_row(&slot[..target.len()], target);
    // Another key may have taken the slot between the comparison and the copy.
    target[key_at..].iter().zip(key).all(|(copied, wanted)| copied == wanted)
}
