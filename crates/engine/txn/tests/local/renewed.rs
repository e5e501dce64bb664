//! Transactions that take a newer snapshot for each statement, as at READ COMMITTED.

use fabric::{LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Schema, Storage,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use txn::local::{OpenConfig, open};
use txn::{
    Abort, Database, IndexId, Isolation, Lane, Outcome, OwnedTransaction, Savepoint, Scan,
    ScanSource, TableId, TableSpec, Transaction,
};

const VALUE: usize = 1;
const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];
const KEYS: i64 = 12;
const VALUES: i64 = 4;

type Rows = BTreeMap<i64, i64>;

fn database() -> Database<LocalEnv> {
    let config = OpenConfig { servers: 2, server_bytes: 64 << 20, ..OpenConfig::default() };
    open(&config).expect("memory")
}

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

fn lane(database: &Database<LocalEnv>) -> Lane<LocalEnv> {
    run_now(database.lane()).expect("a lane is free")
}

/// A table with an index of its values.
fn create(database: &Database<LocalEnv>, name: &str, storage: Storage) -> (TableId, IndexId) {
    let columns = ["id", "value"].map(|name| Column::new(name, ColumnType::Int8)).to_vec();
    let schema = Schema::new(name, columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { storage, size_hint: 64, ..PhysicalDesign::default() };
    let kind = if storage == Storage::Tree { IndexKind::Tree } else { IndexKind::Hash };
    let index = IndexDesign {
        name: "by_value".to_owned(),
        columns: vec![VALUE],
        kind,
        size_hint: 64,
        ..IndexDesign::default()
    };
    let spec = TableSpec { schema, design, indexes: vec![index] };
    let table = run_now(database.create_table(spec)).expect("created");
    (table, database.index(name, "by_value").expect("it was created"))
}

fn put(
    txn: &mut Transaction<'_, LocalEnv>,
    table: TableId,
    id: i64,
    value: i64,
) -> Result<(), Abort> {
    let found =
        run_now(txn.read(table, &key(id))).map_err(|error| error.abort().expect("an abort"))?;
    let row = match found {
        Some(row) => row,
        None => run_now(txn.insert(table, &key(id)))
            .map_err(|error| error.abort().expect("the key is absent"))?,
    };
    txn.update(row).set_int(VALUE, value);
    Ok(())
}

fn scan_of(table: TableId) -> Scan {
    let source = ScanSource::Table(table);
    Scan { source, low: key(0), high: key(KEYS), reverse: false, limit: usize::MAX }
}

fn value(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) -> Option<i64> {
    let found = run_now(txn.read(table, &key(id))).expect("readable");
    found.map(|row| txn.row(row).int(VALUE))
}

fn renew(txn: &mut Transaction<'_, LocalEnv>) {
    run_now(txn.renew_snapshot()).expect("the oracle is there");
}

fn begin(lane: &mut Lane<LocalEnv>) -> Transaction<'_, LocalEnv> {
    run_now(lane.begin(Isolation::Snapshot)).expect("begins")
}

fn commit_one(lane: &mut Lane<LocalEnv>, table: TableId, id: i64, value: i64) {
    let mut txn = begin(lane);
    put(&mut txn, table, id, value).expect("nobody else writes");
    assert_eq!(run_now(txn.commit_and_rest()), Outcome::Committed);
}

fn delete_one(lane: &mut Lane<LocalEnv>, table: TableId, id: i64) {
    let mut txn = begin(lane);
    let row = run_now(txn.read(table, &key(id))).expect("readable");
    txn.delete(row.expect("it exists"));
    assert_eq!(run_now(txn.commit_and_rest()), Outcome::Committed);
}

#[test]
fn a_statement_sees_what_others_have_committed_since_the_last_one() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, "t", storage);
        let (mut one, mut other) = (lane(&database), lane(&database));
        commit_one(&mut other, table, 1, 10);
        let mut txn = begin(&mut one);
        assert_eq!(value(&mut txn, table, 1), Some(10));
        commit_one(&mut other, table, 1, 11);
        commit_one(&mut other, table, 2, 20);
        assert_eq!((value(&mut txn, table, 1), value(&mut txn, table, 2)), (Some(10), None));
        renew(&mut txn);
        assert_eq!((value(&mut txn, table, 1), value(&mut txn, table, 2)), (Some(11), Some(20)));
        // A write on the newest version, and one more by others elsewhere.
        put(&mut txn, table, 1, 12).expect("it is current");
        commit_one(&mut other, table, 2, 21);
        renew(&mut txn);
        assert_eq!((value(&mut txn, table, 1), value(&mut txn, table, 2)), (Some(12), Some(21)));
        assert_eq!(run_now(txn.commit()), Outcome::Committed, "{storage:?}");
        let mut txn = begin(&mut one);
        assert_eq!((value(&mut txn, table, 1), value(&mut txn, table, 2)), (Some(12), Some(21)));
    }
}

#[test]
fn a_written_row_keeps_the_version_that_it_is_based_on() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, "t", storage);
        let (mut one, mut other) = (lane(&database), lane(&database));
        commit_one(&mut other, table, 1, 10);
        let mut txn = begin(&mut one);
        put(&mut txn, table, 1, 12).expect("it is current");
        commit_one(&mut other, table, 1, 11);
        renew(&mut txn);
        assert_eq!(value(&mut txn, table, 1), Some(12), "its own");
        assert!(matches!(run_now(txn.commit()), Outcome::Aborted(_)), "{storage:?}");
    }
}

#[test]
fn a_row_that_is_outdated_says_so() {
    let database = database();
    let (table, _) = create(&database, "t", Storage::HashInlined);
    let (mut one, mut other) = (lane(&database), lane(&database));
    commit_one(&mut other, table, 1, 10);
    let mut txn = begin(&mut one);
    commit_one(&mut other, table, 1, 11);
    let row = run_now(txn.read(table, &key(1))).expect("readable").expect("it exists");
    assert!(txn.is_outdated(row) && txn.row(row).int(VALUE) == 10);
    renew(&mut txn);
    let row = run_now(txn.read(table, &key(1))).expect("readable").expect("it exists");
    assert!(!txn.is_outdated(row) && txn.row(row).int(VALUE) == 11);
}

#[test]
fn thousands_of_statements_of_one_transaction_stay_quick_and_right() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, "t", storage);
        let (mut one, mut other) = (lane(&database), lane(&database));
        commit_one(&mut other, table, 0, 0);
        let mut txn = begin(&mut one);
        for number in 1..6_000 {
            renew(&mut txn);
            assert_eq!(value(&mut txn, table, 0), Some(0));
            if number % 10 == 0 {
                put(&mut txn, table, number, number).expect("nobody else inserts");
                assert_eq!(
                    value(&mut txn, table, number / 20 * 10 + 10),
                    Some(number / 20 * 10 + 10)
                );
            }
        }
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
    }
}

#[test]
fn a_parked_one_keeps_no_old_versions() {
    let database = database();
    let (table, _) = create(&database, "t", Storage::HashInlined);
    let (mut one, mut other) = (lane(&database), lane(&database));
    commit_one(&mut other, table, 1, 0);
    let moved = |renews: bool, one: &mut Lane<LocalEnv>, other: &mut Lane<LocalEnv>| {
        // The first parked transaction of a database may be older than the keeper of pins.
        let parked = (0..2).find_map(|_| {
            let mut txn = begin(one);
            put(&mut txn, table, 2, 5).expect("nobody else writes");
            if renews {
                txn.will_renew_snapshot(true);
            }
            run_now(txn.park()).ok()
        });
        let Some(parked) = parked else { panic!("a slot is free for the keeper") };
        let before = other.statistics().expect("it is here").versions_moved;
        for number in 1..200 {
            commit_one(other, table, 1, number);
        }
        let moved = other.statistics().expect("it is here").versions_moved - before;
        let Ok(mut txn) = run_now(one.resume(parked)) else { panic!("it resumes") };
        if renews {
            renew(&mut txn);
            assert_eq!(value(&mut txn, table, 1), Some(199));
        }
        assert_eq!(run_now(txn.commit_and_rest()), Outcome::Committed);
        moved
    };
    assert!(moved(false, &mut one, &mut other) > 100, "a snapshot pins the old versions");
    assert!(moved(true, &mut one, &mut other) < 20, "one that is renewed does not");
}

/// A child's insert guards its parent, and a parent's deletion guards the absence of children.
#[test]
fn guarded_reads_hold_until_the_commit_whatever_snapshots_follow() {
    for storage in STORAGES {
        for inserts_first in [false, true] {
            let database = database();
            let (parents, _) = create(&database, "parent", storage);
            let (children, by_parent) = create(&database, "child", storage);
            let (mut one, mut other) = (lane(&database), lane(&database));
            commit_one(&mut one, parents, 1, 0);
            let mut of_child = begin(&mut one);
            // The parent is known from a read that is not guarded.
            assert_eq!(value(&mut of_child, parents, 1), Some(0));
            put(&mut of_child, children, 7, 1).expect("nobody else inserts");
            assert!(!of_child.guard_reads(true));
            assert_eq!(value(&mut of_child, parents, 1), Some(0));
            of_child.guard_reads(false);
            renew(&mut of_child);
            let mut of_parent = begin(&mut other);
            let row = run_now(of_parent.read(parents, &key(1))).expect("readable");
            of_parent.delete(row.expect("it exists"));
            of_parent.guard_reads(true);
            let mut found = Vec::new();
            run_now(of_parent.lookup(by_parent, &key(1), &mut found)).expect("readable");
            of_parent.guard_reads(false);
            assert!(found.is_empty());
            renew(&mut of_parent);
            let (first, second) = match inserts_first {
                true => (run_now(of_child.commit()), run_now(of_parent.commit())),
                false => (run_now(of_parent.commit()), run_now(of_child.commit())),
            };
            assert_eq!(first, Outcome::Committed, "{storage:?}");
            assert_eq!(second, Outcome::Aborted(Abort::ReadValidation), "{storage:?}");
        }
    }
}

#[test]
fn a_guarded_row_does_not_change_before_the_commit() {
    let database = database();
    let (table, _) = create(&database, "t", Storage::HashOutside);
    let (mut one, mut other) = (lane(&database), lane(&database));
    for id in [1, 2] {
        commit_one(&mut other, table, id, 10);
    }
    for is_changed in [false, true] {
        let mut txn = begin(&mut one);
        let row = run_now(txn.read(table, &key(1))).expect("readable").expect("it exists");
        txn.guard_row(row);
        assert_eq!(txn.key_words(row), key(1).words());
        renew(&mut txn);
        put(&mut txn, table, 2, 20).expect("it is current");
        if is_changed {
            commit_one(&mut other, table, 1, 11);
        }
        let expected = match is_changed {
            true => Outcome::Aborted(Abort::ReadValidation),
            false => Outcome::Committed,
        };
        assert_eq!(run_now(txn.commit()), expected);
    }
}

/// A row that was read before guarded reads is the same row behind them, also if they found it.
#[test]
fn guarded_reads_leave_the_ids_of_rows() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, "t", storage);
        let (mut one, mut other) = (lane(&database), lane(&database));
        commit_one(&mut other, table, 1, 10);
        let mut txn = begin(&mut one);
        let ahead = run_now(txn.read(table, &key(1))).expect("readable").expect("it exists");
        txn.guard_reads(true);
        assert_eq!(value(&mut txn, table, 1), Some(10));
        txn.guard_reads(false);
        put(&mut txn, table, 1, 11).expect("it is current");
        assert_eq!(txn.row(ahead).int(VALUE), 11);
        txn.update(ahead).set_int(VALUE, 12);
        assert_eq!(value(&mut txn, table, 1), Some(12));
        assert_eq!(run_now(txn.commit()), Outcome::Committed, "{storage:?}");
    }
}

/// Rows and gaps that the transaction knows are guarded as those that it reads.
#[test]
fn known_rows_and_gaps_are_guarded() {
    for storage in STORAGES {
        for (id, is_guarded) in [(1, false), (1, true), (3, true)] {
            let database = database();
            let (table, _) = create(&database, "t", storage);
            let (mut one, mut other) = (lane(&database), lane(&database));
            commit_one(&mut other, table, 1, 10);
            commit_one(&mut other, table, 2, 10);
            let mut txn = begin(&mut one);
            let before = value(&mut txn, table, id);
            txn.guard_reads(is_guarded);
            assert_eq!(value(&mut txn, table, id), before);
            txn.guard_reads(false);
            renew(&mut txn);
            put(&mut txn, table, 2, 20).expect("it is current");
            commit_one(&mut other, table, id, 11);
            let expected = match is_guarded {
                true => Outcome::Aborted(Abort::ReadValidation),
                false => Outcome::Committed,
            };
            assert_eq!(run_now(txn.commit()), expected, "{storage:?} {id}");
        }
    }
}

#[test]
fn a_rollback_ends_the_guards_since_its_savepoint() {
    for storage in STORAGES {
        for is_guarded_before in [false, true] {
            let database = database();
            let (table, _) = create(&database, "t", storage);
            let (mut one, mut other) = (lane(&database), lane(&database));
            (1..4).for_each(|id| commit_one(&mut other, table, id, 10));
            let mut txn = begin(&mut one);
            let guard = |txn: &mut Transaction<'_, LocalEnv>| {
                txn.guard_reads(true);
                let seen = [1, 7].map(|id| value(txn, table, id));
                txn.guard_reads(false);
                assert_eq!(seen, [Some(10), None]);
            };
            if is_guarded_before {
                guard(&mut txn);
            }
            let savepoint = txn.savepoint();
            put(&mut txn, table, 2, 20).expect("it is current");
            guard(&mut txn);
            let row = run_now(txn.read(table, &key(3))).expect("readable").expect("it exists");
            txn.guard_key(row);
            txn.roll_back_to(&savepoint).expect("it has not ended");
            [1, 7].into_iter().for_each(|id| commit_one(&mut other, table, id, 11));
            delete_one(&mut other, table, 3);
            renew(&mut txn);
            put(&mut txn, table, 2, 21).expect("it is current");
            let expected = match is_guarded_before {
                true => Outcome::Aborted(Abort::ReadValidation),
                false => Outcome::Committed,
            };
            assert_eq!(run_now(txn.commit()), expected, "{storage:?}");
        }
    }
}

#[test]
fn a_row_that_has_changed_since_it_was_read_says_so() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, "t", storage);
        let (mut one, mut other) = (lane(&database), lane(&database));
        commit_one(&mut other, table, 1, 10);
        let mut txn = begin(&mut one);
        let row = run_now(txn.read(table, &key(1))).expect("readable").expect("it exists");
        for is_written in [false, true] {
            if is_written {
                txn.update(row).set_int(VALUE, 11);
            }
            assert!(!run_now(txn.has_changed(row)).expect("readable"), "{storage:?}");
        }
        commit_one(&mut other, table, 1, 12);
        assert!(!txn.is_outdated(row) && run_now(txn.has_changed(row)).expect("readable"));
        let new = run_now(txn.insert(table, &key(2))).expect("it is new");
        assert!(!run_now(txn.has_changed(new)).expect("readable"));
    }
}

/// A guarded key stays, and other columns may change before and after the read.
#[test]
fn a_guarded_key_exists_at_the_commit() {
    for storage in STORAGES {
        for (changes_before, deletes) in [(false, false), (false, true), (true, false)] {
            let database = database();
            let (table, _) = create(&database, "t", storage);
            let (mut one, mut other) = (lane(&database), lane(&database));
            (1..3).for_each(|id| commit_one(&mut other, table, id, 10));
            let mut txn = begin(&mut one);
            if changes_before {
                commit_one(&mut other, table, 1, 11);
            }
            let row = run_now(txn.read(table, &key(1))).expect("readable").expect("it exists");
            assert!(run_now(txn.exists_now(row)).expect("readable"));
            txn.guard_key(row);
            assert!(!run_now(txn.is_key_outdated(table, &key(2))).expect("readable"));
            commit_one(&mut other, table, 1, 12);
            if deletes {
                delete_one(&mut other, table, 1);
            }
            assert_eq!(run_now(txn.exists_now(row)).expect("readable"), !deletes);
            put(&mut txn, table, 2, 20).expect("it is current");
            let expected = match deletes {
                true => Outcome::Aborted(Abort::ReadValidation),
                false => Outcome::Committed,
            };
            assert_eq!(run_now(txn.commit()), expected, "{storage:?}");
        }
    }
}

#[test]
fn a_key_that_others_have_taken_since_the_snapshot_is_outdated() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, "t", storage);
        let (mut one, mut other) = (lane(&database), lane(&database));
        commit_one(&mut other, table, 1, 10);
        let mut txn = begin(&mut one);
        commit_one(&mut other, table, 1, 11);
        commit_one(&mut other, table, 2, 20);
        for (id, is_outdated) in [(1, true), (2, true), (3, false)] {
            let found = run_now(txn.is_key_outdated(table, &key(id))).expect("readable");
            assert_eq!(found, is_outdated, "{storage:?} {id}");
        }
        renew(&mut txn);
        for id in 1..4 {
            assert!(!run_now(txn.is_key_outdated(table, &key(id))).expect("readable"));
        }
    }
}

/// A change shows, whatever the transaction has read before it.
#[test]
fn a_key_that_was_looked_up_and_then_taken_is_outdated() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, "t", storage);
        let (mut one, mut other) = (lane(&database), lane(&database));
        (1..3).for_each(|id| commit_one(&mut other, table, id, 10));
        delete_one(&mut other, table, 2);
        let mut txn = begin(&mut one);
        for id in 1..4 {
            run_now(txn.read(table, &key(id))).expect("readable");
            assert!(!run_now(txn.is_key_outdated(table, &key(id))).expect("readable"));
        }
        (1..4).for_each(|id| commit_one(&mut other, table, id, 11));
        for id in 1..4 {
            let found = run_now(txn.is_key_outdated(table, &key(id))).expect("readable");
            assert!(found, "{storage:?} {id}");
        }
    }
}

/// It goes on in its snapshot when it has been parked, resumed, renewed and parked again.
#[test]
fn a_parked_one_that_is_not_renewed_keeps_its_newest_snapshot() {
    let database = database();
    let (table, _) = create(&database, "t", Storage::HashInlined);
    let (mut one, mut other) = (lane(&database), lane(&database));
    commit_one(&mut other, table, 1, 0);
    // The first parked transaction of a database may be older than the keeper of pins.
    let _ = run_now(begin(&mut one).park());
    let mut txn = begin(&mut one);
    put(&mut txn, table, 2, 5).expect("nobody else writes");
    txn.will_renew_snapshot(true);
    let parked = run_now(txn.park()).expect("it parks");
    (1..200).for_each(|number| commit_one(&mut other, table, 1, number));
    let Ok(mut txn) = run_now(one.resume(parked)) else { panic!("it resumes") };
    renew(&mut txn);
    txn.will_renew_snapshot(false);
    let parked = run_now(txn.park()).expect("it parks");
    (200..600).for_each(|number| commit_one(&mut other, table, 1, number));
    let Ok(mut txn) = run_now(one.resume(parked)) else { panic!("it resumes") };
    assert_eq!(value(&mut txn, table, 1), Some(199));
    assert_eq!(run_now(txn.commit_and_rest()), Outcome::Committed);
}

/// The lock of a row proves the version that the write is based on, and not an earlier one.
#[test]
fn a_guarded_row_that_is_written_on_a_later_version_does_not_hold() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, "t", storage);
        let (mut one, mut other) = (lane(&database), lane(&database));
        commit_one(&mut other, table, 1, 10);
        let mut txn = begin(&mut one);
        txn.guard_reads(true);
        assert_eq!(value(&mut txn, table, 1), Some(10));
        txn.guard_reads(false);
        commit_one(&mut other, table, 1, 11);
        renew(&mut txn);
        put(&mut txn, table, 1, 12).expect("it is current");
        assert_eq!(run_now(txn.commit()), Outcome::Aborted(Abort::ReadValidation), "{storage:?}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(i64, i64),
    Delete(i64),
    Read(i64),
    Lookup(i64),
    Scan,
    Savepoint,
    RollBack,
    Release,
    Compact,
    Commit,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..KEYS, 0..VALUES).prop_map(|(id, value)| Step::Put(id, value)),
        2 => (0..KEYS).prop_map(Step::Delete),
        3 => (0..KEYS).prop_map(Step::Read),
        2 => (0..VALUES).prop_map(Step::Lookup),
        2 => Just(Step::Scan),
        1 => Just(Step::Savepoint),
        1 => Just(Step::RollBack),
        1 => Just(Step::Release),
        2 => Just(Step::Compact),
        3 => Just(Step::Commit),
    ]
}

/// The rows of the model: their values, and the numbers of the commits that wrote them.
type Versions = BTreeMap<i64, (Option<i64>, u64)>;

/// A running transaction, with the rows that it has written: their values, and the numbers of the
/// commits on which the writes are based.
struct Player {
    txn: Option<OwnedTransaction<LocalEnv>>,
    written: Versions,
    savepoint: Option<(Savepoint, Versions)>,
}

struct Game {
    database: Database<LocalEnv>,
    table: TableId,
    index: IndexId,
    is_tree: bool,
    committed: Versions,
    commits: u64,
}

impl Game {
    fn seen(&self, player: &Player) -> Rows {
        let mut rows: BTreeMap<i64, Option<i64>> =
            self.committed.iter().map(|(&id, row)| (id, row.0)).collect();
        rows.extend(player.written.iter().map(|(&id, row)| (id, row.0)));
        rows.into_iter().filter_map(|(id, value)| Some((id, value?))).collect()
    }

    /// One statement, on a snapshot of its own. Returns whether the transaction goes on.
    fn play(&mut self, player: &mut Player, step: Step) -> bool {
        let mut owned = player.txn.take().unwrap_or_else(|| {
            let begun = run_now(lane(&self.database).begin_owned(Isolation::Snapshot));
            begun.unwrap_or_else(|(_, abort)| panic!("{abort}"))
        });
        if let Step::Commit = step {
            self.commit(player, owned);
            return false;
        }
        let mut txn = owned.statement();
        renew(&mut txn);
        let rows = self.seen(player);
        let base = |id| self.committed.get(&id).map_or(0, |row: &(Option<i64>, u64)| row.1);
        match step {
            Step::Put(id, value) => {
                if put(&mut txn, self.table, id, value).is_err() {
                    return false;
                }
                let base = player.written.get(&id).map_or_else(|| base(id), |row| row.1);
                player.written.insert(id, (Some(value), base));
            }
            Step::Delete(id) => {
                let found = run_now(txn.read(self.table, &key(id))).expect("readable");
                assert_eq!(found.is_some(), rows.contains_key(&id));
                if let Some(row) = found {
                    txn.delete(row);
                    let base = player.written.get(&id).map_or_else(|| base(id), |row| row.1);
                    player.written.insert(id, (None, base));
                }
            }
            Step::Read(id) => {
                assert_eq!(value(&mut txn, self.table, id), rows.get(&id).copied(), "row {id}");
            }
            Step::Lookup(number) => {
                let mut found = Vec::new();
                run_now(txn.lookup(self.index, &key(number), &mut found)).expect("readable");
                let found: BTreeSet<i64> = found.iter().map(|&row| txn.row(row).int(0)).collect();
                let expected = rows.iter().filter(|row| *row.1 == number).map(|(&id, _)| id);
                assert_eq!(found, expected.collect(), "value {number}");
            }
            Step::Scan if self.is_tree => {
                let mut found = Vec::new();
                let scan = scan_of(self.table);
                run_now(txn.scan(&scan, &mut found)).expect("readable");
                let row = |&row| (txn.row(row).int(0), txn.row(row).int(VALUE));
                assert_eq!(found.iter().map(row).collect::<Rows>(), rows);
            }
            Step::Savepoint => player.savepoint = Some((txn.savepoint(), player.written.clone())),
            Step::RollBack => {
                if let Some((savepoint, written)) = &player.savepoint {
                    txn.roll_back_to(savepoint).expect("it has not ended");
                    player.written.clone_from(written);
                }
            }
            Step::Release => {
                if let Some((savepoint, _)) = player.savepoint.take() {
                    txn.release(&savepoint);
                }
            }
            Step::Compact => assert!(txn.compact(0)),
            Step::Scan | Step::Commit => {}
        }
        player.txn = Some(owned);
        true
    }

    fn commit(&mut self, player: &Player, owned: OwnedTransaction<LocalEnv>) {
        let (_, outcome) = run_now(owned.commit_and_rest());
        let is_current = player
            .written
            .iter()
            .all(|(id, row)| self.committed.get(id).map_or(0, |committed| committed.1) == row.1);
        if outcome == Outcome::Committed {
            assert!(is_current, "others have changed a row since it was written");
            self.commits += 1;
            for (&id, row) in &player.written {
                self.committed.insert(id, (row.0, self.commits));
            }
        }
    }
}

fn statements_are_as_their_model(storage: Storage, steps: &[(usize, Step)]) {
    let database = database();
    let (table, index) = create(&database, "t", storage);
    let is_tree = storage == Storage::Tree;
    let mut game = Game { database, table, index, is_tree, committed: Versions::new(), commits: 0 };
    let player = || Player { txn: None, written: BTreeMap::new(), savepoint: None };
    let mut players = [player(), player(), player()];
    for &(who, step) in steps {
        if !game.play(&mut players[who], step) {
            players[who] = player();
        }
    }
    drop(players);
    let report = run_now(game.database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn each_statement_sees_the_newest_rows_and_its_own(
        storage in 0..STORAGES.len(),
        steps in vec((0..3_usize, step()), 0..80),
    ) {
        statements_are_as_their_model(STORAGES[storage], &steps);
    }
}
