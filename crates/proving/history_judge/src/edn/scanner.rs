//! Scans EDN text form by form, and tracks the position.

use crate::error::ParseError;

/// A place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextPosition {
    offset: usize,
    line: usize,
    line_start: usize,
}

impl TextPosition {
    pub(super) fn line(self) -> u32 {
        self.line as u32
    }

    pub(super) fn error(self, what: impl Into<String>) -> ParseError {
        ParseError { line: self.line, column: self.offset - self.line_start + 1, what: what.into() }
    }
}

/// The deepest nesting of a skipped form.
const DEPTH_MAX: usize = 256;

pub(super) struct Scanner<'a> {
    text: &'a [u8],
    place: TextPosition,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, place: TextPosition { offset: 0, line: 1, line_start: 0 } }
    }

    pub(super) fn place(&self) -> TextPosition {
        self.place
    }

    pub(super) fn return_to(&mut self, place: TextPosition) {
        self.place = place;
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.place.offset).copied()
    }

    pub(super) fn error<T>(&self, what: impl Into<String>) -> Result<T, ParseError> {
        Err(self.place.error(what))
    }

    /// Takes one byte, unless the text has ended.
    pub(super) fn advance(&mut self) {
        match self.peek() {
            None => return,
            Some(b'\n') => {
                self.place.line += 1;
                self.place.line_start = self.place.offset + 1;
            }
            Some(_) => {}
        }
        self.place.offset += 1;
    }

    /// Skips spaces, commas, comments, and forms after `#_`.
    pub(super) fn skip_space(&mut self) -> Result<(), ParseError> {
        let mut discarded = 0;
        loop {
            match self.peek() {
                Some(b' ' | b',' | b'\t' | b'\r' | b'\n' | 0x0c) => self.advance(),
                Some(b';') => self.skip_line(),
                Some(b'#') if self.text.get(self.place.offset + 1) == Some(&b'_') => {
                    self.place.offset += 2;
                    discarded += 1;
                }
                _ if discarded > 0 => {
                    discarded -= 1;
                    self.skip_form_here()?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.place.offset += 1;
        }
    }

    /// Takes this byte, if it is next.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.advance();
        }
        is_next
    }

    /// Takes a tag such as `#jepsen.history.Op`, if one is next.
    pub(super) fn skip_tag(&mut self) -> Result<(), ParseError> {
        if self.peek() == Some(b'#')
            && self.text.get(self.place.offset + 1).is_some_and(|byte| byte.is_ascii_alphabetic())
        {
            self.advance();
            self.token();
            self.skip_space()?;
        }
        Ok(())
    }

    /// The bytes up to the next delimiter; empty if a delimiter is next.
    pub(super) fn token(&mut self) -> &'a [u8] {
        let rest = &self.text[self.place.offset..];
        let length = rest.iter().position(|&byte| is_delimiter(byte)).unwrap_or(rest.len());
        self.place.offset += length;
        &rest[..length]
    }

    /// A string with its quotes, unparsed.
    pub(super) fn string(&mut self) -> Result<&'a [u8], ParseError> {
        let start = self.place;
        self.advance();
        loop {
            match self.peek() {
                None => return Err(start.error("this string has no end")),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.advance();
                    self.advance();
                }
                Some(_) => self.advance(),
            }
        }
        self.advance();
        Ok(&self.text[start.offset..self.place.offset])
    }

    /// Takes the next integer; `None`, and nothing taken, if something else is next.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let rest = &self.text[self.place.offset..];
        let (is_negative, start) = match rest.first()? {
            b'-' => (true, 1),
            b'+' => (false, 1),
            _ => (false, 0),
        };
        let digits = rest[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut number = 0_i64;
        for &digit in &rest[start..start + digits] {
            let digit = i64::from(digit - b'0');
            number = number.checked_mul(10)?;
            // Subtracting keeps the smallest number representable.
            number = number.checked_sub(digit)?;
        }
        let mut end = start + digits;
        if rest.get(end) == Some(&b'N') {
            end += 1;
        }
        if digits == 0 || rest.get(end).is_some_and(|&byte| !is_delimiter(byte)) {
            return None;
        }
        self.place.offset += end;
        if is_negative { Some(number) } else { number.checked_neg() }
    }

    /// Skips the next form of any kind.
    pub(super) fn skip_form(&mut self) -> Result<(), ParseError> {
        self.skip_space()?;
        self.skip_form_here()
    }

    /// Skips a form: matches brackets, and ignores their content.
    fn skip_form_here(&mut self) -> Result<(), ParseError> {
        let start = self.place;
        let mut open = Vec::new();
        loop {
            match self.peek() {
                None => return Err(start.error("this form has no end")),
                Some(b'"') => {
                    self.string()?;
                }
                Some(byte @ (b'(' | b'[' | b'{')) => {
                    open.push(byte);
                    if open.len() > DEPTH_MAX {
                        return self
                            .error(format!("forms are nested more than {DEPTH_MAX} levels deep"));
                    }
                    self.advance();
                }
                Some(byte @ (b')' | b']' | b'}')) => {
                    if open.pop() != Some(opening(byte)) {
                        return self.error(format!("`{}` closes nothing", byte as char));
                    }
                    self.advance();
                }
                Some(b';') => self.skip_line(),
                Some(b' ' | b',' | b'\t' | b'\r' | b'\n' | 0x0c) => {
                    self.advance();
                    continue;
                }
                // A tag belongs to the form after it; `#{` and `#_` need no treatment beyond that
                // of their forms.
                Some(b'#') => {
                    self.advance();
                    if !matches!(self.peek(), Some(b'{' | b'(' | b'"')) {
                        self.token();
                    }
                    continue;
                }
                // A character such as \[ is not a bracket.
                Some(b'\\') => {
                    self.advance();
                    self.advance();
                    self.token();
                }
                Some(_) if self.token().is_empty() => {
                    return self.error("this is not EDN");
                }
                Some(_) => {}
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

fn opening(closing: u8) -> u8 {
    match closing {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    }
}

fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b','
            | b'\t'
            | b'\r'
            | b'\n'
            | 0x0c
            | b'('
            | b')'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'"'
            | b';'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest_after_form(text: &str) -> Result<&str, String> {
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.skip_form().map_err(|error| error.to_string())?;
        Ok(&text[scanner.place.offset..])
    }

    #[test]
    fn forms_are_passed_over_whole() {
        for form in [
            "1",
            ":a/b",
            "nil",
            "\"a ] \\\" b\"",
            "[1 [2] {3 4}]",
            "#{1 2}",
            "#inst \"x\"",
            "(a ; ) \n b)",
            "[\\] 1]",
            "#_ 1 2",
            "[#_]1]",
            "-4.5e7",
        ] {
            let text = format!(" {form} rest");
            let expected = if form == "[#_]1]" { "1] rest" } else { " rest" };
            assert_eq!(rest_after_form(&text), Ok(expected), "{form}");
        }
    }

    #[test]
    fn broken_forms_are_refused_with_their_place() {
        assert_eq!(rest_after_form("\n [1"), Err("line 2, column 2: this form has no end".into()));
        assert_eq!(rest_after_form("[1)"), Err("line 1, column 3: `)` closes nothing".into()));
        assert_eq!(rest_after_form("\"a"), Err("line 1, column 1: this string has no end".into()));
        // The text ends inside an escape.
        assert_eq!(rest_after_form("\"\\"), Err("line 1, column 1: this string has no end".into()));
        assert_eq!(rest_after_form("\\"), Ok(""));
        let deep = "[".repeat(300);
        assert!(rest_after_form(&deep).is_err_and(|error| error.contains("256")));
    }

    #[test]
    fn integers_are_whole_tokens() {
        let integer = |text: &str| Scanner::new(text.as_bytes()).integer();
        assert_eq!(integer("42 "), Some(42));
        assert_eq!(integer("-42]"), Some(-42));
        assert_eq!(integer("7N"), Some(7));
        assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer("9223372036854775808"), None);
        assert_eq!(integer("4a"), None);
        assert_eq!(integer("-"), None);
        assert_eq!(integer("1.5"), None);
    }
}
