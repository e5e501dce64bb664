//! Data-flow analysis: which variables are read, and which may still be unassigned then.
//!
//! Decision: docs/decisions/0198-types-of-variables-are-found-by-printing-until-nothing.md

use crate::found;
use crate::variable::{Guess, Place};
use procedure::node::{Access, Node, Operator, Range};
use procedure::{Procedure, Statement as Planned};
use sql::SqlType;
use sql::expression::{Expr, ExprKind};
use sql::procedure::{
    Block, Body, Formula, Into, Over, ParameterMode, Returns, Sql, Statement, StatementKind, Target,
};
use std::collections::BTreeSet;

/// Variables assigned on all paths to a point; `None` if the point is unreachable.
type Assigned = Option<BTreeSet<Place>>;

/// Adds the results of the analysis to `guess`.
pub fn survey(procedure: &Procedure, guess: &mut Guess) {
    let mut flow = Flow { procedure, guess };
    let inputs = procedure.routine.parameters.iter().filter(|p| p.mode != ParameterMode::Out);
    // FOUND is initially false.
    let known =
        inputs.map(|parameter| parameter.variable).chain(found::variable(&procedure.routine));
    let mut assigned = Some(known.map(|variable| (variable, None)).collect());
    match &procedure.routine.body {
        Body::Block(block) => flow.block(block, &mut assigned),
        Body::Statements { statements, results } => {
            statements.iter().for_each(|sql| flow.planned(sql, &assigned));
            results.iter().for_each(|expr| flow.read(expr, &assigned));
        }
    }
    if !matches!(procedure.routine.returns, Returns::Rows(_)) {
        flow.outputs(&assigned);
    }
}

/// Returns the places that statements read before they assign them.
pub fn wanted(procedure: &Procedure, statements: &[Statement]) -> BTreeSet<Place> {
    let mut guess = Guess::default();
    let mut flow = Flow { procedure, guess: &mut guess };
    flow.statements(statements, &mut Some(BTreeSet::new()));
    guess.nullable
}

struct Flow<'a> {
    procedure: &'a Procedure,
    guess: &'a mut Guess,
}

impl Flow<'_> {
    fn block(&mut self, block: &Block, assigned: &mut Assigned) {
        for (variable, initial) in &block.declarations {
            match initial {
                Some(formula) => {
                    self.formula(formula, assigned);
                    self.assign(*variable, assigned);
                }
                // It is null each time the block begins.
                None => self.unassign(*variable, assigned),
            }
        }
        self.statements(&block.statements, assigned);
    }

    fn statements(&mut self, statements: &[Statement], assigned: &mut Assigned) {
        let mut at = 0;
        while let Some(statement) = statements.get(at) {
            at += 1;
            let next = statements.get(at);
            if let StatementKind::Sql { sql, into } = &statement.kind
                && let Some(test) = next.and_then(|next| found::test(&self.procedure.routine, next))
            {
                at += 1;
                self.planned(sql, assigned);
                let mut present = assigned.clone();
                into.iter().for_each(|into| self.into(into, &mut present));
                let mut absent = assigned.clone();
                // Without a row the targets are null, whatever they were before.
                into.iter().for_each(|into| self.unassign_all(into, &mut absent));
                self.statements(test.present, &mut present);
                self.statements(test.absent, &mut absent);
                *assigned = join(present, absent);
                continue;
            }
            self.statement(&statement.kind, assigned);
        }
    }

    fn statement(&mut self, kind: &StatementKind, assigned: &mut Assigned) {
        match kind {
            StatementKind::Block(block) => self.block(block, assigned),
            StatementKind::Called(called) => self.block(&called.block, assigned),
            StatementKind::Assign { target, value } => {
                self.formula(value, assigned);
                self.target(target, assigned);
            }
            StatementKind::Sql { sql, into } => {
                self.planned(sql, assigned);
                if let Some(into) = into {
                    self.into(into, assigned);
                }
            }
            StatementKind::Perform(sql) => self.planned(sql, assigned),
            StatementKind::If { branches, otherwise } => {
                self.branches(branches, Some(otherwise), assigned)
            }
            StatementKind::Case { operand, branches, otherwise } => {
                if let Some((variable, value)) = operand {
                    self.formula(value, assigned);
                    self.assign(*variable, assigned);
                }
                self.branches(branches, otherwise.as_deref(), assigned);
            }
            StatementKind::Loop { over, body, .. } => self.looped(over, body, assigned),
            StatementKind::Leave { when, .. } => match when {
                Some(condition) => self.formula(condition, assigned),
                None => *assigned = None,
            },
            StatementKind::Return(value) => {
                match value {
                    Some(value) => self.formula(value, assigned),
                    None if !matches!(self.procedure.routine.returns, Returns::Rows(_)) => {
                        self.outputs(assigned)
                    }
                    None => {}
                }
                *assigned = None;
            }
            StatementKind::ReturnNext(Some(value)) => self.formula(value, assigned),
            StatementKind::ReturnNext(None) => self.outputs(assigned),
            StatementKind::ReturnQuery(sql, results) => {
                self.planned(sql, assigned);
                results.iter().for_each(|expr| self.read(expr, assigned));
            }
            StatementKind::Raise(raise) => {
                raise.values.iter().for_each(|value| self.formula(value, assigned));
                let more = raise.detail.iter().chain(&raise.hint);
                more.for_each(|value| self.formula(value, assigned));
                if raise.level == sql::procedure::Level::Exception {
                    *assigned = None;
                }
            }
            StatementKind::GetRowCount(targets) => {
                targets.iter().for_each(|(target, _)| self.target(target, assigned));
            }
            // `body` refuses them, except the last one.
            StatementKind::Execute(..)
            | StatementKind::ReturnExecute(..)
            | StatementKind::Cursor(_)
            | StatementKind::Protected(_)
            | StatementKind::Reraise
            | StatementKind::RollBack
            | StatementKind::GetDiagnostics(_)
            | StatementKind::Nothing => {}
        }
    }

    fn branches(
        &mut self,
        branches: &[(Formula, Vec<Statement>)],
        otherwise: Option<&[Statement]>,
        assigned: &mut Assigned,
    ) {
        let mut after = None;
        for (condition, statements) in branches {
            self.formula(condition, assigned);
            let mut inside = assigned.clone();
            self.statements(statements, &mut inside);
            after = join(after, inside);
        }
        // Without ELSE, CASE fails, and IF continues.
        if let Some(statements) = otherwise {
            self.statements(statements, assigned);
            after = join(after, assigned.take());
        }
        *assigned = after;
    }

    fn looped(&mut self, over: &Over, body: &[Statement], assigned: &mut Assigned) {
        let mut inside = match over {
            Over::Forever | Over::While(_) => {
                if let Over::While(condition) = over {
                    self.formula(condition, assigned);
                }
                assigned.clone()
            }
            Over::Range { variable, from, to, by, .. } => {
                [from, to].into_iter().chain(by).for_each(|bound| self.formula(bound, assigned));
                let mut inside = assigned.clone();
                self.assign(*variable, &mut inside);
                inside
            }
            Over::Rows { into, sql } => {
                self.planned(sql, assigned);
                let mut inside = assigned.clone();
                self.into(into, &mut inside);
                inside
            }
            // `loops` refuses them.
            Over::Dynamic(..) | Over::Cursor(..) => assigned.clone(),
            Over::Elements { target, element, array } => {
                self.formula(array, assigned);
                self.read(element, assigned);
                let mut inside = assigned.clone();
                self.target(target, &mut inside);
                inside
            }
        };
        self.statements(body, &mut inside);
        // Without rows, the targets are null.
        if let Over::Rows { into, .. } = over {
            self.unassign_all(into, assigned);
        }
    }

    fn into(&mut self, into: &Into, assigned: &mut Assigned) {
        for (target, expr) in &into.targets {
            self.read(expr, assigned);
            self.target(target, assigned);
        }
    }

    fn target(&mut self, target: &Target, assigned: &mut Assigned) {
        match target {
            Target::Variable(variable) => self.assign(*variable, assigned),
            Target::Field { variable, field } => {
                if let Some(assigned) = assigned {
                    assigned.insert((*variable, Some(*field)));
                }
            }
            Target::Element { variable, index } => {
                self.formula(index, assigned);
                self.note_read((*variable, None), assigned);
            }
        }
    }

    fn assign(&mut self, variable: usize, assigned: &mut Assigned) {
        let Some(assigned) = assigned else { return };
        assigned.extend(self.places(variable));
    }

    fn unassign_all(&self, into: &Into, assigned: &mut Assigned) {
        for (target, _) in &into.targets {
            if let Target::Variable(variable) | Target::Field { variable, .. } = target {
                self.unassign(*variable, assigned);
            }
        }
    }

    fn unassign(&self, variable: usize, assigned: &mut Assigned) {
        let Some(assigned) = assigned else { return };
        for place in self.places(variable) {
            assigned.remove(&place);
        }
    }

    fn places(&self, variable: usize) -> Vec<Place> {
        match &self.procedure.routine.variables[variable].sql_type {
            SqlType::Record(fields) => {
                (0..fields.len()).map(|field| (variable, Some(field))).collect()
            }
            _ => vec![(variable, None)],
        }
    }

    /// Notes that all output parameters are read.
    fn outputs(&mut self, assigned: &Assigned) {
        let outputs = self.procedure.routine.parameters.iter();
        for output in outputs.filter(|parameter| parameter.mode != ParameterMode::In) {
            for place in self.places(output.variable) {
                self.note_read(place, assigned);
            }
        }
    }

    fn formula(&mut self, formula: &Formula, assigned: &Assigned) {
        self.read(&formula.expr, assigned);
    }

    fn planned(&mut self, sql: &Sql, assigned: &Assigned) {
        let Some(planned) = self.procedure.statements.get(sql.number as usize - 1) else { return };
        expressions(planned, &mut |expr| self.read(expr, assigned));
    }

    fn read(&mut self, expr: &Expr, assigned: &Assigned) {
        expr.visit(&mut |part| match part.kind {
            ExprKind::Variable(variable) => {
                for place in self.places(variable) {
                    self.note_read(place, assigned);
                }
            }
            ExprKind::Field { variable, field } => {
                self.note_read((variable, Some(field)), assigned)
            }
            _ => {}
        });
    }

    fn note_read(&mut self, place: Place, assigned: &Assigned) {
        self.guess.read.insert(place);
        if assigned.as_ref().is_some_and(|assigned| !assigned.contains(&place)) {
            self.guess.nullable.insert(place);
            self.guess.unassigned.insert(place);
        }
    }
}

/// Intersects the assignments of two paths.
fn join(one: Assigned, other: Assigned) -> Assigned {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.intersection(&other).copied().collect()),
        (one, other) => one.or(other),
    }
}

/// Visits every expression of a plan.
pub fn expressions(planned: &Planned, visit: &mut dyn FnMut(&Expr)) {
    node(&planned.root, visit);
    planned.sub_plans.iter().for_each(|sub_plan| node(&sub_plan.root, visit));
}

fn node(of: &Node, visit: &mut dyn FnMut(&Expr)) {
    of.outputs.iter().for_each(&mut *visit);
    match &of.operator {
        Operator::Scan(scan) => {
            access(&scan.access, visit);
            scan.filter.iter().for_each(visit);
        }
        Operator::Join(join) => {
            join.join_filter.iter().chain(&join.filter).for_each(&mut *visit);
            node(&join.outer, visit);
            node(&join.inner, visit);
        }
        Operator::Sort { keys, input } => {
            keys.iter().for_each(|key| visit(&key.value));
            node(input, visit);
        }
        Operator::Limit { limit, offset, input } => {
            limit.iter().chain(offset).for_each(&mut *visit);
            node(input, visit);
        }
        Operator::Aggregate { keys, filter, input, .. } => {
            keys.iter().chain(filter).for_each(&mut *visit);
            node(input, visit);
        }
        Operator::Project { condition, filter, input } => {
            condition.iter().chain(filter).for_each(&mut *visit);
            input.iter().for_each(|input| node(input, visit));
        }
        Operator::Values { rows, filter } => {
            rows.iter().flatten().chain(filter).for_each(visit);
        }
        Operator::Unnest { arrays: inside, filter }
        | Operator::Series { bounds: inside, filter }
        | Operator::Call { arguments: inside, filter, .. } => {
            inside.iter().chain(filter).for_each(visit);
        }
        Operator::Recursive { first, step, filter, .. } => {
            filter.iter().for_each(&mut *visit);
            [first, step].into_iter().for_each(|input| node(input, visit));
        }
        Operator::WorkTable { filter, .. } => filter.iter().for_each(visit),
        Operator::Append { inputs } | Operator::MergeAppend { inputs, .. } => {
            inputs.iter().for_each(|input| node(input, visit));
        }
        Operator::SetOperation { left, right, .. } => {
            [left, right].into_iter().for_each(|input| node(input, visit));
        }
        Operator::Window { calls, input } => {
            calls.iter().for_each(|call| call.for_each_expr(&mut |expr| visit(expr)));
            node(input, visit);
        }
        Operator::Shared { filter, .. } => filter.iter().for_each(visit),
        Operator::Unique { input } | Operator::Lock { input, .. } => node(input, visit),
        Operator::Insert(insert) => {
            insert.values.iter().for_each(&mut *visit);
            node(&insert.input, visit);
        }
        Operator::Update(update) => {
            update.assignments.iter().for_each(|(_, value)| visit(value));
            node(&update.input, visit);
        }
        Operator::Delete(delete) => node(&delete.input, visit),
    }
}

fn access(of: &Access, visit: &mut dyn FnMut(&Expr)) {
    match of {
        Access::Key(key) | Access::Lookup { key, .. } => key.iter().for_each(visit),
        Access::Range(Range { equal, low, high, .. }) => {
            equal.iter().for_each(&mut *visit);
            low.iter().chain(high).for_each(|bound| visit(&bound.value));
        }
        Access::Any(accesses) => accesses.iter().for_each(|one| access(one, visit)),
        Access::Each { array, access: inner, .. } => {
            visit(array);
            access(inner, visit);
        }
        Access::All => {}
    }
}
