//! Chooses the order of joins: by dynamic programming over sets of units, or greedily if there are
//! many.

mod graph;
#[cfg(test)]
mod quality;

use crate::join::Step;
use crate::path::{Conditions, OrderColumn, Path, PathKind, cheapest};
use crate::planner::Planner;
use crate::problem::{Input, Problem, Unit};
use crate::set::RelationSet;
use graph::Graph;
use procedure::node::JoinKind;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Maximum number of units whose orders are all considered.
const ALL_ORDERS_MAX: usize = 10;
/// Maximum number of units for which cross products are considered although others are connected.
const CROSS_PRODUCTS_MAX: usize = 5;

/// Units, as bits.
type Mask = u64;

/// A unit, and the addresses of the conditions that compare it with outer rows.
type LoopKey = (usize, Vec<usize>);

/// A join problem that is being solved.
pub(crate) struct Solver<'s> {
    pub planner: &'s Planner<'s>,
    pub problem: &'s Problem,
    /// An order that would be of use.
    pub wanted: &'s [OrderColumn],
    /// Further conditions, with relations of enclosing rows.
    pub extra: &'s Conditions,
    /// The units' own rows.
    units: Vec<UnitPaths>,
    graph: Graph,
    /// The paths of units with values of outer rows, by the conditions that use them.
    looped: RefCell<BTreeMap<LoopKey, Vec<Rc<Path>>>>,
}

/// The rows of a unit.
struct UnitPaths {
    paths: Vec<Rc<Path>>,
    rows: f64,
}

impl<'s> Solver<'s> {
    /// Returns the ways to join all units, cheapest per order.
    pub fn solve(
        planner: &'s Planner<'s>,
        problem: &'s Problem,
        wanted: &'s [OrderColumn],
        extra: &'s Conditions,
    ) -> Vec<Rc<Path>> {
        let mut solver = Self::new(planner, problem, wanted, extra);
        match problem.units.len() {
            0 => vec![Rc::new(single(planner))],
            1 => solver.units.swap_remove(0).paths,
            count if count <= ALL_ORDERS_MAX => solver.all_orders(count),
            count => solver.greedy(count),
        }
    }

    fn new(
        planner: &'s Planner<'s>,
        problem: &'s Problem,
        wanted: &'s [OrderColumn],
        extra: &'s Conditions,
    ) -> Self {
        let graph = Graph::new(&problem.units, &[&problem.conditions, extra]);
        let (units, looped) = (Vec::new(), RefCell::default());
        let mut solver = Self { planner, problem, wanted, extra, units, graph, looped };
        for unit in 0..problem.units.len() {
            let paths = solver.unit_paths(unit);
            let rows = cheapest(&paths).map_or(1.0, |path| path.rows);
            solver.units.push(UnitPaths { paths, rows });
        }
        solver
    }

    pub fn unit(&self, unit: usize) -> &'s Unit {
        &self.problem.units[unit]
    }

    /// The conditions of the problem, with the extra ones.
    pub fn conditions(&self) -> impl Iterator<Item = &'s Rc<crate::path::Conjunct>> {
        self.problem.conditions.iter().chain(self.extra)
    }

    /// The conditions on a unit alone.
    pub fn local(&self, unit: usize) -> Conditions {
        let own = self.unit(unit);
        let inside = self.problem.relations();
        let is_local =
            |set: RelationSet| set.common(inside).is_in(own.relations) && set.meets(own.relations);
        let all: Conditions = match own.is_inner() {
            true => self.conditions().filter(|c| is_local(c.relations)).cloned().collect(),
            false => own.on.iter().filter(|c| is_local(c.relations)).cloned().collect(),
        };
        // A condition without relations of the problem holds for all rows or none.
        let is_first = unit == 0 && own.is_inner();
        let gates = self.extra.iter().filter(|c| is_first && !c.relations.meets(inside));
        all.into_iter().chain(gates.cloned()).collect()
    }

    fn unit_paths(&self, unit: usize) -> Vec<Rc<Path>> {
        let local = self.local(unit);
        self.paths_with(unit, &local)
    }

    /// Returns the ways to read a unit for given outer rows, which `joined` compares with its rows.
    pub fn looped(&self, unit: usize, joined: &Conditions) -> Vec<Rc<Path>> {
        let key = (unit, joined.iter().map(|condition| Rc::as_ptr(condition) as usize).collect());
        if let Some(paths) = self.looped.borrow().get(&key) {
            return paths.clone();
        }
        let mut conditions = self.local(unit);
        conditions.extend(joined.iter().cloned());
        let paths = self.paths_with(unit, &conditions);
        self.looped.borrow_mut().insert(key, paths.clone());
        paths
    }

    /// Returns the ways to read a unit under conditions.
    pub fn paths_with(&self, unit: usize, conditions: &Conditions) -> Vec<Rc<Path>> {
        let planner = self.planner;
        match &self.unit(unit).input {
            Input::Relation(relation) if planner.is_table(*relation) => {
                let mut paths = planner.scans(*relation, conditions, self.wanted);
                paths = paths.into_iter().map(|path| self.with_useful_order(path)).collect();
                paths
            }
            Input::Relation(relation) => vec![Rc::new(planner.rows_of(*relation, conditions))],
            Input::Nested(problem) => planner.nested(problem, conditions),
            Input::Full { left, right, on } => {
                vec![Rc::new(planner.full_join((left, right), on, conditions))]
            }
        }
    }

    /// Forgets an order that nobody wants.
    fn with_useful_order(&self, path: Rc<Path>) -> Rc<Path> {
        let is_fixed = |relation, column| self.problem.is_fixed(relation, column);
        if path.order.is_empty() || path.satisfies(self.wanted, &is_fixed) {
            return path;
        }
        match Rc::try_unwrap(path) {
            Ok(path) => Rc::new(Path { order: Vec::new(), ..path }),
            Err(path) => path,
        }
    }

    pub fn relations(&self, mask: Mask) -> RelationSet {
        let units = self.problem.units.iter().enumerate();
        let inside = units.filter(|(at, _)| mask & (1 << at) != 0);
        inside.fold(RelationSet::EMPTY, |set, (_, unit)| set.and(unit.relations))
    }

    /// Whether the units can be joined on their own.
    fn is_complete(&self, mask: Mask) -> bool {
        let relations = self.relations(mask);
        self.members(mask).all(|unit| unit.required.is_in(relations.without(unit.relations)))
    }

    fn members(&self, mask: Mask) -> impl Iterator<Item = &'s Unit> {
        let units = self.problem.units.iter().enumerate();
        units.filter(move |(at, _)| mask & (1 << at) != 0).map(|(_, unit)| unit)
    }

    /// Estimates the number of joined rows. It does not depend on the order.
    pub fn rows(&self, mask: Mask) -> f64 {
        let relations = self.relations(mask);
        let mut rows = 1.0;
        for (at, unit) in self.problem.units.iter().enumerate() {
            if mask & (1 << at) != 0 && unit.is_inner() {
                rows *= self.units[at].rows;
            }
        }
        for condition in self.conditions() {
            let used = condition.relations.common(self.problem.relations());
            if used.is_in(relations) && condition.class.is_none() && !self.is_of_unit(used) {
                rows *= condition.selectivity;
            }
        }
        rows *= self.of_classes(relations);
        for (at, unit) in self.problem.units.iter().enumerate() {
            if mask & (1 << at) == 0 || unit.is_inner() {
                continue;
            }
            let is_pair =
                |set: RelationSet| !set.common(self.problem.relations()).is_in(unit.relations);
            let pairs = unit.on.iter().filter(|c| is_pair(c.relations));
            let found: f64 = self.units[at].rows * pairs.map(|c| c.selectivity).product::<f64>();
            rows *= match unit.kind {
                JoinKind::Left => found.max(1.0),
                JoinKind::Semi => found.min(1.0),
                _ => (1.0 - found).max(0.1),
            };
        }
        rows.max(0.01)
    }

    /// Whether a condition on these relations is part of an inner unit's own rows.
    fn is_of_unit(&self, used: RelationSet) -> bool {
        self.problem.units.iter().any(|unit| unit.is_inner() && used.is_in(unit.relations))
    }

    /// The fraction of combined rows whose columns are equal within all classes.
    fn of_classes(&self, relations: RelationSet) -> f64 {
        let mut fraction = 1.0;
        for class in self.problem.classes.iter().filter(|class| class.value.is_none()) {
            let here = class.members.iter().filter(|(relation, _)| relations.contains(*relation));
            let mut distinct: Vec<f64> =
                here.map(|&(relation, column)| self.planner.distinct(relation, column)).collect();
            distinct.sort_by(f64::total_cmp);
            fraction /= distinct.iter().skip(1).product::<f64>();
        }
        fraction
    }

    fn all_orders(&self, count: usize) -> Vec<Rc<Path>> {
        let all: Mask = (1 << count) - 1;
        let mut best: Vec<Vec<Rc<Path>>> = vec![Vec::new(); 1 << count];
        for (at, unit) in self.units.iter().enumerate() {
            best[1 << at] = unit.paths.clone();
        }
        for mask in 1..=all {
            if mask.count_ones() < 2 || !self.is_complete(mask) {
                continue;
            }
            let mut paths = Vec::new();
            let with_products = count <= CROSS_PRODUCTS_MAX || self.graph.are_components(mask);
            self.splits(mask, with_products, &best, &mut paths);
            best[mask as usize] = paths;
        }
        best.swap_remove(all as usize)
    }

    /// Joins each two parts of a set.
    fn splits(
        &self,
        mask: Mask,
        with_products: bool,
        best: &[Vec<Rc<Path>>],
        paths: &mut Vec<Rc<Path>>,
    ) {
        let rows = self.rows(mask);
        let mut outer = (mask - 1) & mask;
        while outer > 0 {
            let inner = mask & !outer;
            let (of_outer, of_inner) = (&best[outer as usize], &best[inner as usize]);
            let can_join = !of_outer.is_empty()
                && !of_inner.is_empty()
                && (with_products || self.graph.are_connected(outer, inner))
                && !self.is_dearer(of_outer, (inner, of_inner), paths)
                && self.can_join(outer, inner);
            if can_join {
                let step = Step::new(self, outer, inner, rows);
                step.join(of_outer, of_inner, paths);
            }
            outer = (outer - 1) & mask;
        }
    }

    /// Whether a join of two sets costs more than a known path, because its inputs do.
    fn is_dearer(
        &self,
        outers: &[Rc<Path>],
        (inner, inners): (Mask, &[Rc<Path>]),
        known: &[Rc<Path>],
    ) -> bool {
        let cost = |paths: &[Rc<Path>]| cheapest(paths).map_or(f64::INFINITY, |path| path.cost);
        // The rows of a single unit may be found with values of the outer row.
        let of_inner = if inner.count_ones() == 1 { 0.0 } else { cost(inners) };
        let is_ordered = outers.iter().any(|path| !path.order.is_empty());
        !is_ordered && cost(outers) + of_inner > cost(known)
    }

    /// Whether two sets can be joined in this direction.
    fn can_join(&self, outer: Mask, inner: Mask) -> bool {
        if !self.is_complete(outer) {
            return false;
        }
        let needs_outer = |unit: &Unit| !unit.is_inner() || !unit.required.is_empty();
        let is_right_side = inner.count_ones() == 1 && self.members(inner).any(needs_outer);
        match is_right_side {
            true => self.is_complete(outer | inner),
            false => self.is_complete(inner),
        }
    }

    /// Joins the two sets whose join is the cheapest, until one is left.
    fn greedy(&self, count: usize) -> Vec<Rc<Path>> {
        let mut sets: BTreeMap<Mask, Vec<Rc<Path>>> =
            (0..count).map(|at| (1 << at, self.units[at].paths.clone())).collect();
        while sets.len() > 1 {
            let mut best: Option<(f64, Mask, Mask, Vec<Rc<Path>>)> = None;
            for with_products in [false, true] {
                for (&outer, of_outer) in &sets {
                    for (&inner, of_inner) in &sets {
                        let can_join = outer != inner
                            && (with_products || self.graph.are_connected(outer, inner))
                            && self.can_join(outer, inner);
                        if !can_join {
                            continue;
                        }
                        let mut paths = Vec::new();
                        let step = Step::new(self, outer, inner, self.rows(outer | inner));
                        step.join(of_outer, of_inner, &mut paths);
                        let Some(cost) = cheapest(&paths).map(|path| path.cost) else { continue };
                        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                            best = Some((cost, outer, inner, paths));
                        }
                    }
                }
                if best.is_some() {
                    break;
                }
            }
            let Some((_, outer, inner, paths)) = best else { return Vec::new() };
            sets.remove(&outer);
            sets.remove(&inner);
            sets.insert(outer | inner, paths);
        }
        sets.into_values().next().unwrap_or_default()
    }
}

/// One row without columns.
fn single(planner: &Planner<'_>) -> Path {
    let cost = planner.costs.row;
    Path { kind: PathKind::Single, rows: 1.0, first: cost, cost, order: Vec::new() }
}

impl Planner<'_> {
    /// Joins the units of a right side, under further conditions.
    fn nested(&self, problem: &Problem, conditions: &Conditions) -> Vec<Rc<Path>> {
        let extra: Conditions =
            conditions.iter().chain(&problem.gates).chain(&problem.volatile).cloned().collect();
        Solver::solve(self, problem, &[], &extra)
    }

    fn full_join(
        &self,
        (left, right): (&Problem, &Problem),
        on: &Conditions,
        conditions: &Conditions,
    ) -> Path {
        let none = Conditions::new();
        let outer = self.nested(left, &none);
        let inner = self.nested(right, &none);
        crate::join::full(
            self,
            (&outer, left.relations()),
            (&inner, right.relations()),
            on,
            conditions,
        )
    }
}
