//! Ways to compute the rows of joined relations, with their costs.

use crate::set::RelationSet;
use procedure::node::{Access, JoinKind};
use sql::expression::Expr;
use std::rc::Rc;

/// A conjunct of a query.
#[derive(Debug)]
pub(crate) struct Conjunct {
    pub expr: Expr,
    /// The relations that it uses, also those of enclosing queries.
    pub relations: RelationSet,
    pub is_volatile: bool,
    pub selectivity: f64,
    /// Number of operations; conditions of one node are evaluated in this order.
    pub operations: u32,
    /// Cost of an evaluation.
    pub cost: f64,
    /// The class of equal columns to which it belongs, which estimates its selectivity.
    pub class: Option<usize>,
}

pub(crate) type Conditions = Vec<Rc<Conjunct>>;

/// A way to compute rows.
#[derive(Debug)]
pub(crate) struct Path {
    pub kind: PathKind,
    /// Estimated number of rows per execution.
    pub rows: f64,
    /// Cost until the first row.
    pub first: f64,
    /// Cost of all rows.
    pub cost: f64,
    pub order: Vec<OrderColumn>,
}

#[derive(Debug)]
pub(crate) enum PathKind {
    /// Reads a table. The access has expressions of blocks.
    Scan {
        relation: usize,
        access: Access,
        filter: Conditions,
    },
    /// Rows of a sub-select in `FROM`, of arrays or of a series.
    Rows {
        relation: usize,
        filter: Conditions,
    },
    Join(JoinPath),
    /// One row without columns.
    Single,
}

#[derive(Debug)]
pub(crate) struct JoinPath {
    /// The pairs of an equal join, outer side first; `None` for a loop.
    pub pairs: Option<Vec<(Expr, Expr)>>,
    pub kind: JoinKind,
    pub join_filter: Conditions,
    pub filter: Conditions,
    pub outer: Rc<Path>,
    pub inner: Rc<Path>,
}

/// A column by which rows are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OrderColumn {
    pub relation: usize,
    pub column: usize,
    pub descending: bool,
    pub nulls_first: bool,
    /// Whether nulls cannot occur, so that their place does not matter.
    pub is_not_null: bool,
}

impl OrderColumn {
    pub fn agrees(&self, wanted: &Self) -> bool {
        self.relation == wanted.relation
            && self.column == wanted.column
            && self.descending == wanted.descending
            && (self.nulls_first == wanted.nulls_first || self.is_not_null)
    }
}

impl Path {
    /// Whether the rows are in the wanted order. `fixed` says whether a column has one value in all
    /// rows.
    pub fn satisfies(&self, wanted: &[OrderColumn], fixed: &dyn Fn(usize, usize) -> bool) -> bool {
        if self.is_single() {
            return true;
        }
        let mut own = self.order.iter().filter(|key| !fixed(key.relation, key.column));
        let mut wanted = wanted.iter().filter(|key| !fixed(key.relation, key.column));
        wanted.all(|wanted| own.next().is_some_and(|own| own.agrees(wanted)))
    }

    /// Whether there is at most one row.
    pub fn is_single(&self) -> bool {
        matches!(&self.kind, PathKind::Scan { access: Access::Key(_), .. } | PathKind::Single)
    }

    /// Cost of the first `wanted` rows: nodes stop early.
    pub fn cost_of(&self, wanted: f64) -> f64 {
        let fraction = (wanted / self.rows.max(1.0)).min(1.0);
        self.first + (self.cost - self.first).max(0.0) * fraction
    }
}

/// Adds a path unless a known one is as cheap in both respects and as well ordered.
pub(crate) fn add(paths: &mut Vec<Rc<Path>>, path: Path) {
    let is_better = |one: &Path, other: &Path| {
        one.cost <= other.cost
            && one.first <= other.first
            && (one.order.starts_with(&other.order) || one.is_single())
    };
    if paths.iter().any(|known| is_better(known, &path)) {
        return;
    }
    paths.retain(|known| !is_better(&path, known));
    paths.push(Rc::new(path));
}

/// The cheapest of paths.
pub(crate) fn cheapest(paths: &[Rc<Path>]) -> Option<&Rc<Path>> {
    paths.iter().min_by(|one, other| one.cost.total_cmp(&other.cost))
}
