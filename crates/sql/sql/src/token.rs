//! Splits a file into tokens with positions; a cursor reads them.

use crate::error::{Error, ErrorKind, Result};
use crate::keyword::keyword_meant;
use crate::reserved::{is_no_routine, is_reserved};
use crate::source::Source;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Word};

/// Maximum number of tokens of a statement or expression; it limits the depth of its tree.
pub(crate) const STATEMENT_TOKENS_MAX: usize = 4000;

/// Splits `text`, which begins at byte `start` of `source`, into tokens without blanks and
/// comments.
pub(crate) fn tokenize(source: &Source, start: usize, text: &str) -> Result<Vec<TokenWithSpan>> {
    refuse_zero_bytes(source, start, text)?;
    let first = source.location(start);
    let shift = |location: Location| {
        let column =
            if location.line == 1 { location.column + first.column - 1 } else { location.column };
        Location::new(location.line + first.line - 1, column)
    };
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| {
        let at = shift(error.location);
        Error::at(source, Span::new(at, at), ErrorKind::Syntax, error.message)
    })?;
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() / 2);
    for TokenWithSpan { token, span } in tokens {
        let span = Span::new(shift(span.start), shift(span.end));
        match token {
            Token::Whitespace(_) | Token::EOF => continue,
            Token::Number(digits, _) => push_number(&mut kept, digits, span),
            Token::Period => {
                split_point(&mut kept, span);
                kept.push(TokenWithSpan { token: Token::Period, span });
            }
            token => {
                refuse_foreign(source, &token, span)?;
                refuse_junk(source, kept.last(), &token, span)?;
                kept.push(TokenWithSpan { token, span });
            }
        }
    }
    Ok(kept)
}

/// PostgreSQL's text ends at a zero byte; the tokenizer takes it for a letter, also in comments.
fn refuse_zero_bytes(source: &Source, start: usize, text: &str) -> Result<()> {
    let Some(at) = text.find('\0') else { return Ok(()) };
    let place = source.location(start + at);
    let sentence = "a text of PostgreSQL has no zero byte";
    Err(Error::at(source, Span::new(place, place), ErrorKind::Syntax, sentence))
}

/// In PL/pgSQL `1..10` is a range. The tokenizer makes `1.` and `.10` of it, or a point and `.10`.
fn push_number(kept: &mut Vec<TokenWithSpan>, digits: String, span: Span) {
    let joined =
        digits.starts_with('.') && kept.last().is_some_and(|last| last.span.end == span.start);
    let after_point = joined
        && (split_point(kept, span) || kept.last().is_some_and(|last| last.token == Token::Period));
    if !after_point {
        kept.push(TokenWithSpan { token: Token::Number(digits, false), span });
        return;
    }
    let middle = Location::new(span.start.line, span.start.column + 1);
    kept.push(TokenWithSpan { token: Token::Period, span: Span::new(span.start, middle) });
    let number = Token::Number(digits[1..].to_owned(), false);
    kept.push(TokenWithSpan { token: number, span: Span::new(middle, span.end) });
}

/// Removes the point at the end of a number if another number follows directly.
fn split_point(kept: &mut Vec<TokenWithSpan>, next: Span) -> bool {
    let Some(TokenWithSpan { token: Token::Number(digits, _), span }) = kept.last_mut() else {
        return false;
    };
    if span.end != next.start || digits.len() < 2 || !digits.ends_with('.') {
        return false;
    }
    digits.pop();
    let point = Location::new(span.end.line, span.end.column - 1);
    span.end = point;
    kept.push(TokenWithSpan { token: Token::Period, span: Span::new(point, next.start) });
    true
}

/// A word may not begin directly after a number [PostgreSQL 15, 4.1.2.6].
fn refuse_junk(
    source: &Source,
    last: Option<&TokenWithSpan>,
    token: &Token,
    span: Span,
) -> Result<()> {
    let joined = last
        .is_some_and(|last| matches!(last.token, Token::Number(..)) && last.span.end == span.start);
    if joined && matches!(token, Token::Word(word) if word.quote_style.is_none()) {
        let error = Error::at(
            source,
            span,
            ErrorKind::Syntax,
            "a word may not begin right behind a number",
        );
        return Err(error.advise("write a blank between them"));
    }
    Ok(())
}

/// Refuses operators of other databases, which the tokenizer accepts.
fn refuse_foreign(source: &Source, token: &Token, span: Span) -> Result<()> {
    let known = !matches!(
        token,
        Token::DoubleEq
            | Token::Spaceship
            | Token::DuckIntDiv
            | Token::Backslash
            | Token::LBrace
            | Token::RBrace
            | Token::Char(_)
    );
    if known {
        return Ok(());
    }
    let advice = match token {
        Token::DoubleEq => "write `=`",
        _ => "",
    };
    let sentence = format!("PostgreSQL has no `{token}` here");
    Err(Error::at(source, span, ErrorKind::Syntax, sentence).advise(advice))
}

/// A name as PostgreSQL compares it: in lower case unless quoted.
pub(crate) fn name_of(word: &Word) -> String {
    if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() }
}

/// A position in a list of tokens.
#[derive(Clone)]
pub(crate) struct Cursor<'s> {
    source: &'s Source,
    tokens: std::rc::Rc<[TokenWithSpan]>,
    at: usize,
    end: Span,
}

impl<'s> Cursor<'s> {
    pub(crate) fn source(&self) -> &'s Source {
        self.source
    }

    /// Errors at the end of the tokens point to byte `end` of the source.
    pub(crate) fn new(source: &'s Source, tokens: Vec<TokenWithSpan>, end: usize) -> Self {
        let end = source.location(end);
        Self { source, tokens: tokens.into(), at: 0, end: Span::new(end, end) }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn rewind(&mut self, position: usize) {
        self.at = position;
    }

    pub(crate) fn slice(&self, from: usize, to: usize) -> &[TokenWithSpan] {
        &self.tokens[from.min(to)..to.min(self.tokens.len())]
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(crate) fn peek(&self) -> Option<&Token> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|token| &token.token)
    }

    /// Where the next token is.
    pub(crate) fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |token| token.span)
    }

    /// Position of the previous token.
    pub(crate) fn span_before(&self) -> Span {
        self.at
            .checked_sub(1)
            .and_then(|at| self.tokens.get(at))
            .map_or(self.end, |token| token.span)
    }

    /// The span from the token at `from` to the last one taken.
    pub(crate) fn span_from(&self, from: usize) -> Span {
        let start = self.tokens.get(from).map_or(self.end, |token| token.span);
        Span::new(start.start, self.span_before().end.max(start.end))
    }

    pub(crate) fn next(&mut self) -> Option<TokenWithSpan> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    /// Whether the next token is the unquoted word `word`, given in upper case.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    pub(crate) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        matches!(self.peek_at(ahead), Some(token) if token_is_word(token, word))
    }

    pub(crate) fn is_words(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| self.is_word_at(ahead, word))
    }

    pub(crate) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes all the words, or none of them.
    pub(crate) fn accept_words(&mut self, words: &[&str]) -> bool {
        let found = self.is_words(words);
        if found {
            self.at += words.len();
        }
        found
    }

    pub(crate) fn accept(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    pub(crate) fn expect(&mut self, token: &Token) -> Result<()> {
        if self.accept(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    /// Takes a name; `what` describes it in errors.
    pub(crate) fn name(&mut self, what: &str) -> Result<(String, Span)> {
        let span = self.span();
        match self.peek() {
            Some(Token::Word(word)) => {
                let name = name_of(word);
                self.at += 1;
                Ok((name, span))
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Takes a name that is not a reserved word; `what` describes it in errors.
    pub(crate) fn identifier(&mut self, what: &str) -> Result<(String, Span)> {
        if self.is_bare(is_reserved) {
            return Err(self.expected(what));
        }
        self.name(what)
    }

    /// Takes the name of a function, of a parameter or of a column of its result; `what` describes
    /// it in errors.
    pub(crate) fn routine_identifier(&mut self, what: &str) -> Result<(String, Span)> {
        let refused = self.is_bare(is_no_routine);
        let (name, span) = self.identifier(what)?;
        if refused {
            let sentence = format!("`{name}` is no name of {what}");
            return Err(self.error(span, ErrorKind::Syntax, sentence));
        }
        Ok((name, span))
    }

    /// Whether the next token is an unquoted word, in lower case one of `words`.
    pub(crate) fn is_bare(&self, words: impl Fn(&str) -> bool) -> bool {
        matches!(self.peek(), Some(Token::Word(word))
            if word.quote_style.is_none() && words(&word.value.to_lowercase()))
    }

    pub(crate) fn expected(&self, what: &str) -> Error {
        let sentence = match self.peek() {
            Some(_) => format!("{what} is expected here"),
            None => format!("{what} is expected before the end"),
        };
        let advice = keyword_meant(self.peek());
        self.error(self.span(), ErrorKind::Syntax, sentence).advise(advice)
    }

    pub(crate) fn error(&self, span: Span, kind: ErrorKind, sentence: impl Into<String>) -> Error {
        Error::at(self.source, span, kind, sentence)
    }

    /// An error about SQL that PostgreSQL accepts and this crate does not support.
    pub(crate) fn outside(&self, span: Span, what: &str, advice: &str) -> Error {
        let sentence = format!("{what} is outside the supported SQL");
        self.error(span, ErrorKind::Outside, sentence).advise(advice)
    }

    /// Takes tokens up to the first one outside all parentheses for which `stop` holds, or to the
    /// end.
    pub(crate) fn take_until(
        &mut self,
        stop: impl Fn(&Token) -> bool,
    ) -> Result<Vec<TokenWithSpan>> {
        let from = self.at;
        let mut depth = 0_u32;
        while let Some(token) = self.peek() {
            match token {
                token if depth == 0 && stop(token) => break,
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => {
                        return Err(self.error(
                            self.span(),
                            ErrorKind::Syntax,
                            "this bracket was never opened",
                        ));
                    }
                },
                _ => {}
            }
            self.at += 1;
        }
        if depth > 0 {
            return Err(self.expected("a closing bracket"));
        }
        let taken = self.slice(from, self.at).to_vec();
        if taken.len() > STATEMENT_TOKENS_MAX {
            let sentence =
                format!("a statement has at most {STATEMENT_TOKENS_MAX} words and signs");
            let error = self.error(taken[0].span, ErrorKind::Outside, sentence);
            return Err(error.advise("split it into several"));
        }
        Ok(taken)
    }
}

/// Whether `token` is the unquoted word `word`, given in upper case.
pub(crate) fn token_is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let source = Source::new("f", text);
        let tokens = tokenize(&source, 0, text).expect("it has tokens");
        tokens.iter().map(|token| source.slice(token.span).to_owned()).collect()
    }

    #[test]
    fn ranges_of_numbers_are_taken_apart() {
        assert_eq!(
            texts("1..10 a..b 1..n n..10 1.5 .5"),
            [
                "1", ".", ".", "10", "a", ".", ".", "b", "1", ".", ".", "n", "n", ".", ".", "10",
                "1.5", ".5"
            ]
        );
    }

    #[test]
    fn places_are_those_of_the_whole_file() {
        let source = Source::new("f", "x\n $$a\n  b$$");
        let tokens = tokenize(&source, 5, "a\n  b").expect("it has tokens");
        assert_eq!(tokens[0].span.start, Location::new(2, 4));
        assert_eq!(tokens[1].span.start, Location::new(3, 3));
    }

    #[test]
    fn zero_bytes_are_refused_also_in_comments() {
        let source = Source::new("f", "a\n-- \0\n");
        let error = tokenize(&source, 2, "-- \0\n").expect_err("it has a zero byte");
        assert_eq!((error.line, error.column), (2, 4));
    }

    #[test]
    fn operators_of_other_databases_are_refused() {
        let source = Source::new("f", "a == b");
        let error = tokenize(&source, 0, source.text()).expect_err("no such operator");
        assert_eq!((error.column, &*error.advice), (3, "write `=`"));
    }
}
