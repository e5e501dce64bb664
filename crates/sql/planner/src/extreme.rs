//! `min` and `max` of a column, read at the end of an index: each becomes a sub-select with an
//! order and the limit 1, if the costs say so.

use crate::block::{Block, Body, By, Item, List, Logical, OrderItem, Plain, RelationKind};
use crate::expression::as_column;
use layout::IndexKind;
use sql::expression::{Aggregate, Expr, ExprKind, SubqueryKind, Test};
use sql::{Catalog, SqlType};

/// Adds the sub-selects to a block, if it has that form.
pub(crate) fn add_extreme(logical: &mut Logical, catalog: &Catalog, block: usize) {
    let Body::Plain(plain) = &logical.blocks[block].body else { return };
    let is_plain = plain.is_grouped
        && plain.group.is_empty()
        && plain.having.is_empty()
        && !plain.distinct
        && logical.blocks[block].order.is_empty();
    let [item] = &plain.from.items[..] else { return };
    let Some(relation) = only_relation(item).filter(|_| is_plain) else { return };
    let RelationKind::Table(table) = logical.relations[relation].kind else { return };
    let is_simple = |output: &Expr| {
        extreme_of(output).is_some_and(|(column, ..)| {
            column.0 == relation && is_indexed(catalog, table, column.1)
        })
    };
    if plain.outputs.is_empty() || !plain.outputs.iter().all(is_simple) {
        return;
    }
    let (from, outputs) = (plain.from.clone(), plain.outputs.clone());
    let nullable = |column: usize| catalog.tables[table].columns[column].nullable;
    let mut extreme = Vec::new();
    for output in outputs {
        let Some((place, is_max, argument)) = extreme_of(&output) else { return };
        let end = end_of(from.clone(), argument, is_max, nullable(place.1));
        logical.blocks.push(end);
        let kind = SubqueryKind::Scalar;
        let plan = logical.blocks.len() - 1;
        extreme.push(Expr { kind: ExprKind::SubPlan { kind, plan }, sql_type: output.sql_type });
    }
    if let Body::Plain(plain) = &mut logical.blocks[block].body {
        plain.extreme = Some(extreme);
    }
}

fn only_relation(item: &Item) -> Option<usize> {
    match item {
        Item::Relation(relation) => Some(*relation),
        Item::List(List { items, filter }) if items.len() == 1 && filter.is_empty() => {
            only_relation(&items[0])
        }
        _ => None,
    }
}

/// Column, whether it is `max`, and the argument.
fn extreme_of(output: &Expr) -> Option<((usize, usize), bool, Expr)> {
    match &output.kind {
        ExprKind::Aggregate { aggregate, argument: Some(argument), filter: None, .. } => {
            let is_max = match aggregate {
                Aggregate::Max => true,
                Aggregate::Min => false,
                _ => return None,
            };
            let is_same = output.sql_type.base() == argument.sql_type.base();
            as_column(argument)
                .filter(|_| is_same)
                .map(|place| (place, is_max, (**argument).clone()))
        }
        _ => None,
    }
}

/// Whether an index with an order has the column.
fn is_indexed(catalog: &Catalog, table: usize, column: usize) -> bool {
    let table = &catalog.tables[table];
    table.primary_key.contains(&column)
        || table
            .indexes
            .iter()
            .any(|index| index.kind == IndexKind::Tree && index.columns.contains(&column))
}

/// The query for the first value.
fn end_of(mut from: List, argument: Expr, is_max: bool, is_nullable: bool) -> Block {
    if is_nullable {
        let operand = Box::new(argument.clone());
        let kind = ExprKind::Is { operand, test: Test::Null, negated: true };
        from.filter.push(Expr { kind, sql_type: SqlType::Bool });
    }
    let types = vec![argument.sql_type.clone()];
    let plain = Plain {
        from,
        group: Vec::new(),
        is_grouped: false,
        having: Vec::new(),
        distinct: false,
        outputs: vec![argument],
        extreme: None,
    };
    let by = By::Output(0);
    Block {
        body: Body::Plain(plain),
        order: vec![OrderItem { by, descending: is_max, nulls_first: is_max }],
        limit: Some(Expr { kind: ExprKind::Integer(1), sql_type: SqlType::Int8 }),
        offset: None,
        lock: None,
        types,
    }
}
