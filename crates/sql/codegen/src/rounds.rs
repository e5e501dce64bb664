//! Loops whose iterations run in lockstep: the next reads of all iterations are batched, so that
//! the loop takes as many round trips as one iteration.
//!
//! Lockstep does not change the result of a procedure, because such a loop must meet some
//! conditions. In tables that the loop changes, each iteration finds rows by keys that have the
//! iteration's number in the same column, so that no iteration sees another's rows. Rows of the
//! result are returned after the last read, in iteration order; variables that carry over from one
//! iteration to the next, or after the loop, are also read and assigned only there. An iteration
//! can end early only with an error: if one is raised before that point, the call deviates, and the
//! executor determines which error comes first.
//!
//! Decision: docs/decisions/0238-rounds-of-a-loop-run-side-by-side-where-they-are-independent.md

use crate::ahead::assignments;
use crate::chain::Chain;
use crate::flow::{expressions, wanted};
use crate::found;
use crate::function::Function;
use crate::steps::Next;
use procedure::node::{Access, Node, Operator, Scan};
use sql::SqlType;
use sql::expression::{Expr, ExprKind};
use sql::procedure::{Block, Over, ParameterMode, Returns, Sql, Statement, StatementKind, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of iterations: the state that they keep between two reads is on the stack.
const ROUNDS_MAX: i64 = 32;

/// The loops that run in lockstep, and the state of printing one.
#[derive(Clone, Debug, Default)]
pub struct Rounds<'a> {
    /// By loop variable.
    pub loops: BTreeMap<usize, Vec<Reading<'a>>>,
    /// The read at which the current step ends, while a loop is being printed.
    pub next: Option<Next<'a>>,
    /// Whether a loop is being printed, and its last read has not been reached.
    pub is_inside: bool,
}

/// A statement that reads rows.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    pub statement: u32,
    /// The table that it changes.
    changed: Option<usize>,
    /// The plan of its rows.
    pub chain: Chain<'a>,
    /// Whether it takes only the first row.
    pub takes_first: bool,
}

impl Reading<'_> {
    /// Whether it finds a single row by its key, instead of a range.
    pub fn is_by_key(&self) -> bool {
        matches!(self.chain.scan.access, Access::Key(_))
    }
}

/// The path through an iteration, as far as it has been followed.
#[derive(Default)]
struct IterationPath<'a> {
    readings: Vec<Reading<'a>>,
    /// Whether rows were returned on it.
    has_given: bool,
    /// Variables that are read or assigned before the rows of the last read are available.
    early: BTreeSet<usize>,
    /// Variables that are read or assigned after that.
    late: BTreeSet<usize>,
}

impl<'a> Function<'a> {
    /// Finds loops of the outermost block whose iterations can run in lockstep.
    pub fn survey_rounds(&mut self, block: &'a Block) {
        for (at, statement) in block.statements.iter().enumerate() {
            let StatementKind::Loop { label: None, over, body } = &statement.kind else { continue };
            let Some((variable, ..)) = bounds(over) else { continue };
            let behind = &block.statements[at + 1..];
            if let Some(readings) = self.readings_of(variable, body, behind) {
                self.rounds.loops.insert(variable, readings);
            }
        }
    }

    /// Returns the reads of a loop if its iterations can run in lockstep; `behind` are the
    /// statements after it.
    fn readings_of(
        &self,
        variable: usize,
        body: &'a [Statement],
        behind: &[Statement],
    ) -> Option<Vec<Reading<'a>>> {
        let mut path = IterationPath::default();
        let has_path = self.gather(body, &mut path);
        let IterationPath { readings, early, .. } = path;
        let mut assigned = BTreeSet::new();
        assignments(body, &mut assigned);
        let carried = self.carried(body).chain(self.read_after(behind));
        let is_carried_early =
            carried.into_iter().any(|of| assigned.contains(&of) && early.contains(&of));
        let is_possible = has_path
            && !readings.is_empty()
            && !is_carried_early
            && !assigned.contains(&variable)
            && self.found().is_none();
        let round = Round { variable, body };
        let mut changed = readings.iter().filter_map(|reading| reading.changed);
        // Checked last: a carried variable could be copied in a cycle.
        let are_disjoint = is_possible
            && changed.all(|table| {
                let key = self.table(table).schema.key();
                (0..key.len()).any(|column| round.differs_by_iteration(table, column, &readings))
            });
        are_disjoint.then_some(readings)
    }

    /// Lists the variables that an iteration reads before it assigns them.
    pub fn carried(&self, body: &[Statement]) -> impl Iterator<Item = usize> {
        wanted(self.procedure, body).into_iter().map(|(variable, _)| variable)
    }

    /// Returns the variables that are read after a loop before these statements assign them.
    fn read_after(&self, behind: &[Statement]) -> BTreeSet<usize> {
        let routine = &self.procedure.routine;
        let mut all: BTreeSet<usize> = self.carried(behind).collect();
        if !matches!(routine.returns, Returns::Rows(_)) {
            let outputs = routine.parameters.iter().filter(|p| p.mode != ParameterMode::In);
            all.extend(outputs.map(|output| output.variable));
        }
        all
    }

    /// Returns the variables that statements read or assign.
    fn touched(&self, statements: &[Statement]) -> BTreeSet<usize> {
        let mut all: BTreeSet<usize> = self.carried(statements).collect();
        assignments(statements, &mut all);
        all
    }

    /// Follows the path through an iteration, and collects its reads.
    fn gather(&self, statements: &'a [Statement], path: &mut IterationPath<'a>) -> bool {
        let mut at = 0;
        while let Some(statement) = statements.get(at) {
            at += 1;
            let Some(reading) = self.reading(statement) else {
                if !self.only_uses_variables(std::slice::from_ref(statement), path) {
                    return false;
                }
                continue;
            };
            if path.has_given || self.ahead.place(reading.statement).is_some() {
                return false;
            }
            path.early.append(&mut path.late);
            path.early.extend(self.variables_of(reading.statement));
            assignments(std::slice::from_ref(statement), &mut path.late);
            path.readings.push(reading);
            if let StatementKind::Loop { body, .. } = &statement.kind {
                if !self.only_uses_variables(body, path) {
                    return false;
                }
                continue;
            }
            let test =
                statements.get(at).and_then(|next| found::test(&self.procedure.routine, next));
            let Some(test) = test else { continue };
            at += 1;
            if gives(test.absent) || !self.only_uses_variables(test.absent, path) {
                return false;
            }
            if self.only_uses_variables(test.present, path) {
                continue;
            }
            // The branch contains the rest of the iteration.
            return at == statements.len() && self.gather(test.present, path);
        }
        true
    }

    /// Follows statements that only use variables; returns whether all do.
    fn only_uses_variables(&self, statements: &[Statement], path: &mut IterationPath<'a>) -> bool {
        if !statements.iter().all(is_plain) {
            return false;
        }
        path.has_given |= gives(statements);
        path.late.append(&mut self.touched(statements));
        true
    }

    /// Returns the variables that the plan of a statement reads.
    fn variables_of(&self, statement: u32) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        let Some(planned) = self.procedure.statements.get(statement as usize - 1) else {
            return all;
        };
        let mut note = |part: &Expr| match part.kind {
            ExprKind::Variable(variable) | ExprKind::Field { variable, .. } => {
                all.insert(variable);
            }
            _ => {}
        };
        expressions(planned, &mut |expr| expr.visit(&mut note));
        all
    }

    /// Returns the read of a statement that finds rows of one table by a key or a range.
    fn reading(&self, statement: &'a Statement) -> Option<Reading<'a>> {
        let sql = sql_of(statement)?;
        let procedure: &'a procedure::Procedure = self.procedure;
        let planned = procedure.statements.get(sql.number as usize - 1)?;
        let (changed, node): (_, &'a Node) = match &planned.root.operator {
            Operator::Update(update) => (Some(update.table), &update.input),
            Operator::Delete(delete) => (Some(delete.table), &delete.input),
            _ => (None, &planned.root),
        };
        let chain = Chain::of(node)?;
        let is_found = match &chain.scan.access {
            Access::Key(_) => chain.is_single(),
            Access::Range(_) => true,
            _ => false,
        };
        let takes_first = matches!(&statement.kind, StatementKind::Sql { .. })
            && matches!(&sql.query, sql::query::Query::Select(_))
            && chain.filter_behind().is_none();
        // Other iterations may change the rows that foreign key checks read.
        let is_wanted =
            is_found && planned.sub_plans.is_empty() && !self.looks_for_any(&planned.root);
        is_wanted.then_some(Reading { statement: sql.number, changed, chain, takes_first })
    }
}

/// Returns the variable and the bounds of a loop with few iterations.
pub fn bounds(over: &Over) -> Option<(usize, i64, i64)> {
    let Over::Range { variable, from, to, by: None, reverse: false } = over else { return None };
    let (ExprKind::Integer(from), ExprKind::Integer(to)) = (&from.expr.kind, &to.expr.kind) else {
        return None;
    };
    (1..ROUNDS_MAX).contains(&to.checked_sub(*from)?).then_some((*variable, *from, *to))
}

/// Returns the SQL statement that finds the rows of a statement.
pub fn sql_of(statement: &Statement) -> Option<&Sql> {
    match &statement.kind {
        StatementKind::Sql { sql, .. } | StatementKind::Perform(sql) => Some(sql),
        StatementKind::Loop { label: None, over: Over::Rows { sql, .. }, .. } => Some(sql),
        _ => None,
    }
}

/// Whether a statement only uses variables, and control continues after it unless it ends the call.
fn is_plain(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Assign { .. }
        | StatementKind::ReturnNext(None)
        | StatementKind::Raise(_)
        | StatementKind::Nothing => true,
        StatementKind::If { branches, otherwise } => {
            branches.iter().all(|(_, inside)| inside.iter().all(is_plain))
                && otherwise.iter().all(is_plain)
        }
        _ => false,
    }
}

/// Whether statements return rows.
fn gives(statements: &[Statement]) -> bool {
    crate::body::any(statements, &|kind| matches!(kind, StatementKind::ReturnNext(_)))
}

/// An iteration of a loop.
struct Round<'a> {
    variable: usize,
    body: &'a [Statement],
}

impl Round<'_> {
    /// Whether all reads of a table have the iteration's number in this column of its primary key.
    fn differs_by_iteration(&self, table: usize, column: usize, readings: &[Reading<'_>]) -> bool {
        let scans = readings.iter().map(|reading| reading.chain.scan);
        scans.filter(|scan| scan.table == table).all(|scan| self.is_of_round(scan, column))
    }

    fn is_of_round(&self, scan: &Scan, column: usize) -> bool {
        let values = match &scan.access {
            Access::Key(values) => values,
            Access::Range(range) if range.index.is_none() => &range.equal,
            _ => return false,
        };
        values.get(column).is_some_and(|value| self.is_number(value))
    }

    /// Whether a value is the iteration's number, and so differs between iterations.
    fn is_number(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Variable(variable) => *variable == self.variable || self.is_copy(*variable),
            ExprKind::Cast { operand, .. } => {
                let is_whole =
                    |of: &SqlType| matches!(of, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
                is_whole(&value.sql_type) && is_whole(&operand.sql_type) && self.is_number(operand)
            }
            _ => false,
        }
    }

    /// Whether a variable is assigned only the iteration's number.
    fn is_copy(&self, variable: usize) -> bool {
        let mut copies = 0;
        for statement in self.body {
            let mut assigned = BTreeSet::new();
            assignments(std::slice::from_ref(statement), &mut assigned);
            if !assigned.contains(&variable) {
                continue;
            }
            match &statement.kind {
                StatementKind::Assign { target: Target::Variable(_), value }
                    if !names(&value.expr, variable) && self.is_number(&value.expr) =>
                {
                    copies += 1;
                }
                _ => return false,
            }
        }
        copies == 1
    }
}

/// Whether an expression contains a variable.
fn names(expr: &Expr, variable: usize) -> bool {
    let mut found = false;
    expr.visit(&mut |part| found |= part.kind == ExprKind::Variable(variable));
    found
}
