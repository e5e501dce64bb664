//! `RAISE`: messages and errors.

use super::Compiler;
use super::condition::{is_sqlstate, sqlstate};
use super::control::split_at_commas;
use crate::error::Result;
use crate::expression::{CastKind, Expr, ExprKind};
use crate::procedure::{Formula, Level, Raise, StatementKind};
use crate::resolve::coerce::Context;
use crate::types::SqlType;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// The SQLSTATE of `RAISE EXCEPTION` without a code.
const RAISE_EXCEPTION: &str = "P0001";

impl Compiler<'_> {
    pub(super) fn raise(&mut self) -> Result<StatementKind> {
        let start = self.cursor.span();
        self.cursor.expect_word("RAISE")?;
        if self.cursor.peek() == Some(&Token::SemiColon) {
            if self.called.is_some() {
                self.semicolon()?;
                return Ok(StatementKind::Reraise);
            }
            let advice = "write a message or the name of a condition";
            return Err(self.outside(
                start,
                "RAISE without arguments, which raises a caught error again,",
                advice,
            ));
        }
        let level = self.level();
        let mut raise = Raise {
            level,
            sqlstate: if level == Level::Exception { RAISE_EXCEPTION } else { "00000" }.to_owned(),
            code: None,
            message: Vec::new(),
            values: Vec::new(),
            detail: None,
            hint: None,
        };
        let (mut has_code, mut condition) = (false, None);
        match self.cursor.peek().cloned() {
            Some(Token::SingleQuotedString(format) | Token::EscapedStringLiteral(format)) => {
                let span = self.cursor.span();
                self.cursor.next();
                raise.message = pieces(&format);
                self.raise_values(&mut raise, span)?;
            }
            _ if self.cursor.is_word("USING") => {}
            Some(Token::Word(_)) => {
                condition = self.raise_condition(&mut raise)?;
                has_code = true;
            }
            _ => return Err(self.cursor.expected("a message or the name of a condition")),
        }
        if self.cursor.accept_word("USING") {
            self.raise_options(&mut raise, has_code, &mut condition)?;
        }
        if raise.message.is_empty() && raise.code.is_none() {
            raise.message.push(condition.unwrap_or_else(|| raise.sqlstate.clone()));
        }
        self.semicolon()?;
        Ok(StatementKind::Raise(raise))
    }

    fn level(&mut self) -> Level {
        let levels = [
            ("DEBUG", Level::Debug),
            ("LOG", Level::Log),
            ("INFO", Level::Info),
            ("NOTICE", Level::Notice),
            ("WARNING", Level::Warning),
            ("EXCEPTION", Level::Exception),
        ];
        let found = levels.iter().find(|(word, _)| self.cursor.is_word(word));
        if found.is_some() {
            self.cursor.next();
        }
        found.map_or(Level::Exception, |(_, level)| *level)
    }

    /// Parses a value for each `%` of the message.
    fn raise_values(&mut self, raise: &mut Raise, span: Span) -> Result<()> {
        let tokens = self.cursor.take_until(|token| {
            *token == Token::SemiColon || crate::token::token_is_word(token, "USING")
        })?;
        let given = match tokens.split_first() {
            None => Vec::new(),
            Some((first, rest)) if first.token == Token::Comma => split_at_commas(rest),
            Some((first, _)) => return Err(self.syntax(first.span, "a comma is expected here")),
        };
        if given.len() + 1 != raise.message.len() {
            let sentence = format!(
                "RAISE needs a value for each `%` of its message: the message needs {}, the statement gives {}",
                raise.message.len() - 1,
                given.len()
            );
            return Err(self.syntax(span, sentence));
        }
        for part in given {
            let place = part.first().map_or(span, |token| token.span);
            let value = self.raised_text(part, place)?;
            raise.values.push(value);
        }
        Ok(())
    }

    /// A value as text, as PostgreSQL prints it.
    pub(super) fn raised_text(&mut self, tokens: &[TokenWithSpan], place: Span) -> Result<Formula> {
        let value = self.formula(tokens, place, None)?;
        if matches!(value.expr.sql_type, SqlType::Record(_) | SqlType::Array(_)) {
            return Err(self.outside(
                place,
                "a record or array in a message",
                "write its fields or elements",
            ));
        }
        if value.expr.sql_type == SqlType::Unknown {
            let (expr, _) = self.resolve(place, |resolver| {
                resolver.convert(value.expr, &SqlType::Text, Context::Variable, place)
            })?;
            return Ok(Formula { expr, number: value.number });
        }
        // RAISE prints values differently from a cast: `t` for true, and trailing blanks are kept.
        let operand = Box::new(value.expr);
        let kind = ExprKind::Cast { operand, kind: CastKind::ThroughText };
        let expr = Expr::new(kind, SqlType::Text);
        Ok(Formula { expr, number: value.number })
    }

    /// Parses a condition name, which is also the default message, or `SQLSTATE '22012'`.
    fn raise_condition(&mut self, raise: &mut Raise) -> Result<Option<String>> {
        let span = self.cursor.span();
        if self.cursor.accept_word("SQLSTATE") {
            raise.sqlstate = self.sqlstate_literal(span)?;
            return Ok(None);
        }
        let (name, span) = self.cursor.name("the name of a condition")?;
        raise.sqlstate = self.condition_code(&name, span)?;
        Ok(Some(name))
    }

    fn condition_code(&self, name: &str, span: Span) -> Result<String> {
        sqlstate(name).map(str::to_owned).ok_or_else(|| {
            let error = self.syntax(span, format!("there is no condition `{name}`"));
            error.advise("write its code, such as SQLSTATE 'P0001'")
        })
    }

    fn raise_options(
        &mut self,
        raise: &mut Raise,
        mut has_code: bool,
        condition: &mut Option<String>,
    ) -> Result<()> {
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        for part in split_at_commas(&tokens) {
            let [name, sign, value @ ..] = part else {
                return Err(self.cursor.expected("an option and its value"));
            };
            if !matches!(sign.token, Token::Eq | Token::Assignment) {
                return Err(self.syntax(sign.span, "`=` is expected here"));
            }
            let option = self.source.slice(name.span).to_uppercase();
            match &*option {
                "ERRCODE" if has_code => {
                    return Err(self.syntax(name.span, "the code is given twice"));
                }
                "ERRCODE" => {
                    self.errcode(raise, value, name.span, condition)?;
                    has_code = true;
                }
                "MESSAGE" if !raise.message.is_empty() => {
                    return Err(self.syntax(name.span, "the message is given twice"));
                }
                "MESSAGE" => {
                    raise.message = vec![String::new(), String::new()];
                    raise.values = vec![self.raised_text(value, name.span)?];
                }
                "DETAIL" => raise.detail = Some(self.raised_text(value, name.span)?),
                "HINT" => raise.hint = Some(self.raised_text(value, name.span)?),
                "COLUMN" | "CONSTRAINT" | "DATATYPE" | "TABLE" | "SCHEMA" => {
                    return Err(self.outside(name.span, &option, "write it into the message"));
                }
                _ => return Err(self.syntax(name.span, format!("RAISE has no option `{option}`"))),
            }
        }
        Ok(())
    }

    /// Parses a condition name or a code.
    fn errcode(
        &mut self,
        raise: &mut Raise,
        value: &[TokenWithSpan],
        span: Span,
        condition: &mut Option<String>,
    ) -> Result<()> {
        if let [TokenWithSpan { token: Token::SingleQuotedString(text), span }] = value {
            let is_code = is_sqlstate(text);
            raise.sqlstate = if is_code { text.clone() } else { self.condition_code(text, *span)? };
            *condition = Some(text.clone());
            return Ok(());
        }
        if self.called.is_none() {
            let advice = "write ERRCODE = 'P0001' or the name of a condition between quotes";
            return Err(self.outside(span, "a computed code", advice));
        }
        raise.code = Some(self.raised_text(value, span)?);
        Ok(())
    }
}

/// Splits the message at each `%` that a value replaces; `%%` is a percent sign.
fn pieces(format: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, pieces.last_mut()) {
            ('%', Some(piece)) if letters.next_if_eq(&'%').is_some() => piece.push('%'),
            ('%', _) => pieces.push(String::new()),
            (letter, Some(piece)) => piece.push(letter),
            (_, None) => {}
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn messages_are_taken_apart_at_percent_signs() {
        assert_eq!(pieces("a % b %% c%"), ["a ", " b % c", ""]);
        assert_eq!(pieces(""), [""]);
    }
}
