//! Lowers statements of every kind; each succeeds, or is refused with a message that says what to
//! write instead.
//!
//! The plans are in `corpus/plans`. If PostgreSQL is installed, they are generated again and
//! compared. `NAMDB_BLESS=1` records both the plans and the results.

#[path = "support/corpus.rs"]
mod corpus;

use corpus::{folder, lowered, origin, program, stored};
use postgres_plan::{CollectError, ColumnSpread, Question, ServerChoice, Statement, TableSize};
use std::fmt::Write;

fn question() -> Question {
    let program = program();
    let spread = |(column, distinct): &(&str, u64)| ColumnSpread {
        column: (*column).to_owned(),
        distinct: *distinct,
        null_fraction: 0.0,
    };
    let size = |table: &str, rows, columns: &[(&str, u64)]| TableSize {
        table: table.to_owned(),
        rows,
        columns: columns.iter().map(spread).collect(),
    };
    let statements = program.embedded_statements().map(|embedded| Statement {
        name: origin(embedded).statement,
        text: embedded.text.clone(),
        parameter_types: embedded.parameter_types.clone(),
    });
    Question {
        files: vec![folder().join("schema.sql"), folder().join("procedures.sql")],
        sizes: vec![
            size("part", 1_000_000, &[("maker", 1000), ("colour", 1000), ("id", 1_000_000)]),
            size("sale", 100_000, &[("part", 1000), ("id", 100_000), ("amount", 10)]),
            size("maker", 1000, &[("id", 1000)]),
            size(
                "item",
                50_000,
                &[("id", 50_000), ("name", 50_000), ("code", 500), ("price", 900)],
            ),
            size("purchase", 500_000, &[("item_id", 50_000), ("line", 10), ("buyer", 5000)]),
            size("note", 2000, &[("about", 500)]),
        ],
        statements: statements.collect(),
        checks: Vec::new(),
    }
}

#[test]
fn plans_are_those_of_postgresql() {
    let answer = match postgres_plan::collect(&question(), &ServerChoice::Private) {
        Ok(answer) => answer,
        Err(error @ CollectError::Absent { .. }) => {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{error}");
            println!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    for (embedded, plan) in program().embedded_statements().zip(&answer.plans) {
        let name = origin(embedded).file;
        let text = format!("{plan}\n");
        if std::env::var_os("NAMDB_BLESS").is_some() {
            std::fs::write(folder().join("plans").join(&name), &text).expect("the folder is ours");
        }
        assert_eq!(stored(embedded), text, "{name}");
    }
}

#[test]
fn statements_are_carried_out_or_refused_as_recorded() {
    let program = program();
    let mut found = String::new();
    for routine in &program.procedures {
        let plans: Result<Vec<_>, _> = routine
            .statements
            .iter()
            .map(|embedded| postgres_plan::read(&stored(embedded), &origin(embedded)))
            .collect();
        // Writing to a string cannot fail.
        let _ = match plans {
            Err(error) => writeln!(found, "{}\n    refused: {error}\n", routine.name),
            Ok(plans) => match lowered(&program, routine, &plans) {
                Ok(workload) => write!(found, "{workload}"),
                Err(error) => writeln!(found, "{}\n    refused: {error}\n", routine.name),
            },
        };
    }
    let record = folder().join("lowered.txt");
    if std::env::var_os("NAMDB_BLESS").is_some() {
        std::fs::write(&record, &found).expect("the record is written");
    }
    let recorded = std::fs::read_to_string(&record).unwrap_or_default();
    assert_eq!(found, recorded, "{} differs; NAMDB_BLESS=1 records it again", record.display());
}
