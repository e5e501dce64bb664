//! The memory of dropped tables and indexes is freed and reused, while sessions run.

use fabric::{Env, LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PartRule, PhysicalDesign, Schema,
    Storage,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use txn::local::{OpenConfig, open};
use txn::{
    CatalogError, Database, DatabaseConfig, Isolation, Lane, Outcome, TableId, TableSpec, TxnError,
};

const VALUE: usize = 1;
const NOTE: usize = 2;

fn database(time_max_ns: u64) -> Database<LocalEnv> {
    let database = DatabaseConfig { transaction_time_max_ns: time_max_ns, ..Default::default() };
    open(&OpenConfig { servers: 2, server_bytes: 16 << 20, database, ..OpenConfig::default() })
        .expect("memory")
}

fn key(id: i32) -> Key {
    KeyBuilder::new().int4(id).key()
}

fn index(name: &str, kind: IndexKind) -> IndexDesign {
    let (name, columns) = (name.to_owned(), vec![VALUE]);
    IndexDesign { name, columns, unique: false, kind, size_hint: 64, ..IndexDesign::default() }
}

fn create(database: &Database<LocalEnv>, storage: Storage, indexes: Vec<IndexDesign>) -> TableId {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        Column::new("value", ColumnType::Int8),
        Column::new("note", ColumnType::Varchar(2000)),
    ];
    let schema = Schema::new(&format!("{storage:?}"), columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { storage, size_hint: 64, ..PhysicalDesign::default() };
    run_now(database.create_table(TableSpec { schema, design, indexes })).expect("created")
}

/// Inserts rows, or updates them all.
fn fill(lane: &mut Lane<LocalEnv>, table: TableId, ids: std::ops::Range<i32>, value: i64) {
    for id in ids {
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        let row = match run_now(txn.read(table, &key(id))).expect("readable") {
            Some(row) => row,
            None => run_now(txn.insert(table, &key(id))).expect("is free"),
        };
        let mut row = txn.update(row);
        row.set_int(VALUE, value + i64::from(id));
        row.set_bytes(NOTE, &[value as u8 % 128; 300]);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
    }
}

/// Allocated memory, without the session's table.
fn used_bytes(database: &Database<LocalEnv>) -> u64 {
    let usage = run_now(database.memory_usage()).expect("readable");
    usage.iter().filter(|table| table.name != "counter").map(|table| table.used_bytes).sum()
}

fn check(database: &Database<LocalEnv>) {
    let report = run_now(database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()));
}

/// Ends the session, even if the work beside it fails.
struct EndOfWork<'a>(&'a AtomicBool);

impl Drop for EndOfWork<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs `work` while a session increments a row of a table of its own, again and again.
fn beside_a_session(database: &Database<LocalEnv>, work: impl FnOnce()) {
    let design = PhysicalDesign::default();
    let columns = vec![Column::new("id", ColumnType::Int4), Column::new("n", ColumnType::Int8)];
    let schema = Schema::new("counter", columns, &[0]).expect("a valid schema");
    let spec = TableSpec { schema, design, indexes: Vec::new() };
    let table = run_now(database.create_table(spec)).expect("created");
    let (is_over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let other = database.for_thread();
    std::thread::scope(|scope| {
        let session = scope.spawn(|| {
            let other = other;
            let mut lane = run_now(other.lane()).expect("a lane");
            while !is_over.load(Relaxed) {
                let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
                let row = match run_now(txn.read(table, &key(0))).expect("readable") {
                    Some(row) => row,
                    None => run_now(txn.insert(table, &key(0))).expect("is free"),
                };
                let next = txn.row(row).int(1) + 1;
                txn.update(row).set_int(1, next);
                match run_now(txn.commit()) {
                    Outcome::Committed => count.fetch_add(1, Relaxed),
                    // Others may hold a snapshot for thousands of these commits.
                    Outcome::Aborted(abort) => {
                        assert!(abort.is_retryable(), "{abort}");
                        continue;
                    }
                    Outcome::Unknown => unreachable!("nothing fails in one process"),
                };
            }
        });
        // The session has begun, so its memory does not count as that of others.
        while count.load(Relaxed) < 100 && !session.is_finished() {
            std::hint::spin_loop();
        }
        let _end = EndOfWork(&is_over);
        work();
    });
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let row = run_now(txn.read(table, &key(0))).expect("readable").expect("it exists");
    assert_eq!(txn.row(row).int(1) as u64, count.load(Relaxed), "no count was lost");
}

#[test]
fn tables_are_created_and_dropped_beside_a_session() {
    let database = database(10_000_000_000);
    beside_a_session(&database, || {
        let before = used_bytes(&database);
        let mut total = 0;
        for round in 0..45 {
            let storage =
                [Storage::HashInlined, Storage::HashOutside, Storage::Tree][round as usize % 3];
            let indexes = vec![index("a", IndexKind::Tree), index("b", IndexKind::Hash)];
            let table = create(&database, storage, indexes);
            let mut lane = run_now(database.lane()).expect("a lane");
            // Tables of different sizes, so that extents are split and merged.
            let rows = 400 + round * 53 % 700;
            fill(&mut lane, table, 0..rows, 0);
            fill(&mut lane, table, 0..rows / 2, 1000);
            drop(lane);
            total += used_bytes(&database) - before;
            run_now(database.drop_table(&format!("{storage:?}"))).expect("it exists");
            assert_eq!(used_bytes(&database), before, "round {round}");
        }
        assert!(total > 32 << 20, "it would not fit without reuse: {total} bytes in all");
    });
    check(&database);
}

#[test]
fn indexes_are_created_and_dropped_beside_a_session() {
    let database = database(10_000_000_000);
    let table = create(&database, Storage::HashInlined, Vec::new());
    let mut lane = run_now(database.lane()).expect("a lane");
    fill(&mut lane, table, 0..3000, 0);
    run_now(lane.rest()).expect("reachable");
    beside_a_session(&database, || {
        let before = used_bytes(&database);
        let mut sum = 0;
        for round in 0..60 {
            let kind = [IndexKind::Hash, IndexKind::Tree][round as usize % 2];
            run_now(database.create_index("HashInlined", index("i", kind))).expect("created");
            fill(&mut lane, table, 0..20, i64::from(round));
            run_now(lane.rest()).expect("reachable");
            let with_index = used_bytes(&database);
            run_now(database.drop_index("HashInlined", "i")).expect("it exists");
            sum += with_index - used_bytes(&database);
        }
        // The table itself may have taken memory for old versions; more of them where threads wait
        // for processors.
        let after = used_bytes(&database);
        assert!(after <= before + (2 << 20), "{before} became {after}");
        assert!(sum > 8 << 20, "the indexes would fit side by side: {sum} bytes");
    });
    check(&database);
}

#[test]
fn an_index_is_created_and_dropped_under_writers() {
    let database = database(10_000_000_000);
    let table = create(&database, Storage::HashInlined, Vec::new());
    let mut lane = run_now(database.lane()).expect("a lane");
    fill(&mut lane, table, 0..200, 0);
    run_now(lane.rest()).expect("reachable");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = database.for_thread();
        scope.spawn(|| {
            let other = other;
            let mut lane = run_now(other.lane()).expect("a lane");
            let mut value = 0;
            while !is_over.load(Relaxed) {
                value += 1000;
                // Every value is new, so that leaves and buckets fill, split, and are collected.
                for id in 0..200 {
                    let Ok(mut txn) = run_now(lane.begin(Isolation::Snapshot)) else { continue };
                    let Ok(Some(row)) = run_now(txn.read(table, &key(id))) else { continue };
                    txn.update(row).set_int(VALUE, value + i64::from(id));
                    let outcome = run_now(txn.commit());
                    assert!(outcome != Outcome::Unknown);
                }
            }
        });
        let _end = EndOfWork(&is_over);
        for round in 0..100 {
            let kind = [IndexKind::Hash, IndexKind::Tree][round % 2];
            run_now(database.create_index("HashInlined", index("i", kind))).expect("created");
            run_now(database.drop_index("HashInlined", "i")).expect("it exists");
            // A table in the index's memory: a lane that still writes to the index damages it.
            create(&database, Storage::Tree, vec![index("j", IndexKind::Hash)]);
            fill(&mut lane, database.table("Tree").expect("it exists"), 0..50, 0);
            run_now(lane.rest()).expect("reachable");
            let report = run_now(database.check()).expect("readable");
            assert_eq!(report.errors, Vec::<String>::new());
            run_now(database.drop_table("Tree")).expect("it exists");
        }
    });
    check(&database);
}

#[test]
fn garbage_of_a_dropped_index_goes_with_it() {
    let database = database(10_000_000_000);
    let table = create(&database, Storage::HashOutside, vec![index("i", IndexKind::Tree)]);
    let mut lane = run_now(database.lane()).expect("a lane");
    fill(&mut lane, table, 0..1000, 0);
    // Other values, far from the first: the old leaves become empty, are absorbed, and wait to be
    // freed.
    fill(&mut lane, table, 0..1000, 1_000_000);
    run_now(lane.collect_garbage()).expect("reachable");
    fill(&mut lane, table, 0..1000, 2_000_000);
    run_now(lane.rest()).expect("reachable");
    run_now(database.drop_index("HashOutside", "i")).expect("it exists");
    fill(&mut lane, table, 0..1000, 0);
    run_now(lane.collect_garbage()).expect("reachable");
    check(&database);
}

#[test]
fn memory_held_by_a_slow_transaction_is_freed_by_the_next_change() {
    let database = database(1_000_000);
    let before = used_bytes(&database);
    let table = create(&database, Storage::Tree, vec![index("i", IndexKind::Tree)]);
    let mut lane = run_now(database.lane()).expect("a lane");
    fill(&mut lane, table, 0..100, 0);
    let held = used_bytes(&database);
    let txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    assert_eq!(run_now(database.drop_table("Tree")), Err(CatalogError::Unacknowledged));
    assert_eq!(used_bytes(&database), held, "the transaction may still use it");
    run_now(txn.abort());
    drop(lane);
    create(&database, Storage::HashInlined, Vec::new());
    run_now(database.drop_table("HashInlined")).expect("it exists");
    assert_eq!(used_bytes(&database), before);
}

/// By a lane that has never used it.
#[test]
fn a_visit_of_a_dropped_table_is_refused() {
    let database = database(10_000_000_000);
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        let table = create(&database, storage, Vec::new());
        run_now(database.drop_table(&format!("{storage:?}"))).expect("it exists");
        let mut lane = run_now(database.lane()).expect("a lane");
        let gone = || TxnError::from(CatalogError::NoTable(format!("number {}", table.0)));
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        assert_eq!(run_now(txn.for_each(table, &mut |_| ())), Err(gone()));
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        assert_eq!(run_now(txn.for_each_long(table, &mut |_| ())), Err(gone()));
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        let visited = run_now(txn.for_each_long_in_part(table, None, &mut |_| ()));
        assert_eq!(visited.map(drop), Err(gone()));
    }
}

/// For any number of tables, whether or not they exist.
#[test]
fn tables_that_are_dropped_together_wait_once_for_a_slow_transaction() {
    const TIME_MAX_NS: u64 = 100_000_000;
    let database = database(TIME_MAX_NS);
    let before = used_bytes(&database);
    for storage in [Storage::Tree, Storage::HashInlined, Storage::HashOutside] {
        create(&database, storage, vec![index("i", IndexKind::Tree)]);
    }
    let columns = vec![Column::new("id", ColumnType::Int4), Column::new("value", ColumnType::Int8)];
    let schema = Schema::new("parts", columns, &[0]).expect("the schema is fine");
    let spec = TableSpec { schema, design: PhysicalDesign::default(), indexes: Vec::new() };
    let rule = PartRule::Ranges { smallest: 0, values: 10 };
    run_now(database.create_in_parts(spec, &[0, 0], rule)).expect("there is room");
    let mut lane = run_now(database.lane()).expect("a lane");
    let txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let start_ns = database.env().now_ns();
    let names = ["Tree", "HashInlined", "nothing", "HashOutside", "parts.1", "parts", "Tree"];
    assert_eq!(run_now(database.drop_tables(&names)), Err(CatalogError::Unacknowledged));
    let lasted_ns = database.env().now_ns() - start_ns;
    assert!((TIME_MAX_NS..3 * TIME_MAX_NS).contains(&lasted_ns), "{lasted_ns} ns for four tables");
    assert!(names.iter().all(|name| database.table(name).is_none()));
    run_now(txn.abort());
    drop(lane);
    assert_eq!(run_now(database.drop_tables(&names)), Ok(()), "none is there");
    create(&database, Storage::Tree, Vec::new());
    assert_eq!(run_now(database.drop_tables(&names)), Ok(()));
    assert_eq!(used_bytes(&database), before);
}

/// Otherwise a lane that died in a transaction would delay each later change.
#[test]
fn only_one_change_waits_for_a_transaction_that_does_not_end() {
    const TIME_MAX_NS: u64 = 100_000_000;
    let database = database(TIME_MAX_NS);
    let timed = |change: &mut dyn FnMut()| {
        let start_ns = database.env().now_ns();
        change();
        database.env().now_ns() - start_ns
    };
    let drop_it = |expected| assert_eq!(run_now(database.drop_table("Tree")), expected);
    let stuck = Err(CatalogError::Unacknowledged);
    create(&database, Storage::Tree, Vec::new());
    let mut lane = run_now(database.lane()).expect("a lane");
    let txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let first_ns = timed(&mut || drop_it(stuck.clone()));
    assert!(first_ns > TIME_MAX_NS, "it may still use the table: {first_ns} ns");
    let others_ns = timed(&mut || {
        for _ in 0..4 {
            create(&database, Storage::Tree, Vec::new());
            drop_it(stuck.clone());
        }
    });
    assert!(others_ns < 4 * TIME_MAX_NS, "eight changes took {others_ns} ns");
    run_now(txn.abort());

    create(&database, Storage::Tree, Vec::new());
    let txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let next_ns = timed(&mut || drop_it(stuck.clone()));
    assert!(next_ns > TIME_MAX_NS, "this one has not run for so long: {next_ns} ns");
    run_now(txn.abort());
    drop(lane);
    create(&database, Storage::Tree, Vec::new());
    drop_it(Ok(()));
}

#[test]
fn a_table_that_cannot_be_created_takes_no_memory() {
    let database = database(10_000_000_000);
    let before = used_bytes(&database);
    let huge = IndexDesign { size_hint: 100_000_000, ..index("i", IndexKind::Hash) };
    let columns = vec![Column::new("id", ColumnType::Int4), Column::new("value", ColumnType::Int8)];
    let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { size_hint: 10_000, ..PhysicalDesign::default() };
    for indexes in [vec![huge.clone()], vec![index("a", IndexKind::Tree), huge.clone()]] {
        let spec = TableSpec { schema: schema.clone(), design: design.clone(), indexes };
        let refused = run_now(database.create_table(spec));
        assert!(matches!(refused, Err(CatalogError::OutOfMemory(_))), "{refused:?}");
        assert_eq!(used_bytes(&database), before);
    }
    create(&database, Storage::Tree, Vec::new());
    let with_table = used_bytes(&database);
    let refused = run_now(database.create_index("Tree", huge));
    assert!(matches!(refused, Err(CatalogError::OutOfMemory(_))), "{refused:?}");
    assert_eq!(used_bytes(&database), with_table);
}
