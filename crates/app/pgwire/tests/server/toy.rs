//! A session without a database: `rows N`, `sleep MS`, `fail`, `panic`, `begin`, `copy in` and
//! others. It has PostgreSQL's transaction states, so that the server's part can be tested alone.

use pgwire::error::{Result, error};
use pgwire::message::backend::Column;
use pgwire::session::{
    ColumnDescription, CopyFormat, Database, Interrupt, Notice, Outcome, Prepared, RowSet, Session,
    SessionOptions, SilenceLimit, SqlError, StatementText, TransactionStatus, described,
};
use sql::types::SqlType;
use sql_session::{CopyDirection, Severity};
use sql_value::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// All sessions of a toy write what they do to one log.
#[derive(Clone, Default)]
pub struct Toy {
    pub log: Arc<Mutex<Vec<String>>>,
}

pub struct ToySession {
    log: Arc<Mutex<Vec<String>>>,
    options: SessionOptions,
    status: TransactionStatus,
    is_implicit: bool,
    has_failed: bool,
    notices: Vec<Notice>,
    changed: Vec<(String, String)>,
    copied: Vec<u8>,
    copies_left: usize,
    interrupt: Arc<Interrupt>,
    /// How long the client may be silent, in milliseconds.
    silence_max: Option<u64>,
}

#[derive(Clone)]
pub struct ToyPrepared(Arc<(String, Vec<SqlType>, Option<Vec<ColumnDescription>>)>);

impl Prepared for ToyPrepared {
    fn parameters(&self) -> Vec<u32> {
        self.0.1.iter().map(pgwire::value::types::oid_of).collect()
    }

    fn columns(&self) -> Option<Vec<Column>> {
        self.0.2.as_deref().map(described)
    }
}

impl Database for Toy {
    type Session = ToySession;

    fn session(&self, options: SessionOptions) -> Result<ToySession> {
        if options.database == "missing" {
            return Err(pgwire::error::fatal("3D000", "database \"missing\" does not exist"));
        }
        Ok(ToySession {
            log: self.log.clone(),
            options,
            status: TransactionStatus::Idle,
            is_implicit: false,
            has_failed: false,
            notices: Vec::new(),
            changed: Vec::new(),
            copied: Vec::new(),
            copies_left: 0,
            interrupt: Arc::default(),
            silence_max: None,
        })
    }
}

fn column(name: &str, sql_type: SqlType) -> ColumnDescription {
    ColumnDescription { name: name.to_owned(), sql_type, table: 0, attribute: 0 }
}

impl ToySession {
    fn note(&self, text: impl Into<String>) {
        self.log.lock().expect("no holder panics").push(text.into());
    }

    fn fail(&mut self, failure: SqlError) -> SqlError {
        if self.status == TransactionStatus::InTransaction {
            self.status = TransactionStatus::Failed;
        }
        self.has_failed = true;
        failure
    }

    fn numbers(count: usize) -> Outcome {
        let mut rows = RowSet::new(1);
        (0..count).for_each(|number| rows.push([Value::Int(number as i64)]));
        Outcome::Rows { tag: format!("SELECT {count}"), rows }
    }

    fn run(&mut self, text: &str, parameters: &[Value]) -> Result<Outcome> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let number = || rest.parse().unwrap_or(0);
        let done = |tag: &str| Ok(Outcome::Done { tag: tag.to_owned() });
        match word {
            "" => Ok(Outcome::Empty),
            "begin" => {
                self.status = TransactionStatus::InTransaction;
                done("BEGIN")
            }
            "commit" | "rollback" => {
                let is_failed = self.status == TransactionStatus::Failed;
                self.status = TransactionStatus::Idle;
                done(if is_failed || word == "rollback" { "ROLLBACK" } else { "COMMIT" })
            }
            "rows" => Ok(Self::numbers(number())),
            "wide" => {
                let mut rows = RowSet::new(1);
                (0..number()).for_each(|_| rows.push([Value::text(&"x".repeat(10_000))]));
                Ok(Outcome::Rows { tag: "SELECT 0".to_owned(), rows })
            }
            "echo" => {
                let mut rows = RowSet::new(parameters.len());
                rows.push(parameters.iter().cloned());
                Ok(Outcome::Rows { rows, tag: "SELECT 1".to_owned() })
            }
            "sleep" => {
                for _ in 0..number() / 2 {
                    pgwire_sleep(2);
                    if self.interrupt.is_requested() {
                        let message = "canceling statement due to user request";
                        return Err(error("57014", message));
                    }
                }
                done("SLEEP")
            }
            "set" => {
                self.changed.push(("TimeZone".to_owned(), rest.to_owned()));
                done("SET")
            }
            "warn" => {
                self.notices.push(Notice {
                    severity: Severity::Warning,
                    sqlstate: "01000".to_owned(),
                    message: rest.to_owned(),
                    detail: None,
                    hint: None,
                });
                done("WARN")
            }
            "limit" => {
                self.silence_max = rest.parse().ok();
                done("LIMIT")
            }
            "insert" => done("INSERT 0 1"),
            "copyin" => {
                self.copied.clear();
                let direction = CopyDirection::In;
                Ok(Outcome::CopyIn(CopyFormat { direction, columns: 2, is_binary: false }))
            }
            "copyout" => {
                self.copies_left = number();
                let direction = CopyDirection::Out;
                Ok(Outcome::CopyOut(CopyFormat { direction, columns: 1, is_binary: false }))
            }
            "panic" => panic!("a planned panic of a session"),
            _ => Err(error("42601", format!("syntax error at or near \"{word}\""))),
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "tests run in real time")]
pub fn pgwire_sleep(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

impl Session for ToySession {
    type Prepared = ToyPrepared;

    fn statements(text: &str) -> Result<Vec<StatementText<'_>>> {
        let (mut statements, mut before) = (Vec::new(), 0);
        for part in text.split(';') {
            let characters_before = (before + part.len() - part.trim_start().len()) as u32;
            if !part.trim().is_empty() {
                let semicolon = None;
                statements.push(StatementText { text: part.trim(), characters_before, semicolon });
            }
            before += part.len() + 1;
        }
        Ok(statements)
    }

    fn prepare(&mut self, text: &str, types: &[u32]) -> Result<ToyPrepared> {
        let is_end = matches!(text, "commit" | "rollback");
        if self.status == TransactionStatus::Failed && !is_end {
            return Err(error("25P02", "current transaction is aborted"));
        }
        let types = types.iter().map(|oid| sql_session::oid::to_type(*oid));
        let types: Vec<_> = types.map(|own| own.unwrap_or(SqlType::Unknown)).collect();
        let columns = match text.split(' ').next().unwrap_or_default() {
            "rows" => Some(vec![column("n", SqlType::Int4)]),
            "wide" => Some(vec![column("x", SqlType::Text)]),
            "echo" => Some(types.iter().map(|own| column("p", own.clone())).collect()),
            "refuse" => {
                let refusal = SqlError::new("42601", "syntax error").at(3);
                return Err(self.fail(refusal));
            }
            _ => None,
        };
        Ok(ToyPrepared(Arc::new((text.to_owned(), types, columns))))
    }

    fn execute(&mut self, prepared: &ToyPrepared, parameters: &[Value]) -> Result<Outcome> {
        let text = &prepared.0.0;
        let alone = if self.is_implicit { "" } else { "alone " };
        self.note(format!("{alone}{text}"));
        self.run(text, parameters).map_err(|failure| self.fail(failure))
    }

    fn begin_implicit(&mut self) {
        self.note("begin_implicit");
        self.is_implicit = true;
        self.has_failed = false;
    }

    fn end_implicit(&mut self, has_failed: bool) -> Result<()> {
        if std::mem::take(&mut self.is_implicit) {
            let end = if has_failed || self.has_failed { "rolled back" } else { "committed" };
            self.note(end);
        } else if has_failed && self.status == TransactionStatus::InTransaction {
            self.status = TransactionStatus::Failed;
        }
        self.has_failed = false;
        Ok(())
    }

    fn status(&self) -> TransactionStatus {
        self.status
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    fn take_changed_settings(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.changed)
    }

    fn setting(&self, name: &str) -> Option<String> {
        let own = self.options.settings.iter().rev().find(|(own, _)| own == name);
        own.map(|(_, value)| value.clone())
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.copied.extend_from_slice(data);
        if data.starts_with(b"bad") {
            return Err(self.fail(SqlError::new("22P04", "extra data after last expected column")));
        }
        Ok(())
    }

    fn copy_done(&mut self) -> Result<String> {
        let text = String::from_utf8_lossy(&self.copied).into_owned();
        self.note(format!("copied {text:?}"));
        Ok(format!("COPY {}", text.lines().count()))
    }

    fn copy_fail(&mut self, message: &str) -> SqlError {
        self.fail(SqlError::new("57014", format!("COPY from stdin failed: {message}")))
    }

    fn copy_out(&mut self, data: &mut Vec<u8>) -> Result<Option<String>> {
        match self.copies_left.checked_sub(1) {
            Some(left) => {
                self.copies_left = left;
                data.extend_from_slice(format!("line {left}\n").as_bytes());
                Ok(None)
            }
            None => Ok(Some("COPY".to_owned())),
        }
    }

    fn copy_columns(&self) -> Vec<Column> {
        Vec::new()
    }

    fn copy_row(&mut self, _values: Vec<Value>) -> Result<()> {
        Err(error("0A000", "a toy copies text only"))
    }

    fn copied_rows(&mut self) -> Result<Option<RowSet>> {
        Err(error("0A000", "a toy copies text only"))
    }

    fn set_interrupt(&mut self, interrupt: Arc<Interrupt>) {
        self.interrupt = interrupt;
    }

    fn silence_limit(&self) -> Option<SilenceLimit> {
        let after = Duration::from_millis(self.silence_max?);
        Some(SilenceLimit { after, sqlstate: "25P03", message: "too silent" })
    }

    fn log_min(&self) -> Option<Duration> {
        None
    }

    fn close(&mut self) {
        self.note("close");
    }
}
