//! Expressions have PostgreSQL's types.

use crate::corpus::{catalog, text};
use crate::server::Server;
use sql::procedure::{Body, StatementKind};
use sql::{Field, Source};

const PARAMETERS: &str = "a integer, b bigint, s smallint, n numeric(12,2), t text, v varchar(10), c char(5), d date, \
    p timestamp, z timestamptz, f double precision, l boolean, i interval, x integer[]";

/// The expression lists of `accepted.expressions.sql` as queries.
fn queries() -> Vec<String> {
    let text = text("accepted.expressions.sql");
    let lists = text.lines().filter(|line| !line.starts_with("--") && !line.is_empty());
    lists.map(|list| format!("SELECT {list}")).collect()
}

/// The statement with `$n`, the types of its parameters, and the columns of its result.
fn resolved(query: &str) -> (String, Vec<String>, Vec<Field>) {
    let text = format!(
        "CREATE FUNCTION q({PARAMETERS}) RETURNS void LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN {query} LOOP NULL; END LOOP; END $$"
    );
    let procedures = sql::read_procedures(&Source::new("q", &text), &catalog());
    let mut procedures = procedures.unwrap_or_else(|error| panic!("{query}\n{error}"));
    let procedure = procedures.remove(0);
    let Body::Block(block) = &procedure.body else { panic!("it is PL/pgSQL") };
    let StatementKind::Loop { over: sql::procedure::Over::Rows { sql, .. }, .. } =
        &block.statements[0].kind
    else {
        panic!("it is a loop over rows")
    };
    let statement = &procedure.statements[0];
    (statement.text.clone(), statement.parameter_types.clone(), sql.query.outputs())
}

/// A type for comparison: without length and precision, which PostgreSQL drops in other places than
/// this crate.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0;
    for letter in name.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            letter if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain.replace("bpchar", "character")
}

/// PostgreSQL's names for columns without an own name.
const NAMELESS: [&str; 13] = [
    "?column?",
    "int2",
    "int4",
    "int8",
    "numeric",
    "float8",
    "text",
    "varchar",
    "bpchar",
    "bool",
    "date",
    "timestamp",
    "timestamptz",
];

#[test]
fn columns_have_postgresqls_names_and_types() {
    let Some(server) = Server::start("expressions") else { return };
    let mut script = text("schema.sql");
    let queries = queries();
    for (at, query) in queries.iter().enumerate() {
        let (text, types, _) = resolved(query);
        let types =
            if types.is_empty() { String::new() } else { format!("({})", types.join(", ")) };
        let nulls =
            vec!["NULL"; types.split(", ").filter(|part| !part.is_empty()).count()].join(", ");
        let nulls = if nulls.is_empty() { nulls } else { format!("({nulls})") };
        script.push_str(&format!(
            "\n\\echo @@{at}\nPREPARE s{at} {types} AS {text};\nEXECUTE s{at} {nulls} \\gdesc\n"
        ));
    }
    script.push_str("\\echo @@end\n");
    let said = server.psql(&script);
    let mut differences = Vec::new();
    for (at, query) in queries.iter().enumerate() {
        let from = said.find(&format!("@@{at}\n")).expect("each query has its mark");
        let answer = &said[from + format!("@@{at}\n").len()..];
        let answer = &answer[..answer.find("@@").unwrap_or(answer.len())];
        let (_, _, fields) = resolved(query);
        let theirs: Vec<(&str, String)> = answer
            .lines()
            .filter_map(|line| line.rsplit_once('|'))
            .map(|(name, t)| (name, plain(t)))
            .collect();
        if theirs.len() != fields.len() {
            differences.push(format!("{query}\n{answer}"));
            continue;
        }
        for (column, (field, theirs)) in fields.iter().zip(theirs).enumerate() {
            let ours = (&*field.name, plain(&field.sql_type.name()));
            // A variable gives its column a name, but `$1` does not.
            let unnamed = !ours.0.contains('_') && NAMELESS.contains(&theirs.0);
            if ours.1 != theirs.1 || ours.0 != theirs.0 && !unnamed {
                differences.push(format!(
                    "{query}\ncolumn {}: {ours:?}, PostgreSQL {theirs:?}",
                    column + 1
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn expressions_are_taken() {
    for query in queries() {
        assert!(!resolved(&query).2.is_empty(), "{query}");
    }
}
