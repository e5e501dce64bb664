//! Collects the plans of statements from PostgreSQL.
//!
//! Decisions:
//! - docs/decisions/0162-plans-are-collected-by-psql.md
//! - docs/decisions/0164-the-planners-page-costs-are-zero.md

use crate::server::{CollectError, Server, ServerChoice};
use crate::statistics::{self, TableSize};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The prefix of the line before each plan in the output; no line of XML begins like this.
const MARK: &str = "==== ";

/// A request for plans.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// SQL files that create tables, indexes and procedures, in execution order.
    pub files: Vec<PathBuf>,
    /// The sizes that the tables appear to have.
    pub sizes: Vec<TableSize>,
    pub statements: Vec<Statement>,
    /// Statements that read whole tables; planned after the others, with other settings.
    pub checks: Vec<Statement>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Its name, such as `new_order.3`: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// The text, with parameters `$1` to `$n`.
    pub text: String,
    /// PostgreSQL's type names of the parameters.
    pub parameter_types: Vec<String>,
}

/// The plans that PostgreSQL returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// PostgreSQL's major version.
    pub server_version: u32,
    /// The plan of each statement in XML, in the order of the question; checks last.
    pub plans: Vec<String>,
}

/// Collects the plans in a temporary database.
///
/// # Errors
/// PostgreSQL is not available, or refuses a file or a statement; the message quotes it.
pub fn collect(question: &Question, choice: &ServerChoice) -> Result<Answer, CollectError> {
    let server = Server::open(choice)?;
    let database = server.database()?;
    let statistics = database.script("statistics.sql", &statistics::script(&question.sizes))?;
    let script = explain_script(&question.statements, &question.checks);
    let explain = database.script("explain.sql", &script)?;
    let mut scripts: Vec<&Path> = question.files.iter().map(PathBuf::as_path).collect();
    scripts.extend([&*statistics, &*explain]);
    let answer = database.run("the workload", &scripts);
    let answer = answer.map_err(|error| in_words(error, &explain, &script))?;
    take_apart(&answer, question.statements.iter().chain(&question.checks))
}

/// Runs SQL files in a temporary database, to check that PostgreSQL accepts a workload.
///
/// # Errors
/// As [`collect`].
pub fn run_files(files: &[PathBuf], choice: &ServerChoice) -> Result<(), CollectError> {
    let server = Server::open(choice)?;
    let scripts: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    server.database()?.run("the workload", &scripts).map(|_| ())
}

/// The script that explains each statement after a mark line. PostgreSQL 15 cannot EXPLAIN a
/// generic plan directly, so the script prepares each statement and explains its execution with
/// arbitrary arguments.
fn explain_script(statements: &[Statement], checks: &[Statement]) -> String {
    let mut script = format!(
        "\\echo '{MARK}version'\nSELECT current_setting('server_version_num')::integer / 10000;\n"
    );
    explain(&mut script, statements);
    script.push_str(statistics::WHOLE_TABLES);
    explain(&mut script, checks);
    script
}

fn explain(script: &mut String, statements: &[Statement]) {
    for statement in statements {
        let types = statement.parameter_types.join(", ");
        let nulls = vec!["NULL"; statement.parameter_types.len()].join(", ");
        let (types, nulls) = match nulls.is_empty() {
            true => (String::new(), String::new()),
            false => (format!(" ({types})"), format!(" ({nulls})")),
        };
        // Writing to a string cannot fail. The statement's text starts on its own line, so that
        // line numbers in messages identify it.
        let _ = write!(
            script,
            "\\echo '{MARK}{}'\nPREPARE asked{types} AS\n{};\n\
             EXPLAIN (VERBOSE, FORMAT XML) EXECUTE asked{nulls};\nDEALLOCATE asked;\n",
            statement.name, statement.text
        );
    }
}

/// Replaces a line of the temporary script in a message by the statement's name.
fn in_words(error: CollectError, explain: &Path, script: &str) -> CollectError {
    let CollectError::Refused { said, .. } = &error else { return error };
    let Some(place) = said.split(&format!("{}:", explain.display())).nth(1) else { return error };
    let line: usize = place.split(':').next().and_then(|line| line.parse().ok()).unwrap_or(0);
    let before = script.lines().take(line).filter_map(|line| line.strip_prefix("\\echo '"));
    let Some(mark) = before.last() else { return error };
    let name = mark.trim_start_matches(MARK).trim_end_matches('\'');
    // The position in the temporary script is useless to the user.
    let said = place.split_once(": ").map_or(&**said, |(_, said)| said).to_owned();
    CollectError::Refused { what: format!("the statement {name}"), said }
}

fn take_apart<'s>(
    answer: &str,
    statements: impl Iterator<Item = &'s Statement>,
) -> Result<Answer, CollectError> {
    let mut parts = answer.split(MARK).filter_map(|part| part.split_once('\n'));
    let no_plan = |statement: &str| CollectError::NoPlan { statement: statement.to_owned() };
    let version = parts
        .find(|(name, _)| *name == "version")
        .and_then(|(_, version)| version.trim().parse().ok());
    let server_version = version.ok_or_else(|| no_plan("its version"))?;
    let mut plans = Vec::new();
    for statement in statements {
        match parts.next() {
            Some((name, plan)) if name == statement.name && plan.contains("<explain") => {
                plans.push(plan.trim().to_owned());
            }
            _ => return Err(no_plan(&statement.name)),
        }
    }
    Ok(Answer { server_version, plans })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements() -> Vec<Statement> {
        let statement = |name: &str, types: &[&str]| Statement {
            name: name.to_owned(),
            text: "SELECT\n1".to_owned(),
            parameter_types: types.iter().map(|name| (*name).to_owned()).collect(),
        };
        vec![statement("a.1", &["integer", "text"]), statement("b.1", &[])]
    }

    #[test]
    fn the_script_prepares_and_explains_each_statement() {
        let [first, second] = statements().try_into().expect("two");
        let script = explain_script(&[first], &[second]);
        assert!(script.contains("PREPARE asked (integer, text) AS\nSELECT\n1;\n"));
        assert!(script.contains("EXECUTE asked (NULL, NULL);\n"));
        assert!(script.contains("PREPARE asked AS\n"));
        assert!(script.contains("EXECUTE asked;\n"));
        let whole = script.find("SET enable_indexscan = off;").expect("checks read whole tables");
        assert!(script.find("a.1").is_some_and(|at| at < whole));
        assert!(script.find("b.1").is_some_and(|at| at > whole));
    }

    #[test]
    fn answers_are_taken_apart_by_their_marks() {
        let answer = "==== version\n15\n==== a.1\n<explain>\n1\n</explain>\n==== b.1\n<explain/>\n";
        let taken = take_apart(answer, statements().iter());
        let plans = vec!["<explain>\n1\n</explain>".to_owned(), "<explain/>".to_owned()];
        assert_eq!(taken, Ok(Answer { server_version: 15, plans }));
        for damaged in [
            "",
            "==== version\n15\n==== a.1\n<explain/>\n",
            "==== version\n15\n==== b.1\n<explain/>\n",
        ] {
            assert!(take_apart(damaged, statements().iter()).is_err(), "{damaged}");
        }
    }

    #[test]
    fn a_refusal_names_its_statement() {
        let script = explain_script(&statements(), &[]);
        let second = script.lines().position(|line| line.contains("b.1")).expect("it is there");
        let said = format!("psql:/tmp/x/explain.sql:{}: ERROR:  no such table", second + 4);
        let error = CollectError::Refused { what: "the workload".to_owned(), said };
        let told = in_words(error, Path::new("/tmp/x/explain.sql"), &script);
        assert_eq!(told.to_string(), "PostgreSQL refuses the statement b.1: ERROR:  no such table");
    }
}
