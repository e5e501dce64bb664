//! Generated code and the interpreter give the same rows, errors and tables after thousands of
//! equal calls. Other tests compare the interpreter with PostgreSQL.

#[path = "../../../../sql/codegen/tests/corners/code/mod.rs"]
#[allow(
    unused_mut,
    unused_assignments,
    unused_parens,
    unused_variables,
    clippy::all,
    reason = "a program has written it"
)]
mod corners;
#[path = "../../../../sql/codegen/tests/edges/code/mod.rs"]
#[allow(unused, clippy::all, reason = "a program has written it")]
mod edges;
#[path = "../../../../sql/codegen/tests/shop/code/mod.rs"]
#[allow(unused, clippy::all, reason = "a program has written it")]
mod shop;
#[path = "../../../../sql/datagen/tests/loaded/small.rs"]
mod small;
#[path = "../../../../sql/interpreter/tests/differential/strange.rs"]
mod strange;

use datagen::{Batches, Call, Mix, Population, Scale, load_part, read_row};
use fabric::{LocalEnv, run_now};
use folder_benchmark::Prepared;
use interpreter::{CallError, Settings, create, default_design};
use procedure::Workload;
use procedure_runtime::{Caller, Cell, Counts, Generated};
use small::{path, small};
use sql_value::Value;
use strange::make_strange;
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane};

/// Memory of each database in bytes.
const SERVER_BYTES: u64 = 256 << 20;
/// Rows per transaction of the load.
const BATCH_ROWS: usize = 50;
/// Maximal number of differences that are printed.
const TOLD_MAX: usize = 40;
/// One of this number of calls has arguments outside of the load's ranges.
const STRANGE_ONE_IN: u64 = 8;

/// Minimal time of the clock after the year 2000, in microseconds; larger values are recognized as
/// times of the run.
const LATER_US: i64 = 1_000_000_000_000_000;

/// A database with opened procedures.
struct Twin<G> {
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    caller: Caller<G>,
}

/// The result of a call: rows, or an error's code and message.
#[derive(PartialEq, Debug)]
enum Answer {
    Rows(usize, Vec<String>),
    Error(String, String),
}

impl<G: Generated> Twin<G> {
    fn load(folder: &std::path::Path, population: &Population) -> Self {
        let workload = Workload::read(folder).unwrap_or_else(|error| panic!("{error}"));
        let config = OpenConfig { servers: 1, server_bytes: SERVER_BYTES, ..OpenConfig::default() };
        let database = open(&config).expect("memory can be mapped");
        let design = default_design(&workload, &|_| 10_000);
        run_now(create(&database, &workload.catalog, &design)).expect("the tables are new");
        let mut lane = run_now(database.lane()).expect("lanes are free");
        for table in 0..population.tables().count() {
            let loaded = load_part(
                population,
                &database,
                &mut lane,
                table,
                (0, 1),
                Batches::of(BATCH_ROWS),
                &|_| {},
            );
            run_now(loaded).unwrap_or_else(|error| panic!("{error}"));
        }
        let settings = Settings { epoch_us: -LATER_US, ..Settings::default() };
        let caller = Caller::open(&database, &workload, settings);
        let caller = caller.unwrap_or_else(|error| panic!("{error}"));
        Self { database, lane, caller }
    }

    /// Executes a call by generated code, if it accepts the arguments, or by the interpreter.
    fn call(&mut self, name: &str, call: &Call, is_generated: bool) -> Answer {
        let procedure = self.caller.find(name).expect("there is such a procedure");
        let (prepared, takes) = Prepared::of(call.arguments.clone());
        let (lane, caller) = (&mut self.lane, &mut self.caller);
        let called = match takes && is_generated {
            true => {
                let texts = prepared.texts();
                let arguments = prepared.arguments(&texts);
                run_now(caller.make(lane, procedure, &arguments))
            }
            false => run_now(caller.make_by_plans(lane, procedure, &call.arguments)),
        };
        let results = caller.results();
        match called.map_err(|error| *error) {
            Ok(()) => Answer::Rows(results.rows(), results.cells().map(shown).collect()),
            Err(CallError::Sql(error)) => {
                // Details of other errors contain times of the run.
                let detail = error.detail.filter(|_| error.sqlstate == "23505");
                let said = [error.message, detail.unwrap_or_default()].join(" ");
                Answer::Error(error.sqlstate.to_string(), said)
            }
            Err(error) => panic!("{name}{:?}: {error}", call.arguments),
        }
    }

    /// The rows of a table, sorted, without times of the run.
    fn table(&mut self, population: &Population, table: usize) -> Vec<String> {
        let types = population.column_types(table);
        let name = population.tables().nth(table).expect("there is such a table");
        let id = self.database.table(name).expect("the table was created");
        let mut txn = run_now(self.lane.begin(Isolation::Snapshot)).expect("nobody is in the way");
        let mut lines = Vec::new();
        let add = &mut |row: layout::RecordRef<'_>| {
            let masked = read_row(row, types).into_iter().map(|value| match value {
                Value::Timestamp(time) if time != 0 => Value::Null,
                other => other,
            });
            lines.push(format!("{:?}", masked.collect::<Vec<_>>()));
        };
        run_now(txn.for_each(id, add)).expect("the table can be read");
        lines.sort_unstable();
        lines
    }
}

/// A value as text; all times of the run look alike.
fn shown(cell: Cell<'_>) -> String {
    match cell {
        Cell::Int(number) if (LATER_US..2 * LATER_US).contains(&number) => "a time".to_owned(),
        Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    }
}

fn compare<G: Generated>(name: &str, count: usize, seed: u64) -> Counts {
    let (path, folder) = (path(name), small(name));
    let scale = Scale { units: 2, seed, now_us: 0 };
    let population = Population::new(&folder.program, &folder.load, scale);
    let population = population.unwrap_or_else(|error| panic!("{error}"));
    let mut generated: Twin<G> = Twin::load(&path, &population);
    let mut executed: Twin<G> = Twin::load(&path, &population);
    let mut stream = population.calls(0, 1, Mix::Deck);
    let mut calls: Vec<Call> = (0..count).map(|_| stream.next_call(0)).collect();
    make_strange(&mut calls, &folder.program, STRANGE_ONE_IN, seed);
    let mut differences = Vec::new();
    for call in &calls {
        let procedure = &folder.program.procedures[call.procedure].name;
        let answer = generated.call(procedure, call, true);
        let other = executed.call(procedure, call, false);
        if answer != other {
            let arguments = &call.arguments;
            differences.push(format!("{procedure}{arguments:?}: {answer:?}, executed {other:?}"));
        }
    }
    let told = differences.iter().take(TOLD_MAX).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{name}, {} differences:\n{told}", differences.len());
    for (table, name) in population.tables().enumerate() {
        let (one, other) =
            (generated.table(&population, table), executed.table(&population, table));
        assert_eq!(one.len(), other.len(), "rows of {name}");
        let first = one.iter().zip(&other).find(|(one, other)| one != other);
        assert_eq!(first, None, "{name}");
    }
    let counts = generated.caller.counts();
    println!("{name}: {counts:?}");
    counts
}

fn compare_usual<G: Generated>(name: &str, count: usize, seed: u64) {
    let counts = compare::<G>(name, count, seed);
    assert!(
        counts.generated > 3 * counts.deviated,
        "generated code does what usually happens: {counts:?}"
    );
}

#[test]
fn code_of_another_workload_is_refused() {
    let mut workload = Workload::read(&path("smallbank")).unwrap_or_else(|error| panic!("{error}"));
    let config = OpenConfig { servers: 1, server_bytes: SERVER_BYTES, ..OpenConfig::default() };
    let database = open(&config).expect("memory can be mapped");
    let design = default_design(&workload, &|_| 100);
    run_now(create(&database, &workload.catalog, &design)).expect("the tables are new");
    type Calls = Caller<workload_code::smallbank::Tables>;
    assert!(Calls::open(&database, &workload, Settings::default()).is_ok());
    workload.procedures[0].routine.is_strict = true;
    let refused = Calls::open(&database, &workload, Settings::default()).err();
    assert_eq!(refused, Some(procedure_runtime::OpenError::OtherWorkload));
}

#[test]
fn tpcc_is_the_same_by_generated_code() {
    compare_usual::<workload_code::tpcc::Tables>("tpcc", 2_000, 1);
}

#[test]
fn tatp_is_the_same_by_generated_code() {
    compare_usual::<workload_code::tatp::Tables>("tatp", 6_000, 2);
}

#[test]
fn smallbank_is_the_same_by_generated_code() {
    compare_usual::<workload_code::smallbank::Tables>("smallbank", 6_000, 3);
}

#[test]
fn ycsb_is_the_same_by_generated_code() {
    compare_usual::<workload_code::ycsb::Tables>("ycsb", 3_000, 4);
}

#[test]
fn corners_are_the_same_by_generated_code() {
    let counts = compare::<corners::Tables>("corners", 20_000, 5);
    assert!(counts.generated > counts.executed && counts.deviated > 0, "{counts:?}");
}

#[test]
fn edges_are_the_same_by_generated_code() {
    let counts = compare::<edges::Tables>("edges", 20_000, 6);
    assert!(counts.generated > 0 && counts.deviated > 0, "{counts:?}");
}

/// A schema with foreign keys, checks and `char` columns.
#[test]
fn a_shop_is_the_same_by_generated_code() {
    let counts = compare::<shop::Tables>("shop", 20_000, 7);
    assert!(counts.generated > counts.deviated && counts.deviated > 0, "{counts:?}");
}
