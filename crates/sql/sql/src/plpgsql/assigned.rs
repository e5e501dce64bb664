//! Definite assignment of records.
//!
//! In PL/pgSQL, reading a field of an unassigned record is a run-time error (55000) that depends on
//! the path a call takes. Here a field may be read only where every path assigns the record first,
//! as Java requires for local variables. A query that finds no row assigns a row of nulls, so
//! `SELECT INTO` and `FOR` always assign. An unassigned record as a whole is null.
//!
//! Decision: docs/decisions/0284-a-records-fields-are-read-only-where-every-path-has-assigned.md

use super::Compiler;
use crate::error::Result;
use crate::procedure::{Level, Statement, StatementKind};
use crate::resolve::Reference;
use crate::token::name_of;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use std::collections::BTreeSet;

/// The records that are assigned on every path to a point of the program; `None` if the point is
/// unreachable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assigned(Option<BTreeSet<usize>>);

impl Assigned {
    /// The state at the beginning of a procedure.
    pub(crate) fn initial() -> Self {
        Self(Some(BTreeSet::new()))
    }

    /// The state of an unreachable point.
    pub(super) fn unreachable() -> Self {
        Self(None)
    }

    /// Marks a record as assigned.
    pub(super) fn put(&mut self, record: usize) {
        if let Some(records) = &mut self.0 {
            records.insert(record);
        }
    }

    fn has(&self, record: usize) -> bool {
        self.0.as_ref().is_none_or(|records| records.contains(&record))
    }

    /// Merges another path into this point.
    pub(super) fn join(&mut self, other: &Self) {
        match (&mut self.0, &other.0) {
            (Some(records), Some(others)) => records.retain(|record| others.contains(record)),
            (None, others) => self.0.clone_from(others),
            (_, None) => {}
        }
    }
}

impl Compiler<'_> {
    /// Refuses fields of records that may be unassigned here.
    pub(super) fn check_fields(&self, references: &[Reference]) -> Result<()> {
        let mut fields = references.iter().filter(|of| of.field.is_some());
        fields.try_for_each(|of| self.check_assigned(of.variable, of.span))
    }

    /// Refuses a record that may be unassigned here, where a whole row is required.
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
            format!("reading the record `{name}`, which is not assigned on every path to here,");
        let advice =
            "assign it on every path: PostgreSQL raises an error if a call takes another path";
        Err(self.outside(span, &what, advice))
    }

    /// The state after a statement.
    pub(super) fn pass(&mut self, statement: &Statement) {
        let ends = match &statement.kind {
            StatementKind::Return(_) => true,
            StatementKind::Raise(raise) => raise.level == Level::Exception,
            StatementKind::Reraise => true,
            StatementKind::Leave { when, .. } => when.is_none(),
            _ => false,
        };
        if ends {
            self.assigned = Assigned::unreachable();
        }
    }

    /// Ends the innermost loop or block, and merges the paths that leave it by `EXIT`.
    pub(super) fn leave_enclosing(&mut self) {
        if let Some(enclosing) = self.enclosing.pop() {
            self.assigned.join(&enclosing.left);
        }
    }

    /// Parses one branch: its end is merged into `ends`, and the state is reset for the next
    /// branch.
    pub(super) fn branch_statements(&mut self, ends: &mut Assigned) -> Result<Vec<Statement>> {
        let before = self.assigned.clone();
        let statements = self.statements()?;
        ends.join(&self.assigned);
        self.assigned = before;
        Ok(statements)
    }
}
