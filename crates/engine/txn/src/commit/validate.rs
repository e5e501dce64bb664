//! Validation of serializable transactions and of guarded reads: with all locks held, everything
//! read must be unchanged.
//!
//! Decision: docs/decisions/0019-serializable-reads-are-validated-with-all-locks-held.md

use crate::abort::Abort;
use crate::commit::witness::{KeyWitness, LeafWitness, WordWitness};
use crate::lane::LaneInner;
use crate::read::access::AccessId;
use crate::recovery::LockedWord;
use fabric::{Env, Mutant, Span};
use layout::row::{HEADER, KEY};
use layout::{GlobalPtr, VersionWord, leaf};
use std::collections::HashMap;

/// Words of a leaf that validation reads: insert word and rewrite counter.
const LEAF_WORDS: u32 = 2;
const _: () = assert!(leaf::INSERT == 0 && leaf::VERSION == 1);

/// How often guarded keys are read again while another transaction locks one of their rows and has
/// precedence: it may wait for one of our rows.
const READS_GIVING_WAY_MAX: u32 = 16;
/// The same while our commit has precedence, so that the other one does not wait for us. The locks
/// of a large commit are held for milliseconds.
const READS_MAX: u32 = 512;
/// From this number of reads on there is a pause before each.
const READS_AT_ONCE: u32 = 16;
const PAUSE_NS: u64 = 100_000;
/// Number of our own locks from which on a map finds one.
const LOCKS_SEARCHED_MAX: usize = 32;

impl<E: Env> LaneInner<E> {
    /// Checks all witnesses, with all locks held.
    pub(super) async fn validate_reads(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        self.validate_words(timestamp).await?;
        self.validate_keys(timestamp.locked()).await
    }

    /// Reads every witness word again: headers of rows that were read (visible or not), insert
    /// words of buckets and leaves. Each must have the value that it had when it was read, or be
    /// our own lock, whose swap has proved the same.
    async fn validate_words(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        if self.witnesses.words.is_empty() && self.witnesses.leaves.is_empty() {
            return Ok(());
        }
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        let first = batch.arena_words() as u32;
        for witness in &self.witnesses.words {
            batch.read(witness.word, 1);
        }
        let first_leaf = batch.arena_words() as u32;
        for witness in &self.witnesses.leaves {
            batch.read(witness.leaf, LEAF_WORDS);
        }
        self.execute().await.map_err(|_| Abort::Unreachable)?;
        let batch = &*self.txn.batch;
        let own = timestamp.locked().word();
        let taken_from = self.taken_from();
        let holds = |(index, &WordWitness { word, value }): (usize, &WordWitness)| {
            let found = batch.word(first + index as u32);
            let is_unlocked = !VersionWord::from_word(value).is_locked();
            (found == value && is_unlocked)
                || (found == own
                    && !timestamp.is_none()
                    && self.is_proved(word, value, taken_from.as_ref()))
        };
        let leaf_holds = |(index, witness): (usize, &LeafWitness)| {
            let at = first_leaf + index as u32 * LEAF_WORDS;
            let insert = batch.word(at + leaf::INSERT);
            let is_unlocked = !VersionWord::from_word(insert).is_locked();
            let is_ours = insert == own && !timestamp.is_none();
            let is_still = batch.word(at + leaf::VERSION) == witness.version
                || self.env.mutant(Mutant::CommitTrustLeafInsertWord);
            is_still && (is_ours || (insert == witness.insert && is_unlocked))
        };
        let rows = self.witnesses.words.iter().enumerate().all(holds);
        let leaves = self.witnesses.leaves.iter().enumerate().all(leaf_holds);
        if rows && leaves {
            return Ok(());
        }
        self.note_stray_witnesses(first, first_leaf);
        Err(Abort::ReadValidation)
    }

    /// Checks that the rows whose keys are guarded still exist. A lock of another transaction may
    /// be that of a deletion, so that must end first: it lasts for a commit. Two commits that each
    /// guard a row of the other would wait for each other, so one of them gives way soon.
    async fn validate_keys(&mut self, own: VersionWord) -> Result<(), Abort> {
        if self.witnesses.keys.is_empty() {
            return Ok(());
        }
        let arena = self.txn.batch.arena_words() as u32;
        let mut reads = 0;
        loop {
            let Some((row, lock)) = self.read_guarded_keys(own).await? else { return Ok(()) };
            self.txn.batch.clear_verbs();
            self.txn.batch.truncate(arena);
            let most = if precedes(lock, own) { READS_GIVING_WAY_MAX } else { READS_MAX };
            reads += 1;
            if reads >= most {
                self.note_stray(LockedWord::Row(row), lock.word());
                return Err(Abort::ReadValidation);
            }
            match reads < READS_AT_ONCE {
                true => self.env.yield_now().await,
                false => self.env.sleep_ns(PAUSE_NS).await,
            }
        }
    }

    /// Reads the rows whose keys are guarded. Returns the lock of another transaction that our
    /// commit must wait for, if there is one: of several, one that has precedence.
    async fn read_guarded_keys(
        &mut self,
        own: VersionWord,
    ) -> Result<Option<(GlobalPtr, VersionWord)>, Abort> {
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        let mut spans = Vec::with_capacity(self.witnesses.keys.len());
        for KeyWitness { row, key } in &self.witnesses.keys {
            spans.push(batch.read(*row, KEY + key.words().len() as u32));
        }
        self.execute().await.map_err(|_| Abort::Unreachable)?;
        let batch = &*self.txn.batch;
        let mut awaited = None;
        for (witness, span) in self.witnesses.keys.iter().zip(spans) {
            let header = VersionWord::from_word(batch.word(span.at + HEADER));
            // Our own lock: the commit has compared the version.
            if header == own {
                continue;
            }
            let words = witness.key.words();
            let key = Span { at: span.at + KEY, words: words.len() as u32 };
            let is_gone = !header.is_locked() && (header.is_none() || header.is_deleted());
            if is_gone || batch.words(key) != words {
                return Err(Abort::ReadValidation);
            }
            if header.is_locked() && (awaited.is_none() || precedes(header, own)) {
                awaited = Some((witness.row, header));
            }
        }
        Ok(awaited)
    }

    /// Notes the stray locks of words that were read: a lock is no change, but a stray one would
    /// stay.
    #[cold]
    fn note_stray_witnesses(&mut self, first: u32, first_leaf: u32) {
        if !self.sets_installs_aside() {
            return;
        }
        let batch = &*self.txn.batch;
        let mut found = Vec::new();
        for (at, witness) in (first..).zip(&self.witnesses.words) {
            if !self.is_stray(batch.word(at)) {
                continue;
            }
            let is_row = self.txn.accesses.iter().any(|access| access.row == witness.word);
            let is_bucket = self.txn.buckets_seen.iter().any(|seen| seen.bucket == witness.word);
            let met = match (is_row, is_bucket) {
                (true, _) => LockedWord::Row(witness.word),
                (false, true) => LockedWord::Structure(witness.word),
                // Visited in passing: the next writer there meets it.
                (false, false) => continue,
            };
            found.push((met, batch.word(at)));
        }
        for (number, witness) in (0..).zip(&self.witnesses.leaves) {
            let insert = batch.word(first_leaf + number * LEAF_WORDS + leaf::INSERT);
            found.push((LockedWord::Structure(witness.leaf), insert));
        }
        found.into_iter().for_each(|(met, word)| self.note_stray(met, word));
    }

    /// The values from which our own locks of rows and buckets were taken, if they are many.
    fn taken_from(&self) -> Option<HashMap<GlobalPtr, u64>> {
        let buckets = &self.writes.bucket_inserts;
        let rows = if self.txn.renews { &self.writes.rows[..] } else { &[] };
        if rows.len() + buckets.len() <= LOCKS_SEARCHED_MAX || self.witnesses.words.is_empty() {
            return None;
        }
        let rows = rows.iter().map(|&access| &self.txn.accesses[access]);
        let rows = rows.map(|access| (access.row, access.version.word()));
        Some(buckets.iter().map(|insert| (insert.bucket, insert.insert)).chain(rows).collect())
    }

    /// Whether our own lock was taken from the value that a witness expects. A bucket may have been
    /// read twice, before and after another transaction's insert; a row only on two snapshots.
    fn is_proved(
        &self,
        word: GlobalPtr,
        expected: u64,
        taken_from: Option<&HashMap<GlobalPtr, u64>>,
    ) -> bool {
        if let Some(taken_from) = taken_from {
            return taken_from.get(&word).is_none_or(|&value| value == expected);
        }
        if self.txn.renews && !self.is_row_proved(word, expected) {
            return false;
        }
        let insert = self.writes.bucket_inserts.iter().find(|insert| insert.bucket == word);
        insert.is_none_or(|insert| insert.insert == expected)
            || self.env.mutant(Mutant::CommitTrustOwnBucketLock)
    }

    /// The same for a row; true for other words.
    #[cold]
    fn is_row_proved(&self, word: GlobalPtr, expected: u64) -> bool {
        let of = |&&access: &&AccessId| self.txn.accesses[access].row == word;
        let access = self.writes.rows.iter().find(of);
        access.is_none_or(|&access| self.txn.accesses[access].version.word() == expected)
    }
}

/// Whether the commit that holds a lock has precedence over ours. Each attempt has a number of its
/// own, so that no lane always gives way. Upkeep waits for no commit.
fn precedes(lock: VersionWord, own: VersionWord) -> bool {
    let order = |word: VersionWord| word.word().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    lock.is_lock_of_commit() && order(lock) < order(own)
}

#[cfg(test)]
mod tests {
    use super::precedes;
    use layout::{SlotId, VersionWord};

    #[test]
    fn of_two_commits_one_has_precedence_and_no_lane_always_has_it() {
        let number = |slot, counter| VersionWord::new(SlotId(slot), counter).locked();
        let mut first = 0;
        for counter in 1..=1_000 {
            let (one, other) = (number(1, counter), number(2, counter));
            assert_ne!(precedes(one, other), precedes(other, one));
            first += u32::from(precedes(one, other));
        }
        assert!((300..700).contains(&first), "{first}");
        let upkeep = VersionWord::new(SlotId(1), 5).locked_by_upkeep();
        assert!(!precedes(upkeep, number(2, 5)));
    }
}
