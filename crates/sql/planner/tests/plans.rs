//! The plans of statements of every kind, as text. `NAMDB_BLESS=1` writes them again.

use planner::{Costs, Statistics, plan_program};
use procedure::Workload;
use sql::{Program, Source};
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).expect("the file is checked in")
}

/// Plans a statement whose variables are the parameters of a procedure.
fn planned(schema: &str, statement: &str) -> Workload {
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
    let planned = plan_program(&program, &Statistics::default(), Costs::default());
    planned.unwrap_or_else(|error| panic!("{statement}: {error}"))
}

/// Compares the text of every statement's plan with a file.
fn compare(file: &str, text_of: &dyn Fn(&Workload) -> String) {
    let schema = read("schema.sql");
    let mut found = String::new();
    for statement in read("statements.sql").lines() {
        found.push_str(statement);
        found.push('\n');
        if !statement.starts_with("--") {
            found.push_str(text_of(&planned(&schema, statement)).trim_end());
            found.push('\n');
        }
        found.push('\n');
    }
    if std::env::var_os("NAMDB_BLESS").is_some() {
        std::fs::write(path(file), &found).expect("the folder is writable");
    }
    assert_eq!(found, read(file), "write it again with NAMDB_BLESS=1");
}

#[test]
fn statements_of_every_kind_have_these_plans() {
    compare("plans.txt", &|workload| {
        let text = workload.to_string();
        let (_, plan) = text.split_once('\n').expect("the first line is the statement");
        plan.to_owned()
    });
}

#[test]
fn plans_are_explained_as_postgresql_does() {
    compare("explain.txt", &|workload| {
        let procedure = &workload.procedures[0];
        workload.explain(procedure, &procedure.statements[0]).join("\n")
    });
}
