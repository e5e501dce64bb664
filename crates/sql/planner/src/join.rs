//! Joins two sets of units.

use crate::join_order::Solver;
use crate::path::{Conditions, Conjunct, JoinPath, OrderColumn, Path, PathKind, add, cheapest};
use crate::planner::Planner;
use crate::problem::Input;
use crate::set::RelationSet;
use procedure::node::{Access, JoinKind};
use sql::expression::{BinaryOperator, Expr, ExprKind};
use std::rc::Rc;

/// The pairs of an equal join, outer side first.
type Pairs = Vec<(Expr, Expr)>;

/// The join of two sets of units, in one direction.
pub(crate) struct Step<'s, 'p> {
    solver: &'s Solver<'p>,
    /// The inner unit, if there is only one.
    unit: Option<usize>,
    kind: JoinKind,
    /// The conditions of the join that use both sides.
    joined: Conditions,
    /// Conditions on the joined rows.
    filter: Conditions,
    rows: f64,
    /// The conditions of the join as pairs that must be equal, and the others.
    pairs: Pairs,
    join_filter: Conditions,
    /// The fraction of pairs of rows that have equal values.
    fraction: f64,
}

impl<'s, 'p> Step<'s, 'p> {
    pub fn new(solver: &'s Solver<'p>, outer: u64, inner: u64, rows: f64) -> Self {
        let unit = (inner.count_ones() == 1).then(|| inner.trailing_zeros() as usize);
        let kind = unit.map_or(JoinKind::Inner, |unit| solver.unit(unit).kind);
        let inside = solver.problem.relations();
        let outer = solver.relations(outer);
        let inner = solver.relations(inner);
        let all = outer.and(inner);
        // Conditions that are first known here. Those on the right side of an outer join alone are
        // known only now as well.
        let is_new = |c: &&Rc<Conjunct>| {
            let used = c.relations.common(inside);
            let is_of_inner = kind == JoinKind::Inner && used.is_in(inner);
            !used.is_empty() && used.is_in(all) && !used.is_in(outer) && !is_of_inner
        };
        let mut seen = Vec::new();
        let is_needed = |c: &&Rc<Conjunct>| match c.class {
            None => true,
            Some(class) => {
                let is_first = !seen.contains(&class);
                seen.push(class);
                solver.problem.classes[class].needs_pair(is_first)
            }
        };
        let known = solver.conditions().filter(is_new).filter(is_needed).cloned();
        let known: Conditions = known.collect();
        let (joined, filter) = match unit.filter(|_| kind != JoinKind::Inner) {
            None => (known, Conditions::new()),
            Some(unit) => {
                let is_pair = |c: &&Rc<Conjunct>| {
                    let used = c.relations.common(inside);
                    !(used.is_in(inner) && used.meets(inner))
                };
                (solver.unit(unit).on.iter().filter(is_pair).cloned().collect(), known)
            }
        };
        let (pairs, join_filter) = pairs(&joined, outer, inner);
        let is_pair = |c: &&Rc<Conjunct>| !join_filter.iter().any(|other| Rc::ptr_eq(other, c));
        let fraction = joined.iter().filter(is_pair).map(|c| c.selectivity).product();
        Self { solver, unit, kind, joined, filter, rows, pairs, join_filter, fraction }
    }

    /// Adds the ways to join, cheapest per order.
    pub fn join(&self, outers: &[Rc<Path>], inners: &[Rc<Path>], paths: &mut Vec<Rc<Path>>) {
        let Some(inner) = cheapest(inners) else { return };
        let looped = match self.can_loop() {
            Some(unit) => self.solver.looped(unit, &self.joined),
            None => Vec::new(),
        };
        let is_lateral = self.is_lateral();
        for outer in outers {
            let costs = (self.equal_first(outer, inner), self.equal_cost(outer, inner));
            if !is_lateral && self.may_help(costs, outer, paths) {
                add(paths, self.equal(outer, inner));
            }
            for inner in &looped {
                let costs = (self.loop_first(outer, inner), self.loop_cost(outer, inner));
                if self.may_help(costs, outer, paths) {
                    add(paths, self.nested_loop(outer, inner));
                }
            }
        }
    }

    /// Whether a path may be better than all known ones. Given are its costs until the first row,
    /// and of all rows.
    fn may_help(&self, (first, cost): (f64, f64), outer: &Path, known: &[Rc<Path>]) -> bool {
        !outer.order.is_empty()
            || !known.iter().any(|known| known.cost <= cost && known.first <= first)
    }

    /// Whether the inner unit is a function of columns of the outer rows.
    fn is_lateral(&self) -> bool {
        let solver = self.solver;
        self.unit.is_some_and(|unit| solver.planner.is_lateral(solver.unit(unit)))
    }

    /// The inner unit, if its rows can be found with the values of an outer row.
    pub fn can_loop(&self) -> Option<usize> {
        let unit = self.unit?;
        if self.is_lateral() {
            return Some(unit);
        }
        let can_use = match &self.solver.unit(unit).input {
            Input::Relation(relation) => self.solver.planner.is_table(*relation),
            Input::Nested(_) => true,
            Input::Full { .. } => false,
        };
        let is_volatile = self.joined.iter().any(|c| c.is_volatile);
        (can_use && !self.joined.is_empty() && !is_volatile).then_some(unit)
    }

    /// The conditions of the inner unit for a given outer row.
    #[cfg(test)]
    pub fn looped_conditions(&self, unit: usize) -> Conditions {
        let mut conditions = self.solver.local(unit);
        conditions.extend(self.joined.iter().cloned());
        conditions
    }

    /// Joins both inputs, each executed once.
    pub fn equal(&self, outer: &Rc<Path>, inner: &Rc<Path>) -> Path {
        let costs = (self.equal_first(outer, inner), self.equal_cost(outer, inner));
        self.path(outer, inner, (Some(self.pairs.clone()), self.join_filter.clone()), costs)
    }

    /// All inner rows are held before the first outer row is joined.
    fn equal_first(&self, outer: &Path, inner: &Path) -> f64 {
        outer.first + inner.cost + self.solver.planner.costs.sort(inner.rows)
    }

    fn equal_cost(&self, outer: &Path, inner: &Path) -> f64 {
        let costs = self.solver.planner.costs;
        let candidates = outer.rows * inner.rows * self.fraction;
        outer.cost
            + inner.cost
            + costs.equal_join(outer.rows, inner.rows, self.pairs.len())
            + candidates * evaluation(&self.join_filter)
            + self.results()
    }

    /// Executes the inner input for each outer row.
    pub fn nested_loop(&self, outer: &Rc<Path>, inner: &Rc<Path>) -> Path {
        let costs = (self.loop_first(outer, inner), self.loop_cost(outer, inner));
        self.path(outer, inner, (None, Conditions::new()), costs)
    }

    fn loop_first(&self, outer: &Path, inner: &Path) -> f64 {
        outer.first + inner.first
    }

    fn loop_cost(&self, outer: &Path, inner: &Path) -> f64 {
        let planner = self.solver.planner;
        let is_decided = matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
        let executed = match &inner.kind {
            PathKind::Scan { relation, access: Access::Key(_), filter } => {
                let bytes = planner.bytes_of(*relation);
                planner.costs.keyed_loop(outer.rows, bytes) + outer.rows * evaluation(filter)
            }
            _ if is_decided => outer.rows * inner.cost_of(1.0),
            _ => outer.rows * inner.cost,
        };
        outer.cost + executed + self.results()
    }

    /// The cost of the joined rows.
    fn results(&self) -> f64 {
        self.rows * self.solver.planner.costs.row + self.rows * evaluation(&self.filter)
    }

    fn path(
        &self,
        outer: &Rc<Path>,
        inner: &Rc<Path>,
        (pairs, join_filter): (Option<Pairs>, Conditions),
        (first, cost): (f64, f64),
    ) -> Path {
        let order: Vec<OrderColumn> = outer.order.clone();
        let join = JoinPath {
            pairs,
            kind: self.kind,
            join_filter,
            filter: self.filter.clone(),
            outer: outer.clone(),
            inner: inner.clone(),
        };
        Path { kind: PathKind::Join(join), rows: self.rows, first, cost, order }
    }
}

/// Cost of evaluating conditions.
pub(crate) fn evaluation(conditions: &Conditions) -> f64 {
    conditions.iter().map(|condition| condition.cost).sum()
}

/// Splits the conditions of a join into pairs that must be equal and others.
fn pairs(conditions: &Conditions, outer: RelationSet, inner: RelationSet) -> (Pairs, Conditions) {
    let (mut pairs, mut others) = (Pairs::new(), Conditions::new());
    for condition in conditions {
        match pair(condition, outer, inner) {
            Some(pair) => pairs.push(pair),
            None => others.push(condition.clone()),
        }
    }
    (pairs, others)
}

fn pair(condition: &Conjunct, outer: RelationSet, inner: RelationSet) -> Option<(Expr, Expr)> {
    let ExprKind::Binary { operator: BinaryOperator::Equal, left, right } = &condition.expr.kind
    else {
        return None;
    };
    if condition.is_volatile || crate::expression::has_sub_plan(&condition.expr) {
        return None;
    }
    let uses = |expr: &Expr| {
        let mut set = RelationSet::EMPTY;
        expr.visit(&mut |part| {
            if let ExprKind::Column(column) = part.kind {
                set = set.and(RelationSet::of(column.source));
            }
        });
        (set.meets(outer), set.meets(inner))
    };
    match (uses(left), uses(right)) {
        ((true, false), (false, true)) => Some(((**left).clone(), (**right).clone())),
        ((false, true), (true, false)) => Some(((**right).clone(), (**left).clone())),
        _ => None,
    }
}

/// A side of a full join: its paths and relations.
type Side<'s> = (&'s [Rc<Path>], RelationSet);

/// Joins two sides so that the rows of both are kept.
pub(crate) fn full(
    planner: &Planner<'_>,
    (outers, of_outer): Side<'_>,
    (inners, of_inner): Side<'_>,
    on: &Conditions,
    filter: &Conditions,
) -> Path {
    let missing =
        || Path { kind: PathKind::Single, rows: 1.0, first: 0.0, cost: 0.0, order: Vec::new() };
    let outer = cheapest(outers).cloned().unwrap_or_else(|| Rc::new(missing()));
    let inner = cheapest(inners).cloned().unwrap_or_else(|| Rc::new(missing()));
    let (pairs, join_filter) = pairs(on, of_outer, of_inner);
    let matching: f64 = on.iter().map(|c| c.selectivity).product();
    let kept: f64 = filter.iter().map(|c| c.selectivity).product();
    let rows = (outer.rows * inner.rows * matching).max(outer.rows + inner.rows);
    let costs = planner.costs;
    let cost = outer.cost
        + inner.cost
        + costs.equal_join(outer.rows, inner.rows, pairs.len())
        + outer.rows * inner.rows * matching * evaluation(&join_filter)
        + rows * (costs.row + evaluation(filter));
    let join = JoinPath {
        pairs: Some(pairs),
        kind: JoinKind::Full,
        join_filter,
        filter: filter.clone(),
        outer,
        inner,
    };
    let rows = (rows * kept).max(0.01);
    Path { kind: PathKind::Join(join), rows, first: cost, cost, order: Vec::new() }
}
