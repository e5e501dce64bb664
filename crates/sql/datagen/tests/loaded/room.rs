//! Free space in leaves after a load.

use crate::{PARTS, SCALE, empty, load_in, ours};
use datagen::{Batches, Population};
use fabric::{LocalEnv, run_now};
use layout::{LeafLayout, PhysicalDesign, Storage};
use sql::{Program, Source};
use txn::{Database, TableSpec};

const SCHEMA: &str = "CREATE TABLE line (id integer PRIMARY KEY, amount integer NOT NULL);";
const LOAD: &str = r#"
name = "lines"
unit = "3,000 lines"
units = 1
[tables.line]
rows = "3000 * units"
columns.id = { sequence = [1, "line.rows"] }
columns.amount = { constant = 7 }
[procedures]
f = { frequency = 1 }
"#;
const NODE_BYTES: u32 = 512;

/// Loads the lines in these batches; returns the number of lines, the reported number, and the
/// number of leaves.
fn loaded(batches: Batches) -> (usize, u64, f64) {
    let procedures = "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;";
    let program = Program::parse(
        &Source::new("schema.sql", SCHEMA),
        &Source::new("procedures.sql", procedures),
    );
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let load = sql::read_load(&Source::new("workload.toml", LOAD), &program);
    let load = load.unwrap_or_else(|error| panic!("{error}"));
    let population =
        Population::new(&program, &load, SCALE).unwrap_or_else(|error| panic!("{error}"));
    let database: Database<LocalEnv> = empty();
    let design = PhysicalDesign {
        storage: Storage::Tree,
        node_bytes: NODE_BYTES,
        ..PhysicalDesign::default()
    };
    let table = &program.catalog.tables[0];
    let spec = TableSpec { schema: table.schema.clone(), design, indexes: Vec::new() };
    run_now(database.create_table(spec)).expect("the table is new");
    let told = load_in(&database, &population, batches).unwrap_or_else(|error| panic!("{error}"));
    let report = run_now(database.check()).expect("it can be read");
    assert_eq!(report.errors, Vec::<String>::new());
    let leaves = report.lines.iter().find_map(|line| {
        let (_, of) = line.split_once("line: ")?;
        of.split_once(" leaves").and_then(|(count, _)| count.replace(',', "").parse::<f64>().ok())
    });
    (ours(&database, &population, 0).len(), told, leaves.expect("it is a tree"))
}

#[test]
fn leaves_with_room_are_two_thirds_full_and_others_are_full() {
    let entries = LeafLayout::within(NODE_BYTES, 1, 1, false).entries;
    let rows = 3_000 * SCALE.units;
    let share = |batches: Batches| {
        let (found, told, leaves) = loaded(batches);
        assert_eq!((found as u64, told), (rows, rows));
        rows as f64 / leaves / f64::from(entries)
    };
    let (full, with_room) =
        (share(Batches::of(50)), share(Batches { rows: 50, leaf_rows: Some(entries.into()) }));
    assert!(full > 0.95, "{full}");
    assert!((0.6..0.75).contains(&with_room), "{with_room}");
    // Parts with few leaves are merged.
    let few = share(Batches { rows: 50, leaf_rows: Some(rows / (32 * (PARTS - 1))) });
    assert!((0.6..0.75).contains(&few), "{few}");
}
