//! `RETURN`, `RETURN NEXT`, `RETURN QUERY`.

use super::Compiler;
use crate::error::Result;
use crate::procedure::{Returns, Sql, StatementKind};
use crate::query::Query;
use crate::token::name_of;
use crate::types::{Field, SqlType};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

impl Compiler<'_> {
    pub(super) fn return_statement(&mut self) -> Result<StatementKind> {
        let start = self.cursor.span();
        self.cursor.expect_word("RETURN")?;
        if self.cursor.accept_word("NEXT") {
            return self.return_next(start);
        }
        if self.cursor.accept_word("QUERY") {
            return self.return_query(start);
        }
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let wanted = match &self.returns {
            Returns::Value(sql_type) if !self.has_outputs => Some(sql_type.clone()),
            Returns::Row(fields) if !self.has_outputs => Some(SqlType::Record(fields.clone())),
            _ => None,
        };
        match (wanted, tokens.is_empty()) {
            (None, true) => Ok(self.return_from(None, start)),
            (Some(wanted), false) => {
                let value = self.formula(&tokens, span, Some(&wanted))?;
                Ok(self.return_from(Some(value), start))
            }
            (None, false) => {
                let (advice, place) = match &self.returns {
                    Returns::Rows(_) => (
                        "write RETURN NEXT or RETURN QUERY for rows, and RETURN alone",
                        "returning set",
                    ),
                    Returns::Nothing => ("write RETURN alone", "returning void"),
                    _ => (
                        "assign the output parameters, and write RETURN alone",
                        "with OUT parameters",
                    ),
                };
                let message = format!("RETURN cannot have a parameter in function {place}");
                let error = self.syntax(span, "RETURN may not have a value here").advise(advice);
                Err(error.in_postgres("42804", message))
            }
            (Some(wanted), true) => {
                let sentence = format!("RETURN needs a value of type {wanted} here");
                Err(self.syntax(start, sentence))
            }
        }
    }

    fn return_next(&mut self, start: Span) -> Result<StatementKind> {
        let Returns::Rows(fields) = self.returns.clone() else {
            let error =
                self.syntax(start, "RETURN NEXT is only allowed in functions that return rows");
            return Err(error.advise("write RETURNS SETOF or RETURNS TABLE"));
        };
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        if self.has_outputs {
            if !tokens.is_empty() {
                let error = self.syntax(
                    span,
                    "RETURN NEXT may not have a value in a function with output parameters",
                );
                return Err(error.advise("assign them, and write RETURN NEXT alone"));
            }
            return Ok(self.next_row(None, start));
        }
        if tokens.is_empty() {
            return Err(self.syntax(start, "RETURN NEXT needs a value here"));
        }
        let fields = self.columns_of_row(fields, &tokens, start)?;
        let wanted = match &fields[..] {
            [single] if single.name.is_empty() => single.sql_type.clone(),
            _ => SqlType::Record(fields),
        };
        self.check_row(&tokens)?;
        let value = self.formula(&tokens, span, Some(&wanted))?;
        Ok(self.next_row(Some((value, wanted)), start))
    }

    /// The columns of the rows that a function returns: those of the first row if it returns
    /// records.
    fn columns_of_rows(&mut self, fields: Vec<Field>, found: &[Field]) -> Vec<Field> {
        if !fields.is_empty() {
            return fields;
        }
        self.returns = Returns::Rows(found.to_vec());
        found.to_vec()
    }

    /// As [`Self::columns_of_rows`], for the row in a record.
    fn columns_of_row(
        &mut self,
        fields: Vec<Field>,
        tokens: &[TokenWithSpan],
        start: Span,
    ) -> Result<Vec<Field>> {
        if !fields.is_empty() {
            return Ok(fields);
        }
        let variable = match tokens {
            [TokenWithSpan { token: Token::Word(word), .. }] => self.names.find(&name_of(word)),
            _ => None,
        };
        match variable.map(|variable| self.variables[variable].sql_type.clone()) {
            Some(SqlType::Record(found)) if !found.is_empty() => {
                Ok(self.columns_of_rows(fields, &found))
            }
            _ => {
                let what = "a row without known columns in a function that returns records";
                Err(self.outside(start, what, "name the columns: RETURNS TABLE (name type, ...)"))
            }
        }
    }

    /// Returns the rows of the statement that a client has sent, or runs it.
    pub(crate) fn whole_result(&mut self, sql: Sql, place: Span) -> Result<StatementKind> {
        let fields = sql.query.outputs();
        if !matches!(sql.query, Query::Select(_)) && fields.is_empty() {
            return Ok(StatementKind::Sql { sql, into: None });
        }
        let column = |(at, field): (usize, &Field)| {
            self.converted_column(at, &field.sql_type, &field.sql_type, place)
        };
        let columns = fields.iter().enumerate().map(column).collect::<Result<_>>()?;
        self.returns = Returns::Rows(fields);
        Ok(StatementKind::ReturnQuery(sql, columns))
    }

    fn return_query(&mut self, start: Span) -> Result<StatementKind> {
        let Returns::Rows(fields) = self.returns.clone() else {
            let error =
                self.syntax(start, "RETURN QUERY is only allowed in functions that return rows");
            return Err(error.advise("write RETURNS SETOF or RETURNS TABLE"));
        };
        let span = self.cursor.span();
        if self.cursor.is_word("EXECUTE") && self.called.is_some() {
            return self.return_execute(start);
        }
        if self.cursor.is_word("EXECUTE") {
            return Err(self.outside(span, "EXECUTE", "write the query itself"));
        }
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let sql = self.embedded_query(&[&tokens], "", span)?;
        let found = sql.query.outputs();
        let fields = self.columns_of_rows(fields, &found);
        if found.len() != fields.len() {
            let sentence = format!(
                "the number of columns differs: the query has {}, the function returns {}",
                found.len(),
                fields.len()
            );
            return Err(self.type_error(span, sentence));
        }
        let mut columns = Vec::new();
        for (at, (found, wanted)) in found.iter().zip(&fields).enumerate() {
            if found.sql_type.base() != wanted.sql_type.base() {
                let sentence = format!(
                    "column {} of the query is {}, but the function returns {}",
                    at + 1,
                    found.sql_type,
                    wanted.sql_type
                );
                return Err(self.type_error(span, sentence).advise("convert it with CAST"));
            }
            columns.push(self.converted_column(at, &found.sql_type, &wanted.sql_type, span)?);
        }
        Ok(self.query_rows(sql, columns, start))
    }
}
