//! Why a file is refused: where, what, and what to write instead.
//!
//! Decision: docs/decisions/0157-stricter-than-create-function.md

use crate::source::Source;
use sqlparser::tokenizer::{Location, Span};
use std::fmt;

/// Whether PostgreSQL refuses the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file cannot be read.
    File,
    /// The text is no SQL or no PL/pgSQL; PostgreSQL refuses it, too.
    Syntax,
    /// A name means nothing, or two things; PostgreSQL refuses it, too.
    Name,
    /// Types do not go together; PostgreSQL refuses it, too.
    Type,
    /// PostgreSQL takes it and this crate does not.
    Outside,
    /// The load does not fit the procedures, or is not well formed.
    Load,
}

/// A sentence about a file, with the place that it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Who else refuses it.
    pub kind: ErrorKind,
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The offending piece of the file, shortened; may be empty at the end of a file.
    pub piece: String,
    /// What is wrong.
    pub sentence: String,
    /// What to write instead; empty where the sentence says it.
    pub advice: String,
}

/// Of this crate.
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
        }
    }

    pub(crate) fn file(name: &str, sentence: impl Into<String>) -> Self {
        let start = Location::new(1, 1);
        let span = Span::new(start, start);
        Self::at(&Source::new(name, ""), span, ErrorKind::File, sentence)
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
