//! Plans the statements of stored procedures.

use crate::error::PlanError;
use crate::statement::{Knowledge, plan, plan_expression};
use procedure::node::{Procedure, Statement, Workload};
use sql::Program;
use sql::procedure::{Block, Body, Formula, Over, Sql, StatementKind, Target};
use sql::query::Query;
use std::collections::BTreeMap;

/// A statement of a procedure is outside the supported SQL.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("statement {number} of `{procedure}`, line {line} of its file: {error}")]
pub struct ProgramError {
    pub procedure: String,
    /// The line where the statement begins.
    pub line: u32,
    /// Number of the statement in the procedure, from 1.
    pub number: u32,
    pub error: PlanError,
}

/// Plans all statements of a program, as [`procedure::lower`] does with PostgreSQL's plans.
///
/// # Errors
///
/// The first statement that is outside the supported SQL.
pub fn plan_program(
    program: &Program,
    statistics: &crate::Statistics,
    costs: crate::Costs,
) -> Result<Workload, ProgramError> {
    let catalog = &program.catalog;
    let knowledge = Knowledge { catalog, statistics, costs };
    let mut procedures = Vec::with_capacity(program.procedures.len());
    for routine in &program.procedures {
        let mut found = Statements::default();
        match &routine.body {
            Body::Block(block) => found.block(block),
            Body::Statements { statements, .. } => statements.iter().for_each(|sql| found.sql(sql)),
        }
        let mut statements: Vec<Statement> = Vec::with_capacity(routine.statements.len());
        for embedded in &routine.statements {
            let planned = match found.by_number.get(&embedded.number) {
                Some(Found::Query(query)) => plan(knowledge, query),
                Some(Found::Formula(formula)) => plan_expression(knowledge, &formula.expr),
                None => crate::error::refuse("the procedure has no statement with this number"),
            };
            let planned = planned.map_err(|error| ProgramError {
                procedure: embedded.procedure.clone(),
                line: embedded.line,
                number: embedded.number,
                error,
            })?;
            statements.push(planned.statement);
        }
        procedures.push(Procedure { routine: routine.clone(), statements });
    }
    Ok(Workload { catalog: program.catalog.clone(), procedures })
}

/// A statement that needs a plan.
enum Found<'r> {
    Query(&'r Query),
    Formula(&'r Formula),
}

/// The statements of a procedure that need plans.
#[derive(Default)]
struct Statements<'r> {
    by_number: BTreeMap<u32, Found<'r>>,
}

impl<'r> Statements<'r> {
    fn sql(&mut self, sql: &'r Sql) {
        self.by_number.insert(sql.number, Found::Query(&sql.query));
    }

    fn formula(&mut self, formula: &'r Formula) {
        if let Some(number) = formula.number {
            self.by_number.insert(number, Found::Formula(formula));
        }
    }

    fn target(&mut self, target: &'r Target) {
        if let Target::Element { index, .. } = target {
            self.formula(index);
        }
    }

    fn targets(&mut self, into: &'r sql::procedure::Into) {
        into.targets.iter().for_each(|(target, _)| self.target(target));
    }

    fn block(&mut self, block: &'r Block) {
        let values = block.declarations.iter().filter_map(|(_, value)| value.as_ref());
        values.for_each(|value| self.formula(value));
        self.statements(&block.statements);
    }

    fn statements(&mut self, statements: &'r [sql::procedure::Statement]) {
        statements.iter().for_each(|statement| self.statement(&statement.kind));
    }

    fn branches(&mut self, branches: &'r [(Formula, Vec<sql::procedure::Statement>)]) {
        for (condition, statements) in branches {
            self.formula(condition);
            self.statements(statements);
        }
    }

    fn statement(&mut self, kind: &'r StatementKind) {
        match kind {
            StatementKind::Block(block) => self.block(block),
            StatementKind::Called(called) => self.block(&called.block),
            StatementKind::Assign { target, value } => {
                self.target(target);
                self.formula(value);
            }
            StatementKind::Sql { sql, into } => {
                self.sql(sql);
                into.iter().for_each(|into| self.targets(into));
            }
            StatementKind::Perform(sql) | StatementKind::ReturnQuery(sql, _) => self.sql(sql),
            StatementKind::If { branches, otherwise } => {
                self.branches(branches);
                self.statements(otherwise);
            }
            StatementKind::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|(_, value)| self.formula(value));
                self.branches(branches);
                otherwise.iter().for_each(|statements| self.statements(statements));
            }
            StatementKind::Loop { over, body, .. } => {
                self.over(over);
                self.statements(body);
            }
            StatementKind::Leave { when, .. } => when.iter().for_each(|when| self.formula(when)),
            StatementKind::Return(value) | StatementKind::ReturnNext(value) => {
                value.iter().for_each(|value| self.formula(value));
            }
            StatementKind::Raise(raise) => {
                let parts = raise.values.iter().chain(&raise.detail).chain(&raise.hint);
                parts.chain(&raise.code).for_each(|value| self.formula(value));
            }
            StatementKind::GetRowCount(targets) => {
                targets.iter().for_each(|(target, _)| self.target(target));
            }
            StatementKind::Execute(dynamic, into) => {
                dynamic.formulas().for_each(|value| self.formula(value));
                let targets = into.iter().flat_map(|into| &into.targets);
                targets.for_each(|(target, _)| self.target(target));
            }
            StatementKind::ReturnExecute(dynamic, _) => {
                dynamic.formulas().for_each(|value| self.formula(value));
            }
            StatementKind::Cursor(cursor) => {
                cursor.sql().into_iter().for_each(|sql| self.sql(sql));
                cursor.formulas().for_each(|value| self.formula(value));
                cursor.targets().for_each(|target| self.target(target));
            }
            StatementKind::GetDiagnostics(parts) => {
                parts.iter().for_each(|(_, target, _)| self.target(target));
            }
            StatementKind::Protected(protected) => {
                protected.parts().for_each(|statements| self.statements(statements));
            }
            StatementKind::Reraise | StatementKind::RollBack | StatementKind::Nothing => {}
        }
    }

    fn over(&mut self, over: &'r Over) {
        match over {
            Over::Forever => {}
            Over::While(condition) => self.formula(condition),
            Over::Range { from, to, by, .. } => {
                [from, to].into_iter().chain(by).for_each(|bound| self.formula(bound));
            }
            Over::Rows { into, sql } => {
                self.sql(sql);
                self.targets(into);
            }
            Over::Dynamic(dynamic, into) => {
                dynamic.formulas().for_each(|value| self.formula(value));
                into.targets.iter().for_each(|(target, _)| self.target(target));
            }
            Over::Cursor(open, into) => {
                open.sql().into_iter().for_each(|sql| self.sql(sql));
                open.formulas().for_each(|value| self.formula(value));
                into.targets.iter().for_each(|(target, _)| self.target(target));
            }
            Over::Elements { target, array, .. } => {
                self.target(target);
                self.formula(array);
            }
        }
    }
}
