//! Data flow through a procedure.

use super::trace::{Count, Found, StatementPosition, Trace, value_of};
use super::{Action, Branch, Operation, Origin, Repeat, Times, Traced};
use crate::node::{Procedure, Workload};
use sql::cursors::CursorStatement;
use sql::expression::{Expr, ExprKind};
use sql::function::Function;
use sql::procedure::{Block, Body, Formula, Into, Over, ParameterMode, Sql, StatementKind, Target};
use std::collections::BTreeMap;

/// Maximum number of variables through which a value is followed.
const STEPS_MAX: u32 = 32;

/// The analysis of a procedure.
pub(super) struct Flow<'p> {
    workload: &'p Workload,
    procedure: &'p Procedure,
    found: Vec<Found<'p>>,
    /// The outputs of each statement, by position.
    results: Vec<Vec<Traced<'p>>>,
    /// The values assigned to a variable, or to a field of one.
    assigned: BTreeMap<(usize, Option<usize>), Vec<Traced<'p>>>,
    repeats: Vec<(u32, Count<'p>)>,
    branches: Vec<Branch>,
    line: u32,
}

impl<'p> Flow<'p> {
    pub(super) fn new(workload: &'p Workload, procedure: &'p Procedure) -> Self {
        let results = vec![Vec::new(); procedure.statements.len()];
        let assigned = BTreeMap::new();
        let (found, repeats, branches) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            workload,
            procedure,
            found,
            results,
            assigned,
            repeats,
            branches,
            line: procedure.routine.line,
        }
    }

    pub(super) fn operations(mut self) -> Vec<Operation> {
        let routine = &self.procedure.routine;
        for parameter in &routine.parameters {
            if parameter.mode != ParameterMode::Out {
                let argument = Traced::Origin(Origin::Argument(parameter.variable));
                self.assign(parameter.variable, None, argument);
            }
        }
        match &routine.body {
            Body::Block(block) => self.block(block),
            Body::Statements { statements, .. } => {
                statements.iter().for_each(|sql| self.planned(sql.number))
            }
        }
        let found = std::mem::take(&mut self.found);
        found.into_iter().map(|found| self.operation(found)).collect()
    }

    fn operation(&self, found: Found<'p>) -> Operation {
        let Found { statement, table, mut action, values, repeats, branches, rows } = found;
        let origins: Vec<Origin> = values.iter().map(|value| self.origin(value, 0)).collect();
        match &mut action {
            Action::Read { keys, .. } => {
                keys.iter_mut().zip(origins).for_each(|(key, origin)| key.origin = origin);
            }
            Action::Insert { values } => *values = origins,
            Action::Update { .. } | Action::Delete { .. } => {}
        }
        let repeat = |(line, count)| Repeat { line, times: self.times(count) };
        let repeats = repeats.into_iter().map(repeat).collect();
        Operation { statement, table, action, repeats, branches, rows }
    }

    fn times(&self, count: Count<'p>) -> Times {
        match count {
            Count::Known(times) => times,
            Count::Elements(array) => Times::Elements(self.origin(&array, 0)),
            Count::Number(number) => self.number(&number, 0),
        }
    }

    /// Returns a number of repetitions: the length of an array, if the number is one.
    fn number(&self, number: &Traced<'p>, steps: u32) -> Times {
        match number {
            Traced::Expr(expr) => match &expr.kind {
                ExprKind::Integer(count) => Times::Count((*count).max(0).unsigned_abs()),
                ExprKind::Cast { operand, .. } => self.number(&Traced::Expr(operand), steps),
                ExprKind::Function {
                    function: Function::Cardinality | Function::ArrayLength,
                    arguments,
                } => {
                    let array = arguments.first().map(|array| self.origin(&value(array), 0));
                    array.map_or(Times::Unknown, Times::Elements)
                }
                ExprKind::Variable(variable) => {
                    match self.assigned.get(&(*variable, None)).map(Vec::as_slice) {
                        Some([only @ Traced::Expr(_)]) if steps < STEPS_MAX => {
                            self.number(only, steps + 1)
                        }
                        _ => Times::Number(self.origin(&value(expr), 0)),
                    }
                }
                _ => Times::Number(Origin::Computed),
            },
            other => Times::Number(self.origin(other, 0)),
        }
    }

    fn origin(&self, traced: &Traced<'p>, steps: u32) -> Origin {
        if steps > STEPS_MAX {
            return Origin::Computed;
        }
        let follow = |traced: &Traced<'p>| self.origin(traced, steps + 1);
        match traced {
            Traced::Origin(origin) => origin.clone(),
            Traced::Variable(variable, field) => match self.assigned.get(&(*variable, *field)) {
                Some(values) => one_of(values.iter().map(follow).collect()),
                None => Origin::Computed,
            },
            Traced::Element(array) => match (&**array, follow(array)) {
                (_, known @ (Origin::Constant | Origin::Computed)) => known,
                // An array literal.
                (Traced::OneOf(_), elements) => elements,
                (_, array) => Origin::Element(Box::new(array)),
            },
            Traced::OneOf(values) => one_of(values.iter().map(follow).collect()),
            Traced::Result(statement, column) => {
                let column = self.results.get(*statement).and_then(|result| result.get(*column));
                column.map_or(Origin::Computed, follow)
            }
            Traced::Expr(expr) => follow(&value(expr)),
        }
    }

    fn assign(&mut self, variable: usize, field: Option<usize>, value: Traced<'p>) {
        self.assigned.entry((variable, field)).or_default().push(value);
    }

    fn target(&mut self, target: &'p Target, value: Traced<'p>) {
        match target {
            Target::Variable(variable) => self.assign(*variable, None, value),
            Target::Field { variable, field } => self.assign(*variable, Some(*field), value),
            Target::Element { variable, index } => {
                self.formula(index);
                self.assign(*variable, None, Traced::Origin(Origin::Computed));
            }
        }
    }

    /// Analyses a statement that has a plan.
    fn planned(&mut self, number: u32) {
        let at = (number as usize).wrapping_sub(1);
        let Some(statement) = self.procedure.statements.get(at) else { return };
        let place = StatementPosition {
            number,
            line: self.line,
            repeats: self.repeats.clone(),
            branches: self.branches.clone(),
        };
        let mut trace = Trace {
            tables: &self.workload.catalog.tables,
            statement,
            place: &place,
            found: &mut self.found,
            plans: vec![None; statement.sub_plans.len()],
            inner: Vec::new(),
        };
        self.results[at] = trace.node(&statement.root, &Vec::new(), u64::MAX);
    }

    fn formula(&mut self, formula: &'p Formula) -> Traced<'p> {
        match formula.number {
            Some(number) => {
                self.planned(number);
                Traced::Result((number as usize).wrapping_sub(1), 0)
            }
            None => Traced::Expr(&formula.expr),
        }
    }

    fn block(&mut self, block: &'p Block) {
        for (variable, value) in &block.declarations {
            if let Some(value) = value {
                let value = self.formula(value);
                self.assign(*variable, None, value);
            }
        }
        self.statements(&block.statements);
    }

    fn statements(&mut self, statements: &'p [sql::procedure::Statement]) {
        for statement in statements {
            self.line = statement.line;
            self.statement(&statement.kind);
        }
    }

    fn into(&mut self, into: &'p Into, sql: &'p Sql) {
        let at = (sql.number as usize).wrapping_sub(1);
        for (target, conversion) in &into.targets {
            // A single record takes all columns.
            if let (Target::Variable(variable), sql::SqlType::Record(fields)) =
                (target, &conversion.sql_type)
            {
                for field in 0..fields.len() {
                    self.assign(*variable, Some(field), Traced::Result(at, field));
                }
                continue;
            }
            let value = match column_of(conversion) {
                Some(column) => Traced::Result(at, column),
                None => Traced::Origin(Origin::Constant),
            };
            self.target(target, value);
        }
    }

    fn statement(&mut self, kind: &'p StatementKind) {
        match kind {
            StatementKind::Block(block) => self.block(block),
            StatementKind::Called(called) => self.block(&called.block),
            StatementKind::Assign { target, value } => {
                let value = self.formula(value);
                self.target(target, value);
            }
            StatementKind::Sql { sql, into } => {
                self.planned(sql.number);
                into.iter().for_each(|into| self.into(into, sql));
            }
            StatementKind::Perform(sql) | StatementKind::ReturnQuery(sql, _) => {
                self.planned(sql.number)
            }
            StatementKind::If { branches, otherwise } => self.branches(branches, otherwise),
            StatementKind::Case { operand, branches, otherwise } => {
                if let Some((variable, value)) = operand {
                    let value = self.formula(value);
                    self.assign(*variable, None, value);
                }
                self.branches(branches, otherwise.as_deref().unwrap_or_default());
            }
            StatementKind::Loop { over, body, .. } => {
                let line = self.line;
                let count = self.over(over);
                self.repeats.push((line, count));
                self.statements(body);
                self.repeats.pop();
            }
            StatementKind::Leave { when, .. } => {
                when.iter().for_each(|when| drop(self.formula(when)))
            }
            StatementKind::Return(value) | StatementKind::ReturnNext(value) => {
                value.iter().for_each(|value| drop(self.formula(value)));
            }
            StatementKind::Raise(raise) => {
                let parts = raise.values.iter().chain(&raise.detail).chain(&raise.hint);
                parts.chain(&raise.code).for_each(|value| drop(self.formula(value)));
            }
            StatementKind::GetRowCount(targets) => {
                let computed = || Traced::Origin(Origin::Computed);
                targets.iter().for_each(|(target, _)| self.target(target, computed()));
            }
            StatementKind::Execute(dynamic, into) => {
                dynamic.formulas().for_each(|value| drop(self.formula(value)));
                for (target, _) in into.iter().flat_map(|into| &into.targets) {
                    self.target(target, Traced::Origin(Origin::Computed));
                }
            }
            StatementKind::ReturnExecute(dynamic, _) => {
                dynamic.formulas().for_each(|value| drop(self.formula(value)));
            }
            StatementKind::Cursor(cursor) => self.cursor(cursor),
            StatementKind::GetDiagnostics(parts) => {
                let computed = || Traced::Origin(Origin::Computed);
                parts.iter().for_each(|(_, target, _)| self.target(target, computed()));
            }
            StatementKind::Protected(protected) => {
                self.statements(&protected.body);
                let (line, count) = (self.line, protected.handlers.len() + 1);
                for (branch, handler) in protected.handlers.iter().enumerate() {
                    self.branches.push(Branch { line, branch, count });
                    self.statements(&handler.statements);
                    self.branches.pop();
                }
            }
            StatementKind::Reraise | StatementKind::RollBack | StatementKind::Nothing => {}
        }
    }

    fn cursor(&mut self, cursor: &'p CursorStatement) {
        cursor.sql().into_iter().for_each(|sql| self.planned(sql.number));
        cursor.formulas().for_each(|value| drop(self.formula(value)));
        for target in cursor.targets() {
            self.target(target, Traced::Origin(Origin::Computed));
        }
        for variable in cursor.assigned() {
            self.assign(variable, None, Traced::Origin(Origin::Computed));
        }
    }

    fn branches(
        &mut self,
        branches: &'p [(Formula, Vec<sql::procedure::Statement>)],
        otherwise: &'p [sql::procedure::Statement],
    ) {
        let (line, count) = (self.line, branches.len() + 1);
        let conditions = branches.iter().map(|(condition, _)| condition);
        conditions.for_each(|condition| drop(self.formula(condition)));
        let bodies = branches.iter().map(|(_, body)| &body[..]).chain([otherwise]);
        for (branch, body) in bodies.enumerate() {
            self.branches.push(Branch { line, branch, count });
            self.statements(body);
            self.branches.pop();
        }
    }

    fn over(&mut self, over: &'p Over) -> Count<'p> {
        match over {
            Over::Forever => Count::Known(Times::Unknown),
            Over::While(condition) => {
                self.formula(condition);
                Count::Known(Times::Unknown)
            }
            Over::Range { variable, from, to, by, reverse } => {
                by.iter().for_each(|by| drop(self.formula(by)));
                let bounds = [self.formula(from), self.formula(to)];
                self.assign(*variable, None, Traced::Origin(Origin::Computed));
                let number = |formula: &Formula| match formula.expr.kind {
                    ExprKind::Integer(number) => Some(number),
                    _ => None,
                };
                let (low, high) = if *reverse { (to, from) } else { (from, to) };
                match (number(low), number(high), by) {
                    (Some(low), Some(high), None) => {
                        let count = high.saturating_sub(low).saturating_add(1).max(0);
                        Count::Known(Times::Count(count.unsigned_abs()))
                    }
                    (Some(1), None, None) => {
                        let [from, to] = bounds;
                        Count::Number(if *reverse { from } else { to })
                    }
                    _ => Count::Known(Times::Number(Origin::Computed)),
                }
            }
            Over::Rows { into, sql } => {
                self.planned(sql.number);
                self.into(into, sql);
                let at = (sql.number as usize).wrapping_sub(1);
                let rows =
                    self.procedure.statements.get(at).map_or(1, |statement| statement.root.rows);
                Count::Known(Times::Count(rows))
            }
            Over::Dynamic(dynamic, into) => {
                dynamic.formulas().for_each(|value| drop(self.formula(value)));
                for (target, _) in &into.targets {
                    self.target(target, Traced::Origin(Origin::Computed));
                }
                Count::Known(Times::Unknown)
            }
            Over::Cursor(open, into) => {
                open.sql().into_iter().for_each(|sql| self.planned(sql.number));
                open.formulas().for_each(|value| drop(self.formula(value)));
                self.assign(open.cursor, None, Traced::Origin(Origin::Computed));
                for (target, _) in &into.targets {
                    self.target(target, Traced::Origin(Origin::Computed));
                }
                Count::Known(Times::Unknown)
            }
            Over::Elements { target, array, .. } => {
                let array = self.formula(array);
                self.target(target, Traced::Element(Box::new(array.clone())));
                Count::Elements(array)
            }
        }
    }
}

/// Traces an expression outside of statements.
fn value<'p>(expr: &'p Expr) -> Traced<'p> {
    value_of(expr, &Vec::new(), None, &[])
}

/// Returns the column that is cast.
fn column_of(conversion: &Expr) -> Option<usize> {
    match &conversion.kind {
        ExprKind::Column(column) => Some(column.column),
        ExprKind::Cast { operand, .. } => column_of(operand),
        _ => None,
    }
}

/// Merges alternatives. A constant, which is usually null, is dropped if there is any other origin.
fn one_of(origins: Vec<Origin>) -> Origin {
    let mut different: Vec<Origin> = Vec::new();
    let flat = origins.into_iter().flat_map(|origin| match origin {
        Origin::OneOf(parts) => parts,
        other => vec![other],
    });
    for origin in flat {
        if origin != Origin::Constant && !different.contains(&origin) {
            different.push(origin);
        }
    }
    match different.len() {
        0 => Origin::Constant,
        1 => different.swap_remove(0),
        _ if different.contains(&Origin::Computed) => Origin::Computed,
        _ => Origin::OneOf(different),
    }
}
