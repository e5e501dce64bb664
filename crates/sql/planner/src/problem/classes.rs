//! Classes of columns that are equal in all rows, because conditions equate them.
//!
//! If one of them is equal to a value, all are, and each may be searched for it. Columns of a class
//! have the same type, so that equality is transitive.

use super::{Problem, Unit};
use crate::expression::{as_column, binary, column, is_volatile};
use crate::path::Conjunct;
use crate::planner::Planner;
use crate::set::RelationSet;
use sql::SqlType;
use sql::expression::{BinaryOperator, Expr, ExprKind};
use std::rc::Rc;

/// Columns that are equal in all rows.
#[derive(Debug)]
pub(crate) struct Class {
    /// Relations and columns.
    pub members: Vec<(usize, usize)>,
    /// A value from outside to which all are equal.
    pub value: Option<Expr>,
}

impl Class {
    pub fn contains(&self, relation: usize, column: usize) -> bool {
        self.members.contains(&(relation, column))
    }

    /// Whether a join of two sets must compare two columns of the class, or two more of them.
    ///
    /// One pair is enough, because the columns on each side are equal already; none is needed if
    /// all are equal to a value. Two columns of one relation are made equal only by pairs with
    /// others.
    pub fn needs_pair(&self, is_first: bool) -> bool {
        let is_repeated = self
            .members
            .iter()
            .enumerate()
            .any(|(at, member)| self.members[at + 1..].iter().any(|other| other.0 == member.0));
        self.value.is_none() && (is_first || is_repeated)
    }

    /// Whether a condition equates two columns of the class.
    pub fn has(&self, condition: &Expr) -> bool {
        pair(condition).is_some_and(|(one, other)| {
            self.members.contains(&one) && self.members.contains(&other)
        })
    }
}

/// Relation and column.
type Place = (usize, usize);

fn pair(condition: &Expr) -> Option<(Place, Place)> {
    let ExprKind::Binary { operator: BinaryOperator::Equal, left, right } = &condition.kind else {
        return None;
    };
    let (one, other) = (as_column(left)?, as_column(right)?);
    (one.0 != other.0).then_some((one, other))
}

impl Planner<'_> {
    /// Finds the classes of the inner units, and adds the conditions that follow from them.
    pub(super) fn classes(&self, units: &[Unit], exprs: &mut Vec<Expr>) -> Vec<Class> {
        let inner = units.iter().filter(|unit| unit.is_inner());
        let inner = inner.fold(RelationSet::EMPTY, |set, unit| set.and(unit.relations));
        let mut classes: Vec<Class> = Vec::new();
        for expr in exprs.iter() {
            let Some((one, other)) = pair(expr) else { continue };
            let is_inside = inner.contains(one.0) && inner.contains(other.0);
            if is_inside && self.type_of(one) == self.type_of(other) {
                unite(&mut classes, one, other);
            }
        }
        let mut added = Vec::new();
        for expr in exprs.iter() {
            let Some((place, value)) = self.fixed(expr, inner) else { continue };
            match classes.iter_mut().find(|class| class.members.contains(&place)) {
                Some(class) => {
                    if class.value.is_none() {
                        let others = class.members.iter().filter(|other| **other != place);
                        added.extend(others.map(|other| self.equality(*other, value.clone())));
                    }
                    class.value.get_or_insert(value);
                }
                None => classes.push(Class { members: vec![place], value: Some(value) }),
            }
        }
        for class in classes.iter().filter(|class| class.value.is_none()) {
            self.add_pairs(class, exprs, &mut added);
        }
        added.retain(|expr| !exprs.contains(expr));
        exprs.extend(added);
        classes
    }

    /// Adds the equalities between members that no condition states.
    fn add_pairs(&self, class: &Class, exprs: &[Expr], added: &mut Vec<Expr>) {
        for (at, one) in class.members.iter().enumerate() {
            for other in &class.members[at + 1..] {
                let is_stated = exprs.iter().any(|expr| {
                    pair(expr)
                        .is_some_and(|(a, b)| (a, b) == (*one, *other) || (b, a) == (*one, *other))
                });
                if !is_stated && one.0 != other.0 {
                    let value = column(other.0, other.1, self.type_of(*other));
                    added.push(self.equality(*one, value));
                }
            }
        }
    }

    fn type_of(&self, (relation, column): Place) -> &SqlType {
        &self.logical.relations[relation].types[column]
    }

    fn equality(&self, (relation, at): Place, value: Expr) -> Expr {
        let own = column(relation, at, self.type_of((relation, at)));
        binary(BinaryOperator::Equal, own, value)
    }

    /// Returns column and value of a condition that equates a column with a value of its own type
    /// from outside.
    fn fixed(&self, expr: &Expr, inside: RelationSet) -> Option<(Place, Expr)> {
        let ExprKind::Binary { operator: BinaryOperator::Equal, left, right } = &expr.kind else {
            return None;
        };
        [(left, right), (right, left)].into_iter().find_map(|(own, value)| {
            let place = as_column(own).filter(|place| inside.contains(place.0))?;
            let is_outside = !self.logical.relations_of(value).meets(inside);
            let is_plain = !is_volatile(value) && !crate::expression::has_sub_plan(value);
            let has_type = own.sql_type == *self.type_of(place) && own.sql_type == value.sql_type;
            (is_outside && is_plain && has_type).then(|| (place, (**value).clone()))
        })
    }

    /// Adds conditions with values to the joins of units that compare columns with fixed ones.
    pub(super) fn add_constants(&self, problem: &mut Problem) {
        let Problem { units, classes, .. } = problem;
        for unit in units.iter_mut().filter(|unit| !unit.is_inner()) {
            let mut added: Vec<Rc<Conjunct>> = Vec::new();
            for part in &unit.on {
                let Some((one, other)) = pair(&part.expr) else { continue };
                let (outer, inner) =
                    if unit.relations.contains(one.0) { (other, one) } else { (one, other) };
                let is_pair = unit.relations.contains(inner.0) && !unit.relations.contains(outer.0);
                let class = classes.iter().find(|class| class.members.contains(&outer));
                if let Some(value) = class.and_then(|class| class.value.clone())
                    && is_pair
                    && self.type_of(outer) == self.type_of(inner)
                {
                    let mut conjunct = self.conjunct(self.equality(inner, value));
                    conjunct.selectivity = 1.0;
                    added.push(Rc::new(conjunct));
                }
            }
            unit.on.extend(added);
        }
    }
}

fn unite(classes: &mut Vec<Class>, one: Place, other: Place) {
    let find =
        |classes: &[Class], place| classes.iter().position(|class| class.members.contains(&place));
    match (find(classes, one), find(classes, other)) {
        (None, None) => classes.push(Class { members: vec![one, other], value: None }),
        (Some(class), None) => classes[class].members.push(other),
        (None, Some(class)) => classes[class].members.push(one),
        (Some(first), Some(second)) if first != second => {
            let moved = classes.remove(first.max(second));
            classes[first.min(second)].members.extend(moved.members);
        }
        _ => {}
    }
}
