//! Finds the statements that only access a single row by its key.
//!
//! Decision: docs/decisions/0203-a-statement-about-one-row-by-key-is-plain-code-around.md

use crate::bind::BoundTable;
use crate::plan::{
    Execution, Insert, Join, KeyedInner, List, Node, Operator, Output, Outputs, Scan, Term, Update,
};
use crate::run::scan_by_key;
use procedure::node::JoinKind;

/// Returns how a statement is executed.
pub(super) fn execution(root: &Node, tables: &[BoundTable]) -> Execution {
    if !root.correlated.is_empty() || uses_sub_plans(&root.outputs) {
        return Execution::General;
    }
    match &root.operator {
        Operator::Scan(scan) if is_plain(scan, root) => Execution::Keyed,
        Operator::Update(update) if changes_in_place(update) => Execution::Keyed,
        Operator::Delete(delete) => {
            let is_read = root.width > 0 || !tables[delete.table].referrers.is_empty();
            match is_read || !is_input(&delete.input) {
                true => Execution::General,
                false => Execution::Keyed,
            }
        }
        Operator::Insert(insert) if adds_one(insert, &tables[insert.table]) => Execution::Adds,
        _ => Execution::General,
    }
}

fn uses_sub_plans(outputs: &Outputs) -> bool {
    matches!(outputs, Outputs::List(List { uses_sub_plans: true, .. }))
}

/// Whether a scan finds its row by a key, and uses no sub plans.
fn is_plain(scan: &Scan, node: &Node) -> bool {
    let Some((_, key)) = scan_by_key(node) else { return false };
    let filter_uses_sub_plans = scan.filter.as_ref().is_some_and(|filter| filter.uses_sub_plans);
    !filter_uses_sub_plans
        && node.correlated.is_empty()
        && !key.iter().any(|term| term.uses_sub_plans)
}

/// Notes for a node which fast paths it allows. Nodes that use sub plans allow none.
pub(super) fn note_fast_paths(node: &mut Node) {
    if !node.correlated.is_empty() || uses_sub_plans(&node.outputs) {
        return;
    }
    match &mut node.operator {
        Operator::Join(join) => note_keyed_inner(join),
        Operator::Aggregate(aggregate) => {
            let filter_uses_sub_plans =
                aggregate.filter.as_ref().is_some_and(|filter| filter.uses_sub_plans);
            aggregate.is_plain = aggregate.keys.outputs.is_empty() && !filter_uses_sub_plans;
        }
        _ => {}
    }
}

/// Notes whether a nested loop finds its inner rows by key.
fn note_keyed_inner(join: &mut Join) {
    let has_kind =
        matches!(join.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti);
    let filters = [&join.join_filter, &join.filter];
    let filters_use_sub_plans =
        filters.into_iter().flatten().any(|filter: &Term| filter.uses_sub_plans);
    let Operator::Scan(scan) = &join.inner.operator else { return };
    if join.equal.is_none() && has_kind && !filters_use_sub_plans && is_plain(scan, &join.inner) {
        join.keyed = columns_of(&join.inner).map(|columns| KeyedInner { columns });
    }
}

/// Returns the input's columns that a node delivers, if it delivers nothing else. An unused output
/// may be any column.
fn columns_of(node: &Node) -> Option<Vec<usize>> {
    match &node.outputs {
        Outputs::Same => Some((0..node.width).collect()),
        Outputs::List(list) => {
            let column = |output: &Output| match output {
                Output::Column(column) => Some(*column),
                Output::Unused => Some(0),
                Output::Inner(_) | Output::Term(_) => None,
            };
            list.outputs.iter().map(column).collect()
        }
    }
}

/// Whether the input of a change is a scan by key whose columns are not used.
fn is_input(input: &Node) -> bool {
    let Operator::Scan(scan) = &input.operator else { return false };
    input.width == 0 && is_plain(scan, input)
}

fn changes_in_place(update: &Update) -> bool {
    !update.is_whole && !update.values.uses_sub_plans && is_input(&update.input)
}

fn adds_one(insert: &Insert, table: &BoundTable) -> bool {
    let is_checked_elsewhere =
        !table.references.is_empty() || table.indexes.iter().any(|index| index.unique);
    insert.input.is_none()
        && !insert.values.uses_sub_plans
        && !insert.ignores_duplicates
        && insert.update.is_none()
        && !table.has_hidden_key
        && !is_checked_elsewhere
}
