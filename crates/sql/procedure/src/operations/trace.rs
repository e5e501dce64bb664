//! Traces the values of one statement, and lists its table accesses.

use super::{Action, Branch, Key, Origin, Path, Times, Traced};
use crate::node::{Access, JoinMethod, Node, Operator, Range, Scan, Statement};
use crate::reference::{AccessPath, access_path};
use sql::Table;
use sql::expression::{CastKind, Expr, ExprKind, SubqueryKind};

/// An operation whose values are not resolved yet.
pub(super) struct Found<'p> {
    pub(super) statement: u32,
    pub(super) table: usize,
    pub(super) action: Action,
    /// In the order of the values of the action.
    pub(super) values: Vec<Traced<'p>>,
    pub(super) repeats: Vec<(u32, Count<'p>)>,
    pub(super) branches: Vec<Branch>,
    pub(super) rows: u64,
}

/// How often an operation is executed, before variables are resolved.
#[derive(Clone, Debug)]
pub(super) enum Count<'p> {
    Known(Times),
    Elements(Traced<'p>),
    Number(Traced<'p>),
}

/// The position of a statement in its procedure.
pub(super) struct StatementPosition<'p> {
    pub(super) number: u32,
    pub(super) line: u32,
    pub(super) repeats: Vec<(u32, Count<'p>)>,
    pub(super) branches: Vec<Branch>,
}

/// The values of each source at each level, innermost first.
type Levels<'p> = Vec<Vec<Vec<Traced<'p>>>>;

/// The analysis of a statement.
pub(super) struct Trace<'p, 't> {
    pub(super) tables: &'p [Table],
    pub(super) statement: &'p Statement,
    pub(super) place: &'t StatementPosition<'p>,
    pub(super) found: &'t mut Vec<Found<'p>>,
    /// The outputs of the sub plans that have been traced.
    pub(super) plans: Vec<Option<Vec<Traced<'p>>>>,
    /// The loops inside the plan.
    pub(super) inner: Vec<u64>,
}

/// Whether one of these columns changes; without a list of changes, all do.
fn are_changed(columns: &[usize], changed: Option<&[usize]>) -> bool {
    changed.is_none_or(|changed| columns.iter().any(|column| changed.contains(column)))
}

impl<'p> Trace<'p, '_> {
    /// Traces a node and returns its outputs; at most `wanted` of its rows are read.
    pub(super) fn node(
        &mut self,
        node: &'p Node,
        around: &Levels<'p>,
        wanted: u64,
    ) -> Vec<Traced<'p>> {
        self.sub_plans(node, &Levels::new(), false);
        let sources = match &node.operator {
            Operator::Insert(_) | Operator::Update(_) | Operator::Delete(_) => {
                self.written(node, around)
            }
            _ => self.delivered(node, around, node.rows.min(wanted)),
        };
        let levels = within(around, sources);
        self.sub_plans(node, &levels, true);
        node.outputs.iter().map(|output| self.value(output, &levels)).collect()
    }

    /// Returns the sources of a node that reads.
    fn delivered(
        &mut self,
        node: &'p Node,
        around: &Levels<'p>,
        rows: u64,
    ) -> Vec<Vec<Traced<'p>>> {
        match &node.operator {
            Operator::Scan(scan) => vec![self.scan(scan, around, rows)],
            Operator::Join(join) => {
                let is_loop = join.method == JoinMethod::NestedLoop;
                let outer = self.node(&join.outer, around, u64::MAX);
                if !is_loop {
                    return vec![outer, self.node(&join.inner, around, u64::MAX)];
                }
                let inside = within(around, vec![outer.clone()]);
                self.inner.push(join.outer.rows);
                let inner = self.node(&join.inner, &inside, u64::MAX);
                self.inner.pop();
                vec![outer, inner]
            }
            // These nodes read no more rows of their input than are read of them.
            Operator::Limit { input, .. }
            | Operator::Lock { input, .. }
            | Operator::Project { input: Some(input), filter: None, .. } => {
                vec![self.node(input, around, rows)]
            }
            Operator::Unnest { arrays, .. } => {
                let levels = within(around, Vec::new());
                let element =
                    |array: &'p Expr| Traced::Element(Box::new(self.value(array, &levels)));
                vec![arrays.iter().map(element).collect()]
            }
            Operator::Values { rows, .. } => vec![computed(rows.first().map_or(0, Vec::len))],
            Operator::Series { .. } => vec![computed(1)],
            Operator::Call { width, .. }
            | Operator::Recursive { width, .. }
            | Operator::WorkTable { width, .. } => vec![computed(*width)],
            Operator::Shared { plan, .. } => vec![self.plan(*plan, &Levels::new())],
            Operator::Append { inputs } | Operator::MergeAppend { inputs, .. } => {
                let each = |input: &'p Node| self.node(input, around, u64::MAX);
                vec![either(inputs.iter().map(each).collect())]
            }
            Operator::SetOperation { left, right, .. } => {
                let each = [left, right].map(|input| self.node(input, around, u64::MAX));
                vec![either(each.into())]
            }
            Operator::Window { calls, input } => {
                let mut columns = self.node(input, around, u64::MAX);
                columns.extend(computed(calls.len()));
                vec![columns]
            }
            _ => {
                let inputs = node.inputs().into_iter();
                inputs.map(|(input, _)| self.node(input, around, u64::MAX)).collect()
            }
        }
    }

    /// Returns the sources of a node that writes.
    fn written(&mut self, node: &'p Node, around: &Levels<'p>) -> Vec<Vec<Traced<'p>>> {
        match &node.operator {
            Operator::Insert(insert) => {
                let input = self.node(&insert.input, around, u64::MAX);
                let levels = within(around, vec![input]);
                let values = insert.values.iter().map(|value| self.value(value, &levels));
                let values: Vec<_> = values.collect();
                let action = Action::Insert { values: Vec::new() };
                self.push(insert.table, action, values.clone(), insert.input.rows);
                self.references(insert.table, None, &values, insert.input.rows);
                vec![values]
            }
            Operator::Update(update) => {
                let input = self.node(&update.input, around, u64::MAX);
                let read = self.read_for_change(update.table);
                let mut sources = vec![self.columns(update.table, read), input];
                let levels = within(around, sources.clone());
                let columns: Vec<usize> =
                    update.assignments.iter().map(|(column, _)| *column).collect();
                let old = sources[0].clone();
                for (column, value) in &update.assignments {
                    sources[0][*column] = self.value(value, &levels);
                }
                let action = Action::Update { read, columns: columns.clone() };
                let rows = update.input.rows;
                self.push(update.table, action, Vec::new(), rows);
                self.references(update.table, Some(&columns), &sources[0], rows);
                self.referrers(update.table, Some(&columns), &old, rows);
                sources
            }
            Operator::Delete(delete) => {
                let input = self.node(&delete.input, around, u64::MAX);
                let read = self.read_for_change(delete.table);
                let action = Action::Delete { read };
                let (old, rows) = (self.columns(delete.table, read), delete.input.rows);
                self.push(delete.table, action, Vec::new(), rows);
                self.referrers(delete.table, None, &old, rows);
                vec![old, input]
            }
            _ => Vec::new(),
        }
    }

    fn push(&mut self, table: usize, action: Action, values: Vec<Traced<'p>>, rows: u64) {
        let inner =
            self.inner.iter().map(|rows| (self.place.line, Count::Known(Times::Count(*rows))));
        let repeats = self.place.repeats.iter().cloned().chain(inner).collect();
        let branches = self.place.branches.clone();
        let statement = self.place.number;
        self.found.push(Found { statement, table, action, values, repeats, branches, rows });
    }

    /// Adds reads of the rows that inserted or updated rows reference. `columns` are those that
    /// change, `None` for all.
    fn references(
        &mut self,
        table: usize,
        changed: Option<&[usize]>,
        values: &[Traced<'p>],
        rows: u64,
    ) {
        for key in &self.tables[table].foreign_keys {
            if are_changed(&key.columns, changed) {
                let values = key.columns.iter().map(|column| values[*column].clone());
                self.reference(key.table, &key.references, values.collect(), rows);
            }
        }
    }

    /// Adds reads of the rows that reference deleted or updated ones.
    fn referrers(
        &mut self,
        table: usize,
        changed: Option<&[usize]>,
        values: &[Traced<'p>],
        rows: u64,
    ) {
        for (at, other) in self.tables.iter().enumerate() {
            for key in other.foreign_keys.iter().filter(|key| key.table == table) {
                if are_changed(&key.references, changed) {
                    let values = key.references.iter().map(|column| values[*column].clone());
                    self.reference(at, &key.columns, values.collect(), rows);
                }
            }
        }
    }

    /// Adds a read of the rows that have these values in these columns, once for each of `rows`
    /// rows.
    fn reference(&mut self, table: usize, columns: &[usize], values: Vec<Traced<'p>>, rows: u64) {
        let path = match access_path(&self.tables[table], columns) {
            Some(AccessPath::Key(_)) => Path::Key,
            Some(AccessPath::Index(index, _)) => Path::Lookup(index),
            None => Path::All,
        };
        let key = |&column: &usize| Key { column, is_equal: true, origin: Origin::Computed };
        let action = Action::Read {
            path,
            keys: columns.iter().map(key).collect(),
            is_for_change: false,
            is_ordered: false,
            is_reference: true,
        };
        let times = (rows > 1).then_some(rows);
        self.inner.extend(times);
        self.push(table, action, values, 1);
        self.inner.truncate(self.inner.len() - usize::from(times.is_some()));
    }

    /// Returns this statement's operation that has read the table's rows for change.
    fn read_for_change(&self, table: usize) -> Option<usize> {
        let is_it = |found: &Found<'_>| {
            found.statement == self.place.number
                && found.table == table
                && matches!(found.action, Action::Read { is_for_change: true, .. })
        };
        self.found.iter().rposition(is_it)
    }

    fn columns(&self, table: usize, operation: Option<usize>) -> Vec<Traced<'p>> {
        let column = |column| match operation {
            Some(operation) => Traced::Origin(Origin::Output { operation, column }),
            None => Traced::Origin(Origin::Computed),
        };
        (0..self.tables[table].columns.len()).map(column).collect()
    }

    /// Traces the sub plans of a node: uncorrelated ones come before the node, correlated ones
    /// after it.
    fn sub_plans(&mut self, node: &'p Node, levels: &Levels<'p>, correlated: bool) {
        let mut plans = Vec::new();
        node.for_each_expr(&mut |expr| {
            expr.visit(&mut |part| {
                if let ExprKind::SubPlan { plan, .. } = &part.kind {
                    plans.push(*plan);
                }
            });
        });
        let statement = self.statement;
        for plan in plans {
            let is_wanted =
                statement.sub_plans.get(plan).is_some_and(|sub| sub.is_correlated == correlated);
            if is_wanted && self.plans[plan].is_none() {
                self.inner.push(node.rows);
                self.plan(plan, levels);
                self.inner.pop();
            }
        }
    }

    fn plan(&mut self, plan: usize, levels: &Levels<'p>) -> Vec<Traced<'p>> {
        if let Some(Some(delivered)) = self.plans.get(plan) {
            return delivered.clone();
        }
        let statement = self.statement;
        let Some(sub) = statement.sub_plans.get(plan) else { return Vec::new() };
        let delivered = if sub.is_correlated {
            self.node(&sub.root, levels, u64::MAX)
        } else {
            let inner = std::mem::take(&mut self.inner);
            let delivered = self.node(&sub.root, &Levels::new(), u64::MAX);
            self.inner = inner;
            delivered
        };
        self.plans[plan] = Some(delivered.clone());
        delivered
    }

    fn scan(&mut self, scan: &'p Scan, around: &Levels<'p>, rows: u64) -> Vec<Traced<'p>> {
        let levels = within(around, Vec::new());
        let first = self.found.len();
        self.access(scan, &scan.access, None, &levels, rows);
        self.columns(scan.table, Some(first))
    }

    fn access(
        &mut self,
        scan: &'p Scan,
        access: &'p Access,
        array: Option<&'p Expr>,
        levels: &Levels<'p>,
        rows: u64,
    ) {
        let table = &self.tables[scan.table];
        let key = |columns: &[usize], values: &'p [Expr]| -> Vec<(usize, bool, &'p Expr)> {
            columns.iter().zip(values).map(|(column, value)| (*column, true, value)).collect()
        };
        let (path, keys) = match access {
            Access::Key(values) => (Path::Key, key(&table.primary_key, values)),
            Access::Lookup { index, key: values } => {
                (Path::Lookup(*index), key(&table.indexes[*index].columns, values))
            }
            Access::Range(Range { index, equal, low, high, .. }) => {
                let columns = match index {
                    Some(index) => &table.indexes[*index].columns,
                    None => &table.primary_key,
                };
                let mut keys = key(columns, equal);
                let next = columns.get(equal.len()).copied().unwrap_or_default();
                keys.extend(low.iter().chain(high).map(|bound| (next, false, &bound.value)));
                (Path::Range(*index), keys)
            }
            Access::Any(accesses) => {
                let count = accesses.len().max(1) as u64;
                for access in accesses {
                    self.access(scan, access, array, levels, (rows / count).max(1));
                }
                return;
            }
            Access::Each { array, access, .. } => {
                return self.access(scan, access, Some(array), levels, rows);
            }
            Access::All => (Path::All, Vec::new()),
        };
        let values = keys.iter().map(|(.., value)| self.value_in(value, levels, array)).collect();
        let keys = keys.iter().map(|(column, is_equal, _)| Key {
            column: *column,
            is_equal: *is_equal,
            origin: Origin::Computed,
        });
        let (is_for_change, is_ordered) = (scan.is_for_change, scan.is_ordered);
        let keys = keys.collect();
        let action = Action::Read { path, keys, is_for_change, is_ordered, is_reference: false };
        self.push(scan.table, action, values, rows);
        if let (Some(array), Some(found)) = (array, self.found.last_mut()) {
            let elements = value_of(array, levels, None, &self.plans);
            found.repeats.push((self.place.line, Count::Elements(elements)));
        }
    }

    fn value(&self, expr: &'p Expr, levels: &Levels<'p>) -> Traced<'p> {
        value_of(expr, levels, None, &self.plans)
    }

    fn value_in(&self, expr: &'p Expr, levels: &Levels<'p>, array: Option<&'p Expr>) -> Traced<'p> {
        value_of(expr, levels, array, &self.plans)
    }
}

fn within<'p>(around: &Levels<'p>, sources: Vec<Vec<Traced<'p>>>) -> Levels<'p> {
    std::iter::once(sources).chain(around.iter().cloned()).collect()
}

fn computed<'p>(count: usize) -> Vec<Traced<'p>> {
    vec![Traced::Origin(Origin::Computed); count]
}

/// Merges alternatives column by column.
fn either<'p>(delivered: Vec<Vec<Traced<'p>>>) -> Vec<Traced<'p>> {
    let width = delivered.iter().map(Vec::len).min().unwrap_or(0);
    (0..width)
        .map(|at| Traced::OneOf(delivered.iter().map(|one| one[at].clone()).collect()))
        .collect()
}

/// Returns the origin of a value. Casts preserve it, unless they truncate.
pub(super) fn value_of<'p>(
    expr: &'p Expr,
    levels: &Levels<'p>,
    array: Option<&'p Expr>,
    plans: &[Option<Vec<Traced<'p>>>],
) -> Traced<'p> {
    let value = |expr: &'p Expr| value_of(expr, levels, array, plans);
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Integer(_)
        | ExprKind::Number(_)
        | ExprKind::Text(_) => Traced::Origin(Origin::Constant),
        ExprKind::Variable(variable) => Traced::Variable(*variable, None),
        ExprKind::Field { variable, field } => Traced::Variable(*variable, Some(*field)),
        ExprKind::Column(column) => {
            let level = levels.get(column.level as usize);
            let found = level.and_then(|level| level.get(column.source)?.get(column.column));
            found.cloned().unwrap_or(Traced::Origin(Origin::Computed))
        }
        ExprKind::Cast { operand, kind } if *kind != CastKind::ThroughText => value(operand),
        ExprKind::Subscript { array, .. } => Traced::Element(Box::new(value(array))),
        ExprKind::Element => match array {
            Some(array) => Traced::Element(Box::new(value(array))),
            None => Traced::Origin(Origin::Computed),
        },
        ExprKind::Array(elements) => Traced::OneOf(elements.iter().map(value).collect()),
        ExprKind::Case { branches, otherwise } => {
            let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
            Traced::OneOf(results.map(value).collect())
        }
        ExprKind::SubPlan { kind: SubqueryKind::Scalar, plan } => {
            let delivered = plans.get(*plan).and_then(|delivered| delivered.as_ref()?.first());
            delivered.cloned().unwrap_or(Traced::Origin(Origin::Computed))
        }
        _ => Traced::Origin(Origin::Computed),
    }
}
