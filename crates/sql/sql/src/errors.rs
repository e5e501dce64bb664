//! Everything that is wrong with a folder, so that one run reports it all.

use crate::error::{Error, ErrorKind};
use crate::token::name_of;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::BTreeSet;
use std::fmt;

/// Maximum number of errors shown; further ones are only counted.
pub const ERRORS_SHOWN_MAX: usize = 100;

/// The errors of a folder's files, in the order of the files and of the lines in each. There is at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Errors(Vec<Error>);

impl Errors {
    /// The first one.
    pub fn first(&self) -> &Error {
        &self.0[0]
    }

    /// All of them.
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
            count => write!(formatter, "\n{count} errors, of them {ERRORS_SHOWN_MAX} shown"),
        }
    }
}

impl std::error::Error for Errors {}

/// Errors found so far, and names whose definition could not be read. An error of another statement about such a name may be
/// a consequence, so it is not reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    errors: Vec<Error>,
    /// Tables, procedures and other things whose definition is wrong.
    damaged: BTreeSet<String>,
    /// Whether a whole file could not be read, so that any name may have been in it.
    is_lost: bool,
}

impl Findings {
    /// Adds an error, unless it may be a consequence of another one. `tokens` are those of its statement.
    pub(crate) fn report(&mut self, error: Error, tokens: &[TokenWithSpan]) {
        let is_of_names = matches!(error.kind, ErrorKind::Name | ErrorKind::Type);
        if !is_of_names || !self.is_damaged_in(tokens) {
            self.add(error);
        }
    }

    /// Adds an error.
    pub(crate) fn add(&mut self, error: Error) {
        self.errors.push(error);
    }

    /// Adds the error of a file that was not read.
    pub(crate) fn lose(&mut self, error: Error) {
        self.add(error);
        self.is_lost = true;
    }

    /// Notes that the definition of `name` is wrong.
    pub(crate) fn damage(&mut self, name: &str) {
        self.damaged.insert(name.to_owned());
    }

    /// Whether the definition of `name` is wrong, or may be in a file that was not read.
    pub(crate) fn is_damaged(&self, name: &str) -> bool {
        self.is_lost || self.damaged.contains(name)
    }

    /// Whether `test` holds for a name whose definition is wrong, or a file was not read.
    pub(crate) fn has_damaged(&self, test: impl Fn(&str) -> bool) -> bool {
        self.is_lost || self.damaged.iter().any(|name| test(name))
    }

    /// Whether one of `tokens` is such a name.
    pub(crate) fn is_damaged_in(&self, tokens: &[TokenWithSpan]) -> bool {
        let is_damaged = |token: &TokenWithSpan| match &token.token {
            Token::Word(word) => self.damaged.contains(&name_of(word)),
            _ => false,
        };
        self.is_lost || tokens.iter().any(is_damaged)
    }

    /// Whether there is one of [`ErrorKind::Syntax`] behind the first `from`.
    pub(crate) fn has_syntax_error_from(&self, from: usize) -> bool {
        self.errors[from..].iter().any(|error| error.kind == ErrorKind::Syntax)
    }

    /// How many errors there are.
    pub(crate) fn count(&self) -> usize {
        self.errors.len()
    }

    /// Puts the errors behind the first `from` in the order of their lines.
    pub(crate) fn sort_from(&mut self, from: usize) {
        self.errors[from..].sort_by_key(|error| (error.line, error.column));
    }

    /// `value`, if nothing is wrong.
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
        assert!(text.ends_with("f:100:1: x\n107 errors, of them 100 shown"), "{text}");
        assert_eq!(Errors::from(errors.first().clone()).to_string(), "f:1:1: x");
    }
}
