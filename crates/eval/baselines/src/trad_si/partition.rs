//! The data of a server: rows with their versions, and the prepared transactions that will write
//! some.

use crate::row_key::RowKey;
use std::collections::{BTreeMap, VecDeque};

/// The largest number of versions of a row.
const VERSIONS_MAX: usize = 16;
/// The largest number of deleted rows that are kept for older snapshots.
const DELETED_MAX: usize = 4096;

/// A row's new content; `None`: it is deleted.
pub type Write = (RowKey, Option<Vec<u8>>);

/// A range of rows of one table and partition, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The first row; its number is the smallest of the range.
    pub first: RowKey,
    /// The last number, inclusive.
    pub last: u64,
    /// The largest number of rows to return.
    pub limit: u32,
    /// Whether to begin with the largest number.
    pub is_reverse: bool,
}

/// The snapshot's versions were discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooOld;

#[derive(Debug, Default)]
struct VersionedRow {
    /// The prepared transaction that will write it.
    locked_by: Option<u64>,
    /// Commit timestamps and contents, oldest first.
    versions: VecDeque<(u64, Option<Vec<u8>>)>,
    /// Whether versions before the oldest one were discarded.
    is_trimmed: bool,
}

impl VersionedRow {
    fn newest(&self) -> u64 {
        self.versions.back().map_or(0, |version| version.0)
    }

    fn visible(&self, read_timestamp: u64) -> Result<Option<&[u8]>, TooOld> {
        match self.versions.iter().rev().find(|version| version.0 <= read_timestamp) {
            Some((_, content)) => Ok(content.as_deref()),
            None if self.is_trimmed => Err(TooOld),
            None => Ok(None),
        }
    }

    fn install(&mut self, timestamp: u64, content: Option<Vec<u8>>) {
        assert!(self.newest() < timestamp, "writers of a row commit in the order of their locks");
        self.versions.push_back((timestamp, content));
        if self.versions.len() > VERSIONS_MAX {
            self.versions.pop_front();
            self.is_trimmed = true;
        }
    }
}

/// The rows of one server.
#[derive(Debug, Default)]
pub struct Partition {
    rows: BTreeMap<RowKey, VersionedRow>,
    /// Numbers by text, in the order of loading: an index on columns that never change.
    names: BTreeMap<(u32, u32, Vec<u8>), Vec<u64>>,
    prepared: BTreeMap<u64, Vec<Write>>,
    /// Deleted rows, in the order of deletion.
    deleted: VecDeque<(u64, RowKey)>,
    /// Rows deleted up to this timestamp may be discarded.
    collected_up_to: u64,
}

impl Partition {
    /// Adds a row before any transaction.
    pub fn load(&mut self, key: RowKey, content: Vec<u8>) {
        let versions = VecDeque::from([(0, Some(content))]);
        self.rows.insert(key, VersionedRow { versions, ..VersionedRow::default() });
    }

    /// Adds a row's number to the index of `partition` and `table` under `name`.
    pub fn load_name(&mut self, (partition, table): (u32, u32), name: &[u8], number: u64) {
        self.names.entry((partition, table, name.to_vec())).or_default().push(number);
    }

    /// The numbers under a name.
    pub fn named(&self, partition: u32, table: u32, name: &[u8]) -> &[u64] {
        self.names.get(&(partition, table, name.to_vec())).map_or(&[], Vec::as_slice)
    }

    /// The number of rows, including deleted ones.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The row's content in a snapshot.
    pub fn read(&self, key: RowKey, read_timestamp: u64) -> Result<Option<&[u8]>, TooOld> {
        match self.rows.get(&key) {
            Some(row) => row.visible(read_timestamp),
            None if read_timestamp < self.collected_up_to => Err(TooOld),
            None => Ok(None),
        }
    }

    /// The rows of a range in a snapshot, with their numbers.
    pub fn range(&self, range: &Range, read_timestamp: u64) -> Result<Vec<(u64, &[u8])>, TooOld> {
        if read_timestamp < self.collected_up_to {
            return Err(TooOld);
        }
        let Range { first, last, limit, is_reverse } = *range;
        if first.number > last {
            return Ok(Vec::new());
        }
        let mut rows = self.rows.range(first..=RowKey { number: last, ..first });
        let mut found = Vec::new();
        while found.len() < limit as usize {
            let next = if is_reverse { rows.next_back() } else { rows.next() };
            let Some((key, row)) = next else { break };
            if let Some(content) = row.visible(read_timestamp)? {
                found.push((key.number, content));
            }
        }
        Ok(found)
    }

    /// First phase: locks the write set of a transaction. Returns whether it may commit; if not,
    /// nothing is locked. First committer wins: a transaction that writes a row must have seen its
    /// newest version.
    pub fn prepare(&mut self, transaction: u64, read_timestamp: u64, writes: Vec<Write>) -> bool {
        let may_write = |(key, _): &Write| {
            self.rows.get(key).map_or(read_timestamp >= self.collected_up_to, |row| {
                row.locked_by.is_none() && row.newest() <= read_timestamp
            })
        };
        if !writes.iter().all(may_write) {
            return false;
        }
        for (key, _) in &writes {
            self.rows.entry(*key).or_default().locked_by = Some(transaction);
        }
        let earlier = self.prepared.insert(transaction, writes);
        assert!(earlier.is_none(), "a transaction prepares once at each owner");
        true
    }

    /// Second phase: the writes of a transaction become versions with its commit timestamp.
    pub fn commit(&mut self, transaction: u64, timestamp: u64) {
        for (key, content) in self.prepared.remove(&transaction).into_iter().flatten() {
            let row = self.rows.get_mut(&key).expect("what is prepared stays");
            assert_eq!(row.locked_by, Some(transaction));
            row.locked_by = None;
            if content.is_none() {
                self.deleted.push_back((timestamp, key));
            }
            row.install(timestamp, content);
        }
        self.collect();
    }

    /// Second phase, if another owner has refused.
    pub fn abort(&mut self, transaction: u64) {
        for (key, _) in self.prepared.remove(&transaction).into_iter().flatten() {
            let row = self.rows.get_mut(&key).expect("what is prepared stays");
            row.locked_by = None;
            if row.versions.is_empty() {
                self.rows.remove(&key);
            }
        }
    }

    /// Discards the rows that were deleted longest ago, if there are too many.
    fn collect(&mut self) {
        while self.deleted.len() > DELETED_MAX {
            let Some((timestamp, key)) = self.deleted.pop_front() else { return };
            let is_gone = |row: &VersionedRow| row.newest() == timestamp && row.locked_by.is_none();
            if self.rows.get(&key).is_some_and(is_gone) {
                self.rows.remove(&key);
                self.collected_up_to = self.collected_up_to.max(timestamp);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: RowKey = RowKey::new(0, 1, 7);

    fn write(content: u8) -> Vec<Write> {
        vec![(KEY, Some(vec![content]))]
    }

    #[test]
    fn a_snapshot_has_what_was_committed_up_to_it() {
        let mut partition = Partition::default();
        partition.load(KEY, vec![1]);
        assert!(partition.prepare(10, 4, write(2)));
        assert_eq!(partition.read(KEY, 9), Ok(Some(&[1][..])), "a lock hides nothing");
        partition.commit(10, 5);
        assert_eq!(partition.read(KEY, 4), Ok(Some(&[1][..])));
        assert_eq!(partition.read(KEY, 5), Ok(Some(&[2][..])));
    }

    #[test]
    fn the_first_committer_wins() {
        let mut partition = Partition::default();
        partition.load(KEY, vec![1]);
        assert!(partition.prepare(10, 0, write(2)));
        assert!(!partition.prepare(11, 0, write(3)), "it is locked");
        partition.commit(10, 1);
        assert!(!partition.prepare(11, 0, write(3)), "its snapshot does not have the newest");
        assert!(partition.prepare(11, 1, write(3)));
        partition.abort(11);
        assert!(partition.prepare(12, 1, write(4)), "who aborts holds nothing");
    }

    #[test]
    fn inserts_of_one_key_exclude_each_other_and_leave_nothing_behind() {
        let mut partition = Partition::default();
        assert!(partition.prepare(10, 0, write(2)));
        assert!(!partition.prepare(11, 0, write(3)));
        partition.abort(10);
        assert_eq!(partition.row_count(), 0);
    }

    #[test]
    fn versions_that_were_given_up_are_missed_and_not_replaced_by_others() {
        let mut partition = Partition::default();
        partition.load(KEY, vec![0]);
        for timestamp in 1..=VERSIONS_MAX as u64 {
            assert!(partition.prepare(timestamp, timestamp - 1, write(timestamp as u8)));
            partition.commit(timestamp, timestamp);
        }
        assert_eq!(partition.read(KEY, 0), Err(TooOld));
        assert_eq!(partition.read(KEY, 1), Ok(Some(&[1][..])));
    }

    #[test]
    fn deleted_rows_stay_for_older_snapshots_until_there_are_too_many() {
        let mut partition = Partition::default();
        let row = |number| RowKey { number, ..KEY };
        let all = |limit, is_reverse| Range { first: row(0), last: u64::MAX, limit, is_reverse };
        let count = DELETED_MAX as u64 + 1;
        (0..=count).for_each(|number| partition.load(row(number), vec![1]));
        for number in 0..count {
            assert!(partition.prepare(number, number, vec![(row(number), None)]));
            partition.commit(number, number + 1);
            if number == 3 {
                let first = |at| partition.range(&all(1, false), at).expect("all is there")[0].0;
                assert_eq!([first(0), first(2), first(4)], [0, 2, 4]);
            }
        }
        assert_eq!(partition.range(&all(1, false), 0), Err(TooOld));
        assert_eq!(partition.read(row(0), 0), Err(TooOld));
        let left = partition.range(&all(9, true), count).expect("it is the newest snapshot");
        assert_eq!(left, [(count, &[1][..])]);
    }
}
