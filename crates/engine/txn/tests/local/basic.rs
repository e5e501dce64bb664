//! The operations of a transaction, one by one, on `local`.

use fabric::{Fabric, LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Placement, Schema,
    Storage,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use txn::local::{OpenConfig, open};
use txn::{
    Abort, CatalogError, Database, Isolation, Lane, Outcome, RowId, Scan, ScanSource, TableId,
    TableSpec, Transaction, TxnError,
};

const BALANCE: usize = 1;
const NAME: usize = 2;

fn database() -> Database<LocalEnv> {
    open(&OpenConfig { servers: 2, server_bytes: 64 << 20, ..OpenConfig::default() })
        .expect("memory")
}

fn key(id: i32) -> Key {
    KeyBuilder::new().int4(id).key()
}

fn table(
    database: &Database<LocalEnv>,
    name: &str,
    storage: Storage,
    indexes: Vec<IndexDesign>,
) -> TableId {
    let placement = Placement::Hashed { load_percent: 60 };
    let design = PhysicalDesign { storage, size_hint: 64, placement, ..PhysicalDesign::default() };
    table_of(database, name, design, indexes)
}

fn table_of(
    database: &Database<LocalEnv>,
    name: &str,
    design: PhysicalDesign,
    indexes: Vec<IndexDesign>,
) -> TableId {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("balance", ColumnType::Int8),
        Column::new("name", ColumnType::Varchar(8)),
    ];
    let schema = Schema::new(name, columns, &[0]).expect("a valid schema");
    run_now(database.create_table(TableSpec { schema, design, indexes })).expect("created")
}

fn index(name: &str, kind: IndexKind, unique: bool) -> IndexDesign {
    let columns = vec![NAME];
    IndexDesign {
        name: name.to_owned(),
        columns,
        unique,
        kind,
        size_hint: 64,
        ..IndexDesign::default()
    }
}

fn fill(database: &Database<LocalEnv>, table: TableId, ids: std::ops::Range<i32>) {
    let mut lane = run_now(database.lane()).expect("a lane");
    for id in ids {
        let mut txn = begin(&mut lane);
        let row = run_now(txn.insert(table, &key(id))).expect("is free");
        txn.update(row).set_int(BALANCE, i64::from(id) * 10);
        txn.update(row).set_bytes(NAME, format!("n{}", id % 7).as_bytes());
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
    }
}

fn begin(lane: &mut Lane<LocalEnv>) -> Transaction<'_, LocalEnv> {
    run_now(lane.begin(Isolation::Snapshot)).expect("begins")
}

/// A row that is visible to the transaction.
fn row_of(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i32) -> RowId {
    run_now(txn.read(table, &key(id))).expect("readable").expect("it exists")
}

fn all_storages() -> [Storage; 3] {
    [Storage::HashInlined, Storage::HashOutside, Storage::Tree]
}

fn check(database: &Database<LocalEnv>) {
    let report = run_now(database.check()).expect("readable");
    assert_eq!(report.errors, Vec::<String>::new());
    assert_eq!(report.locks, Vec::new());
}

#[test]
fn inserted_rows_are_visible_and_grow_the_table() {
    let database = database();
    for storage in all_storages() {
        let table = table(&database, &format!("{storage:?}"), storage, Vec::new());
        fill(&database, table, 0..2000);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut lane);
        for id in 0..2000 {
            let row = row_of(&mut txn, table, id);
            assert_eq!(txn.row(row).int(BALANCE), i64::from(id) * 10);
        }
        assert_eq!(run_now(txn.read(table, &key(2000))), Ok(None));
        let mut count = 0;
        run_now(txn.for_each(table, &mut |_| count += 1)).expect("readable");
        assert_eq!(count, 2000);
    }
    check(&database);
}

/// Tags have two or four bits: keys decide where tags are equal.
#[test]
fn buckets_of_up_to_thirty_two_slots_store_all_rows() {
    let database = database();
    for storage in [Storage::HashInlined, Storage::HashOutside] {
        for slots in [8, 9, 16, 17, 32] {
            let name = format!("{storage:?}{slots}");
            let placement = Placement::Hashed { load_percent: 90 };
            let design = PhysicalDesign {
                storage,
                neighbourhood: slots,
                size_hint: 64,
                placement,
                ..PhysicalDesign::default()
            };
            let table = table_of(&database, &name, design, Vec::new());
            fill(&database, table, 0..2000);
            let mut lane = run_now(database.lane()).expect("a lane");
            for id in (0..2000).step_by(3) {
                let mut txn = begin(&mut lane);
                let row = row_of(&mut txn, table, id);
                txn.delete(row);
                assert_eq!(run_now(txn.commit()), Outcome::Committed);
            }
            run_now(lane.collect_garbage()).expect("reachable");
            fill(&database, table, 2000..2500);
            let mut txn = begin(&mut lane);
            for id in 0..2600 {
                let row = run_now(txn.read(table, &key(id))).expect("readable");
                let is_there = (2000..2500).contains(&id) || id < 2000 && id % 3 != 0;
                let balance = row.map(|row| txn.row(row).int(BALANCE));
                assert_eq!(balance, is_there.then_some(i64::from(id) * 10), "{name}, {id}");
            }
        }
    }
    check(&database);
}

/// Buckets of hundreds of kilobytes: a split, for example, processes such a bucket in one piece.
#[test]
fn wide_rows_fill_wide_buckets() {
    const ROWS: i32 = 300;
    const TEXTS: usize = 7;
    let database = database();
    let names = (1..=TEXTS).map(|n| format!("text{n}"));
    let texts = names.map(|name| Column::new(&name, ColumnType::Varchar(1000)));
    let columns = [Column::new("id", ColumnType::Int4)].into_iter().chain(texts).collect();
    let schema = Schema::new("wide", columns, &[0]).expect("a valid schema");
    let placement = Placement::Hashed { load_percent: 100 };
    let design = PhysicalDesign {
        storage: Storage::HashInlined,
        neighbourhood: 32,
        size_hint: 32,
        placement,
        ..PhysicalDesign::default()
    };
    let spec = TableSpec { schema, design, indexes: Vec::new() };
    let table = run_now(database.create_table(spec)).expect("created");
    let mut lane = run_now(database.lane()).expect("a lane");
    let text = |id: i32, column: usize| format!("{id}/{column}").repeat(100);
    for id in 0..ROWS {
        let mut txn = begin(&mut lane);
        let row = run_now(txn.insert(table, &key(id))).expect("is free");
        for column in 1..=TEXTS {
            txn.update(row).set_bytes(column, text(id, column).as_bytes());
        }
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
    }
    for id in (0..ROWS).step_by(2) {
        let mut txn = begin(&mut lane);
        let row = row_of(&mut txn, table, id);
        txn.delete(row);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
    }
    run_now(lane.collect_garbage()).expect("reachable");
    let mut txn = begin(&mut lane);
    for id in 0..ROWS {
        let row = run_now(txn.read(table, &key(id))).expect("readable");
        assert_eq!(row.is_some(), id % 2 == 1, "{id}");
        if let Some(row) = row {
            assert_eq!(txn.row(row).text(TEXTS), text(id, TEXTS));
        }
    }
    check(&database);
}

/// Prefetches of present and absent rows of any storage, with keys that are not the table's, and of
/// tables that the lane has not opened or that are dropped.
#[test]
fn a_prefetch_posts_nothing_and_changes_nothing() {
    let database = database();
    let strange = KeyBuilder::new().int8(1).int8(2).int8(3).key();
    let tables = all_storages().map(|storage| {
        let table = table(&database, &format!("{storage:?}"), storage, Vec::new());
        fill(&database, table, 0..100);
        table
    });
    let mut lane = run_now(database.lane()).expect("a lane");
    for table in tables.into_iter().chain(tables) {
        let before = lane.env().counters().counts().verbs;
        lane.prefetch(&[]);
        lane.prefetch(&[(table, key(3)), (table, key(1000)), (table, strange)]);
        lane.prefetch(&[(table, key(3)); 100]);
        assert_eq!(lane.env().counters().counts().verbs, before);
        let mut txn = begin(&mut lane);
        let row = row_of(&mut txn, table, 3);
        assert_eq!(txn.row(row).int(BALANCE), 30);
    }
    run_now(lane.rest()).expect("reachable");
    run_now(database.drop_table("Tree")).expect("dropped");
    lane.prefetch(&[(tables[2], key(3))]);
    run_now(begin(&mut lane).read(tables[0], &key(3))).expect("readable").expect("it exists");
    lane.prefetch(&[(tables[2], key(3))]);
}

#[test]
fn a_transaction_sees_its_own_writes_and_others_after_commit() {
    let database = database();
    for storage in all_storages() {
        let table = table(&database, &format!("{storage:?}"), storage, Vec::new());
        fill(&database, table, 0..10);
        let mut writer = run_now(database.lane()).expect("a lane");
        let mut reader = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut writer);
        let row = row_of(&mut txn, table, 3);
        txn.update(row).set_int(BALANCE, 77);
        let again = row_of(&mut txn, table, 3);
        assert_eq!(txn.row(again).int(BALANCE), 77);
        let gone = row_of(&mut txn, table, 4);
        txn.delete(gone);
        assert_eq!(run_now(txn.read(table, &key(4))), Ok(None));
        let duplicate = run_now(txn.insert(table, &key(3)));
        assert!(matches!(duplicate, Err(TxnError::DuplicateKey { .. })));
        let mut old = begin(&mut reader);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        let row = row_of(&mut old, table, 3);
        assert_eq!(old.row(row).int(BALANCE), 30);
        assert!(run_now(old.read(table, &key(4))).expect("readable").is_some());
        assert_eq!(run_now(old.commit()), Outcome::Committed);
        let mut new = begin(&mut reader);
        let row = row_of(&mut new, table, 3);
        assert_eq!(new.row(row).int(BALANCE), 77);
        assert_eq!(run_now(new.read(table, &key(4))), Ok(None));
    }
    check(&database);
}

#[test]
fn the_first_committer_wins() {
    let database = database();
    for storage in all_storages() {
        let table = table(&database, &format!("{storage:?}"), storage, Vec::new());
        fill(&database, table, 0..4);
        let mut lanes = [0, 1].map(|_| run_now(database.lane()).expect("a lane"));
        let [first, second] = &mut lanes;
        let mut one = begin(first);
        let mut two = begin(second);
        for txn in [&mut one, &mut two] {
            let row = row_of(txn, table, 1);
            txn.update(row).set_int(BALANCE, 5);
            run_now(txn.insert(table, &key(100))).expect("is free");
        }
        assert_eq!(run_now(one.commit()), Outcome::Committed);
        assert_eq!(run_now(two.commit()), Outcome::Aborted(Abort::WriteConflict));
        let mut one = begin(first);
        let mut two = begin(second);
        run_now(one.insert(table, &key(200))).expect("is free");
        run_now(two.insert(table, &key(200))).expect("is free");
        assert_eq!(run_now(one.commit()), Outcome::Committed);
        assert_eq!(run_now(two.commit()), Outcome::Aborted(Abort::InsertConflict));
    }
    check(&database);
}

#[test]
fn deleted_rows_come_back_by_insert_and_are_collected() {
    let database = database();
    for storage in all_storages() {
        let table = table(&database, &format!("{storage:?}"), storage, Vec::new());
        fill(&database, table, 0..300);
        let mut lane = run_now(database.lane()).expect("a lane");
        for id in 0..300 {
            let mut txn = begin(&mut lane);
            let row = row_of(&mut txn, table, id);
            txn.delete(row);
            assert_eq!(run_now(txn.commit()), Outcome::Committed);
        }
        run_now(lane.collect_garbage()).expect("collects");
        let collected = lane.statistics().expect("the lane is here").entries_collected;
        assert!(collected >= 300, "{storage:?}: {collected}");
        check(&database);
        fill(&database, table, 0..300);
        let mut txn = begin(&mut lane);
        let mut count = 0;
        run_now(txn.for_each(table, &mut |_| count += 1)).expect("readable");
        assert_eq!(count, 300);
    }
    check(&database);
}

#[test]
fn scans_go_both_ways_with_limits() {
    let database = database();
    let table = table(&database, "t", Storage::Tree, Vec::new());
    fill(&database, table, 0..500);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    run_now(txn.insert(table, &key(-5))).expect("is free");
    let gone = row_of(&mut txn, table, 100);
    txn.delete(gone);
    let mut rows = Vec::new();
    for (low, high, reverse, limit, expected) in [
        (90, 110, false, usize::MAX, (90..=110).filter(|&n| n != 100).collect::<Vec<_>>()),
        (0, 499, false, 3, vec![0, 1, 2]),
        (0, 499, true, 3, vec![499, 498, 497]),
        (-10, 1, false, 10, vec![-5, 0, 1]),
        (98, 102, true, 10, vec![102, 101, 99, 98]),
        (1000, 2000, false, 10, vec![]),
    ] {
        let source = ScanSource::Table(table);
        let scan = Scan { source, low: key(low), high: key(high), reverse, limit };
        run_now(txn.scan(&scan, &mut rows)).expect("readable");
        let found: Vec<i64> = rows.iter().map(|&row| txn.row(row).int(0)).collect();
        assert_eq!(found, expected.into_iter().map(i64::from).collect::<Vec<_>>());
    }
}

/// A scan with a limit reads only a few entries of a leaf, unless rows of its own may belong
/// between them.
#[test]
fn limited_scans_skip_deleted_rows() {
    let database = database();
    let table = table(&database, "t", Storage::Tree, Vec::new());
    fill(&database, table, 0..300);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    for id in (0..70).chain(120..130).chain(250..300) {
        let gone = row_of(&mut txn, table, id);
        txn.delete(gone);
    }
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    let source = ScanSource::Table(table);
    for (low, high) in [(0, 299), (60, 260), (121, 290), (0, 69), (100, 119)] {
        let left = (low..=high).filter(|id| (70..120).contains(id) || (130..250).contains(id));
        let expected: Vec<i64> = left.map(i64::from).collect();
        for limit in [1, 2, 3, 7, 49, 50, 51, 200] {
            let mut txn = begin(&mut lane);
            let mut rows = Vec::new();
            for reverse in [false, true] {
                let scan = Scan { source, low: key(low), high: key(high), reverse, limit };
                run_now(txn.scan(&scan, &mut rows)).expect("readable");
                let found: Vec<i64> = rows.iter().map(|&row| txn.row(row).int(0)).collect();
                let mut expected = expected.clone();
                if reverse {
                    expected.reverse();
                }
                expected.truncate(limit);
                assert_eq!(found, expected, "{low} to {high}, at most {limit}, {reverse}");
            }
        }
    }
}

#[test]
fn secondary_indexes_follow_their_rows() {
    let database = database();
    for kind in [IndexKind::Tree, IndexKind::Hash] {
        for storage in all_storages() {
            let name = format!("{storage:?}{kind:?}");
            let table = table(&database, &name, storage, vec![index("by_name", kind, false)]);
            let by_name = database.index(&name, "by_name").expect("it was created");
            fill(&database, table, 0..70);
            let mut lane = run_now(database.lane()).expect("a lane");
            let name_key = |name: &str| KeyBuilder::new().padded(name.as_bytes(), 8).key();
            let mut rows = Vec::new();
            let mut txn = begin(&mut lane);
            run_now(txn.lookup(by_name, &name_key("n3"), &mut rows)).expect("readable");
            assert_eq!(rows.len(), 10, "{name}");
            let moved = rows[0];
            txn.update(moved).set_bytes(NAME, b"other");
            run_now(txn.lookup(by_name, &name_key("other"), &mut rows)).expect("readable");
            assert_eq!(rows, [moved]);
            let gone = row_of(&mut txn, table, 10);
            txn.delete(gone);
            assert_eq!(run_now(txn.commit()), Outcome::Committed);
            run_now(lane.collect_garbage()).expect("collects");
            let mut txn = begin(&mut lane);
            run_now(txn.lookup(by_name, &name_key("n3"), &mut rows)).expect("readable");
            assert_eq!(rows.len(), 8, "{name}");
            run_now(txn.lookup(by_name, &name_key("other"), &mut rows)).expect("readable");
            assert_eq!(rows.len(), 1, "{name}");
        }
    }
    check(&database);
}

#[test]
fn unique_indexes_refuse_a_second_row() {
    let database = database();
    for kind in [IndexKind::Tree, IndexKind::Hash] {
        let name = format!("{kind:?}");
        let table =
            table(&database, &name, Storage::HashInlined, vec![index("by_name", kind, true)]);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut insert = |id: i32, name: &str| {
            let mut txn = begin(&mut lane);
            let row = run_now(txn.insert(table, &key(id))).expect("is free");
            txn.update(row).set_bytes(NAME, name.as_bytes());
            run_now(txn.commit())
        };
        assert_eq!(insert(1, "ada"), Outcome::Committed);
        assert_eq!(insert(2, "ada"), Outcome::Aborted(Abort::UniqueViolation));
        assert_eq!(insert(2, "bob"), Outcome::Committed);
        let mut txn = begin(&mut lane);
        let row = row_of(&mut txn, table, 1);
        txn.delete(row);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        let mut txn = begin(&mut lane);
        let row = run_now(txn.insert(table, &key(3))).expect("is free");
        txn.update(row).set_bytes(NAME, b"ada");
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
    }
    check(&database);
}

/// The first of them has no entry yet when the second is checked.
#[test]
fn unique_indexes_refuse_two_rows_of_one_transaction() {
    let database = database();
    for kind in [IndexKind::Tree, IndexKind::Hash] {
        let name = format!("{kind:?}");
        let indexes = vec![index("by_name", kind, true)];
        let table = table(&database, &name, Storage::HashInlined, indexes);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut give = |names: &[(i32, &str)]| {
            let mut txn = begin(&mut lane);
            for &(id, name) in names {
                let row = match run_now(txn.read(table, &key(id))).expect("readable") {
                    Some(row) => row,
                    None => run_now(txn.insert(table, &key(id))).expect("is free"),
                };
                txn.update(row).set_bytes(NAME, name.as_bytes());
            }
            run_now(txn.commit())
        };
        let refused = Outcome::Aborted(Abort::UniqueViolation);
        assert_eq!(give(&[(1, "ada"), (2, "bob"), (3, "ada")]), refused, "two new rows");
        assert_eq!(give(&[(1, "ada"), (2, "bob"), (3, "eve")]), Outcome::Committed);
        assert_eq!(give(&[(1, "eva"), (4, "eva")]), refused, "an old row and a new one");
        assert_eq!(give(&[(2, "eva"), (3, "eva")]), refused, "two old rows");
        assert_eq!(give(&[(1, "bob"), (2, "ada")]), Outcome::Committed, "they exchange names");
        assert_eq!(
            give(&[(1, "eva"), (4, "bob")]),
            Outcome::Committed,
            "one row gives its name to another"
        );
    }
    check(&database);
}

#[test]
fn nulls_are_never_equal_in_a_unique_index() {
    let database = database();
    for kind in [IndexKind::Tree, IndexKind::Hash] {
        let name = format!("nullable {kind:?}");
        let columns =
            vec![Column::new("id", ColumnType::Int4), Column::nullable("mail", ColumnType::Int8)];
        let schema = Schema::new(&name, columns, &[0]).expect("a valid schema");
        let design = IndexDesign { columns: vec![1], ..index("by_mail", kind, true) };
        let indexes = vec![design];
        let spec = TableSpec { schema, design: PhysicalDesign::default(), indexes };
        let table = run_now(database.create_table(spec)).expect("created");
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut insert = |id: i32, mail: Option<i64>| {
            let mut txn = begin(&mut lane);
            let row = run_now(txn.insert(table, &key(id))).expect("is free");
            match mail {
                Some(mail) => txn.update(row).set_int(1, mail),
                None => txn.update(row).set_null(1),
            }
            run_now(txn.commit())
        };
        assert_eq!(insert(1, None), Outcome::Committed);
        assert_eq!(insert(2, None), Outcome::Committed, "no null equals another");
        assert_eq!(insert(3, Some(0)), Outcome::Committed, "zero is not null");
        assert_eq!(insert(4, Some(0)), Outcome::Aborted(Abort::UniqueViolation));
    }
    check(&database);
}

#[test]
fn tables_and_indexes_are_created_and_dropped() {
    let database = database();
    let table = table(&database, "t", Storage::HashInlined, Vec::new());
    fill(&database, table, 0..1000);
    let made = run_now(database.create_index("t", index("late", IndexKind::Tree, false)))
        .expect("created");
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    let mut rows = Vec::new();
    let wanted = KeyBuilder::new().padded(b"n5", 8).key();
    run_now(txn.lookup(made, &wanted, &mut rows)).expect("readable");
    assert_eq!(rows.len(), (0..1000).filter(|n| n % 7 == 5).count());
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    drop(lane);
    check(&database);
    run_now(database.drop_index("t", "late")).expect("dropped");
    let before = run_now(database.memory_usage()).expect("usage");
    run_now(database.drop_table("t")).expect("dropped");
    let after = run_now(database.memory_usage()).expect("usage");
    assert!(before.len() > after.len() && database.table("t").is_none());
    assert!(run_now(database.drop_table("t")).is_err());
}

#[test]
fn a_dropped_table_is_reported_without_a_wait() {
    let database = database();
    let table = table(&database, "t", Storage::HashInlined, Vec::new());
    let mut lane = run_now(database.lane()).expect("a lane");
    run_now(database.drop_table("t")).expect("no transaction uses it");
    let read = run_now(begin(&mut lane).read(table, &key(1)));
    assert_eq!(read, Err(CatalogError::NoTable("number 0".to_owned()).into()));
}

type Use<'a> = &'a dyn Fn(&mut Transaction<'_, LocalEnv>);

/// One lane's transaction reads two rows, and another lane's reads a third; then the first lane
/// goes on.
#[test]
fn row_ids_end_with_their_transaction() {
    let database = database();
    let table = table(&database, "t", Storage::Tree, Vec::new());
    fill(&database, table, 0..3);
    let mut lanes = [(); 2].map(|()| run_now(database.lane()).expect("a lane"));
    let read = |txn: &mut Transaction<'_, LocalEnv>, id| {
        run_now(txn.read(table, &key(id))).expect("read").expect("it exists")
    };
    let earlier = read(&mut begin(&mut lanes[0]), 0);
    let elsewhere = read(&mut begin(&mut lanes[1]), 1);
    for foreign in [earlier, elsewhere] {
        let mut txn = begin(&mut lanes[0]);
        let own = read(&mut txn, 2);
        assert_eq!(txn.row(own).int(BALANCE), 20);
        let uses: [Use<'_>; 3] = [
            &|txn| assert_eq!(txn.row(foreign).int(BALANCE), 20),
            &|txn| txn.update(foreign).set_int(BALANCE, 0),
            &|txn| txn.delete(foreign),
        ];
        for wrong in uses {
            let refused = catch_unwind(AssertUnwindSafe(|| wrong(&mut txn)));
            let message = *refused.expect_err("refused").downcast::<&str>().expect("a sentence");
            assert_eq!(message, "a row id is valid only in the transaction that returned it");
        }
    }
}

/// Reads a row, and passes it to `wrong`.
fn with_a_row(wrong: impl FnOnce(&mut Transaction<'_, LocalEnv>, RowId)) {
    let database = database();
    let table = table(&database, "t", Storage::Tree, Vec::new());
    fill(&database, table, 0..1);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    let row = run_now(txn.read(table, &key(0))).expect("read").expect("it exists");
    wrong(&mut txn, row);
}

#[test]
#[should_panic(expected = "the transaction has deleted this row")]
fn a_row_is_not_updated_after_its_deletion() {
    with_a_row(|txn, row| {
        txn.delete(row);
        txn.update(row).set_int(BALANCE, 1);
    });
}

#[test]
#[should_panic(expected = "the column holds no number")]
fn text_is_no_number() {
    with_a_row(|txn, row| {
        txn.row(row).int(NAME);
    });
}
