//! Lowers `INSERT`, `UPDATE` and `DELETE`.
//!
//! The node below delivers the new values: for an insert one per column, for an update one per
//! assigned column, in table order. PostgreSQL casts them to the column types without printing the
//! casts.

use super::Lowering;
use super::error::LowerError;
use super::node::Lowered;
use super::scope::{Scope, ScopeRow, row_of_table};
use super::statement_facts::{Planned, planned};
use crate::node::{Delete, Insert, Node, Operator, Update};
use postgres_plan::node::{self, ModifyTable, Operation};
use sql::expression::{ColumnRef, Expr, ExprKind};
use sql::query::{OnConflict, Query};
use sql::{SqlType, Table, typing};

/// Positions of columns, with their new values.
type Assignments = Vec<(usize, Expr)>;

impl<'a> Lowering<'a> {
    pub(super) fn modify(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        modify: &'a ModifyTable,
    ) -> Lowered {
        let position = self.table(&modify.relation)?;
        let table = &self.catalog.tables[position];
        if modify.operation != Operation::Insert {
            self.changed = Some(&modify.relation.alias);
        }
        let (input, input_row) = self.node(around, &modify.input, false)?;
        let own = row_of_table(table, &modify.relation.alias);
        match modify.operation {
            Operation::Insert => {
                let ignores_duplicates = self.ignores_duplicates(table, modify)?;
                let sources = [own];
                let scope = Scope { around, sources: &sources };
                let (values, input) = self.inserted(table, input, &input_row)?;
                let (table, input) = (position, Box::new(input));
                let insert = Insert { table, values, ignores_duplicates, update: None, input };
                self.finish(&scope, node, Operator::Insert(insert))
            }
            Operation::Update => {
                let (assignments, input, input_row) = self.assigned(position, input, input_row)?;
                self.check_changed(&input)?;
                let update = Update { table: position, assignments, input: Box::new(input) };
                let sources = [own, input_row];
                self.finish(&Scope { around, sources: &sources }, node, Operator::Update(update))
            }
            Operation::Delete => {
                self.check_changed(&input)?;
                let delete = Delete { table: position, input: Box::new(input) };
                let sources = [own, input_row];
                self.finish(&Scope { around, sources: &sources }, node, Operator::Delete(delete))
            }
        }
    }

    /// Checks that exactly one scan finds the rows to change.
    fn check_changed(&self, input: &Node) -> Result<(), LowerError> {
        let mut count = 0;
        input.walk(&mut |node| {
            count += u32::from(matches!(&node.operator, Operator::Scan(scan) if scan.is_for_change))
        });
        if count == 1 {
            return Ok(());
        }
        self.error(format!(
            "{count} scans find the rows to change instead of one; find them by one condition"
        ))
    }

    fn ignores_duplicates(&self, table: &Table, modify: &ModifyTable) -> Result<bool, LowerError> {
        let on_conflict = match planned(self.routine, self.embedded.number) {
            Some(Planned::Query(Query::Insert(insert))) => insert.on_conflict.as_ref(),
            _ => None,
        };
        match (&modify.conflict, on_conflict) {
            (None, None) => Ok(false),
            (Some(conflict), Some(OnConflict::DoNothing { columns })) if !conflict.updates => {
                let keys = usize::from(!table.primary_key.is_empty());
                let keys = keys + table.indexes.iter().filter(|index| index.unique).count();
                if !columns.is_empty() && keys > 1 {
                    return self.error("ON CONFLICT names one of several unique keys; leave out its columns, or look up the row first");
                }
                Ok(true)
            }
            (Some(conflict), _) if conflict.updates => {
                self.error("ON CONFLICT DO UPDATE is outside the supported SQL; write UPDATE, and INSERT if NOT FOUND")
            }
            _ => self.error("plan and statement disagree on ON CONFLICT; create the plans again"),
        }
    }

    /// Returns a value for each column; values without columns are computed here instead of below.
    fn inserted(
        &self,
        table: &Table,
        input: Node,
        row: &ScopeRow,
    ) -> Result<(Vec<Expr>, Node), LowerError> {
        if row.len() != table.columns.len() {
            let (found, wanted) = (row.len(), table.columns.len());
            return self.error(format!("the plan returns {found} values for the {wanted} columns of `{}`; create the plans again", table.name));
        }
        let (given, input) = match input {
            Node { operator: operator @ Operator::Project { input: None, .. }, outputs, rows } => {
                (outputs, Node { operator, outputs: Vec::new(), rows })
            }
            other => (super::scan::pass_on(row), other),
        };
        let pairs = given.into_iter().zip(&table.columns);
        let values =
            pairs.map(|(value, column)| self.stored(value, &column.sql_type, &column.name));
        Ok((values.collect::<Result<_, _>>()?, input))
    }

    /// Returns the columns that the statement assigns, with the plan's values, which are in table
    /// order. If a scan below computes the values from the current row, they are computed here
    /// instead.
    fn assigned(
        &self,
        position: usize,
        input: Node,
        row: ScopeRow,
    ) -> Result<(Assignments, Node, ScopeRow), LowerError> {
        let table = &self.catalog.tables[position];
        let Some(Planned::Query(Query::Update(update))) =
            planned(self.routine, self.embedded.number)
        else {
            return self
                .error("the plan updates, but the statement does not; create the plans again");
        };
        let mut columns: Vec<usize> =
            update.assignments.iter().map(|(column, _)| *column).collect();
        columns.sort_unstable();
        if row.len() < columns.len() || update.table != position {
            return self.error(format!("the plan does not return the {} columns that the statement sets; create the plans again", columns.len()));
        }
        let given: Vec<Expr> = match &input.operator {
            Operator::Scan(scan) if scan.is_for_change => input.outputs.clone(),
            _ => {
                let of_input = |(column, visible): (usize, &super::scope::Visible)| {
                    let kind = ExprKind::Column(ColumnRef { level: 0, source: 1, column });
                    Expr { kind, sql_type: visible.sql_type.clone() }
                };
                row.iter().enumerate().map(of_input).collect()
            }
        };
        let mut assignments = Vec::with_capacity(columns.len());
        for (column, value) in columns.into_iter().zip(given) {
            let own = &table.columns[column];
            assignments.push((column, self.stored(value, &own.sql_type, &own.name)?));
        }
        let (input, row) = match &input.operator {
            Operator::Scan(scan) if scan.is_for_change => {
                (Node { outputs: Vec::new(), ..input }, Vec::new())
            }
            _ => (input, row),
        };
        Ok((assignments, input, row))
    }

    /// Casts a value to the column's type.
    fn stored(&self, value: Expr, column: &SqlType, name: &str) -> Result<Expr, LowerError> {
        let found = value.sql_type.clone();
        match typing::convert(value, column, typing::Conversion::Column) {
            Some(stored) => Ok(stored),
            None => self.error(format!("the plan returns {found} for the column `{name}`, which is {column}; create the plans again")),
        }
    }
}
