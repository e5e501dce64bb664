//! Copied tables: readers use the nearest copy, writers change all copies.

use crate::parts::{NAME, database, key, spec, used};
use fabric::{Fabric, LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexKind, Key, KeyBuilder, PartRule, Placement, Schema, Storage,
};
use txn::{Database, Isolation, Lane, Outcome, Scan, ScanSource, TableId, Transaction};

/// The servers of the copies. The copy of the first memory server is the third.
const SERVERS: [u16; 3] = [1, 2, 0];
const ROWS: i32 = 10;
/// Position of a long column.
const NOTE: usize = 4;

/// A handle of another compute server, with `nearest` as its nearest memory server.
fn near(first: &Database<LocalEnv>, nearest: u16) -> Database<LocalEnv> {
    let database = first.elsewhere(first.env().world().endpoint()).nearest_to(nearest);
    run_now(database.refresh()).expect("the servers answer");
    database
}

fn begin(lane: &mut Lane<LocalEnv>) -> Transaction<'_, LocalEnv> {
    run_now(lane.begin(Isolation::Snapshot)).expect("begins")
}

fn fill(database: &Database<LocalEnv>, table: TableId) {
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = begin(&mut lane);
    for id in 0..ROWS {
        let row = run_now(txn.insert(table, &key(id, id))).expect("is free");
        txn.update(row).set_bytes(NAME, format!("n{id}").as_bytes());
    }
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    run_now(lane.rest()).expect("the oracle answers");
}

/// The memory servers that a statement's verbs reach.
fn servers_of(
    database: &Database<LocalEnv>,
    txn: &mut Transaction<'_, LocalEnv>,
    statement: impl AsyncFnOnce(&mut Transaction<'_, LocalEnv>),
) -> Vec<u16> {
    let servers = database.root().servers;
    txn.env().counters().take_trace();
    txn.env().counters().set_tracing(true);
    run_now(statement(txn));
    txn.env().counters().set_tracing(false);
    let trace = txn.env().counters().take_trace();
    assert!(!trace.is_empty());
    let is_met = |&at: &u16| trace.contains(&format!("{}:0x", servers[usize::from(at)].0));
    (0..servers.len() as u16).filter(is_met).collect()
}

#[test]
fn reads_go_to_the_nearest_copy() {
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        for kind in [IndexKind::Hash, IndexKind::Tree] {
            let first = database();
            let made = first.create_in_parts(spec("t", storage, kind), &SERVERS, PartRule::Copied);
            let table = run_now(made).expect("there is room");
            fill(&first, table);
            for nearest in 0..3 {
                let database = near(&first, nearest);
                let mut lane = run_now(database.lane()).expect("a lane");
                let mut txn = begin(&mut lane);
                run_now(txn.read(table, &key(0, 0))).expect("readable");
                let by_name = database.index("t", "by_name").expect("it was created");
                let by_town = database.index("t", "by_town").expect("it was created");
                let read = servers_of(&database, &mut txn, async |txn| {
                    assert!(txn.read(table, &key(1, 1)).await.expect("readable").is_some());
                });
                let read_many = servers_of(&database, &mut txn, async |txn| {
                    let mut found = Vec::new();
                    let keys = [(table, key(2, 2)), (table, key(3, 3))];
                    txn.read_many(&keys, &mut found).await.expect("readable");
                    assert!(found.iter().all(Option::is_some));
                });
                let looked_up = servers_of(&database, &mut txn, async |txn| {
                    let (name, mut found) = (KeyBuilder::new().padded(b"n4", 8).key(), Vec::new());
                    txn.lookup(by_name, &name, &mut found).await.expect("readable");
                    assert_eq!(found.len(), 1);
                });
                let scanned = servers_of(&database, &mut txn, async |txn| {
                    let (low, high) = (Key::lowest(2), Key::highest(2));
                    let source = ScanSource::Index(by_town);
                    let scan = Scan { source, low, high, reverse: true, limit: usize::MAX };
                    let mut found = Vec::new();
                    txn.scan(&scan, &mut found).await.expect("readable");
                    assert_eq!(found.len(), ROWS as usize);
                    let mut many = Vec::new();
                    txn.scan_many(&[scan], &mut many).await.expect("readable");
                    assert_eq!(many, [found]);
                });
                let visited = servers_of(&database, &mut txn, async |txn| {
                    let mut rows = 0;
                    txn.for_each(table, &mut |_| rows += 1).await.expect("readable");
                    assert_eq!(rows, ROWS, "each row is there once");
                });
                let all = [read, read_many, looked_up, scanned, visited];
                assert!(all.iter().all(|servers| *servers == [nearest]), "{storage:?}: {all:?}");
            }
        }
    }
}

/// A compute server whose nearest memory server has no copy uses one of the copies in turn.
#[test]
fn a_server_without_a_copy_has_one_elsewhere() {
    let first = database();
    let spec = spec("t", Storage::HashInlined, IndexKind::Hash);
    let made = first.create_in_parts(spec, &[2, 0], PartRule::Copied);
    let table = run_now(made).expect("there is room");
    fill(&first, table);
    for (nearest, expected) in [(0, 0), (1, 0), (2, 2), (4, 2), (7, 0)] {
        let database = near(&first, nearest);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut lane);
        run_now(txn.read(table, &key(0, 0))).expect("readable");
        let read = servers_of(&database, &mut txn, async |txn| {
            assert!(txn.read(table, &key(1, 1)).await.expect("readable").is_some());
        });
        assert_eq!(read, [expected], "nearest to {nearest}");
    }
}

/// Reads a row of each copy.
fn seen(first: &Database<LocalEnv>, table: TableId, id: i32) -> [Option<Vec<u8>>; 3] {
    [0, 1, 2].map(|nearest| {
        let database = near(first, nearest);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut lane);
        let row = run_now(txn.read(table, &key(id, id))).expect("readable");
        row.map(|row| txn.row(row).bytes(NAME).to_vec())
    })
}

#[test]
fn writes_go_to_all_copies() {
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        let first = database();
        let spec = spec("t", storage, IndexKind::Hash);
        let made = first.create_in_parts(spec, &SERVERS, PartRule::Copied);
        let table = run_now(made).expect("there is room");
        fill(&first, table);
        let writer = near(&first, 2);
        let mut lane = run_now(writer.lane()).expect("a lane");
        let mut txn = begin(&mut lane);
        let row = run_now(txn.read(table, &key(1, 1))).expect("readable").expect("it exists");
        txn.update(row).set_bytes(NAME, b"new");
        let gone = run_now(txn.read(table, &key(2, 2))).expect("readable").expect("it exists");
        txn.delete(gone);
        let row = run_now(txn.insert(table, &key(20, 20))).expect("is free");
        txn.update(row).set_bytes(NAME, b"more");
        // A row that is inserted and deleted at once, and one that is deleted and inserted again.
        let never = run_now(txn.insert(table, &key(21, 21))).expect("is free");
        txn.delete(never);
        let back = run_now(txn.read(table, &key(3, 3))).expect("readable").expect("it exists");
        txn.delete(back);
        let back = run_now(txn.insert(table, &key(3, 3))).expect("it is deleted");
        txn.update(back).set_bytes(NAME, b"back");
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        let all = |name: &[u8]| [0, 1, 2].map(|_| Some(name.to_vec()));
        assert_eq!(seen(&first, table, 1), all(b"new"), "{storage:?}");
        assert_eq!(seen(&first, table, 2), [None, None, None]);
        assert_eq!(seen(&first, table, 20), all(b"more"));
        assert_eq!(seen(&first, table, 21), [None, None, None]);
        assert_eq!(seen(&first, table, 3), all(b"back"));
        run_now(lane.rest()).expect("the oracle answers");
        let report = run_now(first.check()).expect("readable");
        assert_eq!(report.errors, Vec::<String>::new());
    }
}

/// Each copy has its own long values, both unchanged and new ones.
#[test]
fn copies_have_their_own_values_out_of_line() {
    let first = database();
    let mut spec = spec("t", Storage::HashInlined, IndexKind::Hash);
    let mut columns = spec.schema.columns().to_vec();
    columns.push(Column::nullable("note", ColumnType::Varchar(2000)));
    columns.push(Column::nullable("other", ColumnType::Varchar(2000)));
    spec.schema = Schema::new("t", columns, &[0, 1]).expect("a valid schema");
    spec.design.placement = Placement::Dense { columns: vec![(0, 10), (0, 10)] };
    spec.design.neighbourhood = 1;
    let made = first.create_in_parts(spec, &SERVERS, PartRule::Copied);
    let table = run_now(made).expect("there is room");
    fill(&first, table);
    let mut lane = run_now(first.lane()).expect("a lane");
    for round in 0..6_u8 {
        let mut txn = begin(&mut lane);
        for id in 0..ROWS {
            let row = run_now(txn.read(table, &key(id, id))).expect("readable").expect("it exists");
            let mut row = txn.update(row);
            match (round, id % 3) {
                (0, _) => {
                    row.set_bytes(NOTE, &[b'a'; 500]);
                    row.set_bytes(NOTE + 1, &[b'b'; 700]);
                }
                (_, 0) => row.set_bytes(NOTE, &[b'c' + round; 600]),
                (3, 1) => row.set_null(NOTE),
                _ => row.set_int(3, i64::from(round)),
            }
        }
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        run_now(lane.collect_garbage()).expect("the servers answer");
    }
    run_now(lane.rest()).expect("the oracle answers");
    let report = run_now(first.check()).expect("readable");
    assert_eq!(report.errors, Vec::<String>::new());
    // Three of ten rows have lost their note.
    let values = 3 * (2 * ROWS - 3);
    assert!(report.lines.contains(&format!("t: {values} values out of line")), "{report:?}");
    for nearest in 0..3 {
        let database = near(&first, nearest);
        let mut lane = run_now(database.lane()).expect("a lane");
        let mut txn = begin(&mut lane);
        let mut value = Vec::new();
        for (id, column, expected) in
            [(3, NOTE, [b'h'; 600].as_slice()), (3, NOTE + 1, &[b'b'; 700])]
        {
            let row = run_now(txn.read(table, &key(id, id))).expect("readable").expect("it exists");
            assert!(run_now(txn.read_long(row, column, &mut value)).expect("readable"));
            assert_eq!(value, expected);
        }
        let row = run_now(txn.read(table, &key(4, 4))).expect("readable").expect("it exists");
        assert!(!run_now(txn.read_long(row, NOTE, &mut value)).expect("readable"), "it is null");
    }
}

#[test]
fn each_copy_takes_the_memory_of_the_table() {
    let first = database();
    let mut plain = spec("whole", Storage::HashInlined, IndexKind::Hash);
    plain.design.placement = Placement::Dense { columns: vec![(0, 100), (0, 100)] };
    plain.indexes.clear();
    let mut copied = spec("t", Storage::HashInlined, IndexKind::Hash);
    copied.design = plain.design.clone();
    copied.indexes.clear();
    plain.design.server = Some(0);
    run_now(first.create_table(plain)).expect("there is room");
    let made = first.create_in_parts(copied, &SERVERS, PartRule::Copied);
    let table = run_now(made).expect("there is room");
    for copy in ["t", "t.1", "t.2"] {
        assert_eq!(used(&first, copy), used(&first, "whole"), "{copy}");
    }
    let usage = run_now(first.memory_usage()).expect("readable");
    assert_eq!(usage.iter().filter(|of| of.of == "t" && of.is_copy).count(), 3);
    fill(&first, table);
    run_now(first.drop_table("t")).expect("it exists");
    for copy in ["t", "t.1", "t.2"] {
        assert_eq!(first.table(copy), None);
    }
}
