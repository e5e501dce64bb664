//! Texts as parts of SQL: `quote_ident`, `quote_literal`, and `format`.

use crate::error::{Error, Result, sqlstate};
use crate::text::{BYTES_MAX, too_large};
use crate::value::Value;

/// A name, in double quotes if it needs them.
pub fn identifier(name: &str) -> String {
    let is_plain =
        |letter: char| letter == '_' || letter.is_ascii_digit() || letter.is_ascii_lowercase();
    let begins = name.starts_with(|first: char| first == '_' || first.is_ascii_lowercase());
    match begins && name.chars().all(is_plain) && !sql::needs_quotes(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A text as a constant.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match text.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

/// The constant `NULL` or that of a text.
pub fn nullable(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".to_owned(), literal)
}

/// `format`: the first value with the others, as they are printed, in the places of its specifiers
/// `%[position$][-][width]type`.
///
/// # Errors
///
/// A specifier is malformed or has no argument, or null would be an identifier.
pub fn format(values: &[Value]) -> Result<Value> {
    let Some((Value::Text(text), arguments)) = values.split_first() else { return Ok(Value::Null) };
    let mut reader = Reader { rest: text, arguments, next: 0 };
    let mut result = String::new();
    while let Some(at) = reader.rest.find('%') {
        result.push_str(&reader.rest[..at]);
        reader.rest = &reader.rest[at + 1..];
        reader.specifier(&mut result)?;
    }
    result.push_str(reader.rest);
    Ok(Value::text(&result))
}

/// The rest of a format.
struct Reader<'v> {
    rest: &'v str,
    arguments: &'v [Value],
    /// The argument of the next specifier without a position.
    next: usize,
}

impl<'v> Reader<'v> {
    /// Reads a specifier behind its percent sign, and adds what it means.
    fn specifier(&mut self, result: &mut String) -> Result<()> {
        if self.accept('%') {
            result.push('%');
            return Ok(());
        }
        let position = self.position()?;
        let mut is_left = false;
        while self.accept('-') {
            is_left = true;
        }
        let width = match self.accept('*') {
            true => {
                let position = self.position()?;
                self.width(position)?
            }
            false => self.number()?.unwrap_or(0),
        };
        let Some(kind) = self.rest.chars().next() else { return Err(unterminated()) };
        if !matches!(kind, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message).hint(HINT));
        }
        self.rest = &self.rest[1..];
        let text = match self.argument(position)? {
            Value::Text(text) => Some(&**text),
            _ => None,
        };
        let written = match (kind, text) {
            ('s', text) => text.unwrap_or_default().to_owned(),
            ('L', text) => nullable(text),
            (_, Some(text)) => identifier(text),
            (_, None) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(Error::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
            }
        };
        pad(result, &written, width, is_left)
    }

    fn accept(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads digits.
    fn number(&mut self) -> Result<Option<i64>> {
        let end = self.rest.find(|letter: char| !letter.is_ascii_digit());
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if digits.is_empty() {
            return Ok(None);
        }
        if rest.is_empty() {
            return Err(unterminated());
        }
        self.rest = rest;
        match digits.parse::<i32>() {
            Ok(number) => Ok(Some(i64::from(number))),
            Err(_) => {
                Err(Error::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"))
            }
        }
    }

    /// Reads a position with its dollar sign.
    fn position(&mut self) -> Result<Option<usize>> {
        let before = self.rest;
        let number = self.number()?;
        if !self.accept('$') {
            self.rest = before;
            return Ok(None);
        }
        match number {
            Some(0) => {
                let message = "format specifies argument 0, but arguments are numbered from 1";
                Err(Error::new(sqlstate::INVALID_PARAMETER_VALUE, message))
            }
            number => Ok(number.map(|number| number as usize)),
        }
    }

    /// The width that an argument has; nulls have none.
    fn width(&mut self, position: Option<usize>) -> Result<i64> {
        match self.argument(position)? {
            Value::Text(text) => match text.trim().parse::<i32>() {
                Ok(width) => Ok(i64::from(width)),
                Err(_) => Err(Error::invalid_text("integer", text)),
            },
            _ => Ok(0),
        }
    }

    /// The argument at a position, or the next one.
    fn argument(&mut self, position: Option<usize>) -> Result<&'v Value> {
        let at = position.unwrap_or(self.next + 1);
        self.next = at;
        self.arguments.get(at - 1).ok_or_else(|| {
            Error::new(sqlstate::INVALID_PARAMETER_VALUE, "too few arguments for format()")
        })
    }
}

/// Adds a text with blanks up to a number of characters; a negative number is as `-`.
///
/// # Errors
///
/// The result would be longer than a text may be.
fn pad(result: &mut String, text: &str, width: i64, is_left: bool) -> Result<()> {
    let missing = (width.unsigned_abs() as usize).saturating_sub(text.chars().count());
    if result.len().saturating_add(text.len()).saturating_add(missing) > BYTES_MAX {
        return Err(too_large());
    }
    let blanks = " ".repeat(missing);
    let (before, behind) = if is_left || width < 0 { ("", &*blanks) } else { (&*blanks, "") };
    result.extend([before, text, behind]);
    Ok(())
}

const HINT: &str = "For a single \"%\" use \"%%\".";

#[cold]
fn unterminated() -> Box<Error> {
    let message = "unterminated format() type specifier";
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message).hint(HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(values: &[Option<&str>]) -> std::result::Result<String, String> {
        let values: Vec<Value> =
            values.iter().map(|value| value.map_or(Value::Null, Value::text)).collect();
        match format(&values) {
            Ok(Value::Text(text)) => Ok(text.to_string()),
            Ok(_) => Ok("NULL".to_owned()),
            Err(error) => Err(error.sqlstate.to_string()),
        }
    }

    #[test]
    fn specifiers_have_positions_and_widths() {
        let cases: [(&[Option<&str>], &str); 8] = [
            (
                &[Some("a %s b %I c %L"), Some("x"), Some("Y z"), Some("it's")],
                "a x b \"Y z\" c 'it''s'",
            ),
            (&[Some("%2$s %1$s %s"), Some("x"), Some("y")], "y x y"),
            (&[Some("[%5s][%-5s]"), Some("x"), Some("y")], "[    x][y    ]"),
            (&[Some("[%*s][%*s]"), Some("4"), Some("x"), Some("-4"), Some("y")], "[   x][y   ]"),
            (&[Some("[%2$*1$s]"), Some("3"), Some("x")], "[  x]"),
            (&[Some("%s %L %%"), None, None], " NULL %"),
            (&[None, Some("x")], "NULL"),
            (&[Some("%L"), Some("a\\b")], "E'a\\\\b'"),
        ];
        for (values, expected) in cases {
            assert_eq!(formatted(values).as_deref(), Ok(expected), "{values:?}");
        }
        for wrong in ["%s %s", "%", "%5", "%d", "%0$s", "%99999999999s"] {
            assert!(formatted(&[Some(wrong), Some("x")]).is_err(), "{wrong}");
        }
        assert_eq!(formatted(&[Some("%I"), None]), Err("22004".to_owned()));
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let cases = [
            ("abc", "abc"),
            ("a_1", "a_1"),
            ("1a", "\"1a\""),
            ("Abc", "\"Abc\""),
            ("", "\"\""),
            ("select", "\"select\""),
            ("int", "\"int\""),
            ("xmlparse", "\"xmlparse\""),
            ("name", "name"),
            ("a\"b", "\"a\"\"b\""),
        ];
        for (name, expected) in cases {
            assert_eq!(identifier(name), expected);
        }
    }
}
