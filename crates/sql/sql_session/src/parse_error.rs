//! Errors of the parser and resolver, as PostgreSQL reports them.

use crate::error::SqlError;
use sql::{Error, ErrorKind};

/// The error about the statement `text`.
pub(crate) fn parse_error(error: &Error, text: &str) -> SqlError {
    let piece = error.piece.split_whitespace().next().unwrap_or_default();
    let explained = match error.advice.is_empty() {
        true => error.sentence.clone(),
        false => format!("{}; {}", error.sentence, error.advice),
    };
    let (message, hint) = match (&error.postgres, error.kind) {
        (Some(postgres), _) => {
            (postgres.message.clone(), Some(error.advice.clone()).filter(|hint| !hint.is_empty()))
        }
        (None, ErrorKind::Syntax) if piece.is_empty() => {
            ("syntax error at end of input".to_owned(), Some(explained))
        }
        (None, ErrorKind::Syntax) => {
            (format!("syntax error at or near \"{piece}\""), Some(explained))
        }
        (None, _) => (explained, None),
    };
    let mut found = SqlError::new(error.sqlstate(), message);
    found.hint = hint;
    let detail = error.postgres.as_ref().map(|postgres| postgres.detail.clone());
    found.detail = detail.filter(|detail| !detail.is_empty());
    found.position = position(text, error.line, error.column).filter(|_| !error.is_unplaced);
    found
}

/// The error about a statement `text` that begins at `line` of the text that was read.
pub(crate) fn schema_error(error: &Error, text: &str, line: u32) -> SqlError {
    let mut shifted = error.clone();
    shifted.line = (error.line + 1).saturating_sub(line).max(1);
    parse_error(&shifted, text)
}

/// Characters up to a line and column, from 1.
fn position(text: &str, line: u32, column: u32) -> Option<u32> {
    let before = text.split('\n').take(line.checked_sub(1)? as usize);
    let lines: usize = before.map(|line| line.chars().count() + 1).sum();
    Some(lines as u32 + column)
}
