//! Asks a PostgreSQL for the plans of statements.
//!
//! Decisions:
//! - docs/decisions/0162-plans-are-collected-by-psql.md
//! - docs/decisions/0164-the-planners-page-costs-are-zero.md

use crate::server::{CollectError, Server, ServerChoice};
use crate::statistics::{self, TableSize};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Begins the line before each plan in the answer; no line of XML begins like that.
const MARK: &str = "==== ";

/// What is to be planned.
#[derive(Clone, PartialEq, Debug)]
pub struct Question {
    /// Files that make tables, indexes and procedures, in the order in which they are run.
    pub files: Vec<PathBuf>,
    /// How large the tables are to look.
    pub sizes: Vec<TableSize>,
    /// The statements.
    pub statements: Vec<Statement>,
    /// Statements that look at whole tables, planned behind the others.
    pub checks: Vec<Statement>,
}

/// A statement with open parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// What it is called, such as `new_order.3`: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// Its text, with parameters `$1` to `$n`.
    pub text: String,
    /// PostgreSQL's names of their types.
    pub parameter_types: Vec<String>,
}

/// Plans as a PostgreSQL gives them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The version's first number.
    pub server_version: u32,
    /// The plan of each statement in XML, in the order of the question, checks last.
    pub plans: Vec<String>,
}

/// Asks for the plans, in a database that is made for that and dropped.
///
/// # Errors
/// If there is no PostgreSQL, or it refuses a file or a statement; the message has its words.
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

/// Runs files in a database that is made for that and dropped: whether a workload does what it says.
///
/// # Errors
/// As [`collect`].
pub fn run_files(files: &[PathBuf], choice: &ServerChoice) -> Result<(), CollectError> {
    let server = Server::open(choice)?;
    let scripts: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    server.database()?.run("the workload", &scripts).map(|_| ())
}

/// The script that explains each statement behind its mark. PostgreSQL 15 has no option for generic plans, so each is
/// prepared, and explained with values that do not matter.
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
        // Writing to a string does not fail. The text has a line of its own, so that messages tell it.
        let _ = write!(
            script,
            "\\echo '{MARK}{}'\nPREPARE asked{types} AS\n{};\n\
             EXPLAIN (VERBOSE, FORMAT XML) EXECUTE asked{nulls};\nDEALLOCATE asked;\n",
            statement.name, statement.text
        );
    }
}

/// Puts the statement's name into a message that has a line of our script.
fn in_words(error: CollectError, explain: &Path, script: &str) -> CollectError {
    let CollectError::Refused { said, .. } = &error else { return error };
    let Some(place) = said.split(&format!("{}:", explain.display())).nth(1) else { return error };
    let line: usize = place.split(':').next().and_then(|line| line.parse().ok()).unwrap_or(0);
    let before = script.lines().take(line).filter_map(|line| line.strip_prefix("\\echo '"));
    let Some(mark) = before.last() else { return error };
    let name = mark.trim_start_matches(MARK).trim_end_matches('\'');
    // Without the place in a file that nobody will see again.
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
