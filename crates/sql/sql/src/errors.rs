//! Collects all errors of a folder, so that one run reports them together.

use crate::error::{Error, ErrorKind};
use crate::token::name_of;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::BTreeSet;
use std::fmt;

/// Maximum number of errors shown; further ones are only counted.
pub const ERRORS_SHOWN_MAX: usize = 100;

/// The errors of a folder, ordered by file and line. There is at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Errors(Vec<Error>);

impl Errors {
    pub fn first(&self) -> &Error {
        &self.0[0]
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.0.iter()
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().take(ERRORS_SHOWN_MAX).enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{error}")?;
        }
        match self.0.len() {
            0 | 1 => Ok(()),
            count if count <= ERRORS_SHOWN_MAX => write!(formatter, "\n{count} errors"),
            count => write!(formatter, "\n{count} errors, the first {ERRORS_SHOWN_MAX} are shown"),
        }
    }
}

impl std::error::Error for Errors {}

/// Errors found so far, and the names whose definitions have errors. Name and type errors of other
/// statements about such a name may be consequences, so they are not reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    errors: Vec<Error>,
    /// Names of tables, procedures and other objects whose definition has an error.
    damaged: BTreeSet<String>,
    /// Whether a whole file is unreadable: any name may have been defined there.
    is_lost: bool,
}

impl Findings {
    /// Adds an error unless it may be a consequence of another one. `tokens` are the tokens of its
    /// statement.
    pub(crate) fn report(&mut self, error: Error, tokens: &[TokenWithSpan]) {
        let is_of_names = matches!(error.kind, ErrorKind::Name | ErrorKind::Type);
        if !is_of_names || !self.is_damaged_in(tokens) {
            self.add(error);
        }
    }

    pub(crate) fn add(&mut self, error: Error) {
        self.errors.push(error);
    }

    /// Adds the error of an unreadable file.
    pub(crate) fn add_unreadable_file(&mut self, error: Error) {
        self.add(error);
        self.is_lost = true;
    }

    /// Records that the definition of `name` has an error.
    pub(crate) fn mark_damaged(&mut self, name: &str) {
        self.damaged.insert(name.to_owned());
    }

    /// Whether the definition of `name` has an error, or may be in an unreadable file.
    pub(crate) fn is_damaged(&self, name: &str) -> bool {
        self.is_lost || self.damaged.contains(name)
    }

    /// Whether a file is unreadable, or `test` holds for a name whose definition has an error.
    pub(crate) fn has_damaged(&self, test: impl Fn(&str) -> bool) -> bool {
        self.is_lost || self.damaged.iter().any(|name| test(name))
    }

    /// Whether a file is unreadable, or one of `tokens` is a name whose definition has an error.
    pub(crate) fn is_damaged_in(&self, tokens: &[TokenWithSpan]) -> bool {
        let is_damaged = |token: &TokenWithSpan| match &token.token {
            Token::Word(word) => self.damaged.contains(&name_of(word)),
            _ => false,
        };
        self.is_lost || tokens.iter().any(is_damaged)
    }

    /// Whether one of the errors from number `from` on is an [`ErrorKind::Syntax`].
    pub(crate) fn has_syntax_error_from(&self, from: usize) -> bool {
        self.errors[from..].iter().any(|error| error.kind == ErrorKind::Syntax)
    }

    /// PostgreSQL reports the errors from number `from` on before the routine runs.
    pub(crate) fn not_late_from(&mut self, from: usize) {
        self.errors[from..].iter_mut().for_each(|error| error.is_late = false);
    }

    pub(crate) fn count(&self) -> usize {
        self.errors.len()
    }

    /// Sorts the errors from number `from` on by position.
    pub(crate) fn sort_from(&mut self, from: usize) {
        self.errors[from..].sort_by_key(|error| (error.line, error.column));
    }

    /// `value`, if there are no errors.
    pub(crate) fn into_result<T>(self, value: T) -> Result<T, Errors> {
        if self.errors.is_empty() { Ok(value) } else { Err(Errors(self.errors)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use sqlparser::tokenizer::{Location, Span};

    #[test]
    fn no_more_errors_are_shown_than_a_person_reads() {
        let mut findings = Findings::default();
        for line in 0..ERRORS_SHOWN_MAX as u64 + 7 {
            let place = Location::new(line + 1, 1);
            let source = Source::new("f", "");
            findings.add(Error::at(&source, Span::new(place, place), ErrorKind::Name, "x"));
        }
        let errors = findings.into_result(()).expect_err("there are some");
        let text = errors.to_string();
        assert_eq!(text.lines().count(), ERRORS_SHOWN_MAX + 1);
        assert!(text.ends_with("f:100:1: x\n107 errors, the first 100 are shown"), "{text}");
        assert_eq!(Errors::from(errors.first().clone()).to_string(), "f:1:1: x");
    }
}
