//! Turns `EXISTS` and `IN` among the conditions of a query into semi- and anti-joins.
//!
//! `NOT IN` becomes an anti-join only if neither side can be null: with a null among the rows, `NOT
//! IN` is never true. Other sub-selects stay sub plans: without columns of enclosing queries they
//! are executed once, otherwise for each row that needs them.

use crate::block::{Block, Body, Distinct, Item, List, Logical, Relation, RelationKind};
use crate::expression::{as_column, binary, column, has_sub_plan, is_volatile, without_widening};
use crate::set::{RELATIONS_MAX, RelationSet};
use sql::expression::{BinaryOperator, Expr, ExprKind, SubqueryKind, UnaryOperator};
use sql::{Catalog, typing};

/// A sub-select as a condition.
struct Condition {
    block: usize,
    /// The value before `IN`.
    operand: Option<Expr>,
    is_anti: bool,
}

/// Replaces the sub-selects among the conditions of a list, and of the lists in it.
pub(crate) fn unnest(logical: &mut Logical, catalog: &Catalog, list: &mut List) {
    for item in &mut list.items {
        unnest_item(logical, catalog, item);
    }
    let visible = list.relations();
    let nullable = nullable(list);
    for condition in std::mem::take(&mut list.filter) {
        let matched = parse(&condition)
            .and_then(|parsed| as_match(logical, catalog, (visible, nullable), parsed));
        match matched {
            Some(item) => list.items.push(item),
            None => list.filter.push(condition),
        }
    }
}

fn unnest_item(logical: &mut Logical, catalog: &Catalog, item: &mut Item) {
    match item {
        Item::Relation(_) => {}
        Item::List(list) => unnest(logical, catalog, list),
        Item::Left { left, right, .. } | Item::Full { left, right, .. } => {
            unnest_item(logical, catalog, left);
            unnest_item(logical, catalog, right);
        }
        Item::Match { right, .. } => unnest_item(logical, catalog, right),
    }
}

/// The relations of a list whose columns an outer join may replace by nulls.
fn nullable(list: &List) -> RelationSet {
    let of_item = |item: &Item| match item {
        Item::Relation(_) | Item::Match { .. } => RelationSet::EMPTY,
        Item::List(list) => nullable(list),
        Item::Left { left, right, .. } => {
            nullable(&List { items: vec![(**left).clone()], filter: Vec::new() })
                .and(right.relations())
        }
        Item::Full { .. } => item.relations(),
    };
    list.items.iter().fold(RelationSet::EMPTY, |set, item| set.and(of_item(item)))
}

fn parse(condition: &Expr) -> Option<Condition> {
    match &condition.kind {
        ExprKind::SubPlan { kind: SubqueryKind::Exists { negated }, plan } => {
            Some(Condition { block: *plan, operand: None, is_anti: *negated })
        }
        ExprKind::SubPlan { kind: SubqueryKind::In { operand, negated }, plan } => {
            let operand = Some((**operand).clone());
            Some(Condition { block: *plan, operand, is_anti: *negated })
        }
        ExprKind::Unary { operator: UnaryOperator::Not, operand } => {
            let inner = parse(operand)?;
            Some(Condition { is_anti: !inner.is_anti, ..inner })
        }
        _ => None,
    }
}

fn as_match(
    logical: &mut Logical,
    catalog: &Catalog,
    (visible, nullable): (RelationSet, RelationSet),
    condition: Condition,
) -> Option<Item> {
    let Condition { block, operand, is_anti } = condition;
    let Some(operand) = operand else {
        let (from, correlated) = split(logical, block, visible)?;
        return Some(matched(logical, Item::List(from), correlated, is_anti));
    };
    let used = logical.relations_of(&operand);
    if !used.meets(visible) || is_volatile(&operand) || has_sub_plan(&operand) {
        return None;
    }
    if is_anti {
        let is_present = |expr: &Expr| is_never_null(logical, catalog, nullable, expr);
        let Body::Plain(plain) = &logical.blocks[block].body else { return None };
        let inner = plain.outputs.first()?;
        let of_plain = simple_outputs(logical, block) && !self_nullable(plain, inner);
        if !of_plain || !is_present(&operand) || !is_present(inner) {
            return None;
        }
    }
    let compared = |found: Expr| {
        let found = typing::convert(found, &operand.sql_type, typing::Conversion::Operand)?;
        Some(binary(BinaryOperator::Equal, operand.clone(), found))
    };
    if simple_outputs(logical, block) && !logical.free(block).meets(visible) {
        let Body::Plain(plain) = &logical.blocks[block].body else { return None };
        let on = vec![compared(plain.outputs.first()?.clone())?];
        let from = plain.from.clone();
        return Some(matched(logical, Item::List(from), on, is_anti));
    }
    if simple_outputs(logical, block) {
        let Body::Plain(plain) = &logical.blocks[block].body else { return None };
        let first = compared(plain.outputs.first()?.clone())?;
        let (from, mut on) = split(logical, block, visible)?;
        on.push(first);
        return Some(matched(logical, Item::List(from), on, is_anti));
    }
    // Any other query without columns of this one is a relation of its own.
    if logical.free(block).meets(visible) || logical.blocks[block].lock.is_some() {
        return None;
    }
    let types = logical.blocks[block].types.clone();
    let number = logical.relations.len();
    if number == RELATIONS_MAX {
        return None;
    }
    let on = vec![compared(column(number, 0, types.first()?))?];
    logical.relations.push(Relation {
        kind: RelationKind::Query(block),
        types,
        is_for_change: false,
        lock: None,
    });
    Some(matched(logical, Item::Relation(number), on, is_anti))
}

/// Builds the item of a semi- or anti-join.
fn matched(logical: &mut Logical, right: Item, on: Vec<Expr>, is_anti: bool) -> Item {
    let distinct = match is_anti {
        true => None,
        false => distinct(logical, &right, &on),
    };
    Item::Match { right: Box::new(right), on, is_anti, distinct }
}

/// Adds a relation with the distinct values of a semi-join's right side, if the join only compares
/// values for equality.
fn distinct(logical: &mut Logical, right: &Item, on: &[Expr]) -> Option<Distinct> {
    let inside = right.relations();
    let relation = logical.relations.len();
    if relation == RELATIONS_MAX {
        return None;
    }
    let (mut outputs, mut pairs) = (Vec::new(), Vec::new());
    for part in on {
        let ExprKind::Binary { operator: BinaryOperator::Equal, left, right } = &part.kind else {
            return None;
        };
        let uses = |expr: &Expr| {
            let set = logical.relations_of(expr);
            (set.is_in(inside) && !set.is_empty(), set.meets(inside))
        };
        let (outer, inner) = match (uses(left), uses(right)) {
            ((true, _), (_, false)) => (right, left),
            ((_, false), (true, _)) => (left, right),
            _ => return None,
        };
        let value = column(relation, outputs.len(), &inner.sql_type);
        pairs.push(binary(BinaryOperator::Equal, (**outer).clone(), value));
        outputs.push((**inner).clone());
    }
    if outputs.iter().any(|output| is_volatile(output) || has_sub_plan(output)) {
        return None;
    }
    let types: Vec<_> = outputs.iter().map(|output| output.sql_type.clone()).collect();
    let from = List { items: vec![right.clone()], filter: Vec::new() };
    let block = logical.blocks.len();
    logical.blocks.push(Block::distinct(from, outputs, types.clone()));
    let kind = RelationKind::Query(block);
    logical.relations.push(Relation { kind, types, is_for_change: false, lock: None });
    Some(Distinct { relation, on: pairs })
}

/// Whether a block only joins, filters and computes columns that may be evaluated per pair.
fn simple_outputs(logical: &Logical, block: usize) -> bool {
    is_simple(logical, block)
        && matches!(&logical.blocks[block].body, Body::Plain(plain)
        if plain.outputs.iter().all(|output| {
            !is_volatile(output) && !has_sub_plan(output)
        }))
}

fn is_simple(logical: &Logical, block: usize) -> bool {
    let block = &logical.blocks[block];
    let Body::Plain(plain) = &block.body else { return false };
    block.limit.is_none()
        && block.offset.is_none()
        && block.lock.is_none()
        && !plain.is_grouped
        && !plain.from.items.is_empty()
}

/// Returns the relations of a sub-select with the conditions on them alone, and the conditions that
/// use relations in `visible`. `None` if it is not of that form, or uses no relation in `visible`.
fn split(logical: &Logical, block: usize, visible: RelationSet) -> Option<(List, Vec<Expr>)> {
    if !is_simple(logical, block) {
        return None;
    }
    let Body::Plain(plain) = &logical.blocks[block].body else { return None };
    let mut from = plain.from.clone();
    let (correlated, own): (Vec<Expr>, Vec<Expr>) = std::mem::take(&mut from.filter)
        .into_iter()
        .partition(|expr| logical.relations_of(expr).meets(visible));
    if correlated.is_empty() || own.iter().chain(&correlated).any(|expr| logical.is_volatile(expr))
    {
        return None;
    }
    // Deeper conditions and sub-selects in FROM may not see the enclosing query.
    let mut is_deep = false;
    from.for_each_expr(&mut |expr| is_deep |= logical.relations_of(expr).meets(visible));
    for relation in (0..logical.relations.len()).filter(|&at| from.all_relations().contains(at)) {
        is_deep |= logical.free_of_relation(relation).meets(visible);
    }
    if is_deep {
        return None;
    }
    from.filter = own;
    Some((from, correlated))
}

/// Whether an output of a sub-select may be null because of an outer join inside.
fn self_nullable(plain: &crate::block::Plain, output: &Expr) -> bool {
    match as_column(output) {
        Some((source, _)) => nullable(&plain.from).contains(source),
        None => true,
    }
}

fn is_never_null(logical: &Logical, catalog: &Catalog, nullable: RelationSet, expr: &Expr) -> bool {
    let expr = without_widening(expr);
    let Some((source, column)) = as_column(expr) else { return false };
    let Some(relation) = logical.relations.get(source) else { return false };
    match relation.kind {
        RelationKind::Table(table) => {
            !nullable.contains(source) && !catalog.tables[table].columns[column].nullable
        }
        _ => false,
    }
}
