//! Builds the nodes of window functions: one for those with the same partition and order.

use crate::block::{By, OrderItem};
use crate::build::passing;
use crate::place::passed;
use procedure::node::{Node, Operator, SortKey};
use sql::SqlType;
use sql::expression::{Expr, ExprKind};
use sql::window::{Window, WindowCall};

/// The order in which a window's rows are read, over the outputs of their block.
pub(crate) fn order_of(window: &Window) -> Vec<OrderItem> {
    let item = |key: SortKey| {
        let by = match key.value.kind {
            ExprKind::Column(column) => By::Output(column.column),
            _ => By::Expr(key.value),
        };
        OrderItem { by, descending: key.descending, nulls_first: key.nulls_first }
    };
    keys_of(window).into_iter().map(item).collect()
}

/// Partition, then order.
fn keys_of(window: &Window) -> Vec<SortKey> {
    let key =
        |value: &Expr| SortKey { value: value.clone(), descending: false, nulls_first: false };
    let mut keys: Vec<SortKey> = window.partition.iter().map(key).collect();
    for key in &window.order {
        if !keys.iter().any(|known| known.value == key.value) {
            let (descending, nulls_first) = (key.descending, key.nulls_first);
            keys.push(SortKey { value: key.value.clone(), descending, nulls_first });
        }
    }
    keys
}

/// The positions of calls with the same partition and order, in the order of the first of each.
pub(crate) fn groups(calls: &[WindowCall]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let is_same = |group: &&mut Vec<usize>| {
            let first = &calls[group[0]].window;
            (&first.partition, &first.order) == (&call.window.partition, &call.window.order)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

/// Builds the nodes over an input that is sorted for the first call. They deliver the input's
/// columns, then the values of the calls.
pub(crate) fn windows(input: Node, calls: &[WindowCall]) -> Node {
    let mut types: Vec<SqlType> =
        input.outputs.iter().map(|output| output.sql_type.clone()).collect();
    let width = types.len();
    let mut order: Vec<usize> = Vec::with_capacity(calls.len());
    let mut node = input;
    for (number, group) in groups(calls).into_iter().enumerate() {
        let keys = keys_of(&calls[group[0]].window);
        if number > 0 && !keys.is_empty() {
            node = passing(|input| Operator::Sort { keys, input }, node);
        }
        types.extend(group.iter().map(|&at| calls[at].sql_type.clone()));
        let (outputs, rows) = (passed(&types), node.rows);
        let own = group.iter().map(|&at| calls[at].clone()).collect();
        let operator = Operator::Window { calls: own, input: Box::new(node) };
        node = Node { operator, outputs, rows };
        order.extend(group);
    }
    let mut outputs = node.outputs[..width].to_vec();
    outputs.extend((0..calls.len()).filter_map(|call| {
        let place = order.iter().position(|&at| at == call)?;
        node.outputs.get(width + place).cloned()
    }));
    Node { outputs, ..node }
}
