//! A join problem: units that are joined in some order, and the conditions on them.
//!
//! Inner joins have no order of their own. The right side of a left, semi- or anti-join is a unit
//! that can be joined once the relations that its condition uses are there; where else it happens
//! does not change the result, because conditions on its rows are applied after it.

mod classes;

use crate::block::{Item, List, RelationKind};
use crate::expression::{has_sub_plan, operations};
use crate::path::{Conditions, Conjunct};
use crate::planner::{OPERATIONS_MAX, Planner};
use crate::set::RelationSet;
pub(crate) use classes::Class;
use procedure::node::JoinKind;
use sql::expression::{Expr, ExprKind};
use std::rc::Rc;

/// Units to be joined.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub units: Vec<Unit>,
    /// Conditions that use a relation of the problem.
    pub conditions: Conditions,
    /// Conditions without a relation of the problem; they hold for all rows or for none.
    pub gates: Conditions,
    /// Conditions that may give another value at each evaluation.
    pub volatile: Conditions,
    /// Columns that are equal in all rows.
    pub classes: Vec<Class>,
}

#[derive(Debug)]
pub(crate) struct Unit {
    /// The relations whose columns conditions may use.
    pub relations: RelationSet,
    pub input: Input,
    /// Inner, or how it is joined as the right side: left, semi or anti.
    pub kind: JoinKind,
    /// The condition of the join, unless it is inner.
    pub on: Conditions,
    /// The relations that must be joined before: those of the condition, and those whose columns a
    /// function takes.
    pub required: RelationSet,
}

#[derive(Debug)]
pub(crate) enum Input {
    Relation(usize),
    Nested(Problem),
    Full { left: Box<Problem>, right: Box<Problem>, on: Conditions },
}

impl Planner<'_> {
    /// Builds the join problems of a list: with its semi-joins, and with inner joins instead.
    pub(crate) fn problems(&self, list: &List) -> Vec<Problem> {
        let mut problems = vec![self.problem(list)];
        if list.has_distinct() {
            problems.push(self.problem_of(list, true));
        }
        problems
    }

    fn problem(&self, list: &List) -> Problem {
        self.problem_of(list, false)
    }

    fn problem_of(&self, list: &List, with_distinct: bool) -> Problem {
        let mut flat = Flat { with_distinct, units: Vec::new(), exprs: Vec::new() };
        self.flatten_list(list, &mut flat);
        let Flat { units, mut exprs, .. } = flat;
        let mut problem = Problem { units, ..Problem::default() };
        let inside = problem.relations();
        for unit in &mut problem.units {
            unit.required = unit.required.and(self.arguments(unit).common(inside));
        }
        problem.classes = self.classes(&problem.units, &mut exprs);
        for expr in exprs {
            let mut conjunct = self.conjunct(expr);
            conjunct.class = problem.classes.iter().position(|class| class.has(&conjunct.expr));
            problem.add(Rc::new(conjunct), inside);
        }
        self.add_constants(&mut problem);
        problem
    }

    pub(crate) fn conjunct(&self, expr: Expr) -> Conjunct {
        // Sub-selects without columns of enclosing queries are executed once, for whatever plan.
        let sub_cost = self.sub_plan_costs(&expr, &|block| !self.logical.free(block).is_empty());
        let operations = operations(&expr);
        Conjunct {
            relations: self.logical.relations_of(&expr),
            is_volatile: self.logical.is_volatile(&expr),
            selectivity: self.selectivity(&expr),
            cost: f64::from(operations.min(OPERATIONS_MAX)) * self.costs.operation + sub_cost,
            operations,
            class: None,
            expr,
        }
    }

    /// The costs of the sub-selects of an expression that `is_counted`.
    pub(crate) fn sub_plan_costs(&self, expr: &Expr, is_counted: &dyn Fn(usize) -> bool) -> f64 {
        let mut cost = 0.0;
        if has_sub_plan(expr) {
            expr.visit(&mut |part| {
                if let ExprKind::SubPlan { plan, .. } = part.kind
                    && is_counted(plan)
                {
                    cost += self.plan(plan).cost;
                }
            });
        }
        cost
    }

    pub(crate) fn conditions(&self, exprs: &[Expr]) -> Conditions {
        exprs.iter().map(|expr| Rc::new(self.conjunct(expr.clone()))).collect()
    }

    fn flatten_list(&self, list: &List, flat: &mut Flat) {
        // Semi- and anti-joins last, since their conditions use relations of the whole list.
        for item in list.items.iter().filter(|item| !matches!(item, Item::Match { .. })) {
            self.flatten(item, flat);
        }
        for item in list.items.iter().filter(|item| matches!(item, Item::Match { .. })) {
            self.flatten(item, flat);
        }
        flat.exprs.extend(list.filter.iter().cloned());
    }

    fn flatten(&self, item: &Item, flat: &mut Flat) {
        match item {
            Item::Relation(relation) => flat.units.push(Unit::of(*relation)),
            Item::List(list) => self.flatten_list(list, flat),
            Item::Left { left, right, on } => {
                self.flatten(left, flat);
                flat.units.push(self.right_side(right, on, JoinKind::Left, left.relations()));
            }
            Item::Full { left, right, on } => {
                let side = |item: &Item| {
                    let items = vec![item.clone()];
                    Box::new(self.problem(&List { items, filter: Vec::new() }))
                };
                let (left, right, on) = (side(left), side(right), self.conditions(on));
                flat.units.push(Unit {
                    relations: item.relations(),
                    input: Input::Full { left, right, on },
                    kind: JoinKind::Inner,
                    on: Vec::new(),
                    required: RelationSet::EMPTY,
                });
            }
            Item::Match { distinct: Some(distinct), .. } if flat.with_distinct => {
                flat.units.push(Unit::of(distinct.relation));
                flat.exprs.extend(distinct.on.iter().cloned());
            }
            Item::Match { right, on, is_anti, .. } => {
                let kind = if *is_anti { JoinKind::Anti } else { JoinKind::Semi };
                let before =
                    flat.units.iter().fold(RelationSet::EMPTY, |set, unit| set.and(unit.relations));
                flat.units.push(self.right_side(right, on, kind, before));
            }
        }
    }

    fn right_side(&self, right: &Item, on: &[Expr], kind: JoinKind, before: RelationSet) -> Unit {
        let on = self.conditions(on);
        let used = on.iter().fold(RelationSet::EMPTY, |set, part| set.and(part.relations));
        let used = used.common(before);
        let input = match right {
            Item::Relation(relation) => Input::Relation(*relation),
            Item::List(list) if list.filter.is_empty() && list.items.len() == 1 => {
                match &list.items[0] {
                    Item::Relation(relation) => Input::Relation(*relation),
                    _ => Input::Nested(self.problem(list)),
                }
            }
            Item::List(list) => self.nested_input(list),
            other => Input::Nested(
                self.problem(&List { items: vec![other.clone()], filter: Vec::new() }),
            ),
        };
        let mut unit = Unit {
            relations: right.relations(),
            input,
            kind,
            on,
            required: if used.is_empty() { before } else { used },
        };
        // The conditions on a single relation belong to the join's condition, too.
        if let (Input::Relation(_), Item::List(list)) = (&unit.input, right) {
            unit.on.extend(self.conditions(&list.filter));
        }
        unit
    }

    fn nested_input(&self, list: &List) -> Input {
        match &list.items[..] {
            [Item::Relation(relation)] => Input::Relation(*relation),
            _ => Input::Nested(self.problem(list)),
        }
    }

    /// The relations whose columns a unit uses, if it is a function or a sub-select.
    fn arguments(&self, unit: &Unit) -> RelationSet {
        match unit.input {
            Input::Relation(relation) => self.logical.free_of_relation(relation),
            _ => RelationSet::EMPTY,
        }
    }

    /// Whether a unit is a function or a sub-select over columns of other units, which is executed
    /// for each of their rows.
    pub(crate) fn is_lateral(&self, unit: &Unit) -> bool {
        self.arguments(unit).meets(unit.required)
    }

    /// Whether a relation is a table.
    pub(crate) fn is_table(&self, relation: usize) -> bool {
        matches!(self.logical.relations[relation].kind, RelationKind::Table(_))
    }
}

impl Problem {
    pub fn relations(&self) -> RelationSet {
        self.units.iter().fold(RelationSet::EMPTY, |set, unit| set.and(unit.relations))
    }

    fn add(&mut self, conjunct: Rc<Conjunct>, inside: RelationSet) {
        if conjunct.is_volatile {
            self.volatile.push(conjunct);
        } else if conjunct.relations.meets(inside) {
            self.conditions.push(conjunct);
        } else {
            self.gates.push(conjunct);
        }
    }

    /// Whether all rows of the problem have the same value in a column.
    pub fn is_fixed(&self, relation: usize, column: usize) -> bool {
        self.classes.iter().any(|class| class.value.is_some() && class.contains(relation, column))
    }
}

/// The items of a list, without nested lists.
struct Flat {
    /// Whether semi-joins become inner joins with distinct values, where that is possible.
    with_distinct: bool,
    units: Vec<Unit>,
    exprs: Vec<Expr>,
}

impl Unit {
    fn of(relation: usize) -> Self {
        Self {
            relations: RelationSet::of(relation),
            input: Input::Relation(relation),
            kind: JoinKind::Inner,
            on: Vec::new(),
            required: RelationSet::EMPTY,
        }
    }

    pub fn is_inner(&self) -> bool {
        self.kind == JoinKind::Inner
    }
}
