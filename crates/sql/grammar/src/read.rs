//! Parses statements by PostgreSQL's SQL grammar, and the bodies of routines by the grammar of
//! their language.
//!
//! Decision: docs/decisions/0158-postgresqls-server-and-postgresqls-parser-both-judge.md

use pg_query::protobuf::{CreateFunctionStmt, RawStmt};
use pg_query::{Error, Node, NodeEnum};
use std::sync::{Mutex, PoisonError};

/// The objects that PostgreSQL's parser found in a text.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Number of statements.
    pub statements: usize,
    /// Names of the created tables, in order.
    pub tables: Vec<String>,
    /// The created functions and procedures, in order.
    pub routines: Vec<Routine>,
}

/// A function or procedure with a parsed body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routine {
    /// The name without its schema.
    pub name: String,
    /// The language as written.
    pub language: String,
    /// The error at which the parser stopped because it does not know the tables; `None` if it
    /// parsed the whole body.
    pub stopped: Option<String>,
}

/// While the library parses PL/pgSQL, it captures the process's standard error and takes any output
/// for an error of the text. So only one text is parsed at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Parses a text as PostgreSQL does when it executes the statements, up to the lookup of tables,
/// types and functions.
///
/// # Errors
///
/// PostgreSQL's message about the first statement or body with a syntax error.
pub fn read(text: &str) -> Result<Reading, String> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut reading = Reading::default();
    for raw in &statements(text)? {
        reading.statements += 1;
        match raw.stmt.as_ref().and_then(|node| node.node.as_ref()) {
            Some(NodeEnum::CreateStmt(table)) => {
                let relation = table.relation.as_ref().expect("a table has a name");
                reading.tables.push(relation.relname.clone());
            }
            Some(NodeEnum::CreateFunctionStmt(function)) => {
                reading.routines.push(routine(function, own_text(raw, text))?);
            }
            _ => {}
        }
    }
    Ok(reading)
}

fn statements(text: &str) -> Result<Vec<RawStmt>, String> {
    match pg_query::parse(text, 0) {
        Ok(tree) => Ok(tree.protobuf.stmts),
        Err(error) => Err(refusal(error)),
    }
}

/// The message of a syntax error. Other errors are failures of the library.
fn refusal(error: Error) -> String {
    match error {
        Error::Parse(message) => message,
        // PostgreSQL's texts cannot contain zero bytes.
        Error::Conversion(_) => "a zero byte".to_owned(),
        error => panic!("the library fails on a text: {error}"),
    }
}

/// The text of a statement; length 0 means the rest of the file.
fn own_text<'a>(raw: &RawStmt, text: &'a str) -> &'a str {
    let from = raw.stmt_location as usize;
    let length = raw.stmt_len as usize;
    if length == 0 { &text[from..] } else { &text[from..from + length] }
}

fn routine(function: &CreateFunctionStmt, text: &str) -> Result<Routine, String> {
    let name = function.funcname.last().and_then(string).unwrap_or_default().to_owned();
    let language = option(function, "language").and_then(string).unwrap_or_default().to_owned();
    let mut stopped = None;
    match &*language {
        "plpgsql" => {
            if let Err(error) = pg_query::parse_plpgsql(text) {
                let message = refusal(error);
                if !needs_tables(&message) {
                    return Err(message);
                }
                stopped = Some(message);
            }
        }
        // A body after `BEGIN ATOMIC` is part of the statement, which is already parsed.
        "sql" => {
            if let Some(body) = option(function, "as").and_then(first).and_then(string) {
                statements(body)?;
            }
        }
        _ => {}
    }
    Ok(Routine { name, language, stopped })
}

/// Whether the library stopped only because it has no catalog: it supports neither types of tables
/// nor arrays of arrays, and knows neither the fields of a variable of a table's type nor the
/// elements of an array.
fn needs_tables(message: &str) -> bool {
    let field = message.strip_suffix("\" is not a known variable");
    field.is_some_and(|name| name.contains('.'))
        || message.starts_with("Not implemented")
        || message == "VARIADIC parameter must be an array"
}

fn option<'a>(function: &'a CreateFunctionStmt, name: &str) -> Option<&'a Node> {
    function.options.iter().find_map(|node| match &node.node {
        Some(NodeEnum::DefElem(element)) if element.defname == name => element.arg.as_deref(),
        _ => None,
    })
}

fn first(node: &Node) -> Option<&Node> {
    match &node.node {
        Some(NodeEnum::List(list)) => list.items.first(),
        _ => None,
    }
}

fn string(node: &Node) -> Option<&str> {
    match &node.node {
        Some(NodeEnum::String(string)) => Some(&string.sval),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(body: &str) -> String {
        format!("CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$ {body} $$;")
    }

    #[test]
    fn statements_tables_and_routines_are_found() {
        let text = "CREATE TABLE t (a integer);\nCREATE INDEX ON t (a);\n\
            CREATE PROCEDURE p() LANGUAGE sql AS $$ DELETE FROM t $$;\n"
            .to_owned()
            + &function("BEGIN RETURN a + 1; END");
        let read = read(&text).expect("it is PostgreSQL's");
        assert_eq!((read.statements, &*read.tables), (4, &["t".to_owned()][..]));
        let routine = |name: &str, language: &str| Routine {
            name: name.to_owned(),
            language: language.to_owned(),
            stopped: None,
        };
        assert_eq!(read.routines, [routine("p", "sql"), routine("f", "plpgsql")]);
    }

    #[test]
    fn every_grammar_refuses() {
        let refused = [
            // Statements.
            "CREATE TABLE t (a integer,);".to_owned(),
            "SELECT 'open".to_owned(),
            "SELECT '\0'".to_owned(),
            // Blocks.
            function("BEGIN IF a THEN RETURN 1; END"),
            function("BEGIN EXIT; END"),
            // Expressions and statements inside blocks.
            function("BEGIN RETURN a +; END"),
            function("BEGIN PERFORM FROM WHERE; RETURN 1; END"),
            // Bodies in SQL.
            "CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELEC 1 $$".to_owned(),
            "CREATE FUNCTION f() RETURNS integer LANGUAGE sql BEGIN ATOMIC SELEC 1; END".to_owned(),
        ];
        for text in refused {
            assert!(read(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_not_looked_up_but_for_fields_without_tables() {
        assert!(read("SELECT nothing FROM nowhere").is_ok());
        let text = function("DECLARE r t%ROWTYPE; BEGIN r.x := 1; RETURN r.x; END");
        let read = read(&text).expect("its grammar is right");
        let stopped = read.routines[0].stopped.as_deref();
        assert_eq!(stopped, Some("\"r.x\" is not a known variable"));
    }
}
