//! Visits buckets of a hash table together. A bucket that is split while it is read is read again.

use super::VisitStart;
use super::chain::{Posted, Reading};
use crate::abort::TxnError;
use crate::catalog::{Primary, TableId};
use crate::lane::LaneInner;
use crate::read::same_words;
use crate::read::value::Visitor;
use fabric::{Batch, Env, Mutant, Span};
use layout::VersionWord;
use layout::bucket::{self, Identity};
use layout::row::{KEY, VERSION};

/// Number of buckets that a visit reads together, to share round trips.
const TOGETHER: usize = 32;

/// The rows of a bucket and its chain, as read by a visit.
struct BucketRows {
    number: u64,
    /// The number of times the bucket was split.
    level: u32,
    rows: Vec<Posted>,
}

impl<E: Env> LaneInner<E> {
    /// Visits buckets by the numbers that they had when the visit began, although lookups of moved
    /// rows use newer directories. Buckets that were split off later are visited together with
    /// their original bucket.
    pub(super) async fn visit_buckets(
        &mut self,
        table: TableId,
        began: VisitStart,
        buckets: std::ops::Range<u64>,
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        let info = self.open.info(table).clone();
        let Primary::Hash(hash) = &info.primary else {
            unreachable!("the caller knows it is hashed")
        };
        let mut numbers: Vec<u64> = buckets.rev().collect();
        while !numbers.is_empty() {
            let some = numbers.split_off(numbers.len().saturating_sub(TOGETHER));
            self.visit_some(table, hash, began, some, &mut numbers, visit).await?;
        }
        Ok(())
    }

    /// Visits some buckets with their chains; lists the buckets that were split off them since the
    /// visit began.
    async fn visit_some(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        began: VisitStart,
        numbers: Vec<u64>,
        split_off: &mut Vec<u64>,
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        let (arena, accesses) = (self.txn.batch.arena_words() as u32, self.txn.accesses.len());
        for BucketRows { number, level, rows } in self.read_buckets(table, hash, numbers).await? {
            for level in began.level..level {
                let child = number + (hash.initial_buckets << level);
                if child >= began.count && child % (hash.initial_buckets << level) == number {
                    split_off.push(child);
                }
            }
            for Posted { row, span, key_at } in rows {
                let access = self.txn.add_passing_access(table, key_at);
                if !self.finish_row(access, row, span) {
                    Box::pin(self.settle_old(access, row, span)).await?;
                }
                self.show(access, visit);
                self.txn.accesses.truncate(accesses);
            }
        }
        self.show_kept(table, visit).await?;
        self.txn.batch.clear_verbs();
        self.txn.batch.truncate(arena);
        Ok(())
    }

    /// Reads all used slots of some buckets and their chains; repeats a bucket until its identity
    /// does not change while it is read.
    async fn read_buckets(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        mut numbers: Vec<u64>,
    ) -> Result<Vec<BucketRows>, TxnError> {
        let mut done = Vec::with_capacity(numbers.len());
        while let Some(&last) = numbers.iter().max() {
            let directory = &self.open.table_mut(table).directory;
            if last >> hash.segment_shift >= directory.segments.len() as u64 {
                let directory = index::hash::read_directory(&self.env, hash).await?;
                self.open.table_mut(table).directory.segments = directory.segments;
                continue;
            }
            let reading = |number| Reading::new(number, hash.bucket(directory, number), hash);
            let mut readings: Vec<Reading> = numbers.drain(..).map(reading).collect();
            self.read_witnesses(&mut readings).await?;
            self.read_chains(table, hash, &mut readings).await?;
            self.txn.batch.clear_verbs();
            let read_again = |reading: &Reading| self.txn.batch.read(reading.bucket, bucket::SLOTS);
            let again: Vec<Span> = readings.iter().map(read_again).collect();
            self.execute().await?;
            for (mut reading, again) in readings.into_iter().zip(again) {
                match self.finish_reading(hash, &mut reading, again)? {
                    Some(level) => {
                        let Reading { number, rows, .. } = reading;
                        done.push(BucketRows { number, level, rows });
                    }
                    None => numbers.push(reading.number),
                }
            }
        }
        Ok(done)
    }

    /// The split level of a bucket whose header was read `again` after all slots; `None` if the
    /// bucket was split meanwhile.
    fn finish_reading(
        &mut self,
        hash: &index::hash::HashTable,
        reading: &mut Reading,
        again: Span,
    ) -> Result<Option<u32>, TxnError> {
        let batch = &*self.txn.batch;
        let first = reading.first.expect("a bucket has a first block");
        let same = |word: u32| batch.word(first.at + word) == batch.word(again.at + word);
        self.check_collected(batch.word(again.at + bucket::COLLECTED))?;
        if !same(bucket::IDENTITY) {
            return Ok(None);
        }
        let identity = Identity::from_word(batch.word(again.at + bucket::IDENTITY));
        let modulus = hash.initial_buckets << identity.level;
        let words = hash.layout.key_words;
        let trusts_key = self.env.mutant(Mutant::ReadTrustSlotKey);
        let (mut has_hole, mut has_torn) = (reading.has_null, false);
        reading.rows.retain(|&Posted { span, key_at, .. }| {
            // A row that a split has already copied is visited in its new bucket. A slot whose row
            // has no version or another key is a hole: it is being filled or was emptied, and its
            // words may be of two rows. No snapshot of this bucket has its row.
            let key = batch.words(Span { at: key_at, words });
            let is_here = hash.locator.hash(key).0 % modulus == reading.number;
            let version = VersionWord::from_word(batch.word(span.at + VERSION));
            let is_torn = version == VersionWord::TORN;
            let own = batch.words(Span { at: span.at + KEY, words });
            let is_other = !is_torn && !same_words(key, own) && !trusts_key;
            let is_hole = version.is_none() || is_other;
            has_hole |= is_here && is_hole;
            has_torn |= is_here && is_torn;
            is_here && !is_hole
        });
        if has_torn && !trusts_key {
            has_hole |= drop_repeated(&mut reading.rows, batch, words);
        }
        if self.txn.serializable && !self.env.mutant(Mutant::ScanBucketUnwitnessed) {
            // A row on another server may be in flight while the insert word of its bucket is
            // already unlocked. No word read here would witness it, so validation must fail.
            let expected = match has_hole {
                true => VersionWord::NONE.locked().word(),
                false => reading.insert,
            };
            self.witnesses.add_word(reading.bucket, expected);
        }
        Ok(Some(identity.level))
    }
}

/// Drops rows with torn images whose key is also in another slot; returns whether there were any.
/// The key words of a slot that is being filled again may be of two rows, and together they may be
/// the key of a third row, which is in a slot of its own. Only an intact image shows that. A row
/// with a torn image is found by its key in the end, so that the third row would be visited twice.
fn drop_repeated(rows: &mut Vec<Posted>, batch: &Batch, key_words: u32) -> bool {
    let key = |row: &Posted| batch.words(Span { at: row.key_at, words: key_words });
    let count = rows.len();
    for n in (0..count).rev() {
        let version = VersionWord::from_word(batch.word(rows[n].span.at + VERSION));
        let others = rows[..n].iter().chain(&rows[n + 1..]);
        if version == VersionWord::TORN && others.map(key).any(|other| other == key(&rows[n])) {
            rows.remove(n);
        }
    }
    rows.len() < count
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{GlobalPtr, SlotId};

    /// The positions that remain of rows with these keys in their slots, some of them torn.
    fn left_of(rows: &[(u64, bool)]) -> Vec<usize> {
        let mut batch = Batch::new();
        let whole = VersionWord::new(SlotId(1), 7);
        let mut posted: Vec<Posted> = rows
            .iter()
            .map(|&(key, is_torn)| {
                let version = if is_torn { VersionWord::TORN } else { whole };
                let span = batch.put(&[version.word(), version.word()]);
                Posted { row: GlobalPtr::NULL, span, key_at: batch.put(&[7, key]).at }
            })
            .collect();
        let ats: Vec<u32> = posted.iter().map(|row| row.span.at).collect();
        let has_dropped = drop_repeated(&mut posted, &batch, 2);
        assert_eq!(has_dropped, posted.len() < rows.len());
        let at = |row: &Posted| ats.iter().position(|&at| at == row.span.at);
        posted.iter().map(|row| at(row).expect("it was there before")).collect()
    }

    #[test]
    fn of_slots_with_the_same_key_one_is_left_whole_if_possible() {
        assert_eq!(left_of(&[(1, false), (2, true), (3, true)]), [0, 1, 2]);
        assert_eq!(left_of(&[(1, true), (2, false), (1, false)]), [1, 2]);
        assert_eq!(left_of(&[(1, false), (2, false), (1, true)]), [0, 1]);
        assert_eq!(left_of(&[(1, true), (1, true), (2, true), (1, true)]), [0, 2]);
    }
}
