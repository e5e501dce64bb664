//! Finds the inserts that can be batched, see [`crate::run`].
//!
//! Decision: docs/decisions/0261-the-executor-adds-rows-together-that-nothing-else-reads.md

use crate::bind::BoundTable;
use crate::plan::{Execution, Operator, Statement};
use crate::program::{Program, Step};
use procedure::node::{Node, Operator as Planned};
use std::collections::BTreeSet;

/// Marks the statements of a procedure that insert into tables that no other statement uses. Those
/// of the procedure are compiled from `planned`.
pub(super) fn note(planned: &[procedure::Statement], program: &mut Program, tables: &[BoundTable]) {
    let mut looked_at = BTreeSet::new();
    let protected = protected(program);
    let statements = &mut program.statements;
    for (at, (planned, statement)) in planned.iter().zip(&*statements).enumerate() {
        if added(statement).is_none() || protected.contains(&at) {
            let mut note = |node: &Node| looked_at.extend(table_of(node));
            planned.root.walk(&mut note);
            planned.sub_plans.iter().for_each(|plan| plan.root.walk(&mut note));
        }
    }
    for statement in statements {
        // Foreign key checks would look for the inserted rows.
        if let Some(table) = added(statement)
            && !looked_at.contains(&table)
            && tables[table].referrers.is_empty()
        {
            statement.execution = Execution::AddsLater;
        }
    }
}

/// The statements whose errors have handlers: a handler sees a duplicate key at once.
fn protected(program: &Program) -> BTreeSet<usize> {
    let mut inside = BTreeSet::new();
    for (at, step) in program.steps.iter().enumerate() {
        let Step::Protect { handlers, .. } = step else { continue };
        let body = &program.steps[at..program.labels[*handlers]];
        inside.extend(body.iter().filter_map(|step| match step {
            Step::Statement { number, .. } => Some(*number),
            _ => None,
        }));
    }
    inside
}

/// Returns the table if the statement only inserts one row.
fn added(statement: &Statement) -> Option<usize> {
    match &statement.root.operator {
        Operator::Insert(insert)
            if statement.execution == Execution::Adds && statement.root.width == 0 =>
        {
            Some(insert.table)
        }
        _ => None,
    }
}

/// Returns the table that a node reads or changes.
fn table_of(node: &Node) -> Option<usize> {
    match &node.operator {
        Planned::Scan(scan) => Some(scan.table),
        Planned::Lock { table, .. } => Some(*table),
        Planned::Insert(insert) => Some(insert.table),
        Planned::Update(update) => Some(update.table),
        Planned::Delete(delete) => Some(delete.table),
        _ => None,
    }
}
