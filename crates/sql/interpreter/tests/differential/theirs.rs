//! Runs a workload in PostgreSQL.

use crate::{Answer, masked};
use datagen::{Population, load_postgresql};
use postgres_plan::{Database, Server};
use std::fmt::Write;
use std::path::Path;

/// Begins the line after the rows of a call; no row begins like this.
const MARK: &str = "==== ";

/// A database with the tables and procedures of a workload.
pub struct Theirs<'a> {
    database: Database<'a>,
}

impl<'a> Theirs<'a> {
    pub fn load(server: &'a Server, folder: &Path, population: &Population) -> Self {
        let database = server.database().unwrap_or_else(|error| panic!("{error}"));
        let files = ["schema.sql", "procedures.sql"].map(|name| folder.join(name));
        let loaded = database
            .run("the workload", &[&files[0], &files[1]])
            .and_then(|_| load_postgresql(population, &database));
        loaded.unwrap_or_else(|error| panic!("{error}"));
        Self { database }
    }

    pub fn run(&self, script: &str) {
        let script = self.database.script("spoil.sql", script).expect("there is room");
        let ran = self.database.run("a script", &[&script]);
        ran.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Makes calls, each in a transaction of its own.
    pub fn call(&self, calls: &[String]) -> Vec<Answer> {
        let mut script =
            "\\set ON_ERROR_STOP off\n\\pset fieldsep '\\t'\n\\pset null '\\\\N'\n".to_owned();
        for call in calls {
            // Writing to a string cannot fail.
            let _ =
                write!(script, "{call};\n\\echo '{MARK}' :ERROR :SQLSTATE :LAST_ERROR_MESSAGE\n");
        }
        let script = self.database.script("calls.sql", &script).expect("there is room");
        let printed = self.database.run("the calls", &[&script]);
        let printed = printed.unwrap_or_else(|error| panic!("{error}"));
        let mut answers = Vec::with_capacity(calls.len());
        let mut rows = Vec::new();
        for line in printed.lines() {
            let Some(ended) = line.strip_prefix(MARK) else {
                rows.push(line.to_owned());
                continue;
            };
            let mut words = ended.trim_start().splitn(3, ' ');
            let is_error = words.next() == Some("true");
            let (code, message) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            answers.push(match is_error {
                true => Answer::Error(code.to_owned(), message.to_owned()),
                false => Answer::Rows(std::mem::take(&mut rows)),
            });
            rows.clear();
        }
        assert_eq!(answers.len(), calls.len(), "every call has its line");
        answers
    }

    /// Returns the rows of a table as lines of `COPY`, in that order.
    pub fn table(&self, name: &str) -> Vec<String> {
        let script = format!("COPY {name} TO STDOUT;\n");
        let script = self.database.script("copy.sql", &script).expect("there is room");
        let printed = self.database.run("to copy a table", &[&script]);
        let printed = printed.unwrap_or_else(|error| panic!("{error}"));
        let mut lines: Vec<String> = printed.lines().map(masked).collect();
        lines.sort_unstable();
        lines
    }
}
