//! Reads JSON texts, with PostgreSQL's errors [PostgreSQL 15, `src/common/jsonapi.c`].

use super::{DEPTH_MAX, Json, number, too_deep};
use crate::error::{Error, Result, sqlstate};
use compact_str::CompactString;

/// A value of a text, with its place.
#[derive(Debug)]
pub(super) struct Node {
    pub from: usize,
    pub to: usize,
    pub kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Number,
    /// With its quotes.
    Text,
    Array(Vec<Node>),
    /// Keys, which are texts, and values, as they are written.
    Object(Vec<(Node, Node)>),
}

#[cold]
fn invalid(detail: impl Into<String>) -> Box<Error> {
    let message = "invalid input syntax for type json";
    Error::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).detail(detail)
}

/// Reads a `jsonb`.
///
/// # Errors
/// 22P02 if the text is no JSON, 22P05 if it has the character zero, 22003 if a number has too many
/// digits, 54001 if it has too many levels.
pub fn parse(text: &str) -> Result<Json> {
    tree(&nodes(text)?, text)
}

/// Checks the text of a `json`.
///
/// # Errors
/// As [`parse`], for the syntax alone.
pub fn check(text: &str) -> Result<()> {
    nodes(text).map(drop)
}

/// The `jsonb` of a part of a text.
pub(super) fn tree(node: &Node, text: &str) -> Result<Json> {
    Ok(match &node.kind {
        Kind::Null => Json::Null,
        Kind::True => Json::Bool(true),
        Kind::False => Json::Bool(false),
        Kind::Number => Json::Number(number::of_syntax(&text[node.from..node.to])?),
        Kind::Text => Json::Text(unescaped(node, text)?),
        Kind::Array(elements) => {
            Json::Array(elements.iter().map(|element| tree(element, text)).collect::<Result<_>>()?)
        }
        Kind::Object(pairs) => {
            let pair =
                |(key, value): &(Node, Node)| Ok((unescaped(key, text)?, tree(value, text)?));
            Json::object(pairs.iter().map(pair).collect::<Result<_>>()?)
        }
    })
}

/// The characters of a text with escapes.
///
/// # Errors
/// 22P05 for the character zero, 22P02 for half a pair of surrogates.
pub(super) fn unescaped(node: &Node, text: &str) -> Result<CompactString> {
    let inner = &text[node.from + 1..node.to - 1];
    if !inner.contains('\\') {
        return Ok(CompactString::new(inner));
    }
    let mut result = CompactString::with_capacity(inner.len());
    let mut letters = inner.chars();
    let mut high = None;
    while let Some(letter) = letters.next() {
        let unit = match letter {
            '\\' => match letters.next().unwrap_or('\\') {
                'u' => {
                    let digits = letters.by_ref().take(4);
                    digits.fold(0, |unit, digit| unit << 4 | digit.to_digit(16).unwrap_or(0))
                }
                'b' => 8,
                'f' => 12,
                'n' => 10,
                'r' => 13,
                't' => 9,
                other => other as u32,
            },
            letter => letter as u32,
        };
        match (high.take(), unit) {
            (Some(_), 0xd800..=0xdbff) => {
                return Err(invalid("Unicode high surrogate must not follow a high surrogate."));
            }
            (None, 0xd800..=0xdbff) => high = Some(unit),
            (Some(high), 0xdc00..=0xdfff) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
                result.extend(char::from_u32(code));
            }
            (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(no_pair()),
            (None, 0) => {
                let message = "unsupported Unicode escape sequence";
                return Err(Error::new(sqlstate::UNTRANSLATABLE_CHARACTER, message)
                    .detail("\\u0000 cannot be converted to text."));
            }
            (None, unit) => result.extend(char::from_u32(unit)),
        }
    }
    if high.is_some() { Err(no_pair()) } else { Ok(result) }
}

#[cold]
fn no_pair() -> Box<Error> {
    invalid("Unicode low surrogate must follow a high surrogate.")
}

/// Reads the structure of a text.
pub(super) fn nodes(text: &str) -> Result<Node> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let node = reader.value("JSON value")?;
    reader.skip_space();
    match reader.at == text.len() {
        true => Ok(node),
        false => Err(reader.found("end of input")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        let is_next = self.byte() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// The error at the next token.
    #[cold]
    fn found(&self, expected: &str) -> Box<Error> {
        let rest = &self.text[self.at..];
        let is_word = |letter: char| {
            letter.is_ascii_alphanumeric()
                || matches!(letter, '_' | '-' | '+' | '.')
                || letter > '\x7f'
        };
        let token = match rest.chars().next() {
            None => return invalid("The input string ended unexpectedly."),
            Some(first) if is_word(first) => {
                &rest[..rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())]
            }
            Some(first) => &rest[..first.len_utf8()],
        };
        let is_token = matches!(token, "{" | "}" | "[" | "]" | "," | ":" | "\"")
            || matches!(token, "true" | "false" | "null")
            || token.parse::<f64>().is_ok() && token.ends_with(|last: char| last.is_ascii_digit());
        match (is_token, expected) {
            (false, _) => invalid(format!("Token \"{token}\" is invalid.")),
            (true, "JSON value" | "string") => {
                invalid(format!("Expected {expected}, but found \"{token}\"."))
            }
            (true, expected) => invalid(format!("Expected {expected}, but found \"{token}\".")),
        }
    }

    fn value(&mut self, expected: &str) -> Result<Node> {
        self.skip_space();
        let from = self.at;
        let kind = match self.byte() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => {
                self.string()?;
                Kind::Text
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Kind::Number
            }
            _ => self.word(expected)?,
        };
        Ok(Node { from, to: self.at, kind })
    }

    fn word(&mut self, expected: &str) -> Result<Kind> {
        let rest = &self.text[self.at..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let (word, kind) = match &rest[..end.unwrap_or(rest.len())] {
            word @ "null" => (word, Kind::Null),
            word @ "true" => (word, Kind::True),
            word @ "false" => (word, Kind::False),
            _ => return Err(self.found(expected)),
        };
        self.at += word.len();
        Ok(kind)
    }

    fn nested(&mut self, read: impl Fn(&mut Self) -> Result<Kind>) -> Result<Kind> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        self.at += 1;
        let kind = read(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn array(&mut self) -> Result<Kind> {
        let mut elements = Vec::new();
        self.skip_space();
        if self.accept(b']') {
            return Ok(Kind::Array(elements));
        }
        loop {
            elements.push(self.value("JSON value")?);
            self.skip_space();
            if self.accept(b']') {
                return Ok(Kind::Array(elements));
            }
            if !self.accept(b',') {
                return Err(self.found("\",\" or \"]\""));
            }
        }
    }

    fn object(&mut self) -> Result<Kind> {
        let mut pairs = Vec::new();
        self.skip_space();
        if self.accept(b'}') {
            return Ok(Kind::Object(pairs));
        }
        loop {
            self.skip_space();
            let from = self.at;
            if self.byte() != Some(b'"') {
                return Err(self.found(if pairs.is_empty() {
                    "string or \"}\""
                } else {
                    "string"
                }));
            }
            self.string()?;
            let key = Node { from, to: self.at, kind: Kind::Text };
            self.skip_space();
            if !self.accept(b':') {
                return Err(self.found("\":\""));
            }
            let value = self.value("JSON value")?;
            pairs.push((key, value));
            self.skip_space();
            if self.accept(b'}') {
                return Ok(Kind::Object(pairs));
            }
            if !self.accept(b',') {
                return Err(self.found("\",\" or \"}\""));
            }
        }
    }

    /// Passes a text with its quotes.
    fn string(&mut self) -> Result<()> {
        let from = self.at;
        self.at += 1;
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                None => {
                    let token = &self.text[from..];
                    return Err(invalid(format!("Token \"{token}\" is invalid.")));
                }
                Some(byte @ 0..32) => {
                    return Err(invalid(format!(
                        "Character with value 0x{byte:02x} must be escaped."
                    )));
                }
                Some(b'\\') => self.escape()?,
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        let rest = &self.text[self.at + 1..];
        match rest.as_bytes().first() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = rest.bytes().skip(1).take(4);
                if digits.filter(u8::is_ascii_hexdigit).count() < 4 {
                    let detail = "\"\\u\" must be followed by four hexadecimal digits.";
                    return Err(invalid(detail));
                }
                self.at += 6;
            }
            _ => {
                let letter = rest.chars().next().map_or(String::new(), String::from);
                return Err(invalid(format!("Escape sequence \"\\{letter}\" is invalid.")));
            }
        }
        Ok(())
    }

    /// Passes a number.
    fn number(&mut self) -> Result<()> {
        let from = self.at;
        let rest = &self.text[from..];
        let is_part = |letter: char| {
            letter.is_ascii_alphanumeric()
                || matches!(letter, '+' | '-' | '.' | '_')
                || letter > '\x7f'
        };
        let token = &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())];
        if !is_number(token) {
            return Err(invalid(format!("Token \"{token}\" is invalid.")));
        }
        self.at += token.len();
        Ok(())
    }
}

/// Whether the text is a number in JSON's syntax.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_texts_are_refused() {
        for (text, detail) in [
            ("", "The input string ended unexpectedly."),
            ("{", "The input string ended unexpectedly."),
            ("[1,", "The input string ended unexpectedly."),
            ("nul", "Token \"nul\" is invalid."),
            ("[1 2]", "Expected \",\" or \"]\", but found \"2\"."),
            ("{\"a\" 1}", "Expected \":\", but found \"1\"."),
            ("{1: 2}", "Expected string or \"}\", but found \"1\"."),
            ("{\"a\": 1,}", "Expected string, but found \"}\"."),
            ("01", "Token \"01\" is invalid."),
            ("1.", "Token \"1.\" is invalid."),
            ("-", "Token \"-\" is invalid."),
            ("\"a", "Token \"\"a\" is invalid."),
            ("\"\t\"", "Character with value 0x09 must be escaped."),
            ("\"\\x\"", "Escape sequence \"\\x\" is invalid."),
            ("\"\\u12\"", "\"\\u\" must be followed by four hexadecimal digits."),
            ("1 1", "Expected end of input, but found \"1\"."),
            ("]", "Expected JSON value, but found \"]\"."),
            ("\"\\ud800\"", "Unicode low surrogate must follow a high surrogate."),
            ("\"\\u0000\"", "\\u0000 cannot be converted to text."),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.detail.as_deref(), Some(detail), "{text}");
        }
        assert!(check("\"\\u0000\\ud800\"").is_ok(), "a text is decoded only where it is used");
    }
}
