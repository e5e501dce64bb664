//! Where records surely have a row.
//!
//! PL/pgSQL has an error (55000) for whoever reads a field of a record that nothing was assigned to, which depends on the way that a call has
//! taken. Here one is read only where a row was assigned on every way there: definite assignment, as Java has it for local variables. A query
//! that finds nothing assigns a row of nulls, so that `SELECT INTO` and `FOR` always do. A record as a whole is null until then.
//!
//! Decision: docs/decisions/0284-a-records-fields-are-read-only-where-every-path-has-assigned.md

use super::Compiler;
use crate::error::Result;
use crate::procedure::{Level, Statement, StatementKind};
use crate::resolve::Reference;
use crate::token::name_of;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use std::collections::BTreeSet;

/// The records that have a row by whichever way a place is reached; none if it is not reached at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assigned(Option<BTreeSet<usize>>);

impl Assigned {
    /// Where a procedure begins.
    pub(crate) fn at_first() -> Self {
        Self(Some(BTreeSet::new()))
    }

    /// Where nothing comes by.
    pub(super) fn nowhere() -> Self {
        Self(None)
    }

    /// Gives a record a row.
    pub(super) fn put(&mut self, record: usize) {
        if let Some(records) = &mut self.0 {
            records.insert(record);
        }
    }

    fn has(&self, record: usize) -> bool {
        self.0.as_ref().is_none_or(|records| records.contains(&record))
    }

    /// Lets another way lead here, too.
    pub(super) fn join(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (Some(records), Some(others)) => records.retain(|record| others.contains(record)),
            (None, others) => self.0.clone_from(others),
            (_, None) => {}
        }
    }
}

impl Compiler<'_> {
    /// Refuses fields of records that may have no row here.
    pub(super) fn check_fields(&self, references: &[Reference]) -> Result<()> {
        let mut fields = references.iter().filter(|of| of.field.is_some());
        fields.try_for_each(|of| self.check_assigned(of.variable, of.span))
    }

    /// Refuses a whole record that may have no row here, where one is wanted.
    pub(super) fn check_row(&self, tokens: &[TokenWithSpan]) -> Result<()> {
        let [TokenWithSpan { token: Token::Word(word), span }] = tokens else { return Ok(()) };
        let variable = self.names.find(&name_of(word));
        variable.map_or(Ok(()), |variable| self.check_assigned(variable, *span))
    }

    fn check_assigned(&self, variable: usize, span: Span) -> Result<()> {
        if !self.open_records.contains(&variable) || self.assigned.has(variable) {
            return Ok(());
        }
        let name = &self.variables[variable].name;
        let what =
            format!("reading the record `{name}` where a call may come without having assigned it");
        let advice = "assign it before, on every way here: PostgreSQL has an error for a call that comes another way";
        Err(self.outside(span, &what, advice))
    }

    /// Goes on behind a statement.
    pub(super) fn pass(&mut self, statement: &Statement) {
        let ends = match &statement.kind {
            StatementKind::Return(_) => true,
            StatementKind::Raise(raise) => raise.level == Level::Exception,
            StatementKind::Leave { when, .. } => when.is_none(),
            _ => false,
        };
        if ends {
            self.assigned = Assigned::nowhere();
        }
    }

    /// Ends the innermost loop or block: who has left it by `EXIT` comes here, too.
    pub(super) fn leave_enclosing(&mut self) {
        if let Some(enclosing) = self.enclosing.pop() {
            self.assigned.join(&enclosing.left);
        }
    }

    /// One of several ways that begin here: what it leads to is added to where they end, and the next one begins here, too.
    pub(super) fn way(&mut self, ends: &mut Assigned) -> Result<Vec<Statement>> {
        let before = self.assigned.clone();
        let statements = self.statements()?;
        ends.join(&self.assigned);
        self.assigned = before;
        Ok(statements)
    }
}
