//! Splits a text into PostgreSQL's tokens, with their places: for finding the ends of statements,
//! and for commands that are no queries.

use crate::error::SqlError;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A name or keyword without quotes.
    Word,
    /// A name in double quotes.
    Quoted,
    /// A text in single quotes or dollar quotes, with its prefix.
    Text,
    Number,
    /// `$1`
    Parameter,
    /// Any other character; operators of several characters are several tokens.
    Sign(char),
}

/// A token of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'t> {
    pub kind: Kind,
    /// The characters of the token.
    pub text: &'t str,
    /// Byte at which it begins.
    pub at: usize,
}

impl Token<'_> {
    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Whether it is this keyword, given in upper case.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// The name that it stands for.
    pub fn name(&self) -> Option<String> {
        match self.kind {
            Kind::Word => Some(self.text.to_lowercase()),
            Kind::Quoted => Some(self.text[1..self.text.len() - 1].replace("\"\"", "\"")),
            _ => None,
        }
    }

    /// The characters of a text in quotes.
    pub fn string(&self) -> Option<String> {
        if self.kind != Kind::Text {
            return None;
        }
        if self.text.starts_with('$') {
            let tag = self.text[1..].find('$')? + 2;
            return Some(self.text[tag..self.text.len() - tag].to_owned());
        }
        let is_escaped = self.text.starts_with(['e', 'E']);
        let inner = self.text.find('\'')? + 1;
        let inner = &self.text[inner..self.text.len() - 1];
        Some(if is_escaped { unescape(inner) } else { inner.replace("''", "'") })
    }
}

/// The characters of `E'...'`.
fn unescape(inner: &str) -> String {
    let mut text = String::new();
    let mut letters = inner.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek().copied()) {
            ('\'', Some('\'')) => {
                letters.next();
                text.push('\'');
            }
            ('\\', Some(escaped)) => {
                letters.next();
                text.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    other => other,
                });
            }
            (letter, _) => text.push(letter),
        }
    }
    text
}

/// Splits a text; comments and blanks are left out.
///
/// # Errors
/// A quote or comment has no end.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SqlError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += comment(rest).ok_or_else(|| open(text, at, "unterminated /* comment"))?;
        } else {
            let (kind, length) = token(text, at, first)?;
            tokens.push(Token { kind, text: &rest[..length], at });
            at += length;
        }
    }
    Ok(tokens)
}

/// Bytes of the comment at the beginning; comments nest.
fn comment(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

fn token(text: &str, at: usize, first: char) -> Result<(Kind, usize), SqlError> {
    let rest = &text[at..];
    let second = rest[first.len_utf8()..].chars().next();
    if matches!(first, 'e' | 'E' | 'b' | 'B' | 'x' | 'X' | 'n' | 'N') && second == Some('\'') {
        let escapes = matches!(first, 'e' | 'E');
        let length = quoted(&rest[1..], '\'', escapes);
        let length = length.ok_or_else(|| open(text, at, "unterminated quoted string"))?;
        return Ok((Kind::Text, 1 + length));
    }
    let while_it = |holds: &dyn Fn(char) -> bool| {
        rest.char_indices().find(|(_, letter)| !holds(*letter)).map_or(rest.len(), |(end, _)| end)
    };
    Ok(match first {
        '\'' => {
            let length = quoted(rest, '\'', false);
            (Kind::Text, length.ok_or_else(|| open(text, at, "unterminated quoted string"))?)
        }
        '"' => {
            let length = quoted(rest, '"', false);
            (Kind::Quoted, length.ok_or_else(|| open(text, at, "unterminated quoted identifier"))?)
        }
        '$' if second.is_some_and(|second| second.is_ascii_digit()) => {
            let digits = rest[1..].find(|letter: char| !letter.is_ascii_digit());
            (Kind::Parameter, 1 + digits.unwrap_or(rest.len() - 1))
        }
        '$' => match dollar_tag(rest) {
            Some(tag) => {
                let end = rest[tag..].find(&rest[..tag]);
                let end = end.ok_or_else(|| open(text, at, "unterminated dollar-quoted string"))?;
                (Kind::Text, tag + end + tag)
            }
            None => (Kind::Sign('$'), 1),
        },
        letter if letter.is_alphabetic() || letter == '_' => {
            (Kind::Word, while_it(&|c| c.is_alphanumeric() || c == '_' || c == '$'))
        }
        digit if digit.is_ascii_digit() => {
            (Kind::Number, while_it(&|c| c.is_ascii_alphanumeric() || c == '.'))
        }
        '.' if second.is_some_and(|second| second.is_ascii_digit()) => {
            (Kind::Number, while_it(&|c| c.is_ascii_alphanumeric() || c == '.'))
        }
        sign => (Kind::Sign(sign), sign.len_utf8()),
    })
}

/// Bytes of `$tag$` at the beginning.
fn dollar_tag(rest: &str) -> Option<usize> {
    let end = rest[1..].find('$')? + 1;
    let tag = &rest[1..end];
    let begins = !tag.starts_with(|letter: char| letter.is_ascii_digit());
    let is_tag = begins && tag.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    is_tag.then_some(end + 1)
}

/// Bytes of the quoted piece at the beginning; a doubled quote does not end it.
fn quoted(rest: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if escapes && letter == '\\' {
            letters.next();
        } else if letter == quote {
            match letters.peek() {
                Some((_, next)) if *next == quote => {
                    letters.next();
                }
                _ => return Some(at + 1),
            }
        }
    }
    None
}

fn open(text: &str, at: usize, what: &str) -> SqlError {
    let rest: String = text[at..].chars().take(40).collect();
    let message = format!("{what} at or near \"{rest}\"");
    SqlError::new("42601", message).at(characters(text, at) + 1)
}

/// Characters before byte `at`.
pub(crate) fn characters(text: &str, at: usize) -> u32 {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].chars().count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let tokens = tokens(text).expect("it has tokens");
        tokens.into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn tokens_are_those_of_postgresql() {
        assert_eq!(words("a--b\n'c''d' \"e\"\"f\""), ["a", "'c''d'", "\"e\"\"f\""]);
        assert_eq!(words("/* a /* b */ c */ d"), ["d"]);
        assert_eq!(words("$1 $$a;b$$ $x$ $$ $x$"), ["$1", "$$a;b$$", "$x$ $$ $x$"]);
        assert_eq!(words("E'a\\'b' 1.5e3 <= \u{e4}"), ["E'a\\'b'", "1.5e3", "<", "=", "\u{e4}"]);
        for open in ["'a", "\"a", "/* a", "$$ a", "E'\\'"] {
            assert_eq!(tokens(open).expect_err("it has no end").sqlstate, "42601");
        }
    }

    #[test]
    fn quoted_texts_have_values() {
        let value = |text| tokens(text).expect("it is a text")[0].string();
        assert_eq!(value("'a''b'").as_deref(), Some("a'b"));
        assert_eq!(value("E'a\\nb\\\\'").as_deref(), Some("a\nb\\"));
        assert_eq!(value("$q$a'b$q$").as_deref(), Some("a'b"));
        assert_eq!(tokens("\"A\"\"b\"").expect("it is a name")[0].name().as_deref(), Some("A\"b"));
    }
}
