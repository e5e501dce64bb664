//! The plans of statements of every kind, as text. `NAMDB_BLESS=1` writes them again.

use planner::{Costs, Statistics, plan_program};
use sql::{Program, Source};
use std::fmt::Write;
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).expect("the file is checked in")
}

/// The plan of a statement, whose variables are the parameters of a procedure.
fn plan_of(schema: &str, statement: &str) -> String {
    let statement = match statement.strip_prefix("SELECT") {
        Some(rest) => format!("PERFORM {rest}"),
        None => statement.to_owned(),
    };
    let procedure = format!(
        "CREATE FUNCTION f(p integer, q bigint, r varchar, l integer[]) RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n \
         {statement};\nEND\n$$;\n"
    );
    let sources = [Source::new("schema.sql", schema), Source::new("p.sql", &procedure)];
    let program = Program::parse(&sources[0], &sources[1]);
    let program = program.unwrap_or_else(|error| panic!("{statement}: {error}"));
    match plan_program(&program, &Statistics::default(), Costs::default()) {
        Ok(workload) => {
            let text = workload.to_string();
            let (_, plan) = text.split_once('\n').expect("the first line is the statement");
            plan.trim_end().to_owned()
        }
        Err(error) => format!("    {error}"),
    }
}

#[test]
fn statements_of_every_kind_have_these_plans() {
    let schema = read("schema.sql");
    let mut found = String::new();
    for statement in read("statements.sql").lines() {
        if statement.starts_with("--") {
            writeln!(found, "{statement}\n").expect("a string takes everything");
            continue;
        }
        let plan = plan_of(&schema, statement);
        writeln!(found, "{statement}\n{plan}\n").expect("a string takes everything");
    }
    if std::env::var_os("NAMDB_BLESS").is_some() {
        std::fs::write(path("plans.txt"), &found).expect("the folder is writable");
    }
    assert_eq!(found, read("plans.txt"), "write them again with NAMDB_BLESS=1");
}
