//! Bodies in `sql`: a sequence of statements. A body with calls, and a called one, are blocks.

use crate::error::{ErrorKind, Result};
use crate::expression::{ColumnRef, Expr, ExprKind};
use crate::plpgsql::Compiler;
use crate::procedure::{
    Block, Body, Formula, Into, Over, Returns, Sql, Statement, StatementKind, Target,
};
use crate::query::Query;
use crate::resolve::coerce::Context;
use crate::types::{Field, SqlType};
use sqlparser::tokenizer::{Span, Token};

/// A statement with the bodies of its calls.
type SqlWithCalls = (Sql, Vec<Statement>);

/// The parts of a body.
struct Parts {
    statements: Vec<SqlWithCalls>,
    /// The casts of the result.
    results: Vec<Expr>,
    /// The place of the last statement.
    last: Span,
}

impl Compiler<'_> {
    pub(super) fn sql_body(&mut self) -> Result<Body> {
        let errors_before = self.findings.count();
        let parts = self.sql_parts()?;
        self.findings.not_late_from(errors_before);
        let Some(Parts { statements, results, last }) = parts else {
            return Ok(Body::Statements { statements: Vec::new(), results: Vec::new() });
        };
        if statements.iter().any(|(_, calls)| !calls.is_empty()) {
            return self.sql_block(statements, results, last);
        }
        let statements = statements.into_iter().map(|(sql, _)| sql).collect();
        Ok(Body::Statements { statements, results })
    }

    /// The parts of the body; `None` if a statement has an error, which is reported.
    fn sql_parts(&mut self) -> Result<Option<Parts>> {
        let mut statements: Vec<SqlWithCalls> = Vec::new();
        let mut last = self.cursor.span();
        let mut is_whole = true;
        loop {
            while self.cursor.accept(&Token::SemiColon) {}
            if self.cursor.is_at_end() {
                break;
            }
            last = self.cursor.span();
            let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
            let read = |compiler: &mut Self| compiler.embedded_query(&[&tokens], "", last);
            match self.with_calls(read) {
                (Ok(sql), calls) => statements.push((sql, calls)),
                (Err(error), _) => {
                    self.report(error, &tokens);
                    is_whole = false;
                }
            }
        }
        if !is_whole {
            return Ok(None);
        }
        let results = self.results(statements.last().map(|(sql, _)| sql), last)?;
        Ok(Some(Parts { statements, results, last }))
    }

    /// A body with calls, as a block.
    fn sql_block(
        &mut self,
        statements: Vec<SqlWithCalls>,
        results: Vec<Expr>,
        last: Span,
    ) -> Result<Body> {
        let line = last.start.line as u32;
        let wanted = match self.returns.clone() {
            Returns::Nothing | Returns::Rows(_) => None,
            Returns::Value(sql_type) => Some(sql_type),
            Returns::Row(fields) => Some(SqlType::Record(fields)),
        };
        let result = wanted.map(|sql_type| self.add_variable("result", sql_type, last));
        let mut statements = self.sql_steps(statements, results, result, last);
        let value = result.map(|result| {
            let sql_type = self.variables[result].sql_type.clone();
            Formula { expr: Expr::new(ExprKind::Variable(result), sql_type), number: None }
        });
        statements.push(Statement { line, kind: StatementKind::Return(value) });
        Ok(Body::Block(Block { label: None, declarations: Vec::new(), statements }))
    }

    /// The statements of a called body.
    pub(crate) fn sql_statements(&mut self) -> Result<Vec<Statement>> {
        let Some(Parts { statements, results, last }) = self.sql_parts()? else {
            return Ok(Vec::new());
        };
        let result = match self.returns {
            Returns::Nothing | Returns::Rows(_) => None,
            Returns::Value(_) | Returns::Row(_) => {
                self.inlining.results.as_ref().and_then(|results| results.first().copied())
            }
        };
        Ok(self.sql_steps(statements, results, result, last))
    }

    /// The statements of a body; the first row of the last one goes into the variable `result`.
    fn sql_steps(
        &mut self,
        statements: Vec<SqlWithCalls>,
        results: Vec<Expr>,
        result: Option<usize>,
        span: Span,
    ) -> Vec<Statement> {
        let line = span.start.line as u32;
        let count = statements.len();
        let mut steps = Vec::new();
        for (at, (sql, calls)) in statements.into_iter().enumerate() {
            steps.extend(calls);
            let kind = match (&self.returns, result) {
                _ if at + 1 < count => StatementKind::Sql { sql, into: None },
                (Returns::Rows(_), _) => self.query_rows(sql, results.clone(), span),
                (_, Some(result)) => self.first_row(sql, results.clone(), result, line),
                (_, None) => StatementKind::Sql { sql, into: None },
            };
            steps.push(Statement { line, kind });
        }
        steps
    }

    /// Assigns the first row of a statement.
    fn first_row(
        &self,
        sql: Sql,
        mut results: Vec<Expr>,
        result: usize,
        line: u32,
    ) -> StatementKind {
        let sql_type = self.variables[result].sql_type.clone();
        let value = match sql_type {
            SqlType::Record(_) => Expr::new(ExprKind::Row(results), sql_type),
            _ => results.remove(0),
        };
        let into = Into { is_strict: false, targets: vec![(Target::Variable(result), value)] };
        if matches!(sql.query, Query::Select(_)) {
            return StatementKind::Sql { sql, into: Some(into) };
        }
        // `INTO` would refuse several rows.
        let leave = StatementKind::Leave { label: None, continues: false, when: None };
        let body = vec![Statement { line, kind: leave }];
        StatementKind::Loop { label: None, over: Over::Rows { into, sql }, body }
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
