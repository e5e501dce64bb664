//! Designs of the shipped workloads: default designs, files that do not fit, files for other
//! scales, and reported differences.

use folder_benchmark::{
    Code, DesignOrigin, Division, FolderError, Options, Stored, default_design,
};
use layout::{PartRule, Storage};
use spade::design::{Design, Partition, Placement, TableDesign};
use spade::measurement::Measurements;
use sql::WorkloadFolder;
use std::path::{Path, PathBuf};
use txn::Isolation;
use workload::Workload;

fn folder(workload: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(workload)
}

fn designed(workload: &str) -> Design {
    default_design(&folder(workload), Some(2)).unwrap_or_else(|error| panic!("{error}"))
}

fn table<'d>(design: &'d mut Design, name: &str) -> &'d mut TableDesign {
    let found = design.tables.iter_mut().find(|table| table.table == name);
    found.unwrap_or_else(|| panic!("there is a table {name}"))
}

/// Runs a folder with a design file.
fn run(workload: &str, units: u64, design: &Design, file: &str) -> Result<Stored, FolderError> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    std::fs::write(&path, design.json()).expect("the folder is cargo's");
    read(workload, units, &path)
}

fn read(workload: &str, units: u64, design: &Path) -> Result<Stored, FolderError> {
    let options = Options {
        units: Some(units),
        wants_plans: false,
        linked: &[],
        design: Some(design),
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    Stored::read(&folder(workload), &options)
}

/// Generated code fits only the files for which it was generated. A modified copy uses the
/// interpreter, unless generated code is required.
#[test]
fn a_changed_copy_of_a_folder_uses_the_interpreter() {
    let (from, to) = (folder("smallbank"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("changed"));
    let copy = |from: &Path, to: &Path| {
        std::fs::create_dir_all(to).expect("the folder is cargo's");
        for file in std::fs::read_dir(from).expect("it is there").flatten() {
            if file.path().is_file() {
                std::fs::copy(file.path(), to.join(file.file_name())).expect("there is room");
            }
        }
    };
    copy(&from, &to);
    copy(&from.join("plans"), &to.join("plans"));
    let options = Options {
        units: None,
        wants_plans: false,
        linked: &[],
        design: None,
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    let code = |stored: Stored| stored.code().clone();
    let unchanged = Stored::read(&to, &options).map(code);
    assert!(matches!(unchanged, Ok(Code::Generated(_))), "{unchanged:?}");
    let file = to.join("procedures.sql");
    let text = std::fs::read_to_string(&file).expect("it was copied");
    let changed = text.replace("There is no such customer", "Nobody has this number");
    std::fs::write(&file, changed).expect("there is room");
    let refused = Stored::read(&to, &options).map(code).expect_err("it says other things");
    assert!(refused.to_string().contains("run it with `--code plans`"), "{refused}");
    let (stored, why) = Stored::read_any(&to, &options).expect("plans are there");
    assert_eq!(code(stored), Code::Plans);
    assert!(matches!(why, Some(FolderError::OtherCode(_))), "{why:?}");
}

#[test]
fn the_default_design_follows_from_procedures_and_load() {
    let mut tpcc = designed("tpcc");
    assert_eq!((&*tpcc.workload, tpcc.procedures.len()), ("tpcc", 5));
    let dense = |columns: &[(i64, u64)]| Placement::Dense { columns: columns.to_vec() };
    for (name, columns, versions) in [
        ("warehouse", vec![(1, 2)], 8),
        ("district", vec![(1, 2), (1, 10)], 8),
        ("customer", vec![(1, 2), (1, 10), (1, 3000)], 1),
        ("item", vec![(1, 100_000)], 1),
        ("stock", vec![(1, 2), (1, 100_000)], 1),
    ] {
        let table = table(&mut tpcc, name);
        assert_eq!((table.storage, table.neighbourhood), (Storage::HashInlined, 1), "{name}");
        assert_eq!((&table.placement, table.versions_beside), (&dense(&columns), versions));
        assert_eq!(table.keeps_versions, versions == 8, "{name}: of small rows that change");
    }
    for name in ["history", "orders", "new_order", "order_line"] {
        let table = table(&mut tpcc, name);
        assert_eq!((table.storage, table.keeps_versions), (Storage::Tree, false), "{name}");
    }
    let names = &table(&mut tpcc, "customer").indexes[0];
    assert_eq!((&*names.index, names.entries), ("customer_name", 60_000));

    let mut tatp = designed("tatp");
    let numbers = &table(&mut tatp, "subscriber").indexes[0];
    assert_eq!(numbers.kind, layout::IndexKind::Hash, "each number is looked up by itself");
    assert_eq!(table(&mut tatp, "access_info").placement, dense(&[(1, 200_000), (1, 4)]));
}

#[test]
fn all_problems_of_a_design_are_reported_together() {
    let mut design = default_design(&folder("tpcc"), None).expect("the folder is fine");
    design.workload = "other".to_owned();
    design.procedures[0].procedure = "old_order".to_owned();
    design.procedures[1].by = Some("nobody".to_owned());
    table(&mut design, "order_line").storage = Storage::HashInlined;
    table(&mut design, "orders").indexes[0].kind = layout::IndexKind::Hash;
    table(&mut design, "customer").indexes.clear();
    table(&mut design, "item").placement = Placement::Dense { columns: vec![(1, 99_999)] };
    table(&mut design, "stock").placement = Placement::Dense { columns: vec![(1, 4)] };
    table(&mut design, "district").placement =
        Placement::Dense { columns: vec![(1, 100_000), (1, 100_000)] };
    table(&mut design, "warehouse").neighbourhood = 33;
    table(&mut design, "new_order").partition =
        Partition::By { columns: vec!["no_x".to_owned()], group: "w".to_owned() };
    table(&mut design, "history").table = "histories".to_owned();
    // The file is for ten units, the value of workload.toml.
    let refused = run("tpcc", 10, &design, "unfit.json");
    let told = refused.err().expect("nothing of it fits").to_string();
    for sentence in [
        "unfit.json does not fit the workload",
        "it is for workload other, but this is tpcc; tune this workload, or write its name into the design if both \
         have the same tables",
        "schema.sql has no table histories",
        "it lacks table history",
        "procedures.sql has no procedure old_order",
        "procedure payment has no argument nobody",
        "table order_line is a hash table, but procedure order_status scans its primary key in order",
        "index order_customer of table orders is a hash table, but procedure order_status scans it",
        "it must list index customer_name of table customer exactly once",
        "has places for i_id from 1 to 99999, but workload.toml draws 1 to 100000",
        "a dense placement describes every column of the key",
        "10000000000 places for 100 rows",
        "neighbourhood is 33; 1 to 32 is allowed",
        "table new_order, partitioned by no_x, has no such column",
    ] {
        assert!(told.contains(sentence), "{sentence:?} is missing in\n{told}");
    }
}

#[test]
fn files_that_are_not_designs_are_reported() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken.json");
    std::fs::write(&path, "{}").expect("the folder is cargo's");
    let told = |path: &Path| read("tpcc", 1, path).err().expect("it is none").to_string();
    assert!(told(&path).contains("broken.json: this is not a design"), "{}", told(&path));
    let nowhere = told(Path::new("/nowhere/design.json"));
    assert!(nowhere.contains("the design /nowhere/design.json cannot be read"), "{nowhere}");
}

/// A file without units is for those of `workload.toml`; an extra value at the end of its range is
/// preserved.
#[test]
fn a_design_grows_and_shrinks_with_the_load() {
    let mut design = default_design(&folder("tpcc"), None).expect("the folder is fine");
    let stock = table(&mut design, "stock");
    assert_eq!(stock.placement, Placement::Dense { columns: vec![(1, 10), (1, 100_000)] });
    stock.placement = Placement::Dense { columns: vec![(1, 10), (1, 100_001)] };
    let stored = run("tpcc", 3, &design, "scaled.json").unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(stored.origin(), DesignOrigin::File(path) if path.ends_with("scaled.json")));
    let mut scaled = stored.design().clone();
    let stock = table(&mut scaled, "stock");
    assert_eq!(stock.placement, Placement::Dense { columns: vec![(1, 3), (1, 100_001)] });
    assert_eq!(stock.rows, 300_000);
    assert_eq!(table(&mut scaled, "orders").indexes[0].entries, 90_000);
}

/// A design for other units says so: at these units it is unchanged, and for others it is scaled.
#[test]
fn a_design_that_says_its_units_grows_from_these() {
    let stock_at = |units: u64, design: &Design| {
        let stored = run("tpcc", units, design, "units.json");
        let mut own = stored.unwrap_or_else(|error| panic!("{error}")).design().clone();
        assert_eq!(own.units(10), units);
        let stock = table(&mut own, "stock");
        (stock.rows, stock.placement.clone())
    };
    let dense = |warehouses: u64| Placement::Dense { columns: vec![(1, warehouses), (1, 100_000)] };
    let one = default_design(&folder("tpcc"), Some(1)).expect("the folder is fine");
    assert_eq!(stock_at(1, &one), (100_000, dense(1)));
    assert_eq!(stock_at(3, &one), (300_000, dense(3)));
    assert_eq!(stock_at(10, &one), (1_000_000, dense(10)));
    let usual = default_design(&folder("tpcc"), None).expect("the folder is fine");
    assert!(!usual.json().contains("units"), "it is for those of workload.toml");
    assert_eq!(stock_at(1, &usual), (100_000, dense(1)));
    // A design that a program reads is for the program's units.
    let stored = run("tpcc", 3, &one, "units.json").unwrap_or_else(|error| panic!("{error}"));
    let given = stored.with_design(stored.design().clone().for_units(10, 10));
    assert_eq!(given.map(|stored| stored.design().units(10)).ok(), Some(3));
    assert_eq!(stored.default_design().units(10), 3);
}

/// A design for other units is built and forecast as it was tuned.
#[test]
fn a_design_tuned_for_other_units_is_built_for_them() {
    use spade::tune::{Input, Options, forecast, tune};
    for workload in ["tpcc", "tatp"] {
        let file = "../../spade/spade/measurements/connectx3-fdr.json";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(file).expect("the measurements are shipped");
        let measurements = &Measurements::parse(&text).expect("this program has written them");
        let read = WorkloadFolder::read(&folder(workload)).expect("the folder is fine");
        let ready = procedure::Workload::read(&folder(workload)).expect("the folder is fine");
        let input = Input { folder: &read, workload: &ready, measurements };
        let at = |units: u64| Options { units: Some(units), ..Options::default() };
        let tuning = tune(input, &at(1)).unwrap_or_else(|error| panic!("{workload}: {error}"));
        let sealed = tuning.design.clone().sealed();
        let built = |units: u64| {
            let stored = run(workload, units, &sealed, &format!("tuned-{workload}.json"));
            stored.unwrap_or_else(|error| panic!("{workload}: {error}")).design().clone()
        };
        assert_eq!(built(1), sealed, "{workload}");
        let found = forecast(input, &at(1), &built(1)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.forecast, tuning.forecast, "{workload}");
        // A design that is built at other units has the same forecast as the file.
        let [file, built] = [&sealed, &built(3)].map(|design| forecast(input, &at(3), design));
        assert_eq!(file.expect("it fits"), built.expect("it fits"), "{workload}");
    }
}

#[test]
fn a_design_with_invalid_units_is_refused() {
    let one = default_design(&folder("tpcc"), Some(1)).expect("the folder is fine");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-units.json");
    let told = |units: &str| {
        let text = one.json().replace("\"units\": 1,", &format!("\"units\": {units},"));
        std::fs::write(&path, text).expect("the folder is cargo's");
        read("tpcc", 1, &path).map(|_| ()).expect_err("it is nonsense").to_string()
    };
    for nonsense in ["0", "-3", "\"many\""] {
        let told = told(nonsense);
        assert!(told.contains(&format!("the design has units {nonsense}; units must")), "{told}");
    }
    let endless = told("18446744073709551615");
    assert!(endless.contains("at which the workload cannot be drawn"), "{endless}");
}

#[test]
fn differences_between_design_and_engine_are_reported() {
    let mut design = default_design(&folder("tpcc"), None).expect("the folder is fine");
    let by = |column: &str| Partition::By {
        columns: vec![column.to_owned()],
        group: "warehouse".to_owned(),
    };
    table(&mut design, "district").partition = by("d_w_id");
    table(&mut design, "stock").partition = by("s_i_id");
    table(&mut design, "orders").partition = by("o_w_id");
    table(&mut design, "history").partition = by("h_c_w_id");
    table(&mut design, "item").partition = Partition::Replicated;
    let stored = run("tpcc", 10, &design, "notes.json").unwrap_or_else(|error| panic!("{error}"));
    let notes = |servers| Workload::<fabric::LocalEnv>::notes(&stored, servers);
    assert_eq!(notes(1).len(), 0, "one server has all rows: {:?}", notes(1));
    let told = notes(3).join("\n");
    assert_eq!(notes(3).len(), 2, "{told}");
    for sentence in [
        "rows of table stock with equal s_i_id are not with those of group warehouse: its primary key does not begin",
        "rows of table history with equal h_c_w_id are not with those of group warehouse: its primary key does not begin",
    ] {
        assert!(told.contains(sentence), "{sentence:?} is missing in\n{told}");
    }
}

/// Folders with a design file use it at every scale.
#[test]
fn shipped_designs_fit() {
    for (workload, units) in [("tpcc", 1), ("tpcc", 25), ("tatp", 1), ("tatp", 30)] {
        let folder = folder(workload);
        let options = Options {
            units: Some(units),
            wants_plans: false,
            linked: &[],
            design: None,
            isolation: Isolation::Snapshot,
            seed: 1,
        };
        let stored = Stored::read(&folder, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(*stored.origin(), DesignOrigin::File(folder.join("design.json")));
        let notes = Workload::<fabric::LocalEnv>::notes(&stored, 4);
        // Four memory servers divide one warehouse by its districts.
        assert!(notes.is_empty(), "the engine does all that it says: {notes:?}");
    }
}

/// Rows that are inserted behind the load's do not all go to one memory server.
#[test]
fn tables_are_divided_by_what_procedures_do_with_them() {
    let design = default_design(&folder("tpcc"), None).expect("the folder is fine");
    let stored = run("tpcc", 10, &design, "divided.json").unwrap_or_else(|error| panic!("{error}"));
    let names = stored.ready().catalog.tables.iter().map(|table| table.name.as_str());
    let divisions = stored.divisions(4);
    let warehouses = Division::Parts(PartRule::Ranges { smallest: 1, values: 10 });
    for (name, division) in names.zip(divisions) {
        let expected = match name {
            "history" => Division::Parts(PartRule::Hashed { columns: 1 }),
            "item" => Division::Parts(PartRule::Ranges { smallest: 1, values: 100_000 }),
            _ => warehouses,
        };
        assert_eq!(division, expected, "{name}");
    }
    let mut copied = design.clone();
    table(&mut copied, "item").partition = Partition::Replicated;
    let copied = run("tpcc", 10, &copied, "copied.json").unwrap_or_else(|error| panic!("{error}"));
    let item = copied.ready().catalog.position("item").expect("it is in the schema");
    assert_eq!(copied.divisions(4)[item], Division::Parts(PartRule::Copied));
    assert!(copied.memory_bytes(4) > stored.memory_bytes(4) + 3 * 100_000 * 80);
    assert_eq!(copied.memory_bytes(1), stored.memory_bytes(1));
    // Ten warehouses cannot be divided over twelve servers; a table without ordered scans is
    // divided by hash.
    let of = |name: &str| {
        let at = stored.ready().catalog.position(name).expect("it is in the schema");
        stored.divisions(12)[at]
    };
    // A table with ordered scans is hashed by the columns for which all scans have values: the
    // lines of a district are together.
    assert_eq!(of("order_line"), Division::Parts(PartRule::Hashed { columns: 2 }));
    assert_eq!(of("history"), Division::Parts(PartRule::Hashed { columns: 1 }));
}

/// A folder with its own design, by the interpreter.
fn by_plans(name: &str) -> Stored {
    let options = Options {
        units: None,
        wants_plans: true,
        linked: &[],
        design: None,
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    Stored::read(&folder(name), &options).unwrap_or_else(|error| panic!("{error}"))
}

/// An index is divided by the columns for which all its scans have values. Without such columns it
/// is on one memory server, but its table is not.
#[test]
fn an_undivided_index_is_reported() {
    let stored = by_plans("../crates/eval/reproduce/data/items");
    let notes = Workload::<fabric::LocalEnv>::notes(&stored, 4);
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert!(
        note.starts_with("index item_ends of table item is on one memory server: closing scans")
    );
    let item = stored.ready().catalog.position("item").expect("it is in the schema");
    let ranges = PartRule::Ranges { smallest: 1, values: 20_000 };
    assert_eq!(stored.divisions(4)[item], Division::Parts(ranges));
}

/// Rows of a table without a key are on all memory servers: the hidden key is a column like others.
#[test]
fn a_table_without_a_key_is_divided() {
    let stored = by_plans("../crates/sql/codegen/tests/shop");
    let visit = stored.ready().catalog.position("visit").expect("it is in the schema");
    assert!(stored.ready().catalog.tables[visit].has_hidden_key());
    assert_eq!(stored.divisions(4)[visit], Division::Parts(PartRule::Hashed { columns: 1 }));
    let notes = Workload::<fabric::LocalEnv>::notes(&stored, 4);
    assert!(!notes.iter().any(|note| note.contains("visit")), "{notes:?}");
}
