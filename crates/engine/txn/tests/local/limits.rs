//! Every limit of a database is an error with a message; `docs/limits.md` lists the limits with
//! these tests.

use fabric::{Batch, LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Placement, Schema,
    Storage,
};
use memory::mover::OVERFLOW_COUNT_MAX;
use txn::catalog::{INDEXES_MAX, TABLES_MAX};
use txn::local::{OpenConfig, OpenError, SERVER_BYTES_MIN, open};
use txn::read::ACCESSES_MAX;
use txn::{
    Abort, Database, DatabaseConfig, Isolation, Outcome, RowId, TableId, TableSpec, TxnError,
};

const VALUE: usize = 1;

fn config(server_bytes: u64) -> OpenConfig {
    OpenConfig { server_bytes, ..OpenConfig::default() }
}

fn database() -> Database<LocalEnv> {
    open(&config(256 << 20)).expect("memory")
}

fn columns() -> Vec<Column> {
    vec![Column::new("id", ColumnType::Int8), Column::new("value", ColumnType::Int8)]
}

fn spec(name: &str) -> TableSpec {
    let schema = Schema::new(name, columns(), &[0]).expect("a valid schema");
    TableSpec { schema, design: PhysicalDesign::default(), indexes: Vec::new() }
}

fn tree_table(database: &Database<LocalEnv>) -> TableId {
    let mut spec = spec("t");
    spec.design.storage = Storage::Tree;
    run_now(database.create_table(spec)).expect("created")
}

fn index(name: &str) -> IndexDesign {
    let (kind, node_bytes, size_hint) = (IndexKind::Tree, 512, 64);
    IndexDesign {
        name: name.to_owned(),
        columns: vec![VALUE],
        unique: false,
        kind,
        node_bytes,
        size_hint,
        hashed_columns: None,
    }
}

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

fn keys(table: TableId, ids: std::ops::Range<i64>) -> Vec<(TableId, Key)> {
    ids.map(|id| (table, key(id))).collect()
}

/// The message with which `spec` is refused.
fn refusal(spec: TableSpec) -> String {
    run_now(database().create_table(spec)).expect_err("it is over a limit").to_string()
}

#[test]
fn schemas_are_refused_with_the_limit_they_exceed() {
    let refusal = |columns| Schema::new("t", columns, &[0]).expect_err("over a limit").to_string();
    let many: Vec<Column> =
        (0..257).map(|n| Column::new(&format!("c{n}"), ColumnType::Int2)).collect();
    assert_eq!(refusal(many), "table t has 257 columns; a table has 1 to 256");
    let long_key = vec![Column::new("k", ColumnType::Varchar(65))];
    assert_eq!(
        refusal(long_key),
        "a key of table t takes 65 bytes; at most 64 fit, so shorten its text columns"
    );
    let id = Column::new("id", ColumnType::Int8);
    let wide = (0..9).map(|n| Column::new(&format!("c{n}"), ColumnType::Char(1000)));
    let sentence = refusal(std::iter::once(id.clone()).chain(wide).collect());
    assert!(
        sentence.starts_with("a row of table t takes 9018 bytes; at most 8192 fit"),
        "{sentence}"
    );
    for length in [0, 1024 * 1024 + 1] {
        let sentence = refusal(vec![id.clone(), Column::new("b", ColumnType::Bytes(length))]);
        let expected =
            format!("column b of table t has maximal length {length}; 1 to 1048576 is allowed");
        assert_eq!(sentence, expected);
    }
}

#[test]
fn empty_long_and_unprintable_names_are_refused() {
    let id = |name: &str| vec![Column::new(name, ColumnType::Int8)];
    for (name, shown) in [("", "\"\""), ("a\nb", "\"a\\nb\""), (&"n".repeat(129), &"n".repeat(32))]
    {
        let table = Schema::new(name, id("id"), &[0]).expect_err("no name").to_string();
        let column = Schema::new("t", id(name), &[0]).expect_err("no name").to_string();
        let index = refusal(TableSpec { indexes: vec![index(name)], ..spec("t") });
        for (sentence, what) in [(table, "a table"), (column, "a column"), (index, "an index")] {
            assert!(sentence.contains(shown), "{sentence}");
            let rest = format!(
                "of {what} has {} bytes; a name has 1 to 128, and no control characters",
                name.len()
            );
            assert!(sentence.ends_with(&rest), "{sentence}");
        }
    }
    assert!(Schema::new(&"\u{fc}".repeat(64), id("id"), &[0]).is_ok());
}

#[test]
fn the_key_of_an_index_entry_holds_the_primary_key_too() {
    let mut columns = columns();
    columns.push(Column::new("name", ColumnType::Varchar(57)));
    let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
    let indexes = vec![IndexDesign { columns: vec![2], ..index("by_name") }];
    let sentence = refusal(TableSpec { schema, design: PhysicalDesign::default(), indexes });
    assert_eq!(
        sentence,
        "a key of table t takes 65 bytes; at most 64 fit, so shorten its text columns"
    );
}

#[test]
fn designs_are_refused_with_the_values_allowed() {
    let refused = |change: fn(&mut PhysicalDesign), reason: &str| {
        let mut spec = spec("t");
        change(&mut spec.design);
        assert_eq!(refusal(spec), format!("table t: {reason}"));
    };
    refused(|design| design.neighbourhood = 0, "neighbourhood is 0; 1 to 32 is allowed");
    refused(|design| design.neighbourhood = 33, "neighbourhood is 33; 1 to 32 is allowed");
    refused(|design| design.versions_beside = 0, "versions_beside is 0; 1 to 8 is allowed");
    refused(|design| design.versions_beside = 9, "versions_beside is 9; 1 to 8 is allowed");
    refused(|design| design.server = Some(1), "server is 1; there are 1, counted from 0");
    refused(|design| design.node_bytes = 63, "node_bytes is 63; 64 to 16384 is allowed");
    refused(|design| design.node_bytes = 16_385, "node_bytes is 16385; 64 to 16384 is allowed");
    let hashed = |load_percent| Placement::Hashed { load_percent };
    let mut spec = spec("t");
    spec.design.placement = hashed(101);
    assert_eq!(refusal(spec), "table t: load_percent is 101; 1 to 100 is allowed");
}

#[test]
fn indexes_are_refused_with_the_values_allowed() {
    let refused = |change: fn(&mut IndexDesign), reason: &str| {
        let mut design = index("i");
        change(&mut design);
        let spec = TableSpec { indexes: vec![design], ..spec("t") };
        assert_eq!(refusal(spec), format!("table t: index i: {reason}"));
    };
    refused(|design| design.columns.clear(), "it names no column");
    refused(|design| design.columns = vec![9], "it names column 9, and the last one is 1");
    let sentence = "node_bytes is 1; 64 to 16384 is allowed";
    refused(|design| (design.kind, design.node_bytes) = (IndexKind::Tree, 1), sentence);
    let mut fits = index("i");
    (fits.kind, fits.node_bytes) = (IndexKind::Tree, 256);
    let spec = TableSpec { indexes: vec![fits], ..spec("t") };
    run_now(database().create_table(spec)).expect("the smallest node");
}

#[test]
fn a_table_has_a_number_of_indexes_at_most() {
    let names = |count: usize| (0..count).map(|n| index(&format!("i{n}"))).collect::<Vec<_>>();
    let sentence = "a table has at most 16 secondary indexes";
    assert_eq!(refusal(TableSpec { indexes: names(INDEXES_MAX + 1), ..spec("t") }), sentence);
    let database = database();
    let full = TableSpec { indexes: names(INDEXES_MAX), ..spec("t") };
    run_now(database.create_table(full)).expect("as many as there may be");
    let refused = run_now(database.create_index("t", index("one more"))).expect_err("one too many");
    assert_eq!(refused.to_string(), sentence);
}

#[test]
fn a_database_has_a_number_of_tables_at_most() {
    let database = database();
    for number in 0..TABLES_MAX {
        run_now(database.create_table(spec(&format!("t{number}")))).expect("there is room");
    }
    let refused = run_now(database.create_table(spec("one more"))).expect_err("one too many");
    assert_eq!(refused.to_string(), "a database has at most 1024 tables");
    run_now(database.drop_table("t7")).expect("it exists");
    run_now(database.create_table(spec("one more"))).expect("there is room again");
}

#[test]
fn settings_out_of_range_are_refused_with_the_range() {
    let refusal = |config: OpenConfig| match open(&config) {
        Err(OpenError::Setting(sentence)) => sentence,
        other => panic!("{:?} was not refused as a setting", other.map(|_| "it")),
    };
    let base = || config(SERVER_BYTES_MIN);
    for servers in [0, 65] {
        let sentence = refusal(OpenConfig { servers, ..base() });
        assert_eq!(
            sentence,
            format!("{servers} memory servers were requested; 1 to 64 are possible")
        );
    }
    for lanes in [0, 65] {
        let database = DatabaseConfig { lanes, ..DatabaseConfig::default() };
        let sentence = refusal(OpenConfig { database, ..base() });
        assert_eq!(sentence, format!("{lanes} lanes were requested; 1 to 64 are possible"));
    }
    assert_eq!(
        refusal(config(SERVER_BYTES_MIN - 1)),
        "16777215 bytes per memory server are too few; give it at least 16777216"
    );
}

#[test]
fn lanes_run_out_and_come_back() {
    let lanes = 2;
    let database = DatabaseConfig { lanes, ..DatabaseConfig::default() };
    let database = open(&OpenConfig { database, ..config(64 << 20) }).expect("memory");
    let first = run_now(database.lane()).expect("the first");
    let _second = run_now(database.lane()).expect("the second");
    let refused = run_now(database.lane()).map(drop).expect_err("there are two");
    assert_eq!(
        refused.to_string(),
        "all 2 lanes are in use; end a session, or open the database with more lanes"
    );
    drop(first);
    assert!(run_now(database.lane()).is_ok());
}

#[test]
fn a_transaction_touches_a_number_of_rows_at_most() {
    let database = database();
    let table = tree_table(&database);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let (mut found, step) = (Vec::new(), ACCESSES_MAX as i64 / 16);
    // Once the lane has read the only leaf of the empty table, absent keys cost no verb.
    run_now(txn.read_many(&keys(table, 0..1), &mut found)).expect("there is room");
    for part in 0..16 {
        run_now(txn.read_many(&keys(table, part * step..(part + 1) * step), &mut found))
            .expect("room");
    }
    let refused = run_now(txn.read(table, &key(-1))).expect_err("one too many");
    assert_eq!(
        refused.to_string(),
        "the transaction is too large: it touches more than 4,194,304 rows; use for_each or several \
         transactions"
    );
}

#[test]
#[should_panic(expected = "a transaction's arena holds at most 2 GiB")]
fn an_arena_is_not_larger_than_its_offsets_reach() {
    Batch::new().reserve(fabric::batch::ARENA_WORDS_MAX as u32 + 1);
}

#[test]
fn full_memory_servers_abort_the_transaction_and_keep_what_they_hold() {
    let database = open(&config(SERVER_BYTES_MIN)).expect("memory");
    let mut columns = columns();
    columns.push(Column::new("text", ColumnType::Char(1000)));
    let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
    let design =
        PhysicalDesign { storage: Storage::HashOutside, size_hint: 64, ..Default::default() };
    let spec = TableSpec { schema, design, indexes: Vec::new() };
    let table = run_now(database.create_table(spec)).expect("there is room");
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut count = 0;
    let ended = loop {
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
        run_now(txn.insert(table, &key(count))).expect("is free");
        match run_now(txn.commit()) {
            Outcome::Committed => count += 1,
            other => break other,
        }
        assert!(count < 100_000, "16 MiB hold no 100,000 rows of 1,000 bytes");
    };
    assert_eq!(ended, Outcome::Aborted(Abort::OutOfMemory));
    assert_eq!(Abort::OutOfMemory.to_string(), "the memory servers are full");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let mut seen = 0;
    run_now(txn.for_each(table, &mut |_| seen += 1)).expect("readable");
    assert!(seen == count && count > 1000, "{seen} of {count} rows are there");
    let huge = TableSpec {
        design: PhysicalDesign { size_hint: 10_000_000, ..Default::default() },
        ..self::spec("huge")
    };
    let refused = run_now(database.create_table(huge)).expect_err("it does not fit").to_string();
    assert!(refused.starts_with("memory servers are full: "), "{refused}");
    assert!(refused.ends_with("give the servers more memory or drop tables"), "{refused}");
}

#[test]
fn a_transaction_that_outlives_its_time_learns_that_its_snapshot_is_too_old() {
    let transaction_time_max_ns = 1_000_000;
    let database = DatabaseConfig { transaction_time_max_ns, ..DatabaseConfig::default() };
    let database = open(&OpenConfig { database, ..config(64 << 20) }).expect("memory");
    let table = run_now(database.create_table(spec("t"))).expect("created");
    let mut writer = run_now(database.lane()).expect("a lane");
    let mut write = |value: i64| {
        let mut txn = run_now(writer.begin(Isolation::Snapshot)).expect("begins");
        let row = match run_now(txn.read(table, &key(7))).expect("readable") {
            Some(row) => row,
            None => run_now(txn.insert(table, &key(7))).expect("is free"),
        };
        txn.update(row).set_int(VALUE, value);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        run_now(writer.collect_garbage()).expect("collected");
    };
    write(0);
    let mut reader = run_now(database.lane()).expect("a lane");
    let mut old = run_now(reader.begin(Isolation::Snapshot)).expect("begins");
    for value in 1..10 {
        write(value);
        run_now(fabric::Env::sleep_ns(database.env(), transaction_time_max_ns));
    }
    let refused = run_now(old.read(table, &key(7))).expect_err("its version was collected");
    assert_eq!(refused, TxnError::Abort(Abort::SnapshotTooOld));
    assert_eq!(
        refused.to_string(),
        "transaction aborted: the snapshot is too old, its versions were collected; run shorter transactions"
    );
}

#[test]
fn a_row_has_a_number_of_old_versions_at_most() {
    let transaction_time_max_ns = u64::MAX;
    let database = DatabaseConfig { transaction_time_max_ns, ..DatabaseConfig::default() };
    let database = open(&OpenConfig { database, ..config(64 << 20) }).expect("memory");
    let table = run_now(database.create_table(spec("t"))).expect("created");
    let mut writer = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(writer.begin(Isolation::Snapshot)).expect("begins");
    run_now(txn.insert(table, &key(7))).expect("is free");
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    let mut reader = run_now(database.lane()).expect("a lane");
    let mut old = run_now(reader.begin(Isolation::Snapshot)).expect("begins");
    let mut update = |value: i64| {
        let mut txn = run_now(writer.begin(Isolation::Snapshot)).expect("begins");
        let row = run_now(txn.read(table, &key(7))).expect("readable").expect("it exists");
        txn.update(row).set_int(VALUE, value);
        run_now(txn.commit())
    };
    // One slot beside the row, then the list.
    let count_max = i64::from(PhysicalDesign::default().versions_beside + OVERFLOW_COUNT_MAX);
    for value in 1..=count_max {
        assert_eq!(update(value), Outcome::Committed, "after {value} updates");
    }
    assert_eq!(update(-1), Outcome::Aborted(Abort::VersionBufferFull));
    assert_eq!(
        Abort::VersionBufferFull.to_string(),
        "a row has too many versions that are still needed"
    );
    let row = run_now(old.read(table, &key(7))).expect("readable").expect("it exists");
    assert_eq!(old.row(row).int(VALUE), 0);
    run_now(old.abort());
    drop(reader);
    assert_eq!(update(-1), Outcome::Committed, "no snapshot needs the old versions any more");
}

#[test]
fn a_scan_is_as_long_as_its_limit() {
    let database = database();
    let table = tree_table(&database);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let mut rows: Vec<RowId> = Vec::new();
    run_now(txn.insert_many(&keys(table, 0..100), &mut rows)).expect("are free");
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    for limit in [0, 1, 99, 100, usize::MAX] {
        let source = txn::ScanSource::Table(table);
        let scan =
            txn::Scan { source, low: Key::lowest(1), high: Key::highest(1), reverse: false, limit };
        run_now(txn.scan(&scan, &mut rows)).expect("readable");
        assert_eq!(rows.len(), limit.min(100));
    }
}

/// A key of other columns could match another row, or reach beyond the row.
#[test]
fn keys_of_other_columns_are_refused() {
    let database = database();
    let table = tree_table(&database);
    let hashed = run_now(database.create_table(spec("hashed"))).expect("the table is new");
    let by_value = run_now(database.create_index("hashed", index("by_value"))).expect("is new");
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Serializable)).expect("begins");
    let wrong = [KeyBuilder::new().key(), KeyBuilder::new().int8(7).int8(7).key()];
    for (words, key) in [0, 2].into_iter().zip(wrong) {
        let sentence = |owner: &str, expected: u32| {
            format!(
                "a key of {owner} has {expected} words, this one has {words}: it is built from all key \
                 columns in order, each as wide as its type"
            )
        };
        for (table, owner) in [(table, "table t"), (hashed, "table hashed")] {
            let refused = run_now(txn.read(table, &key)).expect_err("no key of the table");
            assert_eq!(refused.to_string(), sentence(owner, 1));
            let refused = run_now(txn.insert(table, &key)).expect_err("no key of the table");
            assert_eq!(refused.to_string(), sentence(owner, 1));
        }
        let mut rows = Vec::new();
        let refused = run_now(txn.lookup(by_value, &key, &mut rows)).expect_err("no key");
        assert_eq!(refused.to_string(), sentence("index by_value", 1));
        let right = Key::highest(1);
        for (low, high) in [(key, right), (right, key)] {
            let source = txn::ScanSource::Table(table);
            let scan = txn::Scan { source, low, high, reverse: false, limit: 1 };
            let refused = run_now(txn.scan(&scan, &mut rows)).expect_err("no bound");
            assert_eq!(refused.to_string(), sentence("table t", 1));
        }
    }
    let narrow = KeyBuilder::new().int4(7).key();
    let sentence = |owner: &str| {
        format!(
            "a key of {owner} takes 8 bytes, this one was built of 4: each column is as wide as its type"
        )
    };
    for (table, owner) in [(table, "table t"), (hashed, "table hashed")] {
        let refused = run_now(txn.read(table, &narrow)).expect_err("of a narrower column");
        assert_eq!(refused.to_string(), sentence(owner));
    }
    let refused = run_now(txn.lookup(by_value, &narrow, &mut Vec::new())).expect_err("narrower");
    assert_eq!(refused.to_string(), sentence("index by_value"));
    let source = txn::ScanSource::Index(by_value);
    let scan = txn::Scan { source, low: key(1), high: key(1), reverse: true, limit: 1 };
    let refused = run_now(txn.scan(&scan, &mut Vec::new())).expect_err("no bound");
    let sentence =
        "a key of index by_value with the primary key behind it has 2 words, this one has 1";
    assert!(refused.to_string().starts_with(sentence), "{refused}");
    // Refused statements have no effect: the transaction goes on.
    assert_eq!(run_now(txn.read(table, &key(1))), Ok(None));
    run_now(txn.insert(hashed, &key(1))).expect("is free");
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
}

/// More rows than one transaction could once write, in all storages, with an index.
#[test]
fn a_transaction_writes_hundreds_of_thousands_of_rows() {
    const ROWS: i64 = 150_000;
    for storage in [Storage::Tree, Storage::HashOutside, Storage::HashInlined] {
        let database = open(&config(1 << 30)).expect("memory");
        let mut spec = TableSpec { indexes: vec![index("by_value")], ..spec("t") };
        (spec.design.storage, spec.design.size_hint) = (storage, ROWS as u64);
        let table = run_now(database.create_table(spec)).expect("created");
        let by_value = database.index("t", "by_value").expect("it was created");
        let mut lane = run_now(database.lane()).expect("a lane");
        for (round, value) in [1, 2, -1, 3].into_iter().enumerate() {
            let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            let mut rows = Vec::new();
            for part in 0..ROWS / 1000 {
                let all = keys(table, part * 1000..(part + 1) * 1000);
                if round == 0 || round == 3 {
                    run_now(txn.insert_many(&all, &mut rows)).expect("there is room");
                } else {
                    let mut found = Vec::new();
                    run_now(txn.read_many(&all, &mut found)).expect("there is room");
                    rows = found.into_iter().map(|row| row.expect("it exists")).collect();
                }
                for &row in &rows {
                    match value {
                        -1 => txn.delete(row),
                        value => txn.update(row).set_int(VALUE, value),
                    }
                }
            }
            assert_eq!(run_now(txn.commit()), Outcome::Committed, "{storage:?} {round}");
            let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            let values = [(0, value), (ROWS - 1, value)].map(|(id, value)| {
                let row = run_now(txn.read(table, &key(id))).expect("readable");
                (row.map(|row| txn.row(row).int(VALUE)), (value > 0).then_some(value))
            });
            assert!(values.iter().all(|(found, expected)| found == expected), "{storage:?}");
            let mut rows = Vec::new();
            run_now(txn.lookup(by_value, &key(value), &mut rows)).expect("readable");
            assert_eq!(rows.len(), if value > 0 { ROWS as usize } else { 0 }, "{storage:?}");
        }
        run_now(lane.rest()).expect("reachable");
        let report = run_now(database.check()).expect("readable");
        assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()));
    }
}
