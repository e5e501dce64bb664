//! The statements of scripts return the rows, command tags and SQLSTATEs of PostgreSQL.

use crate::support::{Client, new_database, shown_error};
use postgres_plan::{CollectError, Server, ServerChoice};
use std::fmt::Write;

const SCRIPT: &str = include_str!("script.sql");
const IDENTITY: &str = include_str!("identity.sql");
const UNTYPED: &str = include_str!("untyped.sql");
const LATERAL: &str = include_str!("lateral.sql");
const WINDOWS: &str = include_str!("windows.sql");
const SETS: &str = include_str!("sets.sql");
const CALLS: &str = include_str!("calls.sql");
const ROW_CALLS: &str = include_str!("row_calls.sql");
const RECURSIVE: &str = include_str!("recursive.sql");
const AGGREGATES: &str = include_str!("aggregates.sql");
const REFERENCES: &str = include_str!("references.sql");
const EXCEPTIONS: &str = include_str!("exceptions.sql");
const DYNAMIC: &str = include_str!("dynamic.sql");
const BLOCKS: &str = include_str!("blocks.sql");
const DRAWN: &str = include_str!("drawn.sql");
const CURSORS: &str = include_str!("cursors.sql");
const RECORDS: &str = include_str!("records.sql");
const CHANGING_WITH: &str = include_str!("changing_with.sql");
const SCHEMAS: &str = include_str!("schemas.sql");
const ENUMS: &str = include_str!("enums.sql");
const SPELLINGS: &str = include_str!("spellings.sql");
const STYLES: &str = include_str!("styles.sql");
const PARTIAL_INDEXES: &str = include_str!("partial_indexes.sql");
const EXPRESSION_INDEXES: &str = include_str!("expression_indexes.sql");
/// Stored types, one script each.
const TYPES: [&str; 7] = [
    include_str!("types/characters.sql"),
    include_str!("types/bytes.sql"),
    include_str!("types/json.sql"),
    include_str!("types/arrays.sql"),
    include_str!("types/intervals.sql"),
    include_str!("types/keys.sql"),
    include_str!("types/times.sql"),
];
/// Ends the output of a statement.
const MARK: &str = "-- end of statement:";

/// A statement per line.
fn statements(script: &'static str) -> Vec<&'static str> {
    script.lines().filter(|line| !line.starts_with("--") && !line.is_empty()).collect()
}

/// The output of each statement, or its SQLSTATE.
fn theirs(server: &Server, statements: &[&str]) -> Vec<String> {
    let database = server.database().unwrap_or_else(|error| panic!("{error}"));
    let mut script =
        "\\set ON_ERROR_STOP off\n\\pset null NULL\n\\pset footer off\n\\unset QUIET\n".to_owned();
    for statement in statements {
        // Writing to a string cannot fail.
        let _ = writeln!(script, "{statement}\n\\echo '{MARK}' :ERROR :SQLSTATE :ROW_COUNT");
    }
    let script = database.script("statements.sql", &script).expect("there is room");
    let printed = database.run("the statements", &[&script]);
    let printed = printed.unwrap_or_else(|error| panic!("{error}"));
    let (mut outputs, mut lines) = (Vec::new(), Vec::new());
    for line in printed.lines() {
        let Some(ended) = line.strip_prefix(MARK) else {
            lines.push(line.to_owned());
            continue;
        };
        let words: Vec<&str> = ended.split_whitespace().collect();
        outputs.push(match words[..] {
            ["true", sqlstate, ..] => sqlstate.to_owned(),
            _ => lines.join("\n"),
        });
        lines.clear();
    }
    outputs
}

/// The same of ours. `psql` prints rows without their tag.
fn ours(statements: &[&str]) -> Vec<String> {
    let mut client = Client::of(&new_database());
    let output = |statement: &&str| match client.query(statement) {
        Ok(shown) => match shown.rsplit_once('\n') {
            Some((rows, tag))
                if ["SELECT", "SHOW", "FETCH", "CALL"].iter().any(|word| tag.starts_with(word)) =>
            {
                rows.to_owned()
            }
            None if shown == "SELECT 0" || shown == "FETCH 0" => String::new(),
            _ => shown,
        },
        Err(error) => {
            let shown = shown_error(&error);
            assert!(shown.is_ascii(), "{shown}");
            error.sqlstate.to_string()
        }
    };
    statements.iter().map(output).collect()
}

#[test]
fn statements_have_the_results_of_postgresql() {
    compare(SCRIPT);
}

#[test]
fn identity_columns_are_those_of_postgresql() {
    compare(IDENTITY);
}

#[test]
fn schemas_are_those_of_postgresql() {
    compare(SCHEMAS);
}

#[test]
fn indexes_over_expressions_are_those_of_postgresql() {
    compare(EXPRESSION_INDEXES);
}

#[test]
fn partial_indexes_are_those_of_postgresql() {
    compare(PARTIAL_INDEXES);
}

#[test]
fn enumerated_types_are_those_of_postgresql() {
    compare(ENUMS);
}

#[test]
fn rare_spellings_are_those_of_postgresql() {
    compare(SPELLINGS);
}

#[test]
fn values_are_written_in_the_styles_of_postgresql() {
    compare(STYLES);
}

#[test]
fn values_without_a_type_have_the_types_of_postgresql() {
    compare(UNTYPED);
}

#[test]
fn functions_see_the_rows_beside_them_as_in_postgresql() {
    compare(LATERAL);
}

#[test]
fn window_functions_are_those_of_postgresql() {
    compare(WINDOWS);
}

#[test]
fn sets_are_compared_as_in_postgresql() {
    compare(SETS);
}

#[test]
fn routines_call_others_as_in_postgresql() {
    compare(CALLS);
}

#[test]
fn routines_are_called_over_rows_as_in_postgresql() {
    compare(ROW_CALLS);
}

#[test]
fn queries_name_themselves_as_in_postgresql() {
    compare(RECURSIVE);
}

#[test]
fn aggregates_are_ordered_and_rows_compared_as_in_postgresql() {
    compare(AGGREGATES);
}

#[test]
fn foreign_keys_act_as_in_postgresql() {
    compare(REFERENCES);
}

#[test]
fn errors_are_caught_as_in_postgresql() {
    compare(EXCEPTIONS);
}

#[test]
fn routines_draw_from_sequences_as_in_postgresql() {
    compare(DRAWN);
}

#[test]
fn cursors_of_routines_are_those_of_postgresql() {
    compare(CURSORS);
}

#[test]
fn functions_return_records_as_in_postgresql() {
    compare(RECORDS);
}

#[test]
fn changes_in_with_are_those_of_postgresql() {
    compare(CHANGING_WITH);
}

#[test]
fn computed_texts_run_as_in_postgresql() {
    compare(DYNAMIC);
}

#[test]
fn blocks_run_as_in_postgresql() {
    compare(BLOCKS);
}

#[test]
fn types_are_those_of_postgresql() {
    TYPES.into_iter().for_each(compare);
}

fn compare(script: &'static str) {
    let server = match Server::open(&ServerChoice::Private) {
        Ok(server) => server,
        Err(error @ CollectError::Absent { .. }) => {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{error}");
            println!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let statements = statements(script);
    let (theirs, ours) = (theirs(&server, &statements), ours(&statements));
    assert_eq!(theirs.len(), ours.len(), "every statement has its output");
    let mut differences = String::new();
    for ((statement, theirs), ours) in statements.iter().zip(&theirs).zip(&ours) {
        if theirs != ours {
            let _ = writeln!(differences, "{statement}\n  PostgreSQL: {theirs}\n  namdb: {ours}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
