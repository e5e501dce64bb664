//! Expressions of indexes: hidden columns of a table have their values.
//!
//! Decision: docs/decisions/0372-an-index-over-an-expression-has-a-hidden-column.md

use super::SchemaReader;
use super::alter::uses;
use super::draft::{Draft, refusal};
use crate::catalog::{Catalog, TableColumn, marker};
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::function::Function;
use crate::namespace::own_name;
use crate::parse;
use crate::resolve::Resolver;
use crate::resolve::label::name_of;
use crate::resolve::names::Names;
use crate::resolve::scope::{Scope, Visible};
use crate::token::token_is_word;
use crate::types::{Field, Numeric, SqlType};
use sqlparser::ast;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

impl SchemaReader<'_> {
    /// Whether the next part of an index is an expression: in parentheses, or a call.
    pub(super) fn is_index_expression(&self) -> bool {
        self.cursor.peek() == Some(&Token::LParen)
            || matches!(self.cursor.peek_at(1), Some(Token::LParen))
    }

    /// Parses an expression of an index; returns the column that has its values, and the name that
    /// it gives to the index.
    pub(super) fn index_expression(&mut self, table: usize) -> Result<(usize, String)> {
        let span = self.cursor.span();
        if !self.is_session {
            let advice = "store the value of the expression in a column, and index that";
            return Err(self.cursor.outside(span, "an index of an expression", advice));
        }
        let from = self.cursor.position();
        let is_call = self.cursor.peek() != Some(&Token::LParen);
        if is_call {
            self.cursor.next();
        }
        self.cursor.expect(&Token::LParen)?;
        let inner = self.cursor.take_until(|token| *token == Token::RParen)?;
        self.cursor.expect(&Token::RParen)?;
        let tokens = match is_call {
            true => self.cursor.slice(from, self.cursor.position()).to_vec(),
            false => inner,
        };
        let node = parse::expression(self.source, &tokens, span)?;
        let value = self.row_value(table, (&node, &tokens), "expression", span)?;
        let name = match name_of(&node) {
            name if name == "?column?" => "expr".to_owned(),
            name => name,
        };
        if let ExprKind::Column(column) = &value.kind {
            return Ok((column.column, name));
        }
        self.require_immutable(&value, "expression", span)?;
        self.require_indexed(&value.sql_type, span)?;
        Ok((self.drafts[table].add_computed(value), name))
    }

    /// Parses the condition of a partial index, behind `WHERE`; returns the column with its marker.
    pub(super) fn index_predicate(&mut self, table: usize) -> Result<usize> {
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        let node = parse::expression(self.source, &tokens, span)?;
        let value = self.row_value(table, (&node, &tokens), "predicate", span)?;
        self.require_immutable(&value, "predicate", span)?;
        Ok(self.drafts[table].add_computed(marker(value)))
    }

    /// Resolves an expression over the columns of a row; a `predicate` is true or false.
    fn row_value(
        &self,
        table: usize,
        (node, tokens): (&ast::Expr, &[TokenWithSpan]),
        what: &str,
        span: Span,
    ) -> Result<Expr> {
        self.refuse_tokens(tokens, what, span)?;
        let draft = &self.drafts[table];
        let columns = draft.columns[..draft.visible()]
            .iter()
            .map(|column| Field { name: column.name.clone(), sql_type: column.sql_type.clone() });
        let visible = Visible {
            alias: own_name(&draft.name).to_owned(),
            columns: columns.collect(),
            merged: Vec::new(),
            is_scalar: false,
            full: None,
        };
        let scope = Scope { parent: None, sources: vec![visible] };
        let (catalog, names) = (Catalog::default(), Names::default());
        let mut resolver = Resolver::new(self.source, &catalog, &names, &[], span);
        let refused = Some(match what {
            "predicate" => "in index predicates",
            _ => "in index expressions",
        });
        let value = resolver.with_aggregates(refused, |resolver| resolver.expr(&scope, node))?;
        if what == "predicate" {
            return resolver.truth(value, span);
        }
        Ok(match value.sql_type {
            SqlType::Unknown => Expr { sql_type: SqlType::Text, ..value },
            _ => value,
        })
    }

    /// Refuses what an index cannot have, whatever it means.
    fn refuse_tokens(&self, tokens: &[TokenWithSpan], what: &str, span: Span) -> Result<()> {
        for TokenWithSpan { token, .. } in tokens {
            if token_is_word(token, "SELECT") {
                let message = format!("cannot use subquery in index {what}");
                return Err(self.refused(span, "0A000", &message));
            }
            if token_is_word(token, "OVER") {
                let message = format!("window functions are not allowed in index {what}s");
                return Err(self.refused(span, "42P20", &message));
            }
            if let Token::Placeholder(name) = token {
                return Err(self.refused(span, "42P02", &format!("there is no parameter {name}")));
            }
        }
        Ok(())
    }

    /// Refuses expressions whose values depend on more than the row.
    fn require_immutable(&self, value: &Expr, what: &str, span: Span) -> Result<()> {
        let mut is_stable = true;
        value.visit(&mut |part| is_stable &= is_immutable(part));
        match is_stable {
            true => Ok(()),
            false => {
                let message = format!("functions in index {what} must be marked IMMUTABLE");
                Err(self.refused(span, "42P17", &message))
            }
        }
    }

    /// Refuses types without an order, and those that columns cannot have.
    fn require_indexed(&self, sql_type: &SqlType, span: Span) -> Result<()> {
        if matches!(sql_type, SqlType::Numeric(Numeric::Open)) {
            let advice = "write (CAST(... AS numeric(p,s))), with the digits that you need";
            let what = "an index of a number without a declared precision";
            return Err(self.cursor.outside(span, what, advice));
        }
        if let Some((what, advice)) = refusal(sql_type, true) {
            return Err(self.cursor.outside(span, &what, advice));
        }
        if matches!(sql_type, SqlType::Json) {
            let message = format!(
                "data type {} has no default operator class for access method \"btree\"",
                sql_type.base()
            );
            return Err(self.refused(span, "42704", &message));
        }
        if !sql_type.is_key() || !sql_type.is_long() && sql_type.column_type().is_none() {
            let what = format!("an index of values of type {}", sql_type.base());
            return Err(self.cursor.outside(span, &what, "cast them to text"));
        }
        Ok(())
    }

    fn refused(&self, span: Span, sqlstate: &'static str, message: &str) -> Error {
        self.cursor.error(span, ErrorKind::Type, message).in_postgres(sqlstate, message)
    }
}

/// Whether the operation has the same result for the same operands in all sessions and at all
/// times, as PostgreSQL marks it.
fn is_immutable(part: &Expr) -> bool {
    let is_zoned = |expr: &Expr| matches!(expr.sql_type.base(), SqlType::TimestampTz(_));
    match &part.kind {
        ExprKind::Function { function, arguments } => match function {
            Function::Now
            | Function::LocalTimestamp
            | Function::CurrentDate
            | Function::LocalTime
            | Function::Concat
            | Function::Format
            | Function::ToChar
            | Function::TimeToChar
            | Function::ZonedToChar => false,
            Function::Extract | Function::DatePart | Function::DateTrunc => {
                arguments.len() > 2 || !arguments.iter().any(is_zoned)
            }
            function => !function.is_volatile(),
        },
        ExprKind::Cast { operand, .. } => {
            // A cast between text and times depends on the style of a session, and one between
            // times with and without a zone on its zone.
            let is_time = |expr: &Expr| {
                let base = expr.sql_type.base();
                base.is_time() || matches!(base, SqlType::Time(_) | SqlType::Interval)
            };
            let is_constant = matches!(operand.kind, ExprKind::Text(_) | ExprKind::Null);
            let crosses_text = is_time(part) != is_time(operand);
            let crosses_zone = is_zoned(part) != is_zoned(operand);
            let fixed = is_constant && !is_zoned(part);
            fixed || !(crosses_text || crosses_zone)
        }
        _ => true,
    }
}

impl Draft {
    /// The column that has the values of an expression.
    fn add_computed(&mut self, value: Expr) -> usize {
        if let Some(at) = self.computed.iter().position(|other| *other == value) {
            return self.visible() + at;
        }
        self.columns.push(TableColumn {
            name: String::new(),
            number: 0,
            sql_type: value.sql_type.clone(),
            nullable: true,
            default: None,
            identity: None,
        });
        self.stored_names.push(String::new());
        self.computed.push(value);
        self.columns.len() - 1
    }

    /// Drops the indexes that have a column in an expression.
    pub(super) fn drop_computed(&mut self, column: usize) {
        let from = self.visible();
        let is_gone = |at: usize| {
            let value = at.checked_sub(from).and_then(|at| self.computed.get(at));
            value.is_some_and(|value| uses(value, column))
        };
        self.indexes.retain(|index| !index.columns.iter().any(|&at| is_gone(at)));
        self.drop_unused();
    }

    /// Drops the hidden columns that no index has.
    pub(super) fn drop_unused(&mut self) {
        for at in (self.visible()..self.columns.len()).rev() {
            if self.indexes.iter().any(|index| index.columns.contains(&at)) {
                continue;
            }
            self.computed.remove(at - self.visible());
            self.columns.remove(at);
            self.stored_names.remove(at);
            for position in self.indexes.iter_mut().flat_map(|index| &mut index.columns) {
                *position -= usize::from(*position > at);
            }
        }
    }

    /// Gives the hidden columns names that no other column has.
    pub(super) fn name_computed(&mut self) {
        for at in self.visible()..self.columns.len() {
            let mut name = format!("expression {}", at - self.visible() + 1);
            while self.stored_names.contains(&name) {
                name.push('.');
            }
            self.columns[at].name.clone_from(&name);
            self.stored_names[at] = name;
        }
    }
}
