//! `INSERT`, `UPDATE` and `DELETE`.

use crate::block::{Item, List, RelationKind};
use crate::build::{Builder, Wanted};
use crate::convert::{Converter, Meaning};
use crate::error::{Result, refuse};
use crate::join_order::Solver;
use crate::path::{Conditions, Path, PathKind};
use crate::place::{Columns, Frame, passed};
use crate::planner::Planner;
use crate::problem::Problem;
use crate::upper::Joined;
use procedure::node::{ConflictUpdate, Delete, Insert, Node, Operator, Update};
use sql::Catalog;
use sql::expression::{Expr, ExprKind};
use sql::query::{self, InsertSource, OnConflict};
use std::rc::Rc;

/// A statement that changes a table, in the planner's form.
pub(crate) struct Change {
    /// Position of the table in the catalog.
    table: usize,
    /// The changed table as a relation; of an insert, the inserted row.
    target: usize,
    kind: ChangeKind,
    returning: Vec<Expr>,
    conflict: Option<Conflict>,
}

/// The update of a row whose key an insert meets.
struct Conflict {
    /// The row to be inserted, as a relation.
    excluded: usize,
    index: Option<usize>,
    assignments: Vec<(usize, Expr)>,
    filter: Option<Expr>,
}

enum ChangeKind {
    /// One row of values.
    Row {
        values: Vec<Expr>,
        ignores_duplicates: bool,
    },
    /// Several rows of values.
    Rows {
        rows: Vec<Vec<Expr>>,
        ignores_duplicates: bool,
    },
    /// The rows of a block; the values are over its columns.
    Block {
        block: usize,
        values: Vec<Expr>,
        ignores_duplicates: bool,
    },
    Update {
        from: List,
        assignments: Vec<(usize, Expr)>,
    },
    Delete {
        from: List,
    },
}

impl Change {
    /// The expressions outside blocks.
    pub fn exprs(&self) -> Vec<&Expr> {
        let mut exprs: Vec<&Expr> = self.returning.iter().collect();
        if let Some(conflict) = &self.conflict {
            exprs.extend(conflict.assignments.iter().map(|(_, value)| value));
            exprs.extend(&conflict.filter);
        }
        match &self.kind {
            ChangeKind::Row { values, .. } => exprs.extend(values),
            ChangeKind::Rows { rows, .. } => exprs.extend(rows.iter().flatten()),
            ChangeKind::Block { .. } => {}
            ChangeKind::Update { from, assignments } => {
                exprs.extend(assignments.iter().map(|(_, value)| value));
                from.for_each_expr(&mut |expr| exprs.push(expr));
            }
            ChangeKind::Delete { from } => from.for_each_expr(&mut |expr| exprs.push(expr)),
        }
        exprs
    }

    /// The joins that find the rows to change.
    pub fn joins_mut(&mut self) -> Option<&mut List> {
        match &mut self.kind {
            ChangeKind::Update { from, .. } | ChangeKind::Delete { from } => Some(from),
            _ => None,
        }
    }
}

/// The default of a column.
fn default_of(catalog: &Catalog, table: usize, column: usize) -> Expr {
    let column = &catalog.tables[table].columns[column];
    let null = || Expr { kind: ExprKind::Null, sql_type: column.sql_type.clone() };
    column.default.clone().unwrap_or_else(null)
}

impl Converter {
    fn target(&mut self, catalog: &Catalog, table: usize) -> Result<usize> {
        let fields = catalog.tables[table].all_fields();
        let types = fields.into_iter().map(|field| field.sql_type).collect();
        self.relation(RelationKind::Table(table), types)
    }

    fn returning(&mut self, outputs: &[query::Output]) -> Result<Vec<Expr>> {
        outputs.iter().map(|output| self.expr(&output.expr)).collect()
    }

    pub fn insert(&mut self, catalog: &Catalog, insert: &query::Insert) -> Result<Change> {
        let table = insert.table;
        let schema = &catalog.tables[table];
        let target = self.target(catalog, table)?;
        let ignores_duplicates = match &insert.on_conflict {
            None | Some(OnConflict::DoUpdate(_)) => false,
            Some(OnConflict::DoNothing { columns }) => {
                let keys = usize::from(!schema.primary_key.is_empty());
                let keys = keys + schema.indexes.iter().filter(|index| index.unique).count();
                if !columns.is_empty() && keys > 1 {
                    return refuse(
                        "ON CONFLICT names one of several unique keys; leave out its columns, or look up the row first",
                    );
                }
                true
            }
        };
        let place = |at: usize| insert.columns.iter().position(|column| *column == at);
        let columns = 0..schema.columns.len();
        let kind = match &insert.source {
            InsertSource::Values(rows) => {
                let row = |given: &Vec<Option<Expr>>| -> Vec<Expr> {
                    let value =
                        |at| place(at).and_then(|place| given.get(place).cloned().flatten());
                    columns
                        .clone()
                        .map(|at| value(at).unwrap_or_else(|| default_of(catalog, table, at)))
                        .collect()
                };
                let rows: Vec<Vec<Expr>> = rows.iter().map(row).collect();
                let mut rows = self.within(Vec::new(), |converter| {
                    rows.iter().map(|row| converter.exprs(row)).collect::<Result<Vec<_>>>()
                })?;
                match rows.len() {
                    1 => ChangeKind::Row { values: rows.remove(0), ignores_duplicates },
                    _ => ChangeKind::Rows { rows, ignores_duplicates },
                }
            }
            InsertSource::Select(select, conversions) => {
                let block = self.select(select)?;
                let value = |at| match place(at).and_then(|place| conversions.get(place)) {
                    Some(conversion) => conversion.clone(),
                    None => default_of(catalog, table, at),
                };
                let values = columns.map(value).collect();
                ChangeKind::Block { block, values, ignores_duplicates }
            }
        };
        let sources = vec![Meaning::Relation(target)];
        let returning = self.within(sources, |c| c.returning(&insert.returning))?;
        let conflict = match &insert.on_conflict {
            Some(OnConflict::DoUpdate(update)) => {
                Some(self.conflict(catalog, (table, target), update)?)
            }
            _ => None,
        };
        Ok(Change { table, target, kind, returning, conflict })
    }

    fn conflict(
        &mut self,
        catalog: &Catalog,
        (table, target): (usize, usize),
        update: &query::ConflictUpdate,
    ) -> Result<Conflict> {
        let excluded = self.target(catalog, table)?;
        let schema = &catalog.tables[table];
        let is_key = |key: &[usize]| {
            key.len() == update.columns.len() && key.iter().all(|one| update.columns.contains(one))
        };
        let index = match is_key(&schema.primary_key) {
            true => None,
            false => schema.indexes.iter().position(|one| one.unique && is_key(&one.columns)),
        };
        let sources = vec![Meaning::Relation(target), Meaning::Relation(excluded)];
        self.within(sources, |converter| {
            let assignments = converter.assignments(catalog, table, &update.assignments)?;
            let filter = update.filter.as_ref().map(|filter| converter.expr(filter)).transpose()?;
            Ok(Conflict { excluded, index, assignments, filter })
        })
    }

    /// The assigned columns with their values; `DEFAULT` is the column's default.
    fn assignments(
        &mut self,
        catalog: &Catalog,
        table: usize,
        assigned: &[(usize, Option<Expr>)],
    ) -> Result<Vec<(usize, Expr)>> {
        let value = |(column, value): &(usize, Option<Expr>)| {
            let value = match value {
                Some(value) => self.expr(value)?,
                None => default_of(catalog, table, *column),
            };
            Ok((*column, value))
        };
        assigned.iter().map(value).collect()
    }

    pub fn update(&mut self, catalog: &Catalog, update: &query::Update) -> Result<Change> {
        let table = update.table;
        let (target, sources, mut from) =
            self.changed((catalog, table), &update.sources, &update.joins)?;
        self.within(sources, |converter| {
            converter.joined(&mut from, &update.joins, update.filter.as_ref())?;
            let mut assignments = converter.assignments(catalog, table, &update.assignments)?;
            assignments.sort_by_key(|(column, _)| *column);
            let returning = converter.returning(&update.returning)?;
            let kind = ChangeKind::Update { from, assignments };
            Ok(Change { table, target, kind, returning, conflict: None })
        })
    }

    pub fn delete(&mut self, catalog: &Catalog, delete: &query::Delete) -> Result<Change> {
        let table = delete.table;
        let (target, sources, mut from) =
            self.changed((catalog, table), &delete.sources, &delete.joins)?;
        self.within(sources, |converter| {
            converter.joined(&mut from, &delete.joins, delete.filter.as_ref())?;
            let returning = converter.returning(&delete.returning)?;
            let kind = ChangeKind::Delete { from };
            Ok(Change { table, target, kind, returning, conflict: None })
        })
    }

    /// Converts the changed table, source 0, and the sources after it.
    fn changed(
        &mut self,
        (catalog, table): (&Catalog, usize),
        sources: &[query::From],
        joins: &[query::Join],
    ) -> Result<(usize, Vec<Meaning>, List)> {
        let target = self.target(catalog, table)?;
        self.logical.relations[target].is_for_change = true;
        let (mut meanings, mut from) = self.changed_sources(sources, joins)?;
        meanings[0] = Meaning::Relation(target);
        from.items.insert(0, Item::Relation(target));
        Ok((target, meanings, from))
    }

    fn joined(
        &mut self,
        from: &mut List,
        joins: &[query::Join],
        filter: Option<&Expr>,
    ) -> Result<()> {
        // The changed table is the first item; the joins are the others.
        let target = from.items.remove(0);
        self.join_conditions(from, joins)?;
        from.items.insert(0, target);
        let added = self.conjuncts(filter)?;
        from.filter.extend(added);
        Ok(())
    }
}

/// The joins that find the rows to change.
struct Found {
    path: Rc<Path>,
    problem: Problem,
}

impl Builder<'_, '_> {
    /// Builds a statement that changes a table.
    pub fn change(&mut self, change: &Change) -> Result<Node> {
        let own = [Columns::Whole(change.target)];
        let frame = Frame::new(&own, None);
        match &change.kind {
            ChangeKind::Row { values, ignores_duplicates } => {
                let frame_of_values = Frame::new(&[], None);
                let values = self.place_all(&frame_of_values, values)?;
                let types: Vec<_> = values.iter().map(|value| value.sql_type.clone()).collect();
                let operator = Operator::Project { condition: None, filter: None, input: None };
                let input = Node { operator, outputs: values, rows: 1 };
                self.insert(change, (passed(&types), *ignores_duplicates), input, &frame)
            }
            ChangeKind::Rows { rows, ignores_duplicates } => {
                let frame_of_values = Frame::new(&[], None);
                let placed = rows.iter().map(|row| self.place_all(&frame_of_values, row));
                let rows = placed.collect::<Result<Vec<_>>>()?;
                let fields = self.planner.catalog.tables[change.table].all_fields();
                let types: Vec<_> = fields.into_iter().map(|field| field.sql_type).collect();
                let count = rows.len() as u64;
                let operator = Operator::Values { rows, filter: None };
                let input = Node { operator, outputs: passed(&types), rows: count };
                self.insert(change, (passed(&types), *ignores_duplicates), input, &frame)
            }
            ChangeKind::Block { block, values, ignores_duplicates } => {
                let input = self.block(*block, None)?;
                self.insert(change, (values.clone(), *ignores_duplicates), input, &frame)
            }
            ChangeKind::Update { from, assignments } => {
                let (input, columns) = self.found(from)?;
                let sources = [Columns::Whole(change.target), columns];
                let frame = Frame::new(&sources, None);
                let mut placed = Vec::with_capacity(assignments.len());
                for (column, value) in assignments {
                    placed.push((*column, self.place(&frame, value)?));
                }
                let outputs = self.place_all(&frame, &change.returning)?;
                let rows = input.rows;
                let (table, input) = (change.table, Box::new(input));
                let update = Update { table, assignments: placed, input };
                Ok(Node { operator: Operator::Update(update), outputs, rows })
            }
            ChangeKind::Delete { from } => {
                let (input, columns) = self.found(from)?;
                let sources = [Columns::Whole(change.target), columns];
                let outputs = self.place_all(&Frame::new(&sources, None), &change.returning)?;
                let rows = input.rows;
                let delete = Delete { table: change.table, input: Box::new(input) };
                Ok(Node { operator: Operator::Delete(delete), outputs, rows })
            }
        }
    }

    fn insert(
        &mut self,
        change: &Change,
        (values, ignores_duplicates): (Vec<Expr>, bool),
        input: Node,
        frame: &Frame<'_>,
    ) -> Result<Node> {
        let outputs = self.place_all(frame, &change.returning)?;
        let rows = input.rows;
        let (table, input) = (change.table, Box::new(input));
        let update = match &change.conflict {
            None => None,
            Some(conflict) => {
                let own = [Columns::Whole(change.target), Columns::Whole(conflict.excluded)];
                let frame = Frame::new(&own, None);
                let mut assignments = Vec::with_capacity(conflict.assignments.len());
                for (column, value) in &conflict.assignments {
                    assignments.push((*column, self.place(&frame, value)?));
                }
                let filter = conflict.filter.as_ref();
                let filter = filter.map(|filter| self.place(&frame, filter)).transpose()?;
                Some(Box::new(ConflictUpdate { index: conflict.index, assignments, filter }))
            }
        };
        let insert = Insert { table, values, ignores_duplicates, update, input };
        Ok(Node { operator: Operator::Insert(insert), outputs, rows })
    }

    /// Builds the joins that find the rows to change.
    fn found(&mut self, from: &List) -> Result<(Node, Columns)> {
        let planner = self.planner;
        let Found { path, problem } = planner.targets(from)?;
        let is_scan = matches!(path.kind, PathKind::Scan { .. });
        // The columns of a single table are read from the current row.
        if is_scan && problem.gates.is_empty() && problem.volatile.is_empty() {
            let (node, _) = self.path(&path, None, Wanted::Exprs(&[]), false)?;
            return Ok((node, Columns::List(Vec::new())));
        }
        let Problem { gates, volatile, .. } = &problem;
        let joined = Joined { path: &path, gates, volatile, is_sorted: false };
        self.joined(&joined, None, Wanted::Columns, false)
    }
}

impl Planner<'_> {
    fn targets(&self, from: &List) -> Result<Found> {
        let mut best: Option<Found> = None;
        for problem in self.problems(from) {
            let paths = Solver::solve(self, &problem, &[], &Conditions::new());
            let Some(path) = crate::path::cheapest(&paths).cloned() else { continue };
            if best.as_ref().is_none_or(|best| path.cost < best.path.cost) {
                best = Some(Found { path, problem });
            }
        }
        match best {
            Some(found) => Ok(found),
            None => refuse("no plan was found for the rows to change"),
        }
    }

    /// The cost of a change's input.
    pub(crate) fn change_cost(&self, change: &Change) -> f64 {
        match &change.kind {
            ChangeKind::Row { values, .. } => self.costs.round_trip + self.evaluation_of(values),
            ChangeKind::Rows { rows, .. } => {
                rows.len() as f64 * self.costs.round_trip
                    + self.evaluation_of(rows.iter().flatten())
            }
            ChangeKind::Block { block, .. } => {
                let plan = self.plan(*block);
                plan.cost + plan.rows * self.costs.round_trip
            }
            ChangeKind::Update { from, .. } | ChangeKind::Delete { from } => {
                self.targets(from).map_or(f64::INFINITY, |found| {
                    found.path.cost + found.path.rows * self.costs.round_trip
                })
            }
        }
    }
}
