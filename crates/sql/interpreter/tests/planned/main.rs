//! Random statements over random tables: our plans return the rows of naive plans, and of
//! PostgreSQL.
//!
//! A round has its own tables, whose rows are the same in three databases: ours with our plans,
//! ours with naive plans (full scans and nested loops, all conditions above them) and PostgreSQL,
//! if it is installed. Statements that change rows come between the queries, and the tables are
//! compared at the end. `NAMDB_PLANNED_ROUNDS` sets the number of rounds, `NAMDB_PLANNED_SEED` the
//! first seed.

#[path = "../execute/naive.rs"]
mod naive;
mod ours;
mod random;
mod statements;
mod tables;
mod theirs;

use ours::Ours;
use postgres_plan::{CollectError, Server, ServerChoice};
use random::Random;
use sql::{Program, Source};
use statements::{Statement, change, query};
use tables::{TABLES, tables};
use theirs::Theirs;

/// Statements of a round.
const STATEMENTS: usize = 60;
/// Rounds without `NAMDB_PLANNED_ROUNDS`.
const ROUNDS: u64 = 12;
/// One statement in this many changes rows.
const CHANGE_ONE_IN: u64 = 6;
/// Maximum percentage of statements that the resolver or the planner refuses.
const REFUSED_PERCENT_MAX: usize = 5;

/// The rows of a call as text, or its error.
pub type Answer = Result<Vec<String>, String>;

fn number(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |value| value.parse().expect("it is a number"))
}

/// A call of a statement's procedure.
struct Call {
    name: String,
    arguments: (i64, i64, &'static str),
}

/// A round: tables, statements and calls.
struct Round {
    schema: String,
    rows: String,
    statements: Vec<Statement>,
    calls: Vec<Call>,
    refused: usize,
}

fn dump(table: u64) -> String {
    let columns = ["k", "a", "b", "c", "d * 100"].map(|column| format!("(x.{column})::bigint"));
    let names = (0..columns.len()).map(|column| format!("o{column} bigint"));
    let names: Vec<String> = names.collect();
    format!(
        "CREATE FUNCTION dump{table}(p integer, q bigint, r varchar) RETURNS TABLE ({}, os varchar, oe varchar) LANGUAGE plpgsql AS \
         $$\nBEGIN\n  RETURN QUERY SELECT {}, x.s, x.e::varchar FROM t{table} x;\nEND\n$$;\n",
        names.join(", "),
        columns.join(", ")
    )
}

fn round(seed: u64) -> Round {
    let mut random = Random::new(seed);
    let made = tables(&mut random);
    let schema = Source::new("schema.sql", &made.schema);
    let mut statements = Vec::new();
    let mut refused = 0;
    while statements.len() < STATEMENTS {
        let name = format!("q{}", statements.len());
        let statement = match random.below(CHANGE_ONE_IN) {
            0 => change(&mut random, &name),
            _ => query(&mut random, &name),
        };
        let program = Program::parse(&schema, &Source::new("p.sql", &statement.procedure));
        let is_planned = program.is_ok_and(|program| ours::own_plans(&program, seed).is_ok());
        if is_planned {
            statements.push(statement);
        } else {
            refused += 1;
        }
    }
    for table in 0..TABLES {
        let procedure = dump(table);
        statements.push(Statement { procedure, is_naive: true, is_ordered: false });
    }
    let names = (0..STATEMENTS).map(|at| format!("q{at}"));
    let names = names.chain((0..TABLES).map(|table| format!("dump{table}")));
    let calls = names.map(|name| {
        let text = *random.pick(&["a", "ab", "b", ""]);
        let arguments = (random.below(5) as i64, random.below(5) as i64, text);
        Call { name, arguments }
    });
    let calls = calls.collect();
    Round { schema: made.schema, rows: made.rows, statements, calls, refused }
}

/// Sorts rows without an order.
fn comparable(answer: Answer, is_ordered: bool) -> Answer {
    answer.map(|mut rows| {
        if !is_ordered {
            rows.sort_unstable();
        }
        rows
    })
}

/// The result of a round.
#[derive(Default)]
struct Compared {
    differences: Vec<String>,
    /// Statements that the resolver or the planner refused.
    refused: usize,
    /// Statements with at least one row.
    found_rows: usize,
    /// Statements that ended with an error.
    failed: usize,
}

fn compare(seed: u64, server: Option<&Server>) -> Compared {
    let Round { schema, rows, statements, calls, refused } = round(seed);
    let mut own = Ours::new(&schema, &rows, &statements, Some(seed));
    let mut plain = Ours::new(&schema, &rows, &statements, None);
    let theirs = server.map(|server| Theirs::call(server, (&schema, &rows), &statements, &calls));
    let mut compared = Compared { refused, ..Compared::default() };
    let mut all_naive = true;
    for (at, (call, statement)) in calls.iter().zip(&statements).enumerate() {
        let found = comparable(own.call(call), statement.is_ordered);
        compared.found_rows += usize::from(found.as_ref().is_ok_and(|rows| !rows.is_empty()));
        compared.failed += usize::from(found.is_err());
        let mut others = Vec::new();
        // A change that the naive planner cannot execute makes its tables different.
        let is_change = statement.procedure.contains("ROW_COUNT");
        all_naive &= statement.is_naive || !is_change;
        if statement.is_naive && all_naive {
            others.push(("naive", comparable(plain.call(call), statement.is_ordered)));
        }
        if let Some(theirs) = &theirs {
            others.push(("PostgreSQL", comparable(theirs[at].clone(), statement.is_ordered)));
        }
        for (name, other) in others {
            if other != found {
                compared.differences.push(format!(
                    "seed {seed}, {}{:?}\n{}  {name}: {other:?}\n  planned: {found:?}",
                    call.name, call.arguments, statement.procedure
                ));
            }
        }
    }
    compared
}

#[test]
fn random_statements_return_the_rows_of_naive_plans_and_of_postgresql() {
    let server = match Server::open(&ServerChoice::Private) {
        Ok(server) => Some(server),
        Err(error @ CollectError::Absent { .. }) => {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{error}");
            println!("compared with naive plans only: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    };
    let (rounds, first) = (number("NAMDB_PLANNED_ROUNDS", ROUNDS), number("NAMDB_PLANNED_SEED", 1));
    let mut all = Compared::default();
    for seed in first..first + rounds {
        let of_round = compare(seed, server.as_ref());
        all.differences.extend(of_round.differences);
        all.refused += of_round.refused;
        all.found_rows += of_round.found_rows;
        all.failed += of_round.failed;
        assert!(all.differences.len() < 20, "{}", all.differences.join("\n"));
    }
    let Compared { differences, refused, found_rows, failed } = all;
    let count = rounds as usize * STATEMENTS;
    println!(
        "{count} statements compared: {found_rows} returned rows, {failed} ended with an error; {refused} others were refused"
    );
    assert!(found_rows * 3 > count, "too few statements return rows");
    assert!(failed * 10 < count, "too many statements fail");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(refused * 100 <= (count + refused) * REFUSED_PERCENT_MAX, "{refused} are refused");
}
