//! Loops whose rounds go side by side: what all rounds read next is read together, so that a loop takes as many round trips as
//! one of its rounds.
//!
//! That changes nothing of what a procedure does, because of what is asked of such a loop. Each round finds the rows of tables
//! that the loop changes by keys that have the number of the round in the same column, so that no round looks at another's
//! rows. No variable goes from one round to the next, or behind the loop. Rows of the result are given behind the last reading,
//! in the order of the rounds. And what ends a round early is an error: where one is raised, the call deviates, and the executor
//! finds out which is the first.

use crate::ahead::assignments;
use crate::chain::Chain;
use crate::flow::wanted;
use crate::found;
use crate::function::Function;
use crate::steps::Next;
use procedure::node::{Access, Node, Operator, Scan};
use sql::SqlType;
use sql::expression::{Expr, ExprKind};
use sql::procedure::{Block, Over, ParameterMode, Returns, Sql, Statement, StatementKind, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Most rounds: what they keep from one reading to the next is on the stack.
const ROUNDS_MAX: i64 = 32;

/// Which loops go side by side, and how far their printing has come.
#[derive(Clone, Debug, Default)]
pub struct Rounds<'a> {
    /// By the variables that count their rounds.
    pub loops: BTreeMap<usize, Vec<Reading<'a>>>,
    /// What is printed up to, while one of them is.
    pub next: Option<Next<'a>>,
    /// Whether one of them is printed.
    pub is_inside: bool,
}

/// A statement that finds rows.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// Its number.
    pub statement: u32,
    /// What it changes.
    changed: Option<usize>,
    /// The plan of its rows.
    pub chain: Chain<'a>,
    /// Whether it takes the first row alone.
    pub takes_first: bool,
}

impl Reading<'_> {
    /// Whether it finds one row by its key, and not those of a range.
    pub fn is_by_key(&self) -> bool {
        matches!(self.chain.scan.access, Access::Key(_))
    }
}

impl<'a> Function<'a> {
    /// Finds loops of the outermost block whose rounds can go side by side.
    pub fn survey_rounds(&mut self, block: &'a Block) {
        for (at, statement) in block.statements.iter().enumerate() {
            let StatementKind::Loop { label: None, over, body } = &statement.kind else { continue };
            let Some((variable, ..)) = bounds(over) else { continue };
            if let Some(readings) = self.readings_of(variable, body)
                && !self.is_asked_for(body, &block.statements[at + 1..])
            {
                self.rounds.loops.insert(variable, readings);
            }
        }
    }

    /// The readings of a loop whose rounds can go side by side.
    fn readings_of(&self, variable: usize, body: &'a [Statement]) -> Option<Vec<Reading<'a>>> {
        let mut readings = Vec::new();
        let mut has_given = false;
        let has_way = self.gather(body, &mut readings, &mut has_given);
        let mut assigned = BTreeSet::new();
        assignments(body, &mut assigned);
        let is_carried =
            wanted(self.procedure, body).iter().any(|(wanted, _)| assigned.contains(wanted));
        let is_possible = has_way
            && !readings.is_empty()
            && !is_carried
            && !assigned.contains(&variable)
            && self.found().is_none();
        let round = Round { variable, body };
        let mut changed = readings.iter().filter_map(|reading| reading.changed);
        // Asked for last: what is carried could be copied in a circle.
        let are_apart = is_possible
            && changed.all(|table| {
                let key = self.table(table).schema.key();
                (0..key.len()).any(|column| round.tells_apart(table, column, &readings))
            });
        are_apart.then_some(readings)
    }

    /// Whether what a loop assigns is asked for behind it.
    fn is_asked_for(&self, body: &[Statement], behind: &[Statement]) -> bool {
        let routine = &self.procedure.routine;
        let mut assigned = BTreeSet::new();
        assignments(body, &mut assigned);
        let is_given = !matches!(routine.returns, Returns::Rows(_))
            && routine
                .parameters
                .iter()
                .any(|p| p.mode != ParameterMode::In && assigned.contains(&p.variable));
        let mut wanted = wanted(self.procedure, behind).into_iter();
        is_given || wanted.any(|(variable, _)| assigned.contains(&variable))
    }

    /// Follows the one way through a round, and gathers its readings. `has_given` says whether rows were given on it.
    fn gather(
        &self,
        statements: &'a [Statement],
        readings: &mut Vec<Reading<'a>>,
        has_given: &mut bool,
    ) -> bool {
        let mut at = 0;
        while let Some(statement) = statements.get(at) {
            at += 1;
            let Some(reading) = self.reading(statement) else {
                if !is_plain(statement) {
                    return false;
                }
                *has_given |= gives(std::slice::from_ref(statement));
                continue;
            };
            if *has_given || self.ahead.place(reading.statement).is_some() {
                return false;
            }
            readings.push(reading);
            if let StatementKind::Loop { body, .. } = &statement.kind {
                if !body.iter().all(is_plain) {
                    return false;
                }
                *has_given |= gives(body);
                continue;
            }
            let test =
                statements.get(at).and_then(|next| found::test(&self.procedure.routine, next));
            let Some(test) = test else { continue };
            at += 1;
            if !test.absent.iter().all(is_plain) || gives(test.absent) {
                return false;
            }
            if test.present.iter().all(is_plain) {
                *has_given |= gives(test.present);
                continue;
            }
            // What is left of the round is in there.
            return at == statements.len() && self.gather(test.present, readings, has_given);
        }
        true
    }

    /// A statement that finds rows of one table by a key or a range.
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
        let is_wanted = is_found && planned.sub_plans.is_empty();
        is_wanted.then_some(Reading { statement: sql.number, changed, chain, takes_first })
    }
}

/// The variable and the bounds of a loop with few rounds.
pub fn bounds(over: &Over) -> Option<(usize, i64, i64)> {
    let Over::Range { variable, from, to, by: None, reverse: false } = over else { return None };
    let (ExprKind::Integer(from), ExprKind::Integer(to)) = (&from.expr.kind, &to.expr.kind) else {
        return None;
    };
    (1..ROUNDS_MAX).contains(&to.checked_sub(*from)?).then_some((*variable, *from, *to))
}

/// The statement of SQL that finds the rows of a statement.
pub fn sql_of(statement: &Statement) -> Option<&Sql> {
    match &statement.kind {
        StatementKind::Sql { sql, .. } | StatementKind::Perform(sql) => Some(sql),
        StatementKind::Loop { label: None, over: Over::Rows { sql, .. }, .. } => Some(sql),
        _ => None,
    }
}

/// Whether a statement works with variables alone, and goes on behind itself unless it ends the call.
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

/// Whether statements give rows.
fn gives(statements: &[Statement]) -> bool {
    crate::body::any(statements, &|kind| matches!(kind, StatementKind::ReturnNext(_)))
}

/// A round of a loop.
struct Round<'a> {
    variable: usize,
    body: &'a [Statement],
}

impl Round<'_> {
    /// Whether all readings of a table have the number of the round in this column of its primary key.
    fn tells_apart(&self, table: usize, column: usize, readings: &[Reading<'_>]) -> bool {
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

    /// Whether a value is the number of the round, and so another one in each.
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

    /// Whether a variable is assigned the number of the round, and nothing else.
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

/// Whether an expression names a variable.
fn names(expr: &Expr, variable: usize) -> bool {
    let mut found = false;
    expr.visit(&mut |part| found |= part.kind == ExprKind::Variable(variable));
    found
}
