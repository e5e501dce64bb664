//! Savepoints: what was changed since one of them is undone, and nothing else.

use fabric::{LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Schema, Storage,
    Value,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use txn::local::{OpenConfig, open};
use txn::{
    Abort, Database, IndexId, Isolation, Outcome, Savepoint, TableId, TableSpec, Transaction,
    TxnError,
};

const NUMBER: usize = 1;
const NOTE: usize = 2;

const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];
const KEYS: i32 = 24;
/// Values of the indexed column.
const NUMBERS: i64 = 6;

/// The rows of the table: number and note by key.
type Rows = BTreeMap<i32, (i64, String)>;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Inserts a row, or updates the one that is there.
    Put {
        id: i32,
        number: i64,
        note_bytes: usize,
    },
    Delete(i32),
    Read(i32),
    Lookup(i64),
    Savepoint,
    /// Rolls back to one of the savepoints.
    RollBack(usize),
    /// Releases one of the savepoints.
    Release(usize),
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let put = (0..KEYS, 0..NUMBERS, prop_oneof![Just(5), Just(900)]);
    prop_oneof![
        6 => put.prop_map(|(id, number, note_bytes)| Step::Put { id, number, note_bytes }),
        2 => (0..KEYS).prop_map(Step::Delete),
        1 => (0..KEYS).prop_map(Step::Read),
        1 => (0..NUMBERS).prop_map(Step::Lookup),
        2 => Just(Step::Savepoint),
        2 => (0_usize..4).prop_map(Step::RollBack),
        1 => (0_usize..4).prop_map(Step::Release),
        1 => Just(Step::Compact),
    ]
}

fn database() -> Database<LocalEnv> {
    let config = OpenConfig { servers: 2, server_bytes: 64 << 20, ..OpenConfig::default() };
    open(&config).expect("memory")
}

fn key(id: i32) -> Key {
    KeyBuilder::new().int4(id).key()
}

/// A table with a long column and an index.
fn create(database: &Database<LocalEnv>, storage: Storage) -> (TableId, IndexId) {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("number", ColumnType::Int8),
        Column::nullable("note", ColumnType::Varchar(4000)),
    ];
    let schema = Schema::new("noted", columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { storage, size_hint: 64, ..PhysicalDesign::default() };
    let kind = if storage == Storage::Tree { IndexKind::Tree } else { IndexKind::Hash };
    let index = IndexDesign {
        name: "by_number".to_owned(),
        columns: vec![NUMBER],
        kind,
        size_hint: 64,
        ..IndexDesign::default()
    };
    let spec = TableSpec { schema, design, indexes: vec![index] };
    let table = run_now(database.create_table(spec)).expect("created");
    (table, database.index("noted", "by_number").expect("it was created"))
}

fn note(id: i32, bytes: usize) -> String {
    let letter = char::from(b'a' + (id % 26) as u8);
    std::iter::repeat_n(letter, bytes).collect()
}

fn content(txn: &mut Transaction<'_, LocalEnv>, table: TableId) -> Rows {
    let found = (0..KEYS).filter_map(|id| {
        let row = run_now(txn.read(table, &key(id))).expect("readable")?;
        let mut note = Vec::new();
        run_now(txn.read_long(row, NOTE, &mut note)).expect("readable");
        let note = String::from_utf8(note).expect("it was text");
        Some((id, (txn.row(row).int(NUMBER), note)))
    });
    found.collect()
}

fn with_number(txn: &mut Transaction<'_, LocalEnv>, index: IndexId, number: i64) -> Vec<i32> {
    let mut rows = Vec::new();
    let key = KeyBuilder::new().int8(number).key();
    run_now(txn.lookup(index, &key, &mut rows)).expect("readable");
    let mut ids: Vec<_> = rows.iter().map(|&row| txn.row(row).int(0) as i32).collect();
    ids.sort_unstable();
    ids
}

fn put(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i32, number: i64, text: &str) {
    let found = run_now(txn.read(table, &key(id))).expect("readable");
    let row = found.unwrap_or_else(|| run_now(txn.insert(table, &key(id))).expect("is free"));
    let mut row = txn.update(row);
    row.set_int(NUMBER, number);
    row.set(NOTE, &Value::Text(text.to_owned())).expect("fits");
}

fn play(
    txn: &mut Transaction<'_, LocalEnv>,
    ids: (TableId, IndexId),
    rows: &mut Rows,
    at: &[Step],
) {
    let (table, index) = ids;
    let mut savepoints: Vec<(Savepoint, Rows)> = Vec::new();
    for &step in at {
        match step {
            Step::Put { id, number, note_bytes } => {
                let text = note(id + number as i32, note_bytes);
                put(txn, table, id, number, &text);
                rows.insert(id, (number, text));
            }
            Step::Delete(id) => {
                if let Some(row) = run_now(txn.read(table, &key(id))).expect("readable") {
                    txn.delete(row);
                }
                rows.remove(&id);
            }
            Step::Read(id) => {
                let found = run_now(txn.read(table, &key(id))).expect("readable");
                assert_eq!(found.is_some(), rows.contains_key(&id), "row {id}");
            }
            Step::Lookup(number) => {
                let expected = rows.iter().filter(|(_, row)| row.0 == number).map(|(&id, _)| id);
                let expected: Vec<i32> = expected.collect();
                assert_eq!(with_number(txn, index, number), expected, "number {number}");
            }
            Step::Savepoint => savepoints.push((txn.savepoint(), rows.clone())),
            Step::RollBack(back) => {
                if let Some(at) = savepoints.len().checked_sub(1 + back) {
                    savepoints.truncate(at + 1);
                    txn.roll_back_to(&savepoints[at].0).expect("it has not ended");
                    rows.clone_from(&savepoints[at].1);
                }
            }
            Step::Release(back) => {
                if let Some(at) = savepoints.len().checked_sub(1 + back) {
                    txn.release(&savepoints[at].0);
                    savepoints.truncate(at);
                }
            }
            Step::Compact => assert!(txn.compact(0)),
        }
    }
    assert_eq!(content(txn, table), *rows, "inside the transaction");
}

fn transactions_are_as_their_model(storage: Storage, transactions: &[(bool, Vec<Step>)]) {
    let database = database();
    let ids = create(&database, storage);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut rows = Rows::new();
    for (is_serializable, steps) in transactions {
        let isolation = match is_serializable {
            true => Isolation::Serializable,
            false => Isolation::Snapshot,
        };
        let before = rows.clone();
        // A conflict of the lane with its own last leaves ends with the second attempt.
        let outcomes = (0..2).map(|_| {
            rows.clone_from(&before);
            let mut txn = run_now(lane.begin(isolation)).expect("begins");
            play(&mut txn, ids, &mut rows, steps);
            run_now(txn.commit())
        });
        let has_committed = outcomes.into_iter().any(|outcome| outcome == Outcome::Committed);
        assert!(has_committed, "nobody else writes");
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        assert_eq!(content(&mut txn, ids.0), rows, "after the commit");
        for number in 0..NUMBERS {
            let expected = rows.iter().filter(|(_, row)| row.0 == number).map(|(&id, _)| id);
            let expected: Vec<i32> = expected.collect();
            assert_eq!(with_number(&mut txn, ids.1, number), expected, "number {number}");
        }
        run_now(txn.abort());
    }
    run_now(lane.rest()).expect("reachable");
    let report = run_now(database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn a_rollback_leaves_what_was_there_at_its_savepoint(
        storage in 0..STORAGES.len(),
        transactions in vec((any::<bool>(), vec(step(), 0..60)), 1..4),
    ) {
        transactions_are_as_their_model(STORAGES[storage], &transactions);
    }
}

#[test]
fn a_failed_statement_is_undone_and_a_conflict_is_not() {
    for storage in STORAGES {
        let database = database();
        let (table, _) = create(&database, storage);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        put(&mut txn, table, 1, 1, "first");
        let savepoint = txn.savepoint();
        let mut rows = Vec::new();
        let keys = [(table, key(2)), (table, key(1)), (table, key(3))];
        let failed = run_now(txn.insert_many(&keys, &mut rows));
        assert!(matches!(failed, Err(TxnError::DuplicateKey { .. })), "{failed:?}");
        txn.roll_back_to(&savepoint).expect("it has not ended");
        assert_eq!(content(&mut txn, table).into_keys().collect::<Vec<_>>(), [1]);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);

        // A row that another lane has inserted since the snapshot. In a tree, the commit finds it:
        // the transaction has read the leaf before.
        if storage == Storage::Tree {
            continue;
        }
        let mut rival = run_now(database.lane()).expect("a lane");
        let mut old = run_now(rival.begin(Isolation::Snapshot)).expect("begins");
        assert_eq!(content(&mut old, table).len(), 1);
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        put(&mut txn, table, KEYS + 1, 5, "later");
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        let savepoint = old.savepoint();
        let failed = run_now(old.insert(table, &key(KEYS + 1)));
        let expected = TxnError::Abort(Abort::InsertConflict);
        assert_eq!(failed.err().map(|error| error.to_string()), Some(expected.to_string()));
        assert_eq!(old.roll_back_to(&savepoint), Err(Abort::InsertConflict));
    }
}

#[test]
#[should_panic(expected = "a savepoint of this transaction")]
fn a_savepoint_of_an_earlier_transaction_is_refused() {
    let database = database();
    create(&database, Storage::Tree);
    let mut lane = run_now(database.lane()).expect("a lane");
    let savepoint = run_now(lane.begin(Isolation::Snapshot)).expect("begins").savepoint();
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let _ = txn.roll_back_to(&savepoint);
}

/// The memory of a transaction whose statements change the same rows again and again, each with a
/// savepoint, behind one that stays.
#[test]
fn a_long_transaction_does_not_hold_images_that_nobody_needs() {
    for storage in STORAGES {
        for has_savepoint in [false, true] {
            let database = database();
            let (table, index) = create(&database, storage);
            let mut lane = run_now(database.lane()).expect("a lane");
            let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            put(&mut txn, table, 0, 1, &note(0, 900));
            let first = has_savepoint.then(|| txn.savepoint());
            let mut compactions = 0;
            for number in 0..60_000 {
                let statement = txn.savepoint();
                put(&mut txn, table, number % 3, i64::from(number), &note(number, 3000));
                txn.release(&statement);
                compactions += u32::from(txn.compact(1 << 20));
            }
            // 60,000 values of 3,000 bytes are 180 MB; each compaction frees 1 MiB at least.
            assert!((10..180).contains(&compactions), "{storage:?}: {compactions} compactions");
            assert!(txn.memory_bytes() < 3 << 20, "{storage:?}: {} bytes", txn.memory_bytes());
            if let Some(first) = first {
                txn.roll_back_to(&first).expect("it has not ended");
                assert_eq!(content(&mut txn, table), Rows::from([(0, (1, note(0, 900)))]));
                assert_eq!(with_number(&mut txn, index, 1), [0]);
            }
            assert_eq!(run_now(txn.commit()), Outcome::Committed);
        }
    }
}
