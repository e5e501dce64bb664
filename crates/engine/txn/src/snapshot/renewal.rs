//! A running transaction takes a newer snapshot: each statement at READ COMMITTED has its own.
//!
//! Its writes stay. A written row keeps the version that its write is based on, which the commit
//! compares as ever, and later statements see the transaction's own row.
//! Everything else that it has read is forgotten: a row that it has not written is read again, and
//! so is a leaf.
//!
//! Reads of earlier statements are not validated. Where the commit must know that something still
//! holds, the reads are *guarded*: they are validated like those of a serializable transaction,
//! whatever snapshots follow. A row that a foreign key references is guarded by its key alone: it
//! must exist at the commit, in any version.
//!
//! Decision: docs/decisions/0360-a-transaction-takes-newer-snapshots-and-keeps-its-writes.md

use crate::abort::{Abort, TxnError};
use crate::catalog::TableId;
use crate::commit::witness::{KeyWitness, LeafWitness};
use crate::lane::LaneInner;
use crate::read::access::{Absence, Access, AccessId, KeyPlace, RowId, State};
use crate::read::same_words;
use crate::transaction::Transaction;
use crate::write::{BucketSeen, LeafSeen};
use fabric::{Env, Span};
use layout::row::{HEADER, KEY};
use layout::{GlobalPtr, Key, VersionWord, leaf};

impl<E: Env> Transaction<'_, E> {
    /// Whether a row has changed since the snapshot, so that a commit which writes it would fail.
    /// Changes since the row was read do not count.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction.
    #[inline]
    pub fn is_outdated(&self, row: RowId) -> bool {
        let running = &self.lane_ref().txn;
        running.accesses[running.access(row)].is_old
    }

    /// Whether a key has changed since the transaction looked it up, or looks it up now: it belongs
    /// to a row that came later, or to one that has a newer version or has gone. The commit of an
    /// insert there would fail. Inserts of other keys into the same bucket or leaf count, too.
    ///
    /// # Errors
    ///
    /// Those of [`Transaction::read`].
    pub async fn is_key_outdated(&mut self, table: TableId, key: &Key) -> Result<bool, TxnError> {
        if let Some(row) = self.read(table, key).await? {
            return self.has_changed(row).await;
        }
        let lane = self.lane();
        let part = lane.open.part_of(table, key.words());
        match lane.txn.known_access(part, key.words()) {
            Ok(access) => {
                let row = lane.txn.row_id(access);
                (lane.operations.has_gap_changed)(lane, row).await
            }
            Err(_) => Ok(false),
        }
    }

    /// Says whether the next statement takes a newer snapshot ([`Transaction::renew_snapshot`]).
    /// Then the transaction needs no old versions while it is parked: it keeps only its tables.
    pub fn will_renew_snapshot(&mut self, will: bool) {
        self.lane().txn.will_renew = will;
    }

    /// Begins or ends guarded reads, and returns whether reads were guarded before. The commit
    /// validates them, if it writes. Everything is guarded in a serializable transaction.
    pub fn guard_reads(&mut self, guards: bool) -> bool {
        let LaneInner { txn, witnesses, .. } = self.lane();
        let before = txn.serializable;
        if guards && !before {
            witnesses.make_distinct();
        }
        txn.guards = guards && (txn.guards || !before);
        txn.serializable = guards;
        before
    }

    /// Guards a row that was read: the commit fails if it has changed by then.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction.
    pub fn guard_row(&mut self, row: RowId) {
        let lane = self.lane();
        let access = lane.txn.access(row);
        // The commit compares written rows in any case, and those of a serializable transaction
        // have a witness.
        if lane.txn.accesses[access].state == State::Read && !lane.txn.serializable {
            lane.witnesses.make_distinct();
            lane.witness_known(access);
        }
    }

    /// Guards the key of a row that was read: the commit fails if the row no longer exists by then.
    /// Other columns may change. Does nothing in a serializable transaction.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction.
    pub fn guard_key(&mut self, row: RowId) {
        let lane = self.lane();
        let access = lane.txn.accesses[lane.txn.access(row)];
        if access.row.is_null() || lane.txn.serializable {
            return;
        }
        let words = lane.open.info(access.table).row.key_words;
        let key = lane.txn.batch.words(Span { at: access.key_at, words });
        let key = Key::from_words(key);
        lane.witnesses.make_distinct();
        lane.witnesses.add_key(KeyWitness { row: access.row, key });
    }
}

impl<E: Env> LaneInner<E> {
    /// Adds the witness of a row or gap that was read without one.
    #[cold]
    pub(crate) fn witness_known(&mut self, access: AccessId) {
        let Access { state, absence, is_old, row, version, place, .. } = self.txn.accesses[access];
        // The successor of an old version is there already, so that nothing proves it current.
        let current = if is_old { VersionWord::NONE.locked() } else { version };
        match (state, absence) {
            (State::Read, _) | (State::Absent, Absence::Tombstone) => {
                self.witnesses.add_word(row, current.word());
            }
            (State::Absent, Absence::Later) => {
                self.witnesses.add_word(row, VersionWord::NONE.locked().word());
            }
            (State::Absent, Absence::NoEntry) => match place {
                KeyPlace::BucketSeen(seen) => {
                    let BucketSeen { bucket, insert, .. } = self.txn.buckets_seen[seen];
                    self.witnesses.add_word(bucket, insert);
                }
                KeyPlace::LeafSeen(seen) => {
                    let LeafSeen { leaf, insert, .. } = self.txn.leaves_seen[seen];
                    let version = self.txn.leaf_version(seen);
                    let insert = insert.word();
                    self.witnesses.add_leaf(LeafWitness { leaf, insert, version });
                }
                KeyPlace::Unsettled | KeyPlace::BucketInsert(_) | KeyPlace::Slot(_) => {}
            },
            // The commit compares written rows. Absences that prove nothing are looked up again.
            _ => {}
        }
    }

    /// See [`Transaction::exists_now`].
    pub(crate) async fn exists_now(&mut self, row: RowId) -> Result<bool, TxnError> {
        let access = self.txn.accesses[self.txn.access(row)];
        if access.row.is_null() {
            // It is the transaction's own, or absent.
            return Ok(access.is_written());
        }
        self.begin_statement()?;
        let read = self.has_key_now(access).await;
        self.end_statement(read)
    }

    /// See [`Transaction::has_changed`].
    pub(crate) async fn has_changed(&mut self, row: RowId) -> Result<bool, TxnError> {
        let access = self.txn.accesses[self.txn.access(row)];
        if access.is_old || access.row.is_null() {
            return Ok(access.is_old);
        }
        self.begin_statement()?;
        let read = self.header_now(access).await;
        let header = self.end_statement(read)?;
        Ok(header != access.version)
    }

    /// Whether others have inserted into the bucket or leaf that has proved a key absent, or have
    /// given the key to a row.
    pub(crate) async fn has_gap_changed(&mut self, row: RowId) -> Result<bool, TxnError> {
        let access = self.txn.accesses[self.txn.access(row)];
        let (word, seen) = match (access.absence, access.place) {
            (Absence::Later, _) => return Ok(true),
            (Absence::Tombstone, _) => {
                (access.row.add_words(u64::from(HEADER)), access.version.word())
            }
            (Absence::NoEntry, KeyPlace::BucketSeen(seen)) => {
                let BucketSeen { bucket, insert, .. } = self.txn.buckets_seen[seen];
                (bucket, insert)
            }
            (Absence::NoEntry, KeyPlace::LeafSeen(seen)) => {
                let LeafSeen { leaf, insert, .. } = self.txn.leaves_seen[seen];
                (leaf.add_words(u64::from(leaf::INSERT)), insert.word())
            }
            _ => return Ok(false),
        };
        self.begin_statement()?;
        let read = self.word_now(word).await;
        Ok(self.end_statement(read)? != seen)
    }

    async fn header_now(&mut self, access: Access) -> Result<VersionWord, TxnError> {
        let header = self.word_now(access.row.add_words(u64::from(HEADER))).await?;
        Ok(VersionWord::from_word(header))
    }

    async fn word_now(&mut self, word: GlobalPtr) -> Result<u64, TxnError> {
        self.txn.batch.clear_verbs();
        let found = self.txn.batch.read(word, 1);
        self.execute().await?;
        let value = self.txn.batch.word(found.at);
        self.txn.batch.clear_verbs();
        self.txn.batch.truncate(found.at);
        Ok(value)
    }

    async fn has_key_now(&mut self, access: Access) -> Result<bool, TxnError> {
        let key_words = self.open.info(access.table).row.key_words;
        self.txn.batch.clear_verbs();
        let found = self.txn.batch.read(access.row, KEY + key_words);
        self.execute().await?;
        let batch = &*self.txn.batch;
        let header = VersionWord::from_word(batch.word(found.at + HEADER));
        let own = Span { at: access.key_at, words: key_words };
        let has_key = same_words(
            batch.words(Span { at: found.at + KEY, words: key_words }),
            batch.words(own),
        );
        let is_gone = !header.is_locked() && (header.is_none() || header.is_deleted());
        self.txn.batch.clear_verbs();
        self.txn.batch.truncate(found.at);
        Ok(has_key && !is_gone)
    }

    /// See [`Transaction::renew_snapshot`].
    pub(crate) async fn renew_snapshot(&mut self) -> Result<(), Abort> {
        self.begin_statement()?;
        let renewed = self.renew().await.map_err(TxnError::from);
        let ended = self.end_statement(renewed);
        ended.map_err(|error| error.abort().unwrap_or(Abort::SnapshotUnavailable))
    }

    async fn renew(&mut self) -> Result<(), Abort> {
        debug_assert!(!self.txn.serializable, "a serializable transaction has one snapshot");
        // A promotion of the oracle must know everybody's announcement.
        let _holder = self.shared.begin_work(&self.env).map_err(|_| Abort::Unreachable)?;
        let Self { open, txn, writes, .. } = self;
        let key_words = |table| open.info(table).row.key_words;
        match writes.is_empty() {
            true => txn.forget_rows(),
            false => txn.forget_reads(&writes.rows, writes.leaves_needed, key_words),
        }
        self.txn.renews = true;
        let arena = self.txn.batch.arena_words() as u32;
        self.identity.is_announced = true;
        // The transaction keeps its catalog, which its rows are of. So it does not acknowledge a
        // newer one, and those who change the catalog wait for it.
        self.collect_vector().await?;
        self.txn.batch.clear_verbs();
        self.txn.batch.truncate(arena);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::local::{OpenConfig, open};
    use crate::{Isolation, Outcome, TableSpec};
    use fabric::run_now;
    use layout::{Column, ColumnType, KeyBuilder, PhysicalDesign, Schema, Storage};

    /// Each statement reads some rows again. The transaction holds only what it has changed.
    #[test]
    fn a_long_transaction_does_not_hold_what_it_has_read() {
        for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
            let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
            let database = open(&config).expect("memory");
            let columns = vec![Column::new("id", ColumnType::Int8)];
            let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
            let design = PhysicalDesign { storage, ..PhysicalDesign::default() };
            let spec = TableSpec { schema, design, indexes: Vec::new() };
            let table = run_now(database.create_table(spec)).expect("created");
            let mut lane = run_now(database.lane()).expect("a lane");
            let key = |id| KeyBuilder::new().int8(id).key();
            let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            (0..20).for_each(|id| _ = run_now(txn.insert(table, &key(id))).expect("it is new"));
            assert_eq!(run_now(txn.commit()), Outcome::Committed);
            let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            let mut last = 20;
            let mut words = 0;
            for number in 0..3_000 {
                run_now(txn.renew_snapshot()).expect("the oracle is there");
                if number % 10 == 0 {
                    let _ = txn.savepoint();
                    run_now(txn.insert(table, &key(last))).expect("it is new");
                    last += 1;
                }
                for id in 0..10 {
                    let found = run_now(txn.read(table, &key(id))).expect("readable");
                    txn.guard_key(found.expect("it exists"));
                    assert!(run_now(txn.read(table, &key(-1 - id))).expect("readable").is_none());
                }
                let running = &txn.lane_ref().txn;
                assert!(running.accesses.len() < last as usize + 20, "{storage:?} {number}");
                assert!(running.leaves_seen.len() < last as usize + 40, "{storage:?} {number}");
                assert!(txn.lane_ref().witnesses.count() == 10);
                if number % 10 > 1 {
                    let now = running.batch.arena_words();
                    assert!(number % 10 == 2 || now == words, "{storage:?} {number}");
                    words = now;
                }
            }
            for id in 0..last {
                assert!(run_now(txn.read(table, &key(id))).expect("readable").is_some());
            }
            assert_eq!(run_now(txn.commit()), Outcome::Committed, "{storage:?}");
        }
    }
}
