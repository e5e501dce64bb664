//! Builds the nodes of the chosen paths.

use crate::block::RelationKind;
use crate::error::{Result, refuse};
use crate::expression::column;
use crate::path::{Conditions, JoinPath, Path, PathKind};
use crate::place::{Columns, Frame};
use crate::planner::Planner;
use crate::window::windows;
use procedure::node::{
    Access, Bound, Join, JoinKind, JoinMethod, Node, Operator, Range, Scan, SubPlan,
};
use sql::SqlType;
use sql::expression::Expr;

/// Builds the nodes of a statement.
pub(crate) struct Builder<'b, 'a> {
    pub planner: &'b Planner<'a>,
    /// The sub plans so far.
    pub sub_plans: Vec<SubPlan>,
}

/// The outputs that a node delivers.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'w> {
    /// The columns of its relations that the statement uses.
    Columns,
    /// These expressions over its relations.
    Exprs(&'w [Expr]),
}

/// A node, and the columns that it delivers if they are those of relations.
pub(crate) type Built = (Node, Columns);

impl Builder<'_, '_> {
    /// Builds a path. `is_ordered` says whether a consumer relies on its order.
    pub fn path(
        &mut self,
        path: &Path,
        around: Option<&Frame<'_>>,
        wanted: Wanted<'_>,
        is_ordered: bool,
    ) -> Result<Built> {
        let rows = whole(path.rows);
        match &path.kind {
            PathKind::Scan { relation, access, filter } => {
                let parts = (*relation, access, filter);
                self.scan(parts, rows, around, wanted, is_ordered && !path.order.is_empty())
            }
            PathKind::Rows { relation, filter } => {
                self.rows(*relation, filter, rows, around, wanted)
            }
            PathKind::Join(join) => self.join(join, rows, around, wanted, is_ordered),
            PathKind::Single => {
                let frame = Frame::new(&[], around);
                let operator = Operator::Project { condition: None, filter: None, input: None };
                let outputs = match wanted {
                    Wanted::Columns => Vec::new(),
                    Wanted::Exprs(exprs) => self.place_all(&frame, exprs)?,
                };
                Ok((Node { operator, outputs, rows }, Columns::List(Vec::new())))
            }
        }
    }

    /// Builds a node whose expressions see these sources.
    pub fn finish(
        &mut self,
        (operator, rows): (Operator, u64),
        frame: &Frame<'_>,
        wanted: Wanted<'_>,
        columns: Vec<(usize, usize)>,
    ) -> Result<Built> {
        let outputs = match wanted {
            Wanted::Exprs(exprs) => self.place_all(frame, exprs)?,
            Wanted::Columns => {
                let own: Vec<Expr> =
                    columns.iter().map(|&(relation, at)| self.column(relation, at)).collect();
                self.place_all(frame, &own)?
            }
        };
        Ok((Node { operator, outputs, rows }, Columns::List(columns)))
    }

    pub fn column(&self, relation: usize, at: usize) -> Expr {
        column(relation, at, &self.planner.logical.relations[relation].types[at])
    }

    fn used(&self, relation: usize) -> Vec<(usize, usize)> {
        self.planner.used[relation].iter().map(|&at| (relation, at)).collect()
    }

    fn scan(
        &mut self,
        (relation, access, filter): (usize, &Access, &Conditions),
        rows: u64,
        around: Option<&Frame<'_>>,
        wanted: Wanted<'_>,
        is_ordered: bool,
    ) -> Result<Built> {
        let found = &self.planner.logical.relations[relation];
        let RelationKind::Table(table) = found.kind else {
            return refuse("only tables are scanned");
        };
        let (is_for_change, lock) = (found.is_for_change, found.lock);
        let mut access = access.clone();
        self.place_access(&Frame::new(&[], around), &mut access)?;
        let sources = [Columns::Whole(relation)];
        let frame = Frame::new(&sources, around);
        let filter = self.filter(&frame, filter)?;
        let scan = Scan { table, access, filter, is_ordered, is_for_change };
        let scanned =
            self.finish((Operator::Scan(scan), rows), &frame, wanted, self.used(relation))?;
        let Some(strength) = lock else { return Ok(scanned) };
        let (node, columns) = scanned;
        Ok((passing(|input| Operator::Lock { table, strength, input }, node), columns))
    }

    fn place_access(&mut self, frame: &Frame<'_>, access: &mut Access) -> Result<()> {
        match access {
            Access::Key(key) | Access::Lookup { key, .. } => {
                key.iter_mut().try_for_each(|value| self.place_in(frame, value))
            }
            Access::Range(Range { equal, low, high, .. }) => {
                for value in equal {
                    self.place_in(frame, value)?;
                }
                for Bound { value, .. } in low.iter_mut().chain(high) {
                    self.place_in(frame, value)?;
                }
                Ok(())
            }
            Access::Any(accesses) => {
                accesses.iter_mut().try_for_each(|access| self.place_access(frame, access))
            }
            Access::Each { array, access, .. } => {
                self.place_in(frame, array)?;
                self.place_access(frame, access)
            }
            Access::All => Ok(()),
        }
    }

    /// Builds the rows of a sub-select, of arrays or of a series.
    fn rows(
        &mut self,
        relation: usize,
        filter: &Conditions,
        rows: u64,
        around: Option<&Frame<'_>>,
        wanted: Wanted<'_>,
    ) -> Result<Built> {
        let found = &self.planner.logical.relations[relation];
        let sources = [Columns::Whole(relation)];
        let frame = Frame::new(&sources, around);
        let all: Vec<(usize, usize)> = (0..found.types.len()).map(|at| (relation, at)).collect();
        let kind = found.kind.clone();
        let operator = match &kind {
            RelationKind::Table(_) => return refuse("a table is not a sub-select"),
            RelationKind::Query(block) => {
                let below = self.block(*block, around)?;
                if filter.is_empty() && matches!(wanted, Wanted::Columns) {
                    return Ok((below, Columns::List(all)));
                }
                let filter = self.filter(&frame, filter)?;
                Operator::Project { condition: None, filter, input: Some(Box::new(below)) }
            }
            RelationKind::Windows(block, calls) => {
                let below = self.block(*block, around)?;
                let below = windows(below, calls);
                let filter = self.filter(&frame, filter)?;
                Operator::Project { condition: None, filter, input: Some(Box::new(below)) }
            }
            RelationKind::Unnest(arrays) => Operator::Unnest {
                arrays: self.place_all(&Frame::new(&[], around), arrays)?,
                filter: self.filter(&frame, filter)?,
            },
            RelationKind::Series(bounds) => Operator::Series {
                bounds: self.place_all(&Frame::new(&[], around), bounds)?,
                filter: self.filter(&frame, filter)?,
            },
            RelationKind::Recursive { number, first, step, keeps_all } => Operator::Recursive {
                number: *number,
                keeps_all: *keeps_all,
                width: found.types.len(),
                first: Box::new(self.block(*first, around)?),
                step: Box::new(self.block(*step, around)?),
                filter: self.filter(&frame, filter)?,
            },
            RelationKind::WorkTable(number) => Operator::WorkTable {
                number: *number,
                width: found.types.len(),
                filter: self.filter(&frame, filter)?,
            },
            RelationKind::Call(call) => Operator::Call {
                routine: call.routine.clone(),
                arguments: self.place_all(&Frame::new(&[], around), &call.arguments)?,
                is_volatile: call.is_volatile,
                is_value: call.is_value,
                width: found.types.len(),
                filter: self.filter(&frame, filter)?,
            },
        };
        self.finish((operator, rows), &frame, wanted, all)
    }

    fn join(
        &mut self,
        join: &JoinPath,
        rows: u64,
        around: Option<&Frame<'_>>,
        wanted: Wanted<'_>,
        is_ordered: bool,
    ) -> Result<Built> {
        let (outer, of_outer) = self.path(&join.outer, around, Wanted::Columns, is_ordered)?;
        let outer_columns = [of_outer];
        let inside = Frame::new(&outer_columns, around);
        let inner_around = if join.pairs.is_none() { Some(&inside) } else { around };
        let (inner, of_inner) = self.path(&join.inner, inner_around, Wanted::Columns, false)?;
        let [of_outer] = outer_columns;
        let mut columns = list(&of_outer);
        if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
            columns.extend(list(&of_inner));
        }
        let sources = [of_outer, of_inner];
        let frame = Frame::new(&sources, around);
        let method = match &join.pairs {
            None => JoinMethod::NestedLoop,
            Some(pairs) => {
                let mut placed = Vec::with_capacity(pairs.len());
                for (outer, inner) in pairs {
                    placed.push((self.place(&frame, outer)?, self.place(&frame, inner)?));
                }
                JoinMethod::Equal { pairs: placed, is_ordered }
            }
        };
        let join_filter = self.filter(&frame, &join.join_filter)?;
        let filter = self.filter(&frame, &join.filter)?;
        let (outer, inner) = (Box::new(outer), Box::new(inner));
        let kind = join.kind;
        let operator = Operator::Join(Join { method, kind, join_filter, filter, outer, inner });
        self.finish((operator, rows), &frame, wanted, columns)
    }
}

fn list(columns: &Columns) -> Vec<(usize, usize)> {
    match columns {
        Columns::List(list) => list.clone(),
        Columns::Whole(_) => Vec::new(),
    }
}

/// An estimate as a whole number of rows, at least one.
pub(crate) fn whole(rows: f64) -> u64 {
    rows.round().clamp(1.0, 1e18) as u64
}

/// A node that passes its input's columns on.
pub(crate) fn passing(operator: impl FnOnce(Box<Node>) -> Operator, input: Node) -> Node {
    let types: Vec<SqlType> = input.outputs.iter().map(|output| output.sql_type.clone()).collect();
    let rows = input.rows;
    Node { operator: operator(Box::new(input)), outputs: crate::place::passed(&types), rows }
}
