//! Replaces outer joins by simpler ones where a condition above drops the rows that they add.
//!
//! A condition that is not true for nulls drops each row without a match.

use crate::block::{Item, List};
use crate::set::RelationSet;
use sql::expression::{BinaryOperator, Expr, ExprKind, SubqueryKind, Test, UnaryOperator};

/// Simplifies the joins of a list.
pub(crate) fn simplify(list: &mut List) {
    simplify_list(list, RelationSet::EMPTY);
}

/// `present` are relations for which conditions above drop rows of nulls.
fn simplify_list(list: &mut List, present: RelationSet) {
    let present = present.and(dropped_by(&list.filter));
    let items = std::mem::take(&mut list.items);
    list.items = items.into_iter().map(|item| simplified(item, present)).collect();
}

fn simplified(item: Item, present: RelationSet) -> Item {
    match item {
        Item::List(mut list) => {
            simplify_list(&mut list, present);
            Item::List(list)
        }
        Item::Left { mut left, mut right, on } => {
            if right.relations().meets(present) {
                return simplified(both(*left, *right, on), present);
            }
            inside(&mut left, present);
            // A right row without a match under ON has no effect.
            inside(&mut right, dropped_by(&on));
            Item::Left { left, right, on }
        }
        Item::Full { mut left, mut right, on } => {
            let keeps_left = !right.relations().meets(present);
            let keeps_right = !left.relations().meets(present);
            match (keeps_left, keeps_right) {
                (true, true) => {
                    inside(&mut left, RelationSet::EMPTY);
                    inside(&mut right, RelationSet::EMPTY);
                    Item::Full { left, right, on }
                }
                (true, false) => simplified(Item::Left { left, right, on }, present),
                (false, true) => simplified(Item::Left { left: right, right: left, on }, present),
                (false, false) => simplified(both(*left, *right, on), present),
            }
        }
        Item::Match { mut right, on, is_anti, distinct } => {
            inside(&mut right, dropped_by(&on));
            Item::Match { right, on, is_anti, distinct }
        }
        relation @ Item::Relation(_) => relation,
    }
}

fn both(left: Item, right: Item, on: Vec<Expr>) -> Item {
    Item::List(List { items: vec![left, right], filter: on })
}

fn dropped_by(conditions: &[Expr]) -> RelationSet {
    conditions.iter().fold(RelationSet::EMPTY, |set, expr| set.and(not_null(expr)))
}

fn inside(item: &mut Item, present: RelationSet) {
    let taken = std::mem::replace(item, Item::List(List::default()));
    *item = simplified(taken, present);
}

/// The relations for which a condition is not true if all their columns are null.
pub(crate) fn not_null(condition: &Expr) -> RelationSet {
    match &condition.kind {
        ExprKind::Binary { operator: BinaryOperator::Or, left, right } => {
            not_null(left).common(not_null(right))
        }
        ExprKind::Binary { operator: BinaryOperator::And, left, right } => {
            not_null(left).and(not_null(right))
        }
        ExprKind::Is { operand, test: Test::Null, negated: true } => strict(operand),
        ExprKind::Is { operand, test: Test::True | Test::False, negated: false } => strict(operand),
        _ => strict(condition),
    }
}

/// The relations for which an expression is null if all their columns are null.
fn strict(expr: &Expr) -> RelationSet {
    match &expr.kind {
        ExprKind::Column(column) => RelationSet::of(column.source),
        ExprKind::Binary { operator, left, right } => match operator {
            BinaryOperator::And
            | BinaryOperator::Or
            | BinaryOperator::Distinct
            | BinaryOperator::NotDistinct
            | BinaryOperator::Concatenate => RelationSet::EMPTY,
            _ => strict(left).and(strict(right)),
        },
        ExprKind::Unary { operator: UnaryOperator::Not | UnaryOperator::Negate, operand }
        | ExprKind::Cast { operand, .. } => strict(operand),
        ExprKind::Like { operand, pattern, .. } => strict(operand).and(strict(pattern)),
        ExprKind::InList { operand, .. } => strict(operand),
        ExprKind::Between { operand, negated: false, .. } => strict(operand),
        // An empty array or sub-select gives a value without a look at the operand.
        ExprKind::AnyElement { .. } | ExprKind::SubPlan { kind: SubqueryKind::In { .. }, .. } => {
            RelationSet::EMPTY
        }
        _ => RelationSet::EMPTY,
    }
}
