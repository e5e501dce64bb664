//! Planning is fast enough to plan each statement when it arrives: the test prints the time per
//! statement of TPC-C.

use planner::{Costs, Statistics, plan_program};
use sql::Program;
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
