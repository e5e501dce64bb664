//! Bodies in `sql`: a sequence of statements.

use crate::error::{ErrorKind, Result};
use crate::expression::{ColumnRef, Expr, ExprKind};
use crate::plpgsql::Compiler;
use crate::procedure::{Body, Returns, Sql};
use crate::resolve::coerce::Context;
use crate::types::Field;
use sqlparser::tokenizer::{Span, Token};

impl Compiler<'_> {
    pub(super) fn sql_body(&mut self) -> Result<Body> {
        let mut statements: Vec<Sql> = Vec::new();
        let mut last = self.cursor.span();
        let mut is_whole = true;
        loop {
            while self.cursor.accept(&Token::SemiColon) {}
            if self.cursor.is_at_end() {
                break;
            }
            last = self.cursor.span();
            let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
            match self.embedded_query(&[&tokens], "", last) {
                Ok(sql) => statements.push(sql),
                Err(error) => {
                    self.report(error, &tokens);
                    is_whole = false;
                }
            }
        }
        let results = match is_whole {
            true => self.results(statements.last(), last)?,
            false => Vec::new(),
        };
        Ok(Body::Statements { statements, results })
    }

    /// The casts from the columns of the last statement to the function's result.
    fn results(&self, last: Option<&Sql>, place: Span) -> Result<Vec<Expr>> {
        let wanted: Vec<Field> = match &self.returns {
            Returns::Nothing => return Ok(Vec::new()),
            Returns::Value(sql_type) => vec![crate::query::field("", sql_type.clone())],
            Returns::Row(fields) | Returns::Rows(fields) => fields.clone(),
        };
        let found = last.map(|sql| sql.query.outputs()).unwrap_or_default();
        if found.len() != wanted.len() {
            let sentence = format!(
                "the number of columns differs: the last statement returns {}, the function {}",
                found.len(),
                wanted.len()
            );
            return Err(self.cursor.error(place, ErrorKind::Type, sentence));
        }
        let mut results = Vec::new();
        for (at, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column: at });
            let expr = Expr::new(kind, found.sql_type.clone());
            let (expr, _) = self.resolve(place, |resolver| {
                resolver.convert(expr, &wanted.sql_type, Context::Assignment, place)
            })?;
            results.push(expr);
        }
        Ok(results)
    }
}
