//! Statements by PostgreSQL's grammar of SQL, and the bodies of routines by that of their language.
//!
//! Decision: docs/decisions/0158-postgresqls-server-and-postgresqls-parser-both-judge.md

use pg_query::protobuf::{CreateFunctionStmt, RawStmt};
use pg_query::{Error, Node, NodeEnum};
use std::sync::{Mutex, PoisonError};

/// What PostgreSQL's parser found in a text.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Reading {
    /// How many statements there are.
    pub statements: usize,
    /// The tables that are created, in order.
    pub tables: Vec<String>,
    /// The functions and procedures that are created, in order.
    pub routines: Vec<Routine>,
}

/// A function or procedure whose body was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routine {
    /// Its name, without that of a schema.
    pub name: String,
    /// Its language, as it is written.
    pub language: String,
    /// Where the parser ended before the body's end, because it lacks the tables that PostgreSQL has: what it said.
    pub stopped: Option<String>,
}

/// While it parses PL/pgSQL, the library takes the process's standard error for its own and holds whatever comes there
/// for an error of the text. So one text is read at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Reads a text as PostgreSQL does that is asked to create what is in it, up to the point at which it looks for tables,
/// types and functions.
///
/// # Errors
///
/// What PostgreSQL says of the first statement or body that is none by its grammar.
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

/// What the parser says; of other errors it is the library that failed, and the text is not judged.
fn refusal(error: Error) -> String {
    match error {
        Error::Parse(message) => message,
        // PostgreSQL's texts have none.
        Error::Conversion(_) => "a zero byte".to_owned(),
        error => panic!("the library fails on a text: {error}"),
    }
}

/// A statement's part of the text that it stands in; a length of nothing means the rest.
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
        // A body after `BEGIN ATOMIC` is a part of the statement, and was read with it.
        "sql" => {
            if let Some(body) = option(function, "as").and_then(first).and_then(string) {
                statements(body)?;
            }
        }
        _ => {}
    }
    Ok(Routine { name, language, stopped })
}

/// Whether the library stops there only because it has no catalogue: it makes no types of tables and of arrays of arrays,
/// has no fields for a variable of a table's type, and knows none of an array's elements.
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
    fn statements_tables_and_routines_are_told() {
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
            // That of statements.
            "CREATE TABLE t (a integer,);".to_owned(),
            "SELECT 'open".to_owned(),
            "SELECT '\0'".to_owned(),
            // That of blocks.
            function("BEGIN IF a THEN RETURN 1; END"),
            function("BEGIN EXIT; END"),
            // That of expressions and statements inside of blocks.
            function("BEGIN RETURN a +; END"),
            function("BEGIN PERFORM FROM WHERE; RETURN 1; END"),
            // And that of bodies of SQL.
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
