//! The same calls in PostgreSQL.

use crate::statements::Statement;
use crate::{Answer, Call};
use postgres_plan::Server;
use std::fmt::Write;

/// Ends the output of a call.
const MARK: &str = "-- end of call:";

pub struct Theirs;

impl Theirs {
    /// Creates the tables and makes the calls, each in a transaction of its own.
    pub fn call(
        server: &Server,
        (schema, rows): (&str, &str),
        statements: &[Statement],
        calls: &[Call],
    ) -> Vec<Answer> {
        let database = server.database().unwrap_or_else(|error| panic!("{error}"));
        let mut script =
            "\\set ON_ERROR_STOP off\n\\pset fieldsep '\\t'\n\\pset null '\\\\N'\n".to_owned();
        script.push_str(schema);
        script.push_str(rows);
        statements.iter().for_each(|statement| {
            // A column may be called like a parameter only if it is qualified, as all are.
            script.push_str(&statement.procedure);
        });
        let _ = writeln!(script, "\\echo '{MARK}' start");
        for call in calls {
            let (p, q, r) = call.arguments;
            // Writing to a string cannot fail.
            let _ = write!(
                script,
                "SELECT * FROM {}({p}, {q}, '{r}');\n\\echo '{MARK}' :ERROR :SQLSTATE\n",
                call.name
            );
        }
        let script = database.script("calls.sql", &script).expect("there is room");
        let printed = database.run("the calls", &[&script]);
        let printed = printed.unwrap_or_else(|error| panic!("{error}"));
        let (mut answers, mut rows) = (Vec::new(), Vec::new());
        let mut lines = printed.lines().skip_while(|line| !line.starts_with(MARK));
        lines.next();
        for line in lines {
            let Some(ended) = line.strip_prefix(MARK) else {
                rows.push(line.to_owned());
                continue;
            };
            let mut words = ended.split_whitespace();
            let is_error = words.next() == Some("true");
            let code = words.next().unwrap_or("").to_owned();
            let found = std::mem::take(&mut rows);
            answers.push(if is_error { Err(code) } else { Ok(found) });
        }
        assert_eq!(answers.len(), calls.len(), "every call has its line");
        answers
    }
}
