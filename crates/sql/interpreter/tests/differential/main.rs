//! Differential test against PostgreSQL: the shipped workloads and some corner cases run on both
//! sides, with the same tables and the same thousands of calls in sequence, and must give the same
//! rows, errors and final tables.
//!
//! Rows are compared as text, in order if the procedure defines an order, else as multisets
//! (`UNORDERED`). Errors are compared by SQLSTATE and message. All times except those of the load
//! are masked on both sides, since the clocks differ.

mod ours;
#[path = "../../../../sql/datagen/tests/loaded/small.rs"]
mod small;
mod strange;
mod theirs;

use datagen::{Mix, Population, Scale, call_text};
use ours::Ours;
use postgres_plan::{CollectError, Server, ServerChoice};
use procedure::Workload;
use small::{path, small};
use sql::Program;
use std::path::Path;
use strange::make_strange;
use theirs::Theirs;

/// Procedures whose queries do not define an order.
const UNORDERED: [&str; 2] = ["get_new_destination", "returned_many"];
/// The only procedures of the folder of queries that define an order, or keep that of a sub-select.
const ORDERED_QUERIES: [&str; 4] = ["merged_first", "groups_having", "ordered_inside", "dividing"];
const QUERIES: &str = "../crates/sql/interpreter/tests/queries";
/// Procedures that return `character(n)`, whose trailing blanks we do not store.
const PADDED: [&str; 25] = [
    "whole_row",
    "by_code",
    "rounds_of_texts",
    "set_blanks",
    "most_of_rows",
    "most_of_a_row",
    "extremes",
    "set_twice",
    "array_texts",
    "texts_ordered",
    "padded_keys",
    "returned_many",
    "casts_to_text",
    "explicit_casts",
    "text_kept",
    "product_of",
    "kinds",
    "lines_of",
    "bought",
    "seen",
    "skus_seen",
    "labelled",
    "wants",
    "longest_seen",
    "reserved_of",
];
/// The time in all loaded rows; other times come from the run.
const LOADED_AT: &str = "2000-01-01 00:00:00";
/// One call in this many gets arguments that the load never draws.
const STRANGE_ONE_IN: u64 = 8;
/// Maximum number of differences to print; the others are only counted.
const TOLD_MAX: usize = 12;

/// The result of a call, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Rows, with tabs between values.
    Rows(Vec<String>),
    /// SQLSTATE and message of an error.
    Error(String, String),
}

impl Answer {
    /// Masks times of the run, and sorts the rows if the procedure does not define an order.
    fn comparable(self, workload: &str, procedure: &str) -> Self {
        let Self::Rows(mut rows) = self else { return self };
        rows.iter_mut().for_each(|row| *row = masked(row));
        if PADDED.contains(&procedure) {
            let trimmed = |row: &String| {
                row.split('\t')
                    .map(|field| field.trim_end_matches(' '))
                    .collect::<Vec<_>>()
                    .join("\t")
            };
            rows = rows.iter().map(trimmed).collect();
        }
        let is_open = workload == QUERIES && !ORDERED_QUERIES.contains(&procedure);
        if is_open || UNORDERED.contains(&procedure) {
            rows.sort_unstable();
        }
        Self::Rows(rows)
    }
}

/// Where the plans of a workload come from.
#[derive(Clone, Copy)]
enum Plans {
    /// The folder: PostgreSQL's EXPLAIN.
    PostgreSql,
    /// Our planner.
    Own,
}

impl Plans {
    fn workload(self, folder: &Path, program: &Program) -> Workload {
        match self {
            Self::PostgreSql => Workload::read(folder).unwrap_or_else(|error| panic!("{error}")),
            Self::Own => {
                let statistics = planner::Statistics::default();
                let planned =
                    planner::plan_program(program, &statistics, planner::Costs::default());
                planned.unwrap_or_else(|error| panic!("{error}"))
            }
        }
    }
}

/// Masks times of the run in a line.
pub fn masked(line: &str) -> String {
    let fields = line.split('\t').map(|field| match is_time(field) && field != LOADED_AT {
        true => "<time of the run>",
        false => field,
    });
    fields.collect::<Vec<_>>().join("\t")
}

/// Whether a text begins like a timestamp.
fn is_time(field: &str) -> bool {
    let form = b"dddd-dd-dd dd:dd:dd";
    let bytes = field.as_bytes();
    bytes.len() >= form.len()
        && bytes.iter().zip(form).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            form => byte == form,
        })
}

/// Runs a workload on both sides and returns the differences. It makes `calls` calls, or
/// `NAMDB_DIFFERENTIAL_CALLS`. `None` if PostgreSQL is not installed. PostgreSQL executes `spoil`
/// after the load.
fn differences(
    workload: &str,
    plans: Plans,
    calls: usize,
    seed: u64,
    spoil: Option<&str>,
) -> Option<Vec<String>> {
    let server = match Server::open(&ServerChoice::Private) {
        Ok(server) => server,
        Err(error @ CollectError::Absent { .. }) => {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{error}");
            println!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let (path, folder) = (path(workload), small(workload));
    let scale = Scale { units: 2, seed, now_us: 0 };
    let population = Population::new(&folder.program, &folder.load, scale);
    let population = population.unwrap_or_else(|error| panic!("{error}"));
    let theirs = Theirs::load(&server, &path, &population);
    if let Some(script) = spoil {
        theirs.run(script);
    }
    let mut ours = Ours::load(&plans.workload(&path, &folder.program), &population);

    let wanted = std::env::var("NAMDB_DIFFERENTIAL_CALLS").ok();
    let count = wanted.map_or(calls, |wanted| wanted.parse().expect("it is a number of calls"));
    let mut stream = population.calls(0, 1, Mix::Deck);
    let mut calls: Vec<_> = (0..count).map(|_| stream.next_call(0)).collect();
    make_strange(&mut calls, &folder.program, STRANGE_ONE_IN, seed);
    let texts: Vec<String> = calls.iter().map(|call| call_text(&folder.program, call)).collect();
    let mut differences = Vec::new();
    let mut errors = 0;
    for ((call, text), answer) in calls.iter().zip(&texts).zip(theirs.call(&texts)) {
        let procedure = &folder.program.procedures[call.procedure].name;
        errors += usize::from(matches!(answer, Answer::Error(..)));
        let own = ours.call(procedure, &call.arguments).comparable(workload, procedure);
        let answer = answer.comparable(workload, procedure);
        if own != answer {
            differences.push(format!("{text}\n  PostgreSQL: {answer:?}\n  namdb:      {own:?}"));
        }
    }
    println!("{workload}: {count} calls, {errors} of them end in errors");
    assert!(0 < errors && errors < count, "there are calls of both kinds");
    differences.extend(tables(&population, &theirs, &mut ours));
    Some(differences)
}

fn tables(population: &Population, theirs: &Theirs<'_>, ours: &mut Ours) -> Vec<String> {
    let tables = population.tables().enumerate();
    let compared = tables.filter_map(|(table, name)| {
        let (own, answer) = (ours.table(population, table), theirs.table(name));
        let first = own.iter().zip(&answer).find(|(own, answer)| own != answer);
        let counts = (answer.len(), own.len());
        (own != answer).then(|| format!("{name} has {counts:?} rows, first difference {first:?}"))
    });
    compared.collect()
}

/// Asserts that a workload does the same on both sides, with PostgreSQL's plans.
fn compare(workload: &str, calls: usize, seed: u64) {
    compare_plans(workload, Plans::PostgreSql, calls, seed);
}

/// Asserts that a workload does the same on both sides, with our own plans.
fn compare_own(workload: &str, calls: usize, seed: u64) {
    compare_plans(workload, Plans::Own, calls, seed);
}

fn compare_plans(workload: &str, plans: Plans, calls: usize, seed: u64) {
    let Some(differences) = differences(workload, plans, calls, seed, None) else { return };
    let told = differences.iter().take(TOLD_MAX).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{workload}, {} differences:\n{told}", differences.len());
}

#[test]
fn smallbank_is_in_postgresql() {
    compare("smallbank", 5000, 1);
}

#[test]
fn tatp_is_in_postgresql() {
    compare("tatp", 8000, 2);
}

/// A table without a primary key, with foreign keys and checks: rows are inserted, found with and
/// without an index, updated and deleted.
#[test]
fn a_ledger_is_in_postgresql() {
    compare("../crates/sql/interpreter/tests/ledger", 4000, 5);
}

/// Unions, and backward scans by arrays of keys.
#[test]
fn unions_are_in_postgresql() {
    compare("../crates/sql/interpreter/tests/unions", 1000, 8);
}

#[test]
fn tpcc_is_in_postgresql() {
    compare("tpcc", 3000, 3);
}

#[test]
fn ycsb_is_in_postgresql() {
    compare("ycsb", 5000, 4);
}

/// Unlikely procedures, at the corners of what generated code batches, reads ahead, or skips.
#[test]
fn corners_are_in_postgresql() {
    compare("corners", 20_000, 5);
}

/// Procedures at the bounds of types, and nested statements.
#[test]
fn edges_are_in_postgresql() {
    compare("edges", 3_000, 6);
}

/// A typical schema with foreign keys, checks and fixed-length codes.
#[test]
fn a_shop_is_in_postgresql() {
    compare("shop", 5_000, 7);
}

/// Queries with plans of every shape, between changes of their tables. The limits inside of
/// sub-selects are a regression test: without an order of its own, a limit kept arbitrary rows
/// where PostgreSQL's plan took the order from an index, because an aggregate or join above did not
/// require an order.
#[test]
fn queries_are_in_postgresql() {
    compare(QUERIES, 4_000, 8);
}

/// The same procedures with plans of our own planner.
#[test]
fn own_plans_of_smallbank_are_in_postgresql() {
    compare_own("smallbank", 3_000, 11);
}

#[test]
fn own_plans_of_tatp_are_in_postgresql() {
    compare_own("tatp", 4_000, 12);
}

#[test]
fn own_plans_of_a_ledger_are_in_postgresql() {
    compare_own("../crates/sql/interpreter/tests/ledger", 4_000, 15);
}

#[test]
fn own_plans_of_unions_are_in_postgresql() {
    compare_own("../crates/sql/interpreter/tests/unions", 1_000, 18);
}

#[test]
fn own_plans_of_tpcc_are_in_postgresql() {
    compare_own("tpcc", 2_000, 13);
}

#[test]
fn own_plans_of_ycsb_are_in_postgresql() {
    compare_own("ycsb", 3_000, 14);
}

#[test]
fn own_plans_of_corners_are_in_postgresql() {
    compare_own("corners", 10_000, 15);
}

#[test]
fn own_plans_of_edges_are_in_postgresql() {
    compare_own("edges", 3_000, 6);
}

#[test]
fn own_plans_of_a_shop_are_in_postgresql() {
    compare_own("shop", 5_000, 17);
}

#[test]
fn own_plans_of_queries_are_in_postgresql() {
    compare_own(QUERIES, 4_000, 18);
}

/// The queries above use every node that the reader knows and PostgreSQL uses for such small
/// tables, and every kind of join.
#[test]
fn queries_have_plans_of_all_kinds() {
    let plans = std::fs::read_dir(path(QUERIES).join("plans")).expect("they are checked in");
    let texts = plans.map(|plan| std::fs::read_to_string(plan.expect("it is there").path()));
    let all: String = texts.map(|text| text.expect("it is text")).collect();
    let nodes = [
        "Aggregate",
        "Append",
        "Bitmap Heap Scan",
        "BitmapOr",
        "Function Scan",
        "Hash Join",
        "Incremental Sort",
        "Index Only Scan",
        "Index Scan",
        "Limit",
        "Materialize",
        "Merge Append",
        "Merge Join",
        "ModifyTable",
        "Nested Loop",
        "Result",
        "Seq Scan",
        "Sort",
        "Subquery Scan",
        "Unique",
        "Values Scan",
    ];
    for node in nodes {
        assert!(all.contains(&format!("<Node-Type>{node}</Node-Type>")), "no {node}");
    }
    for join in ["Anti", "Full", "Inner", "Left", "Right", "Semi"] {
        assert!(all.contains(&format!("<Join-Type>{join}</Join-Type>")), "no {join} join");
    }
    assert!(all.contains("<Scan-Direction>Backward</Scan-Direction>"), "no scan goes backwards");
    for part in ["InitPlan", "SubPlan"] {
        assert!(
            all.contains(&format!("<Parent-Relationship>{part}</Parent-Relationship>")),
            "no {part}"
        );
    }
}

/// The tests above notice a difference of a single cent, in rows read and in the final tables.
#[test]
fn a_difference_is_noticed() {
    let spoil = "UPDATE savings SET balance = balance + 1 WHERE customer_id = 7;\n";
    let Some(differences) = differences("smallbank", Plans::PostgreSql, 3000, 1, Some(spoil))
    else {
        return;
    };
    assert!(
        differences.iter().any(|told| told.contains("\"balance\"('7'::bigint")),
        "{differences:?}"
    );
    assert!(differences.iter().any(|told| told.contains("first difference")), "{differences:?}");
}

#[test]
fn times_of_the_run_are_masked_and_others_are_not() {
    assert_eq!(masked("1\t2026-01-02 03:04:05.678\tx"), "1\t<time of the run>\tx");
    let loaded = "2000-01-01 00:00:00\t2000-01-01\t";
    assert_eq!(masked(loaded), loaded);
}
