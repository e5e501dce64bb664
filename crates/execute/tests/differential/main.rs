//! The shipped workloads here and in PostgreSQL, and one of corner cases: the same tables, the same thousands of calls, one
//! after the other, and the same rows, errors and tables afterwards.
//!
//! Rows are compared as text, in order where the procedure says what that is; else as sets with repetitions (`UNORDERED`).
//! Errors are compared by code and message. Times of the run itself are masked on both sides, since the clocks differ: all
//! that are not those of the load.

mod ours;
#[path = "../../../population/tests/loaded/small.rs"]
mod small;
mod strange;
mod theirs;

use ours::Ours;
use plan::{CollectError, Server, ServerChoice};
use population::{Mix, Population, Scale, call_text};
use small::{path, small};
use strange::make_strange;
use theirs::Theirs;

/// Procedures whose queries leave the order of rows open.
const UNORDERED: [&str; 2] = ["get_new_destination", "returned_many"];
/// The only ones of the folder of queries that ask for an order, or keep that of a sub-select.
const ORDERED_QUERIES: [&str; 4] = ["merged_first", "groups_having", "ordered_inside", "dividing"];
/// The folder of queries.
const QUERIES: &str = "../crates/execute/tests/queries";
/// Procedures that give values of `character(n)`, which are kept without the blanks at their ends.
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
/// When everything was that is loaded; other times are of the run.
const LOADED_AT: &str = "2000-01-01 00:00:00";
/// One call in so many gets arguments that no load draws.
const STRANGE_ONE_IN: u64 = 8;
/// Differences that are told; others are only counted.
const TOLD_MAX: usize = 12;

/// What a call gives back, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Rows, with tabs between values.
    Rows(Vec<String>),
    /// An error's code and message.
    Error(String, String),
}

impl Answer {
    /// Without times of the run, and without the order where there is none.
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

/// A line with times of the run masked.
pub fn masked(line: &str) -> String {
    let fields = line.split('\t').map(|field| match is_time(field) && field != LOADED_AT {
        true => "<time of the run>",
        false => field,
    });
    fields.collect::<Vec<_>>().join("\t")
}

/// Whether a text begins as a date with a time does.
fn is_time(field: &str) -> bool {
    let form = b"dddd-dd-dd dd:dd:dd";
    let bytes = field.as_bytes();
    bytes.len() >= form.len()
        && bytes.iter().zip(form).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            form => byte == form,
        })
}

/// What differs when a workload runs on both sides, `calls` of it unless `NAMDB_DIFFERENTIAL_CALLS` wants another number. None
/// where there is no PostgreSQL. `spoil` is run there after the load.
fn differences(
    workload: &str,
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
    let mut ours = Ours::load(&path, &population);

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

/// What differs in the tables.
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

/// Asserts that a workload does the same on both sides.
fn compare(workload: &str, calls: usize, seed: u64) {
    let Some(differences) = differences(workload, calls, seed, None) else { return };
    let told = differences.iter().take(TOLD_MAX).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{workload}, {} differences:\n{told}", differences.len());
}

#[test]
fn smallbank_is_as_in_postgresql() {
    compare("smallbank", 5000, 1);
}

#[test]
fn tatp_is_as_in_postgresql() {
    compare("tatp", 8000, 2);
}

/// A table without a primary key, references and checks: rows are added, found through an index and without one, changed
/// and taken away.
#[test]
fn a_ledger_is_as_in_postgresql() {
    compare("../crates/execute/tests/ledger", 4000, 5);
}

/// Queries that are put together, and keys of arrays backwards.
#[test]
fn unions_are_as_in_postgresql() {
    compare("../crates/execute/tests/unions", 1000, 8);
}

#[test]
fn tpcc_is_as_in_postgresql() {
    compare("tpcc", 3000, 3);
}

#[test]
fn ycsb_is_as_in_postgresql() {
    compare("ycsb", 5000, 4);
}

/// Procedures that no workload would call, at the corners of what generated code does together, early, or in part.
#[test]
fn corners_are_as_in_postgresql() {
    compare("corners", 20_000, 5);
}

/// Procedures at the edges of types, and of statements inside each other.
#[test]
fn edges_are_as_in_postgresql() {
    compare("edges", 3_000, 6);
}

/// A schema with references, checks and codes of fixed length, as anybody would set it up.
#[test]
fn a_shop_is_as_in_postgresql() {
    compare("shop", 5_000, 7);
}

/// Queries of every shape that plans have, between changes of their tables. Limits inside of sub-selects stand for an incident: rows were
/// the first of no order where the plan had the order from an index, and an aggregate or a join above did not ask for one.
#[test]
fn queries_are_as_in_postgresql() {
    compare(QUERIES, 4_000, 8);
}

/// What is compared above has every kind of node that the reader knows and PostgreSQL makes of so small tables, and every kind of join.
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

/// The tests above would see a single cent, in what is read and in what is left.
#[test]
fn a_difference_is_noticed() {
    let spoil = "UPDATE savings SET balance = balance + 1 WHERE customer_id = 7;\n";
    let Some(differences) = differences("smallbank", 3000, 1, Some(spoil)) else { return };
    assert!(
        differences.iter().any(|told| told.contains("\"balance\"('7'::bigint")),
        "{differences:?}"
    );
    assert!(differences.iter().any(|told| told.contains("first difference")), "{differences:?}");
}

#[test]
fn times_of_the_run_are_told_from_others() {
    assert_eq!(masked("1\t2026-01-02 03:04:05.678\tx"), "1\t<time of the run>\tx");
    let loaded = "2000-01-01 00:00:00\t2000-01-01\t";
    assert_eq!(masked(loaded), loaded);
}
