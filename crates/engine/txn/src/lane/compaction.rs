//! Compaction: a long transaction frees the memory of what no longer counts.
//!
//! Newer snapshots and savepoints leave things behind in the lists and the arena of a transaction:
//! rows and leaves that statements before have read, and images that were copied instead of
//! overwritten. Compaction keeps the accesses that count, moves the words of these to the front of
//! the arena, and gives everything its new position. It runs when the lists have doubled since the
//! last time, so that a transaction spends on it no more than on filling them.
//!
//! Decision: docs/decisions/0377-a-long-transaction-frees-what-no-longer-counts.md

use super::inner::LaneInner;
use super::running::RunningTransaction;
use crate::lane::ids::{Id, List};
use crate::read::ARENA_WORDS_MAX;
use crate::read::access::{Access, AccessId, KeyPlace};
use crate::transaction::Transaction;
use crate::write::write_set::WriteSet;
use fabric::{Batch, Env, Span};

/// A transaction that has grown by this much is compacted, also if that is less than it holds.
const GROWTH_BYTES_MAX: usize = 64 << 20;

impl<E: Env> Transaction<'_, E> {
    /// Frees the memory of rows and images that no longer count, and returns whether it did: if
    /// the transaction's memory has grown by `bytes`, and has doubled since the last time or has
    /// grown by 64 MiB, if its rows take more than 512 MiB, or if `bytes` is 0. Then all ids of
    /// rows that the transaction has returned are no longer valid.
    ///
    /// Long transactions call this between their statements.
    pub fn compact(&mut self, bytes: usize) -> bool {
        self.lane().compact(bytes)
    }

    /// Bytes of what the transaction has read and changed.
    pub fn memory_bytes(&self) -> usize {
        self.lane_ref().txn.memory_bytes()
    }
}

impl<E: Env> LaneInner<E> {
    fn compact(&mut self, bytes: usize) -> bool {
        let Self { txn, open, writes, .. } = self;
        let (now, then) = (txn.memory_bytes(), txn.compacted_bytes);
        // Changes of all rows once more would come close to the end of the arena.
        let is_large = txn.batch.arena_words() > ARENA_WORDS_MAX;
        let grown = bytes.max(then.min(GROWTH_BYTES_MAX));
        let is_due = bytes == 0 || is_large || now >= then + grown;
        if !is_due || txn.doomed_by.is_some() {
            return false;
        }
        let key_words = |access: &Access| open.info(access.table).row.key_words;
        txn.batch.clear_verbs();
        keep_entries(txn, writes);
        move_words(txn, writes, key_words);
        self.keep_staged();
        let Self { txn, open, .. } = self;
        let key_words = |access: &Access| open.info(access.table).row.key_words;
        txn.fill_map(key_words);
        txn.compacted_bytes = txn.memory_bytes();
        txn.number = txn.number.wrapping_add(1);
        true
    }

    /// Drops the staged values that no image refers to.
    fn keep_staged(&mut self) {
        if self.txn.stage.is_empty() {
            return;
        }
        let mut is_used = vec![false; self.txn.stage.count()];
        let changed = self.txn.undo.changes.iter().map(|(_, before)| before);
        for access in self.txn.accesses.iter().chain(changed) {
            if access.fresh.words > 0 && self.open.info(access.table).has_long_columns {
                self.staged_in(access, |number| is_used[number] = true);
            }
        }
        self.txn.stage.keep(|number| is_used[number]);
    }
}

impl RunningTransaction {
    /// The memory of the lists that compaction makes shorter.
    fn memory_bytes(&self) -> usize {
        let lists = size_of_val(&*self.accesses)
            + size_of_val(&*self.leaves_seen)
            + size_of_val(&*self.buckets_seen);
        lists + 8 * (self.batch.arena_words() + self.stage.word_count())
    }

    /// Whether lookups find an access.
    fn is_findable(&self, access: AccessId) -> bool {
        access.position() >= self.fresh_accesses || self.accesses[access].is_written()
    }

    fn fill_map(&mut self, key_words: impl Fn(&Access) -> u32) {
        self.map.clear();
        for position in 0..self.accesses.len() as u32 {
            let access = AccessId::new(position);
            let Access { table, key_at, .. } = self.accesses[access];
            let key = Span { at: key_at, words: key_words(&self.accesses[access]) };
            if self.is_findable(access)
                && let Err(vacancy) = self.access_of(table, key)
            {
                self.map.insert(vacancy, access);
            }
        }
    }
}

/// The new positions of a list's entries, where only some are kept.
struct Moved {
    /// For each entry, the number of those before it that are kept.
    before: Vec<u32>,
}

impl Moved {
    /// Keeps the entries of `list` that are `needed`.
    fn keep<T>(list: &mut List<T>, needed: &[bool]) -> Self {
        let mut before = Vec::with_capacity(list.len() + 1);
        let mut kept = 0;
        for (at, &is_needed) in needed.iter().enumerate() {
            before.push(kept);
            if is_needed {
                list.swap(kept as usize, at);
                kept += 1;
            }
        }
        before.push(kept);
        list.truncate(kept as usize);
        Self { before }
    }

    /// The new position of an entry that is kept, or of the first one behind it.
    fn position(&self, before: u32) -> u32 {
        self.before[(before as usize).min(self.before.len() - 1)]
    }

    fn id<T>(&self, before: Id<T>) -> Id<T> {
        Id::new(self.position(before.position()))
    }
}

/// Keeps the accesses that lookups, the write set or a savepoint need, and the leaves and buckets
/// that they need.
fn keep_entries(txn: &mut RunningTransaction, writes: &mut WriteSet) {
    let count = txn.accesses.len() as u32;
    let mut needed: Vec<bool> =
        (0..count).map(|access| txn.is_findable(AccessId::new(access))).collect();
    for (access, _) in &txn.undo.changes {
        needed[access.position() as usize] = true;
    }
    let accesses = Moved::keep(&mut txn.accesses, &needed);
    for (access, _) in &mut txn.undo.changes {
        *access = accesses.id(*access);
    }
    txn.undo.accesses_needed = accesses.position(txn.undo.accesses_needed);
    txn.fresh_accesses = accesses.position(txn.fresh_accesses);
    for access in &mut writes.rows {
        *access = accesses.id(*access);
    }

    let mut leaves = vec![false; txn.leaves_seen.len()];
    leaves[(txn.fresh_leaves as usize).min(txn.leaves_seen.len())..].fill(true);
    let mut buckets = vec![false; txn.buckets_seen.len()];
    let changed = txn.undo.changes.iter().map(|(_, before)| before);
    for access in txn.accesses.iter().chain(changed) {
        // Places of accesses that do not count may be beyond the lists.
        let is_needed = match access.place {
            KeyPlace::LeafSeen(seen) => leaves.get_mut(seen.position() as usize),
            KeyPlace::BucketSeen(seen) => buckets.get_mut(seen.position() as usize),
            _ => None,
        };
        is_needed.into_iter().for_each(|is_needed| *is_needed = true);
    }
    for insert in &writes.leaf_inserts {
        leaves[insert.seen.position() as usize] = true;
    }
    let leaves = Moved::keep(&mut txn.leaves_seen, &leaves);
    let buckets = Moved::keep(&mut txn.buckets_seen, &buckets);
    txn.fresh_leaves = leaves.position(txn.fresh_leaves);
    writes.leaves_needed = leaves.position(writes.leaves_needed);
    for insert in &mut writes.leaf_inserts {
        (insert.seen, insert.access) = (leaves.id(insert.seen), accesses.id(insert.access));
    }
    for access in each_access(txn) {
        access.place = match access.place {
            KeyPlace::LeafSeen(seen) => KeyPlace::LeafSeen(leaves.id(seen)),
            KeyPlace::BucketSeen(seen) => KeyPlace::BucketSeen(buckets.id(seen)),
            other => other,
        };
    }
}

/// The accesses, and their states before changes.
fn each_access(txn: &mut RunningTransaction) -> impl Iterator<Item = &mut Access> {
    txn.accesses.iter_mut().chain(txn.undo.changes.iter_mut().map(|(_, before)| before))
}

/// Moves the words that are needed to the front of the arena, in their order.
fn move_words(
    txn: &mut RunningTransaction,
    writes: &mut WriteSet,
    key_words: impl Fn(&Access) -> u32,
) {
    // No change has an image at position 0, before and after.
    let mut needed = vec![Span { at: 0, words: txn.batch.arena_words().min(1) as u32 }];
    for access in each_access(txn) {
        let key = Span { at: access.key_at, words: key_words(access) };
        needed.extend([key, access.image, access.fresh]);
    }
    needed.extend(txn.leaves_seen.iter().map(|seen| seen.span));
    needed.extend(writes.leaf_inserts.iter().map(|insert| insert.key));
    let moved = MovedWords::to_the_front(&mut txn.batch, needed);

    for access in each_access(txn) {
        access.key_at = moved.position(access.key_at);
        access.image = moved.span(access.image);
        access.fresh = moved.span(access.fresh);
    }
    for seen in txn.leaves_seen.iter_mut() {
        seen.span = moved.span(seen.span);
    }
    for insert in &mut writes.leaf_inserts {
        insert.key = moved.span(insert.key);
    }
    txn.undo.move_limits(|limit| moved.position(limit));
    txn.fresh_words = moved.position(txn.fresh_words);
}

/// The new places of an arena's words.
struct MovedWords {
    /// Separate spans that were kept, in order, each with its new position.
    kept: Vec<(Span, u32)>,
}

impl MovedWords {
    /// Keeps only the words in `needed`.
    fn to_the_front(batch: &mut Batch, mut needed: Vec<Span>) -> Self {
        needed.retain(|span| span.words > 0);
        needed.sort_unstable_by_key(|span| span.at);
        let mut kept: Vec<(Span, u32)> = Vec::new();
        for span in needed {
            let end = span.at + span.words;
            match kept.last_mut() {
                Some((last, _)) if span.at <= last.at + last.words => {
                    last.words = last.words.max(end - last.at);
                }
                _ => kept.push((span, 0)),
            }
        }
        let mut end = 0;
        for (span, to) in &mut kept {
            *to = end;
            batch.shift(*span, end);
            end += span.words;
        }
        batch.truncate(end);
        Self { kept }
    }

    /// The new position of a word that is kept, or of the first one behind it.
    fn position(&self, before: u32) -> u32 {
        let next = self.kept.partition_point(|(span, _)| span.at <= before);
        let Some((span, to)) = next.checked_sub(1).map(|last| self.kept[last]) else { return 0 };
        to + (before - span.at).min(span.words)
    }

    fn span(&self, before: Span) -> Span {
        match before.words {
            0 => before,
            words => Span { at: self.position(before.at), words },
        }
    }
}
