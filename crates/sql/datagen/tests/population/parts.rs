//! Tables in parts, and repeated draws.

use crate::{WORKLOADS, folder, number, population, scale};
use datagen::Population;

/// The rows and their order do not depend on the division into parts.
#[test]
fn parts_together_are_the_table() {
    for workload in WORKLOADS {
        let folder = folder(workload);
        // A tenth of the file's rows, so that the test is fast.
        let population = Population::new(&folder.program, &folder.load, scale(1, 5));
        let population = population.expect("the shipped workloads can be drawn");
        for table in 0..population.tables().count() {
            let name = population.tables().nth(table).unwrap_or_default();
            if ["stock", "customer", "order_line"].contains(&name) {
                continue;
            }
            let whole = population.rows(table, 0, 1);
            let parts = (0..7).flat_map(|part| population.rows(table, part, 7));
            assert!(whole.eq(parts), "{workload}: {name}");
        }
    }
}

#[test]
fn rows_can_be_drawn_from_any_part_on_alone() {
    let population = population("tpcc", 1, 5);
    let lines = number(&population, "order_line");
    let all: Vec<_> = population.rows(lines, 0, 1).collect();
    let last: Vec<_> = population.rows(lines, 99, 100).collect();
    assert!(last.len() > 2000 && all.ends_with(&last));
}

#[test]
fn another_seed_gives_other_rows() {
    let first = |seed| {
        let population = population("tatp", 1, seed);
        let table = number(&population, "call_forwarding");
        population.rows(table, 0, 1).take(10).collect::<Vec<_>>()
    };
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}

/// The row counts fit the expected ones.
#[test]
fn tables_have_as_many_rows_as_expected() {
    for (workload, table, deviation) in [
        ("tatp", "access_info", 1.2),
        ("tatp", "call_forwarding", 2.4),
        ("tpcc", "order_line", 3.2),
    ] {
        let folder = folder(workload);
        let population = population(workload, 1, 3);
        let expected =
            sql::load::Expectation::new(&folder.load, 1).rows(table).expect("it is known");
        let found = population.rows(number(&population, table), 0, 1).count() as f64;
        // The standard deviation over 30,000 or 100,000 parent rows.
        let sigma = deviation * f64::sqrt(100_000.0);
        assert!((found - expected).abs() < 3.0 * sigma, "{table}: {found}, expected {expected}");
    }
}
