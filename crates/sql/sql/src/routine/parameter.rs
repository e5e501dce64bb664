//! Parameters of a routine.

use crate::error::{ErrorKind, Result};
use crate::expression::Expr;
use crate::parse;
use crate::plpgsql::Compiler;
use crate::procedure::{Parameter, ParameterMode};
use crate::resolve::coerce::Context;
use crate::resolve::scope::Scope;
use crate::types::SqlType;
use sqlparser::tokenizer::{Span, Token};

/// Maximum number of parameters, as in PostgreSQL.
const PARAMETERS_MAX: usize = 100;

/// Types of two words; the first word is not a parameter's name.
const TWO_WORDS: [(&str, &str); 6] = [
    ("DOUBLE", "PRECISION"),
    ("CHARACTER", "VARYING"),
    ("CHAR", "VARYING"),
    ("TIMESTAMP", "WITH"),
    ("TIMESTAMP", "WITHOUT"),
    ("NATIONAL", "CHARACTER"),
];

impl Compiler<'_> {
    pub(super) fn parameters(&mut self) -> Result<Vec<Parameter>> {
        self.cursor.expect(&Token::LParen)?;
        let mut parameters = Vec::new();
        if self.cursor.accept(&Token::RParen) {
            return Ok(parameters);
        }
        loop {
            let parameter = self.parameter(&parameters)?;
            parameters.push(parameter);
            if parameters.len() > PARAMETERS_MAX {
                let sentence = format!("a procedure has at most {PARAMETERS_MAX} parameters");
                return Err(self.cursor.error(self.cursor.span(), ErrorKind::Syntax, sentence));
            }
            if self.cursor.accept(&Token::RParen) {
                return Ok(parameters);
            }
            self.cursor.expect(&Token::Comma)?;
        }
    }

    fn parameter(&mut self, before: &[Parameter]) -> Result<Parameter> {
        let start = self.cursor.span();
        let early = self.mode(start)?;
        let name = self.parameter_name()?;
        let mode = match early {
            Some(mode) => mode,
            None => self.mode(start)?.unwrap_or(ParameterMode::In),
        };
        let sql_type = self.parameter_type(start)?;
        let default = self.parameter_default(&sql_type, mode, before)?;
        let number = before.len() + 1;
        let variable = self.declare_parameter(name, number, sql_type, start)?;
        Ok(Parameter { variable, mode, default })
    }

    /// Declares the variable of a parameter, or of a column of `RETURNS TABLE`.
    pub(super) fn declare_parameter(
        &mut self,
        name: Option<(String, Span)>,
        number: usize,
        sql_type: SqlType,
        place: Span,
    ) -> Result<usize> {
        let shown = name.as_ref().map_or_else(|| format!("${number}"), |(name, _)| name.clone());
        let variable = self.add_variable(&shown, sql_type, place);
        if let Some((name, span)) = name {
            if self.names.is_declared(&name) {
                let sentence = format!("two parameters are called `{name}`");
                return Err(self.cursor.error(span, ErrorKind::Name, sentence));
            }
            self.names.declare(&name, variable);
        }
        self.names.positional.push(variable);
        Ok(variable)
    }

    fn mode(&mut self, start: Span) -> Result<Option<ParameterMode>> {
        if self.cursor.is_word("VARIADIC") {
            return Err(self.cursor.outside(start, "VARIADIC", "write an array"));
        }
        if self.cursor.accept_words(&["IN", "OUT"]) || self.cursor.accept_word("INOUT") {
            return Ok(Some(ParameterMode::InOut));
        }
        if self.cursor.accept_word("IN") {
            return Ok(Some(ParameterMode::In));
        }
        Ok(self.cursor.accept_word("OUT").then_some(ParameterMode::Out))
    }

    /// A word is the parameter's name if a type or a mode follows it.
    fn parameter_name(&mut self) -> Result<Option<(String, Span)>> {
        let two = TWO_WORDS.iter().any(|(first, second)| self.cursor.is_words(&[first, second]));
        let follows = matches!(self.cursor.peek_at(1), Some(Token::Word(_)))
            && !self.cursor.is_word_at(1, "DEFAULT");
        if two || !follows {
            return Ok(None);
        }
        self.cursor.routine_identifier("a parameter").map(Some)
    }

    /// PostgreSQL ignores the length and precision of parameter types.
    fn parameter_type(&mut self, start: Span) -> Result<SqlType> {
        let sql_type = self.declared_type()?;
        match sql_type {
            SqlType::Record(_) => Err(self.cursor.outside(
                start,
                "a record as a parameter",
                "pass its fields one by one",
            )),
            SqlType::Void => {
                Err(self.cursor.error(start, ErrorKind::Type, "a parameter cannot be void"))
            }
            sql_type => Ok(sql_type.base()),
        }
    }

    fn parameter_default(
        &mut self,
        sql_type: &SqlType,
        mode: ParameterMode,
        before: &[Parameter],
    ) -> Result<Option<Expr>> {
        let span = self.cursor.span();
        if !self.cursor.accept_word("DEFAULT") && !self.cursor.accept(&Token::Eq) {
            let needed = mode != ParameterMode::Out
                && before.iter().any(|parameter| parameter.default.is_some());
            if needed {
                let sentence = "a parameter after one with a default needs a default, too";
                return Err(self.cursor.error(span, ErrorKind::Syntax, sentence));
            }
            return Ok(None);
        }
        if mode == ParameterMode::Out {
            return Err(self.cursor.error(
                span,
                ErrorKind::Syntax,
                "an output parameter cannot have a default",
            ));
        }
        let place = self.cursor.span();
        let tokens =
            self.cursor.take_until(|token| matches!(token, Token::Comma | Token::RParen))?;
        let node = parse::expression(self.source, &tokens, place)?;
        let hidden = std::mem::take(&mut self.names);
        let resolved = self.resolve(place, |resolver| {
            let value = resolver.expr(&Scope::default(), &node)?;
            resolver.convert(value, sql_type, Context::Assignment, place)
        });
        self.names = hidden;
        let (value, _) = resolved?;
        if value.has_subquery() {
            return Err(self.cursor.error(
                place,
                ErrorKind::Type,
                "a default may not contain a sub-select",
            ));
        }
        Ok(Some(value))
    }
}
