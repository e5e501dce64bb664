//! Lowers table scans and row locks.
//!
//! Decision: docs/decisions/0178-orders-are-kept-where-a-consumer-relies-on-them.md

use super::Lowering;
use super::access::{Taken, Target, Wanted};
use super::node::Lowered;
use super::scope::{Scope, row_of_table};
use crate::node::{Access, Operator, Scan};
use postgres_plan::Expression;
use postgres_plan::node::{self, Direction, Relation};

impl<'a> Lowering<'a> {
    pub(super) fn scan(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        is_ordered: bool,
    ) -> Lowered {
        let Some(relation) = node.relation() else {
            return self.error("it reads no table");
        };
        let table = self.table(relation)?;
        let target = Target { table: &self.catalog.tables[table], alias: &relation.alias };
        let outside = Scope::outside(around);
        let everything = Taken { access: Access::All, rest: Vec::new() };
        let (taken, filter) = match &node.operator {
            node::Operator::IndexScan(scan) => {
                if !scan.order_by.is_empty() {
                    return self.error("it sorts by distance; sort by a column");
                }
                let wanted = Wanted {
                    index: &scan.index,
                    condition: scan.condition.as_ref(),
                    is_backward: scan.direction == Direction::Backward,
                    is_ordered,
                };
                (self.index_access(&outside, target, &wanted)?, &scan.filter)
            }
            node::Operator::BitmapHeapScan { filter, bitmap, .. } => {
                (self.bitmap_access(&outside, target, bitmap)?, filter)
            }
            node::Operator::SequentialScan { filter, .. } => (everything, filter),
            _ => return self.error("this is not a scan"),
        };
        let sources = [row_of_table(target.table, target.alias)];
        let scope = Scope { around, sources: &sources };
        let conditions: Vec<&Expression> = taken.rest.iter().chain(filter).collect();
        let filter = self.all_of(&scope, &conditions)?;
        let is_for_change = self.is_for_change(table, &relation.alias);
        let scan = Scan { table, access: taken.access, filter, is_ordered, is_for_change };
        self.finish(&scope, node, Operator::Scan(scan))
    }

    /// Returns the position of a table in the catalog.
    pub(super) fn table(&self, relation: &Relation) -> Result<usize, super::LowerError> {
        match self.catalog.position(&relation.name) {
            Some(table) if relation.schema == "public" => Ok(table),
            _ => self
                .error(format!("schema.sql has no table `{}.{}`", relation.schema, relation.name)),
        }
    }

    fn is_for_change(&self, table: usize, alias: &str) -> bool {
        let is_inside = self.init_depth + self.asking > 0;
        let is_locked =
            self.facts.locked.iter().any(|(locked, of)| locked == alias && *of == table);
        !is_inside && (self.changed == Some(alias) || is_locked)
    }

    pub(super) fn lock(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        input: &'a node::Node,
        is_ordered: bool,
    ) -> Lowered {
        let Some(strength) = self.facts.lock else {
            return self.error("the statement locks nothing; create the plans again");
        };
        let (input, row) = self.node(around, input, is_ordered)?;
        let mut tables: Vec<usize> = Vec::new();
        input.walk(&mut |below| {
            if let Operator::Scan(scan) = &below.operator
                && scan.is_for_change
            {
                tables.push(scan.table);
            }
        });
        tables.sort_unstable();
        tables.dedup();
        let sources = [row];
        let scope = Scope { around, sources: &sources };
        let (outputs, row) = self.outputs(&scope, &node.output)?;
        let Some((&last, others)) = tables.split_last() else {
            return self.error(
                "it locks the rows of no table; write FOR UPDATE at the query that reads them",
            );
        };
        let mut input = input;
        for &table in others {
            let outputs = pass_on(&sources[0]);
            let rows = input.rows;
            input = crate::node::Node {
                operator: Operator::Lock { table, strength, input: Box::new(input) },
                outputs,
                rows,
            };
        }
        let operator = Operator::Lock { table: last, strength, input: Box::new(input) };
        Ok((crate::node::Node { operator, outputs, rows: node.estimate.rows }, row))
    }
}

/// Returns outputs that pass the input's columns through.
pub(super) fn pass_on(row: &super::ScopeRow) -> Vec<sql::expression::Expr> {
    let column = |(column, visible): (usize, &super::scope::Visible)| {
        let kind = sql::expression::ExprKind::Column(sql::expression::ColumnRef {
            level: 0,
            source: 0,
            column,
        });
        sql::expression::Expr { kind, sql_type: visible.sql_type.clone() }
    };
    row.iter().enumerate().map(column).collect()
}
