//! Loads the shipped workloads into PostgreSQL and into namdb, and compares the rows.

mod refused;
mod room;
mod small;
mod together;

use datagen::{
    Batches, LoadError, Population, Scale, copy_line, load_part, load_postgresql, read_row,
};
use fabric::{Env, LocalEnv, run_now};
use layout::PhysicalDesign;
use postgres_plan::{CollectError, Server, ServerChoice};
use small::small;
use sql::WorkloadFolder;
use std::path::PathBuf;
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, TableSpec};

const WORKLOADS: [&str; 4] = ["smallbank", "tatp", "tpcc", "ycsb"];
const PARTS: u64 = 3;
const SCALE: Scale = Scale { units: 2, seed: 3, now_us: 0 };

fn population(folder: &WorkloadFolder) -> Population {
    Population::new(&folder.program, &folder.load, SCALE).unwrap_or_else(|error| panic!("{error}"))
}

fn empty() -> Database<LocalEnv> {
    open(&OpenConfig { servers: 2, server_bytes: 256 << 20, ..OpenConfig::default() })
        .expect("memory can be mapped")
}

/// The index design that the schema gives.
fn index(index: &sql::catalog::Index) -> layout::IndexDesign {
    layout::IndexDesign {
        name: index.name.clone(),
        columns: index.columns.clone(),
        unique: index.unique,
        kind: index.kind,
        ..layout::IndexDesign::default()
    }
}

async fn create<E: Env>(database: &Database<E>, folder: &WorkloadFolder) {
    for table in &folder.program.catalog.tables {
        let spec = TableSpec {
            schema: table.schema.clone(),
            design: PhysicalDesign::default(),
            indexes: table.indexes.iter().map(index).collect(),
        };
        database.create_table(spec).await.expect("the table is new");
    }
}

/// Loads all tables in parts, and returns the number of rows.
fn load(database: &Database<LocalEnv>, population: &Population) -> Result<u64, LoadError> {
    load_in(database, population, Batches::of(50))
}

fn load_in(
    database: &Database<LocalEnv>,
    population: &Population,
    batches: Batches,
) -> Result<u64, LoadError> {
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let count = std::cell::Cell::new(0);
    for table in 0..population.tables().count() {
        for part in 0..PARTS {
            let progress = |rows| count.set(count.get() + rows);
            let part = (part, PARTS);
            run_now(load_part(population, database, &mut lane, table, part, batches, &progress))?;
        }
    }
    Ok(count.get())
}

/// The rows of a table as sorted lines of `COPY`.
fn ours(database: &Database<LocalEnv>, population: &Population, table: usize) -> Vec<String> {
    let types = population.column_types(table);
    let name = population.tables().nth(table).expect("there is such a table");
    let id = database.table(name).expect("the table was created");
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("nobody is in the way");
    let mut lines = Vec::new();
    let add = &mut |row: layout::RecordRef<'_>| {
        let mut line = String::new();
        copy_line(&read_row(row, types), types, &mut line);
        lines.push(line.trim_end_matches('\n').to_owned());
    };
    run_now(txn.for_each(id, add)).expect("the table can be read");
    lines.sort_unstable();
    lines
}

#[test]
fn rows_come_back_from_postgresql_and_from_us() {
    let server = match Server::open(&ServerChoice::Private) {
        Ok(server) => server,
        Err(error @ CollectError::Absent { .. }) => {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{error}");
            return println!("skipped: {error}");
        }
        Err(error) => panic!("{error}"),
    };
    for workload in WORKLOADS {
        let folder = small(workload);
        let population = population(&folder);
        let schema = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../../workloads")
            .join(workload)
            .join("schema.sql");
        let theirs = server.database().expect("the server is ours");
        theirs.run("the schema", &[&schema]).expect("PostgreSQL takes it");
        load_postgresql(&population, &theirs).unwrap_or_else(|error| panic!("{error}"));

        let database = empty();
        run_now(create(&database, &folder));
        let count = load(&database, &population).unwrap_or_else(|error| panic!("{error}"));
        let mut compared = 0;
        for (table, name) in population.tables().enumerate() {
            let copy = format!("COPY {name} TO STDOUT;\n");
            let copy = theirs.script("copy.sql", &copy).expect("there is room");
            let answer = theirs.run("to copy", &[&copy]).expect("the table is there");
            let mut lines: Vec<&str> = answer.lines().collect();
            lines.sort_unstable();
            let own = ours(&database, &population, table);
            assert_eq!(own.len(), lines.len(), "{workload}: {name}");
            for (ours, theirs) in own.iter().zip(&lines) {
                assert_eq!(ours, theirs, "{workload}: {name}");
            }
            compared += own.len();
        }
        assert_eq!(compared as u64, count);
    }
}

#[test]
fn a_database_without_the_tables_says_so() {
    let folder = small("smallbank");
    let population = population(&folder);
    let database = empty();
    let error = load(&database, &population).expect_err("there are no tables");
    assert_eq!(error, LoadError::NoTable("accounts".to_owned()));
    assert!(error.to_string().contains("create the tables"));
}

#[test]
fn rows_that_are_there_are_not_loaded_again() {
    let folder = small("smallbank");
    let population = population(&folder);
    let database = empty();
    run_now(create(&database, &folder));
    let count = load(&database, &population).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(count, 6000);
    let error = load(&database, &population).expect_err("the rows are there");
    assert!(
        error.to_string().contains("another row has this key already, and accounts_pkey is unique"),
        "{error}"
    );
}
