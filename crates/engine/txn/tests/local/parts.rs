//! A table in parts behaves like a whole one.

use fabric::{LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, Part, PartRule, PhysicalDesign,
    Placement, Schema, Storage,
};
use txn::local::{OpenConfig, open};
use txn::{
    Abort, CatalogError, Database, IndexId, Isolation, Lane, Outcome, Scan, ScanSource, TableId,
    TableSpec, TxnError,
};

pub const NAME: usize = 2;
const CITY: usize = 3;
/// Number of towns, which divide the rows.
const TOWNS: i32 = 10;
/// Maximal number of attempts at a change.
const TRIES_MAX: u32 = 100;
const RULE: PartRule = PartRule::Ranges { smallest: 0, values: TOWNS as u64 };

pub fn database() -> Database<LocalEnv> {
    open(&OpenConfig { servers: 3, server_bytes: 64 << 20, ..OpenConfig::default() })
        .expect("memory")
}

pub fn spec(name: &str, storage: Storage, kind: IndexKind) -> TableSpec {
    let columns = vec![
        Column::new("town", ColumnType::Int4),
        Column::new("id", ColumnType::Int4),
        Column::new("name", ColumnType::Varchar(8)),
        Column::new("city", ColumnType::Int4),
    ];
    let schema = Schema::new(name, columns, &[0, 1]).expect("a valid schema");
    let index = |name: &str, columns: &[usize], unique, kind, hashed_columns| {
        let (name, columns) = (name.to_owned(), columns.to_vec());
        IndexDesign { name, columns, unique, kind, node_bytes: 256, size_hint: 64, hashed_columns }
    };
    let indexes = vec![
        index("by_name", &[NAME], true, kind, None),
        index("by_town", &[0, CITY], false, IndexKind::Tree, Some(1)),
        index("by_city", &[CITY], false, IndexKind::Tree, Some(0)),
    ];
    let design = PhysicalDesign { storage, size_hint: 64, ..PhysicalDesign::default() };
    TableSpec { schema, design, indexes }
}

/// A table in three parts, and the same as a whole.
struct Both {
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    tables: [TableId; 2],
}

pub fn key(town: i32, id: i32) -> Key {
    KeyBuilder::new().int4(town).int4(id).key()
}

impl Both {
    fn new(storage: Storage, kind: IndexKind, rule: PartRule) -> Self {
        let database = database();
        let parts = database.create_in_parts(spec("parts", storage, kind), &[2, 0, 1], rule);
        let whole = database.create_table(spec("whole", storage, kind));
        let tables = [run_now(parts).expect("created"), run_now(whole).expect("created")];
        let lane = run_now(database.lane()).expect("a lane");
        Self { database, lane, tables }
    }

    fn index(&self, table: usize, name: &str) -> IndexId {
        self.database.index(["parts", "whole"][table], name).expect("it was created")
    }

    /// Inserts, updates or deletes the row in both; returns both outcomes.
    fn change(&mut self, row: (i32, i32), name: Option<&str>) -> [Outcome; 2] {
        [0, 1].map(|number| {
            // The tombstone of a row blocks its unique name until it is collected, which may be
            // earlier in one table than in the other.
            let mut outcomes = (0..TRIES_MAX).map(|_| {
                let outcome = self.change_one(number, row, name);
                run_now(self.lane.collect_garbage()).expect("the servers answer");
                outcome
            });
            let ended = outcomes.find(|end| *end != Outcome::Aborted(Abort::InsertConflict));
            ended.expect("garbage is collected")
        })
    }

    fn change_one(&mut self, number: usize, (town, id): (i32, i32), name: Option<&str>) -> Outcome {
        let (table, by_name) = (self.tables[number], self.index(number, "by_name"));
        let mut txn = run_now(self.lane.begin(Isolation::Snapshot)).expect("begins");
        let found = run_now(txn.read(table, &key(town, id))).expect("readable");
        match (found, name) {
            (Some(row), None) => txn.delete(row),
            (None, None) => {}
            (found, Some(name)) => {
                let row = match found {
                    Some(row) => row,
                    None => run_now(txn.insert(table, &key(town, id))).expect("is free"),
                };
                txn.update(row).set_bytes(NAME, name.as_bytes());
                txn.update(row).set_int(CITY, i64::from(id % 3));
                // The transaction finds its own row by the new name before others see it.
                let mut own = Vec::new();
                let name = KeyBuilder::new().padded(name.as_bytes(), 8).key();
                run_now(txn.lookup(by_name, &name, &mut own)).expect("readable");
                assert!(own.contains(&row));
            }
        }
        run_now(txn.commit())
    }

    /// Compares the ids that a scan finds in both.
    fn scan(&mut self, source: &str, (low, high): (Key, Key), reverse: bool, limit: usize) {
        let found = [0, 1].map(|number| {
            let source = match source {
                "" => ScanSource::Table(self.tables[number]),
                name => ScanSource::Index(self.index(number, name)),
            };
            let mut txn = run_now(self.lane.begin(Isolation::Snapshot)).expect("begins");
            let (mut rows, mut many) = (Vec::new(), Vec::new());
            let scan = Scan { source, low, high, reverse, limit };
            run_now(txn.scan(&scan, &mut rows)).expect("readable");
            run_now(txn.scan_many(&[scan, scan], &mut many)).expect("readable");
            assert_eq!(many, [rows.clone(), rows.clone()]);
            let ids = rows.iter().map(|&row| (txn.row(row).int(0), txn.row(row).int(1)));
            ids.collect::<Vec<_>>()
        });
        assert_eq!(found[0], found[1]);
    }

    fn compare(&mut self, is_tree: bool) {
        let all = [0, 1].map(|number| {
            let mut txn = run_now(self.lane.begin(Isolation::Snapshot)).expect("begins");
            let mut all = Vec::new();
            let mut note = |row: layout::RecordRef<'_>| {
                all.push((row.int(0), row.int(1), row.bytes(NAME).to_vec()));
            };
            run_now(txn.for_each(self.tables[number], &mut note)).expect("readable");
            all.sort();
            all
        });
        assert_eq!(all[0], all[1]);
        assert!(!all[0].is_empty());
        for (town, id, name) in &all[0] {
            for number in [0, 1] {
                let by_name = self.index(number, "by_name");
                let mut txn = run_now(self.lane.begin(Isolation::Snapshot)).expect("begins");
                let mut rows = Vec::new();
                let name = KeyBuilder::new().padded(name, 8).key();
                run_now(txn.lookup(by_name, &name, &mut rows)).expect("readable");
                let found: Vec<_> = rows.iter().map(|&row| txn.row(row).int(1)).collect();
                assert_eq!(found, [*id], "of town {town}");
            }
        }
        for (reverse, limit) in [(false, usize::MAX), (true, usize::MAX), (false, 7), (true, 40)] {
            let words = 2;
            let within = KeyBuilder::new().int4(3).int4(1);
            let of_town = |town: i32| KeyBuilder::new().int4(town);
            let index_range = (within.prefix_low(words), within.prefix_high(words));
            self.scan("by_town", index_range, reverse, limit);
            self.scan("by_city", (Key::lowest(words), Key::highest(words)), reverse, limit);
            if is_tree {
                let all = (Key::lowest(1), Key::highest(1));
                self.scan("", all, reverse, limit);
                let some = (of_town(2).prefix_low(1), of_town(7).prefix_high(1));
                self.scan("", some, reverse, limit);
            }
        }
    }
}

/// A few hundred changes that insert, rename and delete rows, and violate unique names.
fn exercise(storage: Storage, kind: IndexKind, rule: PartRule) -> Both {
    let mut both = Both::new(storage, kind, rule);
    let mut violations = 0;
    for step in 0..600_i32 {
        let row = (step * 7 % (TOWNS + 2) - 1, step * 5 % 23);
        let name = format!("n{}", step * 11 % 190);
        // Renaming a row to another row's name is refused.
        let outcome = both.change(row, (step % 4 != 3).then_some(&name));
        assert_eq!(outcome[0], outcome[1], "step {step}");
        violations += u32::from(outcome[0] == Outcome::Aborted(Abort::UniqueViolation));
    }
    assert!(violations > 10, "{violations}");
    both
}

#[test]
fn a_table_in_ranges_does_what_a_whole_one_does() {
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        for kind in [IndexKind::Hash, IndexKind::Tree] {
            let mut both = exercise(storage, kind, RULE);
            both.compare(storage == Storage::Tree);
            let report = run_now(both.database.check()).expect("readable");
            assert_eq!(report.errors, Vec::<String>::new());
        }
    }
}

#[test]
fn a_copied_table_does_what_a_whole_one_does() {
    for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
        for kind in [IndexKind::Hash, IndexKind::Tree] {
            let mut both = exercise(storage, kind, PartRule::Copied);
            both.compare(storage == Storage::Tree);
            run_now(both.lane.rest()).expect("the oracle answers");
            let report = run_now(both.database.check()).expect("readable");
            assert_eq!(report.errors, Vec::<String>::new());
        }
    }
}

/// A transaction's own rows are in no leaf yet: a scan over several parts adds each at its place,
/// once, not once for each part.
#[test]
fn a_scan_finds_own_rows_of_each_part_once() {
    for rule in [RULE, PartRule::Copied] {
        finds_own_rows_once(rule);
    }
}

fn finds_own_rows_once(rule: PartRule) {
    let mut both = exercise(Storage::Tree, IndexKind::Tree, rule);
    for (reverse, limit) in [(false, usize::MAX), (true, usize::MAX), (false, 9), (true, 31)] {
        for (source, words) in [("", 1), ("by_town", 2)] {
            let found = [0, 1].map(|number| {
                let mut txn = run_now(both.lane.begin(Isolation::Snapshot)).expect("begins");
                for (town, id) in [(-5, 50), (0, 51), (4, 52), (4, 53), (9, 54), (12, 55)] {
                    let inserted = run_now(txn.insert(both.tables[number], &key(town, id)));
                    let row = inserted.expect("is free");
                    txn.update(row).set_bytes(NAME, format!("own{id}").as_bytes());
                    txn.update(row).set_int(CITY, 7);
                }
                let mut ids = 0..23;
                let moved = ids.find_map(|id| {
                    run_now(txn.read(both.tables[number], &key(2, id))).expect("readable")
                });
                txn.update(moved.expect("the town has rows")).set_int(CITY, 8);
                let source = match source {
                    "" => ScanSource::Table(both.tables[number]),
                    name => {
                        let table = ["parts", "whole"][number];
                        ScanSource::Index(both.database.index(table, name).expect("it was created"))
                    }
                };
                let (low, high) = (Key::lowest(words), Key::highest(words));
                let mut rows = Vec::new();
                let scan = Scan { source, low, high, reverse, limit };
                run_now(txn.scan(&scan, &mut rows)).expect("readable");
                let ids = rows.iter().map(|&row| (txn.row(row).int(0), txn.row(row).int(1)));
                let ids = ids.collect::<Vec<_>>();
                run_now(txn.abort());
                ids
            });
            assert_eq!(found[0], found[1], "{source:?} {reverse} {limit}");
        }
    }
}

/// Allocated bytes of a part.
pub fn used(database: &Database<LocalEnv>, part: &str) -> u64 {
    let usage = run_now(database.memory_usage()).expect("readable");
    let of = usage.iter().find(|of| of.name == part);
    of.map(|of| of.used_bytes).expect("it exists")
}

#[test]
fn rows_of_a_part_are_on_its_server() {
    let both = exercise(Storage::Tree, IndexKind::Tree, RULE);
    for part in ["parts", "parts.1", "parts.2"] {
        let bytes = used(&both.database, part);
        assert!(bytes > 4096, "{part} has {bytes}");
    }
    run_now(both.database.drop_table("parts")).expect("it exists");
    for part in ["parts", "parts.1", "parts.2"] {
        assert_eq!(both.database.table(part), None);
    }
}

/// A client stopped while creating a table in four parts. The existing parts are not a table, are
/// not joined with parts of a later table, and can be dropped.
#[test]
fn parts_without_the_others_are_no_table() {
    let database = database();
    let part = |number: u16| {
        let mut spec = spec(&format!("t.{number}"), Storage::Tree, IndexKind::Tree);
        let part = Part { of: "t".to_owned(), number, count: 4, rule: RULE };
        (spec.design.server, spec.design.part) = (Some(0), Some(part));
        spec
    };
    for number in [3, 2] {
        run_now(database.create_table(part(number))).expect("the name is free");
    }
    for name in ["t", "t.2", "t.3"] {
        assert_eq!(database.table(name), None, "{name}");
    }
    refuses_a_part_alone(&database, run_now(database.create_table(part(1))).expect("is free"));
    run_now(database.drop_table("t.2")).expect("it exists, and the other with it");
    run_now(database.create_table(part(3))).expect("the name is free again");

    let made = database.create_in_parts(spec("t", Storage::Tree, IndexKind::Tree), &[0, 1], RULE);
    let table = run_now(made).expect("no name is taken");
    assert_eq!(database.table("t.3"), None);
    let mut lane = run_now(database.lane()).expect("a lane");
    let empty = used(&database, "t.1");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    for town in 0..TOWNS {
        let row = run_now(txn.insert(table, &key(town, 1))).expect("is free");
        txn.update(row).set_bytes(NAME, town.to_string().as_bytes());
    }
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    assert!(used(&database, "t.1") > empty, "its rows are in both parts");
    run_now(database.drop_table("t")).expect("it exists");
    let left = run_now(database.drop_table("t"));
    assert_eq!(left, Err(CatalogError::NoTable("t".to_owned())));
}

/// A part whose other parts are missing is refused, also by its number.
fn refuses_a_part_alone(database: &Database<LocalEnv>, part: TableId) {
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    let read = run_now(txn.read(part, &key(1, 1)));
    let Err(TxnError::Catalog(refused)) = read else { panic!("{read:?}") };
    assert!(refused.to_string().contains("t.1: other parts of it are missing"), "{refused}");
    let visited = run_now(txn.for_each(part, &mut |_| panic!("it has no rows")));
    assert!(matches!(visited, Err(TxnError::Catalog(_))), "{visited:?}");
}

/// A whole table has the name of one whose parts remain: a drop removes both.
#[test]
fn parts_that_are_left_go_with_a_whole_table_of_their_name() {
    let database = database();
    let mut left = spec("t.1", Storage::Tree, IndexKind::Tree);
    left.design.part = Some(Part { of: "t".to_owned(), number: 1, count: 2, rule: RULE });
    run_now(database.create_table(left)).expect("the name is free");
    run_now(database.create_table(spec("t", Storage::Tree, IndexKind::Tree))).expect("is free");
    assert!(database.table("t").is_some() && database.table("t.1").is_none());
    run_now(database.drop_table("t")).expect("it exists");
    let made = database.create_in_parts(spec("t", Storage::Tree, IndexKind::Tree), &[0, 1], RULE);
    run_now(made).expect("no name is taken");
}

/// Created parts are removed if another part cannot be created.
#[test]
fn a_table_in_parts_is_made_as_a_whole_or_not_at_all() {
    let database = database();
    let system = |database: &Database<LocalEnv>| used(database, "system");
    run_now(database.create_table(spec("t.1", Storage::Tree, IndexKind::Hash))).expect("is free");
    let before = system(&database);
    let make = || {
        let spec = spec("t", Storage::Tree, IndexKind::Tree);
        run_now(database.create_in_parts(spec, &[0, 1, 2], RULE))
    };
    assert_eq!(make(), Err(CatalogError::Exists("table t.1".to_owned())));
    assert_eq!(run_now(database.drop_table("t.2")), Err(CatalogError::NoTable("t.2".to_owned())));
    assert_eq!(system(&database), before, "its memory is free again");
    run_now(database.drop_table("t.1")).expect("it exists");
    let table = make().expect("no name is taken");
    assert_eq!(make(), Err(CatalogError::Exists("table t".to_owned())), "the table is unchanged");
    assert_eq!(database.table("t"), Some(table));
}

/// Memory and structure of a table include those of all its parts, and each long value is counted
/// once.
#[test]
fn usage_and_checks_cover_all_parts() {
    let database = database();
    let columns = vec![
        Column::new("town", ColumnType::Int4),
        Column::new("id", ColumnType::Int4),
        Column::new("name", ColumnType::Varchar(8)),
        Column::new("city", ColumnType::Int4),
        Column::nullable("note", ColumnType::Varchar(2000)),
    ];
    let mut spec = spec("t", Storage::Tree, IndexKind::Tree);
    spec.schema = Schema::new("t", columns, &[0, 1]).expect("a valid schema");
    let table = run_now(database.create_in_parts(spec, &[0, 1, 2], RULE)).expect("created");
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    for town in 0..TOWNS {
        let row = run_now(txn.insert(table, &key(town, 1))).expect("is free");
        txn.update(row).set_bytes(NAME, town.to_string().as_bytes());
        txn.update(row).set_bytes(4, &[b'x'; 500]);
    }
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    run_now(lane.rest()).expect("the oracle answers");
    let report = run_now(database.check_tables(&|name| name == "t")).expect("readable");
    assert_eq!(report.errors, Vec::<String>::new());
    let entries = |line: &String| {
        let words = line.split(": ").nth(1)?.split(", ").nth(1)?.strip_suffix(" entries")?;
        line.split(':').next().filter(|name| !name.contains("by_")).and(words.parse::<i32>().ok())
    };
    assert_eq!(report.lines.iter().filter_map(entries).sum::<i32>(), TOWNS, "{:?}", report.lines);
    let values = report.lines.iter().filter(|line| line.contains("values out of line"));
    assert_eq!(values.collect::<Vec<_>>(), [&format!("t: {TOWNS} values out of line")]);
    let usage = run_now(database.memory_usage()).expect("readable");
    let parts: Vec<&str> =
        usage.iter().filter(|part| part.of == "t").map(|part| part.name.as_str()).collect();
    assert_eq!(parts, ["t", "t.1", "t.2"]);
}

/// A part by the hash of the first column has all rows with a value of this column, in key order;
/// the same holds for an index.
#[test]
fn rows_with_equal_hashed_columns_are_in_order() {
    let mut both = exercise(Storage::Tree, IndexKind::Tree, PartRule::Hashed { columns: 1 });
    let of_town = |town: i32| KeyBuilder::new().int4(town);
    for (reverse, limit) in [(false, usize::MAX), (true, usize::MAX), (false, 3), (true, 4)] {
        for town in -1..TOWNS + 1 {
            let town = of_town(town);
            both.scan("", (town.prefix_low(1), town.prefix_high(1)), reverse, limit);
            both.scan("by_town", (town.prefix_low(2), town.prefix_high(2)), reverse, limit);
        }
        both.scan("by_city", (Key::lowest(2), Key::highest(2)), reverse, limit);
        // The rest of a range after its last row belongs to neither town.
        both.scan("", (of_town(3).prefix_low(1), of_town(2).prefix_high(1)), reverse, limit);
    }
    let report = run_now(both.database.check()).expect("readable");
    assert_eq!(report.errors, Vec::<String>::new());
    let named = |source| both.database.named_by_ranges(source);
    let of_index = |name| named(ScanSource::Index(both.index(0, name)));
    assert_eq!(named(ScanSource::Table(both.tables[0])), Some(1));
    assert_eq!(["by_name", "by_town", "by_city"].map(of_index), [Some(1), Some(1), Some(0)]);
    let hashed = exercise(Storage::HashInlined, IndexKind::Hash, PartRule::Hashed { columns: 2 });
    let none = ScanSource::Index(hashed.index(0, "by_name"));
    assert_eq!(hashed.database.named_by_ranges(none), None, "a hash table has no order");
    let bytes = ["parts", "parts.1", "parts.2"].map(|part| used(&both.database, part));
    assert!(bytes.iter().all(|bytes| *bytes > 4096), "each has rows: {bytes:?}");
}

/// Impossible divisions are refused.
#[test]
fn a_hash_of_no_or_too_many_columns_is_refused() {
    let database = database();
    let refused = |spec: TableSpec, rule: PartRule| {
        let refused = run_now(database.create_in_parts(spec, &[0, 1], rule));
        let Err(CatalogError::Design { reason, .. }) = refused else { panic!("{refused:?}") };
        reason
    };
    let mut spec = spec("t", Storage::Tree, IndexKind::Tree);
    let none = refused(spec.clone(), PartRule::Hashed { columns: 0 });
    assert!(none.contains("by no column"), "{none}");
    let three = refused(spec.clone(), PartRule::Hashed { columns: 3 });
    assert!(three.contains("by more columns than its key has"), "{three}");
    spec.indexes[1].hashed_columns = Some(3);
    let many = refused(spec, PartRule::Hashed { columns: 1 });
    assert!(many.contains("index by_town: it is divided by the hash of more columns"), "{many}");
}

#[test]
fn hashed_rows_are_found_but_not_in_order() {
    let mut both = exercise(Storage::Tree, IndexKind::Hash, PartRule::Hashed { columns: 2 });
    let scan = Scan {
        source: ScanSource::Table(both.tables[0]),
        low: Key::lowest(1),
        high: Key::highest(1),
        reverse: false,
        limit: 1,
    };
    let mut txn = run_now(both.lane.begin(Isolation::Snapshot)).expect("begins");
    let refused = run_now(txn.scan(&scan, &mut Vec::new()));
    let Err(TxnError::Catalog(refused)) = refused else { panic!("{refused:?}") };
    assert!(matches!(*refused, CatalogError::WrongKind(_)), "{refused:?}");
    let is_ordered = |number: usize| {
        let (table, index) = (both.tables[number], both.index(number, "by_town"));
        [ScanSource::Table(table), ScanSource::Index(index)].map(|of| both.database.is_ordered(of))
    };
    // Hashed parts have no common order.
    assert_eq!([is_ordered(0), is_ordered(1)], [[Some(false); 2], [Some(true); 2]]);
}

#[test]
fn dense_parts_have_places_for_their_range_alone() {
    let database = database();
    let mut spec = spec("dense", Storage::HashInlined, IndexKind::Hash);
    spec.design.placement = Placement::Dense { columns: vec![(0, TOWNS as u64), (0, 10)] };
    spec.indexes.clear();
    let refused =
        run_now(database.create_in_parts(spec.clone(), &[0, 1], PartRule::Hashed { columns: 2 }));
    let Err(CatalogError::Design { reason, .. }) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("dense"), "{reason}");
    let table = run_now(database.create_in_parts(spec, &[0, 1, 2], RULE)).expect("created");
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    for town in 0..TOWNS {
        run_now(txn.insert(table, &key(town, town))).expect("is free");
    }
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    for town in 0..TOWNS {
        let found = run_now(txn.read(table, &key(town, town))).expect("readable");
        assert!(found.is_some(), "{town}");
    }
}

/// All tables of a group have the ranges of the table with the most values; a table with fewer
/// values has no places for the others.
#[test]
fn dense_parts_have_no_more_places_than_the_table() {
    let database = database();
    let mut spec = spec("dense", Storage::HashInlined, IndexKind::Hash);
    spec.design.placement = Placement::Dense { columns: vec![(0, TOWNS as u64), (0, 10)] };
    spec.indexes.clear();
    let wide = PartRule::Ranges { smallest: -1_000_000, values: 3_000_000 };
    let table = run_now(database.create_in_parts(spec, &[0, 1, 2], wide)).expect("there is room");
    for part in ["dense", "dense.1", "dense.2"] {
        assert!(used(&database, part) < 1 << 20, "{part}");
    }
    let mut lane = run_now(database.lane()).expect("a lane");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    for town in [-5, 0, 3, 9, 12] {
        run_now(txn.insert(table, &key(town, town))).expect("is free");
    }
    assert_eq!(run_now(txn.commit()), Outcome::Committed);
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
    for town in [-5, 0, 3, 9, 12] {
        assert!(run_now(txn.read(table, &key(town, town))).expect("readable").is_some());
    }
}
