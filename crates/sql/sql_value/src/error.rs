//! Errors as PostgreSQL reports them: SQLSTATE and message are PostgreSQL's own.

use std::borrow::Cow;
use std::fmt;

/// The result of evaluating an expression. The error is boxed so that a result is returned in
/// registers.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// An error with PostgreSQL's SQLSTATE and message [PostgreSQL 15, appendix A].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Five characters.
    pub sqlstate: Cow<'static, str>,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

/// The SQLSTATEs that expressions raise.
pub mod sqlstate {
    pub const DIVISION_BY_ZERO: &str = "22012";
    /// A number is out of range for its type.
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    /// Text is longer than its type allows.
    pub const STRING_DATA_RIGHT_TRUNCATION: &str = "22001";
    /// Text is not a value of the target type.
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    /// Text is not a date or time.
    pub const INVALID_DATETIME_FORMAT: &str = "22007";
    /// A date or time is out of range.
    pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
    /// An interval is out of range.
    pub const INTERVAL_FIELD_OVERFLOW: &str = "22015";
    /// A function does not accept the argument's value.
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    /// The length of a substring is negative.
    pub const SUBSTRING_ERROR: &str = "22011";
    /// A `LIKE` pattern ends in the middle of an escape sequence.
    pub const INVALID_ESCAPE_SEQUENCE: &str = "22025";
    /// A null where a value is needed.
    pub const NULL_VALUE_NOT_ALLOWED: &str = "22004";
    /// A character that texts cannot have.
    pub const UNTRANSLATABLE_CHARACTER: &str = "22P05";
    /// A value has too many levels.
    pub const STATEMENT_TOO_COMPLEX: &str = "54001";
    /// A value is longer than PostgreSQL can represent.
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// A sub-select used as a value returned more than one row.
    pub const CARDINALITY_VIOLATION: &str = "21000";
    /// A null in a `NOT NULL` column.
    pub const NOT_NULL_VIOLATION: &str = "23502";
    /// A plan does not match its procedure.
    pub const INTERNAL_ERROR: &str = "XX000";
}

impl Error {
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Box<Self> {
        let message = message.into();
        Box::new(Self { sqlstate: sqlstate.into(), message, detail: None, hint: None })
    }

    #[must_use]
    pub fn detail(mut self: Box<Self>, detail: impl Into<String>) -> Box<Self> {
        self.detail = Some(detail.into());
        self
    }

    #[must_use]
    pub fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    #[cold]
    pub fn division_by_zero() -> Box<Self> {
        Self::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
    }

    /// A number is out of range for the named type.
    #[cold]
    pub fn out_of_range(type_name: &str) -> Box<Self> {
        Self::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
    }

    /// A date, time or interval is out of range for the named type.
    #[cold]
    pub fn time_out_of_range(type_name: &str) -> Box<Self> {
        Self::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{type_name} out of range"))
    }

    /// Text is not a value of the named type.
    #[cold]
    pub fn invalid_text(type_name: &str, text: &str) -> Box<Self> {
        let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
        Self::new(sqlstate::INVALID_TEXT_REPRESENTATION, message)
    }

    /// As [`Error::invalid_text`], without quoting the text.
    #[cold]
    pub fn invalid_text_plain(type_name: &str) -> Box<Self> {
        let message = format!("invalid input syntax for type {type_name}");
        Self::new(sqlstate::INVALID_TEXT_REPRESENTATION, message)
    }

    /// A plan does not match its procedure, or an expression has no plan: a bug of ours.
    #[cold]
    pub fn internal(message: impl Into<String>) -> Box<Self> {
        Self::new(sqlstate::INTERNAL_ERROR, message)
    }
}

/// The names in an error's message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ErrorNames {
    pub constraint: Option<String>,
    pub column: Option<String>,
    /// Errors of unique keys do not name it.
    pub table: Option<String>,
}

impl Error {
    /// The objects that the message of a violated constraint names.
    pub fn names(&self) -> ErrorNames {
        if !self.sqlstate.starts_with("23") {
            return ErrorNames::default();
        }
        let named = |word| quoted(&self.message, word);
        let table = match &*self.sqlstate {
            "23502" | "23503" | "23514" => named("relation").or_else(|| named("on table")),
            _ => None,
        };
        let column = named("column").filter(|_| self.sqlstate == "23502");
        ErrorNames { constraint: named("constraint"), column, table }
    }
}

/// The name in double quotes behind a word.
pub fn quoted(message: &str, word: &str) -> Option<String> {
    let rest = &message[message.find(&format!("{word} \""))? + word.len() + 2..];
    Some(rest[..rest.find('"')?].to_owned())
}

/// The detail of a violated constraint without the values of the row; `None` if nothing is left.
/// That of a reference keeps the table.
pub fn without_key(detail: &str) -> Option<String> {
    let of = ["is not present in table", "is still referenced from table"];
    // The key may contain the words, too.
    let at = of.iter().filter_map(|words| detail.rfind(words)).max()?;
    Some(format!("Key {}", &detail[at..]))
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.sqlstate, self.message)?;
        for more in self.detail.iter().chain(&self.hint) {
            write!(formatter, "; {more}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::without_key;

    #[test]
    fn references_keep_their_tables() {
        let shown =
            without_key("Key (a)=(is not present in table x) is not present in table \"t\".");
        assert_eq!(shown.as_deref(), Some("Key is not present in table \"t\"."));
        assert_eq!(without_key("Failing row contains (1, 2)."), None);
        assert_eq!(without_key("Key (a)=(1) already exists."), None);
    }
}
