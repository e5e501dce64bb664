//! Planning is fast enough to plan each statement when it arrives: the test prints the time per
//! statement of TPC-C.

use planner::{Costs, Statistics, plan_program};
use sql::{Program, Source};
use std::path::Path;
use std::time::Instant;

/// Executions per procedure.
const ROUNDS: u32 = 200;
/// Upper bound of the mean time per statement, for a machine that is shared and code that is not
/// built for release. The goal is 100 us.
const MICROSECONDS_MAX: f64 = 1000.0;

#[test]
#[expect(clippy::disallowed_methods, reason = "it measures real time; there is no Env here")]
fn statements_of_tpcc_are_planned_quickly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/tpcc");
    let whole = Program::read(&folder).unwrap_or_else(|errors| panic!("{errors}"));
    let checks = Program::read_checks(&folder).unwrap_or_else(|errors| panic!("{errors}"));
    let (mut slowest, mut sum, mut count) = (0.0_f64, 0.0, 0);
    for procedure in whole.procedures.iter().chain(&checks.procedures) {
        let statements = procedure.statements.len() as u32;
        let program =
            Program { catalog: whole.catalog.clone(), procedures: vec![procedure.clone()] };
        let statistics = Statistics::default();
        let start = Instant::now();
        for _ in 0..ROUNDS {
            let planned = plan_program(&program, &statistics, Costs::default());
            planned.unwrap_or_else(|error| panic!("{error}"));
        }
        let each = start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS * statements.max(1));
        println!("{:>8.1} us per statement of {} ({statements})", each, procedure.name);
        slowest = slowest.max(each);
        sum += each * f64::from(statements);
        count += statements;
    }
    println!(
        "{:>8.1} us per statement of all {count}, {slowest:.1} us at most",
        sum / f64::from(count)
    );
    assert!(sum / f64::from(count) < MICROSECONDS_MAX, "planning takes too long");
}

/// Joins of many tables: all orders up to ten tables, then greedily. In a star all columns are
/// equal, so that conditions connect all tables.
#[test]
#[expect(clippy::disallowed_methods, reason = "it measures real time; there is no Env here")]
fn joins_of_many_tables_are_planned_in_time() {
    let schema = Source::new("schema.sql", "CREATE TABLE t (k integer PRIMARY KEY, a integer);");
    for (count, is_star) in [(6, false), (10, false), (10, true), (11, true), (45, false)] {
        let from = (0..count).map(|at| format!("t t{at}")).collect::<Vec<_>>().join(", ");
        let pair = |at: usize| {
            let before = if is_star { 0 } else { at - 1 };
            format!("t{at}.k = t{before}.a")
        };
        let pairs = (1..count).map(pair).collect::<Vec<_>>().join(" AND ");
        let procedure = format!(
            "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n PERFORM t0.k FROM {from} WHERE \
             {pairs};\nEND\n$$;\n"
        );
        let program = Program::parse(&schema, &Source::new("p.sql", &procedure));
        let program = program.unwrap_or_else(|errors| panic!("{errors}"));
        let start = Instant::now();
        let planned = plan_program(&program, &Statistics::default(), Costs::default());
        planned.unwrap_or_else(|error| panic!("{error}"));
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        println!("{milliseconds:>8.1} ms for {count} tables, star: {is_star}");
        assert!(milliseconds < 3000.0, "{count} tables take too long");
    }
}
