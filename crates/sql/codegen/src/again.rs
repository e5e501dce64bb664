//! Reuses rows that the next statement reads again, such as those of a query that counts rows
//! followed by one that takes one of them. The lookup is executed once.
//!
//! A transaction reads one snapshot, and nothing changes between two adjacent statements.
//!
//! Decision: docs/decisions/0200-rows-named-by-arguments-are-read-together-first.md

use crate::ahead::assignments;
use crate::chain::Chain;
use crate::function::Function;
use procedure::node::{Access, Node, Operator};
use sql::expression::ExprKind;
use sql::procedure::{Sql, Statement, StatementKind};
use std::collections::BTreeSet;

/// The rows that are kept for the next statement.
#[derive(Clone, Debug, Default)]
pub struct Again {
    /// Whether to keep the next list of rows that is printed.
    pub is_wanted: bool,
    /// The name of the kept list.
    pub rows: Option<String>,
}

impl<'a> Function<'a> {
    /// Keeps the rows of a statement if the next one looks up the same rows.
    pub fn keep_rows_for_next(&mut self, statement: &'a Statement, next: Option<&'a Statement>) {
        let next = next.filter(|next| self.has_same_lookup(statement, next));
        self.again.is_wanted = next.is_some();
    }

    fn has_same_lookup(&self, one: &'a Statement, other: &'a Statement) -> bool {
        let (Some(first), Some(second)) = (self.looked_up(one), self.looked_up(other)) else {
            return false;
        };
        let is_whole = first.filter_behind().is_none()
            && first.scan.filter.is_none()
            && first.sort.is_none()
            && first.limit.is_none()
            && first.offset.is_none();
        let Access::Lookup { key, .. } = &first.scan.access else { return false };
        let mut assigned = BTreeSet::new();
        assignments(std::slice::from_ref(one), &mut assigned);
        let mut is_fixed = true;
        key.iter().for_each(|value| {
            value.visit(&mut |part| {
                if let ExprKind::Variable(variable) | ExprKind::Field { variable, .. } = part.kind {
                    is_fixed &= !assigned.contains(&variable);
                }
            });
        });
        let (one, other) = (first.scan, second.scan);
        is_whole && is_fixed && one.table == other.table && one.access == other.access
    }

    /// Returns the index lookup of a query that returns or counts its rows.
    fn looked_up(&self, statement: &'a Statement) -> Option<Chain<'a>> {
        let StatementKind::Sql { sql, .. } = &statement.kind else { return None };
        let root = self.root(sql)?;
        let input = match &root.operator {
            Operator::Aggregate { input, .. } => input,
            _ => root,
        };
        let chain = Chain::of(input)?;
        let is_plain = !chain.is_locked && !chain.scan.is_for_change;
        (is_plain && matches!(chain.scan.access, Access::Lookup { .. })).then_some(chain)
    }

    fn root(&self, sql: &Sql) -> Option<&'a Node> {
        let procedure: &'a procedure::Procedure = self.procedure;
        let planned = procedure.statements.get(sql.number as usize - 1)?;
        planned.sub_plans.is_empty().then_some(&planned.root)
    }
}
