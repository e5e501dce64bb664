//! Finds the statements whose keys are known before they run, for read-ahead.
//!
//! Read-ahead does not change the result of a procedure. A transaction reads one snapshot at any
//! time, a row in its access set includes its own changes, and tables in which a procedure inserts,
//! deletes or moves rows are excluded.
//!
//! Decision: docs/decisions/0233-the-executor-of-plans-reads-ahead.md

use crate::ahead::{Ahead, Round};
use crate::plan::{Execution, Operator};
use crate::program::{Conversion, Expression, Into, Over, Program, Step, Target};
use crate::run::scan_by_key;
use sql_value::Formula;
use std::collections::BTreeSet;

/// Minimum number of statements for which read-ahead pays off. A statement in a loop counts as
/// several.
const STATEMENTS_MIN: usize = 2;

/// Notes which rows of a procedure are known after the declarations of its outermost block, and
/// inserts the step that reads them there.
pub(super) fn note(program: &mut Program) {
    let declared = program.steps.iter().take_while(|step| matches!(step, Step::Declare { .. }));
    let first = declared.count().min(first_repeated(program));
    let survey = Survey::new(program, first);
    let mut ahead = survey.run(first);
    if ahead.singles.len() + STATEMENTS_MIN * ahead.rounds.len() < STATEMENTS_MIN {
        return;
    }
    program.steps.insert(first, Step::ReadAhead);
    program.labels.iter_mut().filter(|at| **at >= first).for_each(|at| *at += 1);
    ahead.rounds.iter_mut().for_each(|round| round.start += 1);
    let in_rounds = ahead.rounds.iter().flat_map(|round| &round.statements);
    for (place, &statement) in ahead.singles.iter().chain(in_rounds).enumerate() {
        program.statements[statement].ahead = Some(place);
    }
    program.ahead = ahead;
}

/// The first step that a loop repeats: a declaration there has several values.
fn first_repeated(program: &Program) -> usize {
    let back = program.steps.iter().enumerate().filter_map(|(at, step)| match step {
        Step::Jump(label) => Some(program.labels[*label]).filter(|to| *to <= at),
        _ => None,
    });
    back.min().unwrap_or(usize::MAX)
}

struct Survey<'p> {
    program: &'p Program,
    /// Variables that keep their value after the declarations.
    fixed: BTreeSet<usize>,
    /// Tables that lose or gain rows, or whose rows may change keys.
    changed: BTreeSet<usize>,
}

impl<'p> Survey<'p> {
    fn new(program: &'p Program, first: usize) -> Self {
        let (declarations, steps) = program.steps.split_at(first);
        let mut assigned = BTreeSet::new();
        steps.iter().for_each(|step| assign(step, &mut assigned));
        let parameters = program.parameters.iter().map(|parameter| parameter.variable);
        let mut fixed: BTreeSet<usize> =
            parameters.filter(|variable| !assigned.contains(variable)).collect();
        for step in declarations {
            if let Step::Declare { variable, value: Some(Expression::Formula(value)) } = step
                && !assigned.contains(variable)
                && value.is_made_of(&|of| fixed.contains(&of))
            {
                fixed.insert(*variable);
            }
        }
        let mut changed = BTreeSet::new();
        for statement in &program.statements {
            let plans = statement.plans.iter().map(|plan| &plan.root);
            for root in plans.chain([&statement.root]) {
                match &root.operator {
                    Operator::Insert(insert) => changed.insert(insert.table),
                    Operator::Delete(delete) => changed.insert(delete.table),
                    Operator::Update(update) if update.is_whole => changed.insert(update.table),
                    _ => false,
                };
            }
        }
        Self { program, fixed, changed }
    }

    fn run(&self, first: usize) -> Ahead {
        let mut ahead = Ahead::default();
        self.certain(first, self.program.steps.len(), &mut |at| match &self.program.steps[at] {
            Step::Start { over, .. } => ahead.rounds.extend(self.round(at, over)),
            step => ahead.singles.extend(self.keyed(step, None)),
        });
        ahead
    }

    /// Visits the steps of a range that run exactly once whenever its first step does, unless the
    /// procedure returns early: no jump goes around them, or back before them.
    fn certain(&self, from: usize, to: usize, show: &mut impl FnMut(usize)) {
        let (mut reach, steps) = (from, &self.program.steps);
        for at in from..to {
            let comes_back = |step: &Step| match step {
                Step::Jump(label) => (from..=at).contains(&self.program.labels[*label]),
                _ => false,
            };
            if reach <= at && !steps[at..to].iter().any(comes_back) {
                show(at);
            }
            let label = match &steps[at] {
                // An error goes around the statements of a block with handlers.
                Step::Jump(label)
                | Step::Unless(_, label)
                | Step::Next { end: label, .. }
                | Step::Protect { end: label, .. } => label,
                _ => continue,
            };
            reach = match self.program.labels[*label] {
                // The next iteration of the loop around the range: what follows is left out.
                before if before < from => to,
                behind => reach.max(behind),
            };
        }
    }

    /// Returns the statements of a loop whose keys follow from its range or array.
    fn round(&self, start: usize, over: &Over) -> Option<Round> {
        let is_known = |expression: &Expression| matches!(expression, Expression::Formula(formula) if self.is_fixed(formula, None));
        let goes_over_known = match over {
            Over::Range { from, to, by: None, reverse: false } => is_known(from) && is_known(to),
            Over::Elements(array) => is_known(array),
            _ => false,
        };
        let Some(Step::Next { into: Into { targets, .. }, end, .. }) =
            self.program.steps.get(start + 1).filter(|_| goes_over_known)
        else {
            return None;
        };
        let [(Target::Variable(variable), Conversion::Same(_))] = targets[..] else { return None };
        let body = (start + 2, self.program.labels[*end]);
        let mut inside = BTreeSet::new();
        self.program.steps[body.0..body.1].iter().for_each(|step| assign(step, &mut inside));
        if inside.contains(&variable) {
            return None;
        }
        let mut statements = Vec::new();
        self.certain(body.0, body.1, &mut |at| {
            statements.extend(self.keyed(&self.program.steps[at], Some(variable)));
        });
        (!statements.is_empty()).then_some(Round { start, variable, statements })
    }

    /// Returns the statement of a step if its key depends only on fixed variables and the loop
    /// variable.
    fn keyed(&self, step: &Step, looped: Option<usize>) -> Option<usize> {
        let (Step::Statement { number, .. }
        | Step::Deliver { number, .. }
        | Step::ReturnQuery { number, .. }) = step
        else {
            return None;
        };
        let statement = &self.program.statements[*number];
        let (scan, key) =
            scan_by_key(&statement.root).filter(|_| statement.execution == Execution::Keyed)?;
        let is_known = key.iter().all(|term| self.is_fixed(&term.formula, looped));
        (is_known && !self.changed.contains(&scan.table)).then_some(*number)
    }

    fn is_fixed(&self, formula: &Formula, looped: Option<usize>) -> bool {
        formula.is_made_of(&|of| self.fixed.contains(&of) || looped == Some(of))
    }
}

/// Notes the variables that a step assigns.
fn assign(step: &Step, assigned: &mut BTreeSet<usize>) {
    let place = |target: &Target| match target {
        Target::Variable(variable)
        | Target::Field { variable, .. }
        | Target::Element { variable, .. } => *variable,
    };
    match step {
        Step::Assign { target, .. } => {
            assigned.insert(place(target));
        }
        Step::Declare { variable, .. } => {
            assigned.insert(*variable);
        }
        Step::Catch { handler, .. } => assigned.extend([handler.sqlstate, handler.sqlerrm]),
        Step::Diagnose(parts) => assigned.extend(parts.iter().map(|(_, target, _)| place(target))),
        Step::Statement { into: Some(into), .. } | Step::Next { into, .. } => {
            assigned.extend(into.targets.iter().map(|(target, _)| place(target)));
        }
        Step::Collect { into, arrays, .. } => {
            assigned.extend(into.targets.iter().map(|(target, _)| place(target)));
            assigned.extend(arrays.iter().map(|(array, _)| *array));
        }
        Step::Execute(_, Some(into)) => {
            assigned.extend(into.into.targets.iter().map(|(target, _)| place(target)));
        }
        Step::RowCount(targets) => assigned.extend(targets.iter().map(|(target, _)| place(target))),
        _ => {}
    }
}
