//! Columns that store short values in the row and long ones out of line, on `local`: every change
//! between the two, old versions, collection, copies, and what such rows cost.

use fabric::{Fabric, LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, Key, KeyBuilder, LongValues, PartRule, PhysicalDesign, Schema,
    Storage, Value,
};
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane, Outcome, TableId, TableSpec, Transaction};

const TEXT: usize = 1;
const PHOTO: usize = 2;

/// A cell of 40 bytes: 39 and the length.
const ROOM: usize = 39;
/// Null, empty, and lengths around the room.
const LENGTHS: [Option<usize>; 7] =
    [None, Some(0), Some(1), Some(ROOM - 1), Some(ROOM), Some(ROOM + 1), Some(900)];

const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];

fn database() -> Database<LocalEnv> {
    let config = OpenConfig { servers: 2, server_bytes: 64 << 20, ..OpenConfig::default() };
    open(&config).expect("memory")
}

fn key(id: usize) -> Key {
    KeyBuilder::new().int4(id as i32).key()
}

fn spec(name: &str, storage: Storage, text: Column) -> TableSpec {
    let columns = vec![
        Column::new("id", ColumnType::Int4),
        text,
        Column::new("photo", ColumnType::Bytes(5000)).with_in_row(31),
    ];
    let schema = Schema::new(name, columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { storage, size_hint: 64, ..PhysicalDesign::default() };
    TableSpec { schema, design, indexes: Vec::new() }
}

fn text_column() -> Column {
    Column::nullable("text", ColumnType::Varchar(1000)).with_in_row(ROOM as u8)
}

fn create(database: &Database<LocalEnv>, storage: Storage) -> TableId {
    let spec = spec(&format!("{storage:?}"), storage, text_column());
    run_now(database.create_table(spec)).expect("created")
}

fn begin(lane: &mut Lane<LocalEnv>) -> Transaction<'_, LocalEnv> {
    run_now(lane.begin(Isolation::Snapshot)).expect("begins")
}

fn commit(txn: Transaction<'_, LocalEnv>) {
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
}

/// A text that names its row.
fn text(id: usize, length: Option<usize>) -> Value {
    let letter = (b'a' + (id % 26) as u8) as char;
    length.map_or(Value::Null, |length| Value::Text(letter.to_string().repeat(length)))
}

fn photo(id: usize) -> Vec<u8> {
    vec![id as u8; if id.is_multiple_of(2) { 20 } else { 2000 }]
}

fn insert(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: usize, length: Option<usize>) {
    let row = run_now(txn.insert(table, &key(id))).expect("is free");
    let mut row = txn.update(row);
    row.set(TEXT, &text(id, length)).expect("fits");
    row.set_bytes(PHOTO, &photo(id));
}

/// The text and the photo of a row, read in each possible way.
fn read(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: usize) -> (Value, Vec<u8>) {
    let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
    let mut values = LongValues::default();
    run_now(txn.read_long_many(&[(row, PHOTO), (row, TEXT)], &mut values)).expect("readable");
    let photo = values.get(0).expect("it is not null").to_vec();
    let text = values.get(1).map(|text| String::from_utf8(text.to_vec()).expect("a text"));
    let text = text.map_or(Value::Null, Value::Text);
    run_now(txn.read_long_row(row, &mut values)).expect("readable");
    let whole = txn.row(row).with_long(&values);
    assert_eq!((whole.value(TEXT), whole.bytes(PHOTO)), (text.clone(), &*photo));
    let mut bytes = vec![1];
    let is_there = run_now(txn.read_long(row, TEXT, &mut bytes)).expect("readable");
    match &text {
        Value::Text(text) => assert!(is_there && text.as_bytes() == bytes),
        _ => assert!(!is_there),
    }
    (text, photo)
}

/// Checks the structures; returns the number of values out of line.
fn values_out_of_line(database: &Database<LocalEnv>, table: &str) -> usize {
    let report = run_now(database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()));
    let line = report.lines.iter().find_map(|line| {
        line.strip_prefix(&format!("{table}: "))?.strip_suffix(" values out of line")
    });
    line.map_or(0, |count| count.parse().expect("a number"))
}

/// The length before and after, and the row's number.
fn changes() -> impl Iterator<Item = (usize, Option<usize>, Option<usize>)> {
    let pairs = LENGTHS.iter().flat_map(|&old| LENGTHS.map(|new| (old, new)));
    pairs.enumerate().map(|(id, (old, new))| (id, old, new))
}

#[test]
fn texts_of_every_length_become_texts_of_every_other() {
    let database = database();
    for storage in STORAGES {
        let table = create(&database, storage);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut lane);
        for (id, old, _) in changes() {
            insert(&mut txn, table, id, old);
            assert_eq!(read(&mut txn, table, id), (text(id, old), photo(id)), "its own write");
        }
        commit(txn);
        let mut old_lane = run_now(database.lane()).expect("a lane");
        let mut earlier = begin(&mut old_lane);

        let mut txn = begin(&mut lane);
        for (id, _, new) in changes() {
            let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
            // Over another change of the same transaction.
            txn.update(row).set(TEXT, &text(id, Some(id * 20 % 1000))).expect("fits");
            txn.update(row).set(TEXT, &text(id, new)).expect("fits");
            assert_eq!(read(&mut txn, table, id), (text(id, new), photo(id)), "its own write");
        }
        commit(txn);
        run_now(lane.collect_garbage()).expect("reachable");
        let mut txn = begin(&mut lane);
        for (id, old, new) in changes() {
            assert_eq!(read(&mut txn, table, id), (text(id, new), photo(id)));
            assert_eq!(read(&mut earlier, table, id), (text(id, old), photo(id)), "as it was");
        }
        let mut seen = 0;
        let mut visit = |row: layout::RecordRef<'_>| {
            let id = row.int(0) as usize;
            assert_eq!(row.value(TEXT), text(id, LENGTHS[id % LENGTHS.len()]));
            assert_eq!(row.bytes(PHOTO), photo(id));
            seen += 1;
        };
        run_now(txn.for_each_long(table, &mut visit)).expect("readable");
        assert_eq!(seen, LENGTHS.len() * LENGTHS.len());
        run_now(txn.abort());
        run_now(earlier.abort());
        // Two of seven texts are longer than the room, and every second photo.
        assert_eq!(values_out_of_line(&database, &format!("{storage:?}")), 2 * 7 + 49 / 2);
    }
}

#[test]
fn memory_of_values_that_became_short_is_used_again() {
    let database = database();
    let table = create(&database, Storage::HashInlined);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    insert(&mut txn, table, 0, None);
    commit(txn);
    let used = || {
        let usage = run_now(database.memory_usage()).expect("readable");
        usage.iter().map(|table| table.used_bytes).sum::<u64>()
    };
    let mut after_warmup = 0;
    for round in 0..2000 {
        let mut txn = begin(&mut lane);
        let row = run_now(txn.read(table, &key(0))).expect("readable").expect("it exists");
        let length = LENGTHS[round * 3 % LENGTHS.len()];
        txn.update(row).set(TEXT, &text(0, length)).expect("fits");
        commit(txn);
        if round == 200 {
            after_warmup = used();
        }
    }
    assert_eq!(used(), after_warmup);
    let collected = lane.statistics().expect("the lane is here").values_collected;
    assert!(collected > 400, "two of seven values were out of line, {collected} were collected");
}

#[test]
fn a_value_in_the_row_costs_no_round_trip() {
    let database = database();
    let table = create(&database, Storage::HashInlined);
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    insert(&mut txn, table, 0, Some(ROOM));
    insert(&mut txn, table, 1, Some(ROOM + 1));
    commit(txn);
    let mut txn = begin(&mut lane);
    let mut value = Vec::new();
    for id in 0..2 {
        let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
        let before = txn.env().counters().counts();
        assert!(run_now(txn.read_long(row, TEXT, &mut value)).expect("readable"));
        let round_trips = (txn.env().counters().counts() - before).round_trips;
        assert_eq!((round_trips, value.len()), (id as u64, ROOM + id));
    }
}

#[test]
fn copies_have_equal_values_in_the_row_and_their_own_out_of_line() {
    let database = database();
    let mut spec = spec("t", Storage::HashInlined, text_column());
    spec.design.placement = layout::Placement::Hashed { load_percent: 50 };

    let made = run_now(database.create_in_parts(spec, &[0, 1], PartRule::Copied));
    let table = made.expect("there is room");
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    changes().for_each(|(id, old, _)| insert(&mut txn, table, id, old));
    commit(txn);
    let mut txn = begin(&mut lane);
    for (id, _, new) in changes() {
        let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
        txn.update(row).set(TEXT, &text(id, new)).expect("fits");
    }
    commit(txn);
    let mut txn = begin(&mut lane);
    for (id, _, new) in changes() {
        assert_eq!(read(&mut txn, table, id), (text(id, new), photo(id)));
    }
    run_now(txn.abort());
    run_now(lane.collect_garbage()).expect("reachable");
    // The check compares the copies.
    assert_eq!(values_out_of_line(&database, "t"), 2 * (2 * 7 + 49 / 2));
}

#[test]
fn an_index_over_such_a_column_is_refused() {
    let database = database();
    let create = |name: &str, bytes| {
        let text = Column::new("text", ColumnType::Varchar(bytes)).with_in_row(31);
        run_now(database.create_table(spec(name, Storage::Tree, text))).expect("created");
        let (index, columns) = ("by_text".to_owned(), vec![TEXT]);
        let design = IndexDesign { name: index, columns, ..IndexDesign::default() };
        let refused = run_now(database.create_index(name, design));
        refused.expect_err("it cannot be a key").to_string()
    };
    assert_eq!(
        create("short", 50),
        "table short: index by_text: column text may be out of line, and cannot be indexed; \
         create it without in_row, which is 31"
    );
    assert_eq!(
        create("long", 100),
        "a key of table long takes 104 bytes; at most 64 fit, so shorten its text columns"
    );
}

/// Memory for each of 20,000 rows whose texts have this length.
fn bytes_per_row(column: Column, length: usize) -> u64 {
    let database = database();
    let columns = vec![Column::new("id", ColumnType::Int4), column];
    let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
    let design = PhysicalDesign { size_hint: 20_000, ..PhysicalDesign::default() };
    let spec = TableSpec { schema, design, indexes: Vec::new() };
    let table = run_now(database.create_table(spec)).expect("created");
    let mut lane = run_now(database.lane()).expect("a lane");
    for first in (0..20_000).step_by(1000) {
        let mut txn = begin(&mut lane);
        for id in first..first + 1000 {
            let row = run_now(txn.insert(table, &key(id))).expect("is free");
            txn.update(row).set(TEXT, &text(id, Some(length))).expect("fits");
        }
        commit(txn);
    }
    let usage = run_now(database.memory_usage()).expect("readable");
    usage.iter().map(|table| table.used_bytes).sum::<u64>() / 20_000
}

#[test]
fn a_short_text_takes_the_room_of_short_texts() {
    let whole = Column::new("text", ColumnType::Varchar(1000));
    let short = bytes_per_row(whole.clone().with_in_row(31), 20);
    let room_for_all = bytes_per_row(whole.clone(), 20);
    assert!(short * 6 < room_for_all, "{short} bytes per row, {room_for_all} with room for all");
    // A text that is a byte too long takes the memory that it needs, and not that of the longest.
    let long = bytes_per_row(whole.with_in_row(31), 32);
    assert!(long - short <= 128, "{long} bytes per row, {short} with short texts");
}
