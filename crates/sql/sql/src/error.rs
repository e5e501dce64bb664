//! Errors about a file: the position, the problem, and how to write it instead.
//!
//! Decision: docs/decisions/0157-stricter-than-create-function.md

use crate::source::Source;
use sqlparser::tokenizer::{Location, Span};
use std::fmt;

/// The kind of an error; it says whether PostgreSQL refuses the text as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file cannot be read.
    File,
    /// Not valid SQL or PL/pgSQL; PostgreSQL refuses it, too.
    Syntax,
    /// An unknown or ambiguous name; PostgreSQL refuses it, too.
    Name,
    /// Incompatible types; PostgreSQL refuses it, too.
    Type,
    /// PostgreSQL accepts it, but this crate does not support it.
    Outside,
    /// `workload.toml` is malformed or does not fit the procedures.
    Load,
}

/// An error message with its position in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub kind: ErrorKind,
    /// The file's name, as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The offending piece of text, shortened; may be empty at the end of a file.
    pub piece: String,
    /// The problem.
    pub sentence: String,
    /// The remedy; empty if the sentence implies it.
    pub advice: String,
    /// SQLSTATE and message of PostgreSQL, where they are known.
    pub postgres: Option<Box<PostgresError>>,
    /// Whether PostgreSQL reports no position.
    pub is_unplaced: bool,
    /// Whether PostgreSQL reports it when a routine in `plpgsql` runs, and creates the routine: it
    /// calls a function that does not exist, or cannot run.
    pub is_late: bool,
}

/// An error as PostgreSQL reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PostgresError {
    pub sqlstate: &'static str,
    pub message: String,
    /// Empty if there is none.
    pub detail: String,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn at(
        source: &Source,
        span: Span,
        kind: ErrorKind,
        sentence: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            file: source.name().to_owned(),
            line: span.start.line.max(1) as u32,
            column: span.start.column.max(1) as u32,
            piece: source.piece(span),
            sentence: sentence.into(),
            advice: String::new(),
            postgres: None,
            is_unplaced: false,
            is_late: false,
        }
    }

    pub(crate) fn file(name: &str, sentence: impl Into<String>) -> Self {
        let start = Location::new(1, 1);
        let span = Span::new(start, start);
        Self::at(&Source::new(name, ""), span, ErrorKind::File, sentence)
    }

    /// Adds the SQLSTATE and message of PostgreSQL.
    pub(crate) fn in_postgres(
        mut self,
        sqlstate: &'static str,
        message: impl Into<String>,
    ) -> Self {
        let (message, detail) = (message.into(), String::new());
        self.postgres = Some(Box::new(PostgresError { sqlstate, message, detail }));
        self
    }

    /// Adds the detail of PostgreSQL's error.
    pub(crate) fn detailed(mut self, detail: impl Into<String>) -> Self {
        if let Some(postgres) = &mut self.postgres {
            postgres.detail = detail.into();
        }
        self
    }

    /// PostgreSQL reports this error without a position. Files show the statement's.
    pub(crate) fn unplaced(mut self) -> Self {
        self.is_unplaced = true;
        self
    }

    /// PostgreSQL reports this error when the routine runs.
    pub(crate) fn late(mut self) -> Self {
        self.is_late = true;
        self
    }

    /// The SQLSTATE of PostgreSQL, as far as it is known.
    pub fn sqlstate(&self) -> &'static str {
        match (&self.postgres, self.kind) {
            (Some(postgres), _) => postgres.sqlstate,
            (None, ErrorKind::File | ErrorKind::Load) => "58030",
            (None, ErrorKind::Syntax) => "42601",
            (None, ErrorKind::Name) => "42704",
            (None, ErrorKind::Type) => "42804",
            (None, ErrorKind::Outside) => "0A000",
        }
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.piece.is_empty() {
            write!(formatter, "at `{}`: ", self.piece)?;
        }
        formatter.write_str(&self.sentence)?;
        if !self.advice.is_empty() {
            write!(formatter, "; {}", self.advice)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
