//! The prompt of `namdb sql`.
//!
//! ```text
//! statement  where a statement ends      table   results as aligned columns
//! command    `\dt`, `\timing` and others
//! ```

mod command;
mod statement;
mod table;

use crate::Verdict;
use crate::output;
use anyhow::{Context, Result};
use namdb::host::Moment;
use pgwire::client::{Canceller, Client, Failure, Target, is_error};
use pgwire::message::backend::{Backend, Column};
use pgwire::message::frontend::Frontend;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use sql_session::SqlError;
use statement::Splitter;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use table::Table;

/// File in the user's home with the entered lines.
const HISTORY: &str = ".namdb_history";
/// A file with statements is read whole.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Files that include each other.
const DEPTH_MAX: u32 = 16;

/// Statements that are not entered.
pub enum Source {
    Text(String),
    File(PathBuf),
}

/// A connection with the settings of the prompt.
pub struct Prompt {
    client: Client,
    database: String,
    is_timing: bool,
    is_expanded: bool,
    /// The letter of ReadyForQuery.
    status: u8,
    depth: u32,
}

/// Whether the prompt goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Go,
    /// A statement has failed.
    Failed,
    Quit,
}

impl Prompt {
    pub fn new(client: Client, target: &Target) -> Self {
        let database = target.database.clone();
        Self { client, database, is_timing: false, is_expanded: false, status: b'I', depth: 0 }
    }

    /// Reads lines until the user leaves. Standard input that is no terminal is read as a file.
    pub fn run(&mut self) -> Result<Verdict> {
        if !std::io::stdin().is_terminal() {
            let has_succeeded = self.run_source(&Source::File(PathBuf::from("-")))?;
            return Ok(if has_succeeded { Verdict::Sound } else { Verdict::Damaged });
        }
        let mut editor = DefaultEditor::new().context("this terminal cannot edit lines")?;
        let history = std::env::home_dir().map(|home| home.join(HISTORY));
        if let Some(path) = &history {
            // The first time there is none.
            let _ = editor.load_history(path);
        }
        let version = self.setting("server_version").unwrap_or_default();
        output::say(&format!("namdb sql: server {version}. \\? for help, \\q to leave."));
        catch_interrupts(self.client.canceller()?)?;
        let mut splitter = Splitter::default();
        loop {
            match editor.readline(&self.prompt(&splitter)) {
                Ok(line) => {
                    // A history that cannot be kept is no reason to stop.
                    let _ = editor.add_history_entry(&line);
                    if self.line(&line, &mut splitter)? == Next::Quit {
                        break;
                    }
                }
                Err(ReadlineError::Interrupted) => splitter = Splitter::default(),
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(error).context("the terminal cannot be read"),
            }
        }
        if let Some(path) = &history {
            let _ = editor.save_history(path);
        }
        Ok(Verdict::Sound)
    }

    fn setting(&self, name: &str) -> Option<&str> {
        let own = self.client.settings.iter().find(|(own, _)| own == name);
        own.map(|(_, value)| value.as_str())
    }

    /// `database=>`; `*` within a transaction, `!` in a failed one, `-` within a statement.
    fn prompt(&self, splitter: &Splitter) -> String {
        let state = match self.status {
            b'T' => "*",
            b'E' => "!",
            _ => "",
        };
        let end = if splitter.is_empty() { '=' } else { '-' };
        format!("{}{end}{state}> ", self.database)
    }

    /// Runs the statements of a text or file up to the first that fails; false if one has.
    pub fn run_source(&mut self, source: &Source) -> Result<bool> {
        let text = match source {
            Source::Text(text) => text.clone(),
            Source::File(path) => read(path)?,
        };
        let mut splitter = Splitter::default();
        for line in text.lines() {
            match self.line(line, &mut splitter)? {
                Next::Go => {}
                Next::Failed => return Ok(false),
                Next::Quit => return Ok(true),
            }
        }
        match splitter.finish() {
            Some(rest) => Ok(self.statement(&rest)? != Next::Failed),
            None => Ok(true),
        }
    }

    /// Takes a line: a command, or a part of statements.
    fn line(&mut self, line: &str, splitter: &mut Splitter) -> Result<Next> {
        if splitter.is_empty() && line.trim_start().starts_with('\\') {
            return self.command(line.trim());
        }
        splitter.push(line);
        while let Some(statement) = splitter.next_statement() {
            let next = self.statement(&statement)?;
            if next != Next::Go {
                return Ok(next);
            }
        }
        Ok(Next::Go)
    }

    /// Runs a statement and prints its results.
    fn statement(&mut self, text: &str) -> Result<Next> {
        let start = Moment::now();
        let mut shown = Shown { table: None, has_failed: false, is_expanded: self.is_expanded };
        let status = self.client.query(text, |client, message| shown.show(client, message, text));
        self.status = status.context("the connection is lost; start the prompt again")?;
        if self.is_timing {
            output::print(&format!("Time: {:.3} ms\n", start.elapsed_s() * 1e3))?;
        }
        Ok(if shown.has_failed { Next::Failed } else { Next::Go })
    }
}

/// The results of a statement as they arrive.
struct Shown {
    table: Option<Table>,
    has_failed: bool,
    is_expanded: bool,
}

impl Shown {
    fn show(&mut self, client: &mut Client, message: Backend, text: &str) -> Result<(), Failure> {
        match message {
            Backend::Rows(columns) => self.table = Some(new_table(&columns, self.is_expanded)),
            Backend::Row(values) => {
                if let Some(table) = &mut self.table {
                    table.push(values);
                }
            }
            Backend::Complete(tag) => match self.table.take() {
                Some(table) => print(&table.draw())?,
                None => print(&format!("{tag}\n"))?,
            },
            Backend::Error(error) => {
                self.has_failed |= is_error(&error);
                self.table = None;
                output::say(&describe(&error, text));
            }
            Backend::CopyData(data) => std::io::stdout().write_all(&data)?,
            // Rows of a copy come from a program, such as psql, not from this prompt.
            Backend::CopyIn => {
                client.put(&Frontend::CopyFail("`namdb sql` sends no rows; use psql for COPY"));
                client.flush()?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn new_table(columns: &[Column], is_expanded: bool) -> Table {
    let columns = columns.iter().map(|column| (column.name.clone(), is_number(column.type_oid)));
    Table::new(columns, is_expanded)
}

/// Whether values of the type are aligned to the right.
fn is_number(oid: u32) -> bool {
    use pgwire::value::types::{FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, OID};
    matches!(oid, FLOAT4 | FLOAT8 | INT2 | INT4 | INT8 | NUMERIC | OID)
}

fn print(text: &str) -> Result<(), Failure> {
    output::print(text).map_err(|error| Failure::Protocol(error.to_string()))
}

/// An error with the line of the statement at which it is.
fn describe(error: &SqlError, text: &str) -> String {
    let mut lines = vec![format!("{}:  {}", error.severity.name(), error.message)];
    if let Some(position) = error.position.and_then(|position| position.checked_sub(1)) {
        let before: String = text.chars().take(position as usize).collect();
        let line_number = before.matches('\n').count() + 1;
        let line = text.lines().nth(line_number - 1).unwrap_or_default();
        let column = before.lines().last().filter(|_| !before.ends_with('\n'));
        let head = format!("LINE {line_number}: ");
        let indent = head.len() + column.map_or(0, |column| column.chars().count());
        lines.push(format!("{head}{line}"));
        lines.push(format!("{}^", " ".repeat(indent)));
    }
    let more = [("DETAIL", &error.detail), ("HINT", &error.hint)];
    for (name, field) in more {
        lines.extend(field.as_ref().map(|field| format!("{name}:  {field}")));
    }
    lines.join("\n")
}

fn read(path: &Path) -> Result<String> {
    if path.as_os_str() == "-" {
        let mut text = String::new();
        let read = std::io::stdin().take(FILE_BYTES_MAX).read_to_string(&mut text);
        read.context("cannot read standard input")?;
        return Ok(text);
    }
    sql::file::read_text(path, FILE_BYTES_MAX)
        .with_context(|| format!("cannot read {}", path.display()))
}

/// Ctrl-C cancels the running statement; between two statements the editor sees it.
fn catch_interrupts(canceller: Canceller) -> Result<()> {
    ctrlc::set_handler(move || {
        if let Err(error) = canceller.cancel() {
            output::say(&format!("the statement cannot be cancelled: {error}"));
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_place() {
        let error = SqlError::new("42601", "syntax error").at(11).hint("look");
        let expected = "ERROR:  syntax error\nLINE 2: fron t\n          ^\nHINT:  look";
        assert_eq!(
            describe(&error, "select 1\nfron t"),
            expected.replace("          ^", "         ^")
        );
    }
}
