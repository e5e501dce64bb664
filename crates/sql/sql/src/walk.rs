//! Visits the statements and expressions of routines.

use crate::expression::Expr;
use crate::procedure::{Block, Body, Formula, Over, Procedure, Sql, Statement, StatementKind};
use crate::query::Query;

/// Calls `visit` with each SQL statement of a routine.
pub fn for_each_sql(routine: &Procedure, visit: &mut dyn FnMut(&Query)) {
    let mut walk = Walk { sql: &mut |sql| visit(&sql.query), formula: &mut |_| {} };
    walk.body(&routine.body);
}

/// Calls `visit` with each expression of a routine that is no SQL statement.
pub fn for_each_formula(routine: &Procedure, visit: &mut dyn FnMut(&Expr)) {
    let mut walk = Walk { sql: &mut |_| {}, formula: &mut |formula| visit(&formula.expr) };
    walk.body(&routine.body);
}

struct Walk<'v> {
    sql: &'v mut dyn FnMut(&Sql),
    formula: &'v mut dyn FnMut(&Formula),
}

impl Walk<'_> {
    fn body(&mut self, body: &Body) {
        match body {
            Body::Block(block) => self.block(block),
            Body::Statements { statements, .. } => statements.iter().for_each(&mut *self.sql),
        }
    }

    fn block(&mut self, block: &Block) {
        block
            .declarations
            .iter()
            .filter_map(|(_, value)| value.as_ref())
            .for_each(&mut *self.formula);
        self.statements(&block.statements);
    }

    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(&statement.kind));
    }

    fn statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Block(block) => self.block(block),
            StatementKind::Assign { value, .. } => (self.formula)(value),
            StatementKind::Sql { sql, .. }
            | StatementKind::Perform(sql)
            | StatementKind::ReturnQuery(sql, _) => (self.sql)(sql),
            StatementKind::If { branches, otherwise } => {
                self.branches(branches);
                self.statements(otherwise);
            }
            StatementKind::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|(_, value)| (self.formula)(value));
                self.branches(branches);
                otherwise.iter().for_each(|statements| self.statements(statements));
            }
            StatementKind::Loop { over, body, .. } => {
                self.over(over);
                self.statements(body);
            }
            StatementKind::Leave { when: value, .. }
            | StatementKind::Return(value)
            | StatementKind::ReturnNext(value) => value.iter().for_each(&mut *self.formula),
            StatementKind::Raise(raise) => {
                let more = raise.detail.iter().chain(&raise.hint);
                raise.values.iter().chain(more).for_each(&mut *self.formula);
            }
            StatementKind::GetRowCount(_) | StatementKind::Nothing => {}
        }
    }

    fn branches(&mut self, branches: &[(Formula, Vec<Statement>)]) {
        for (condition, statements) in branches {
            (self.formula)(condition);
            self.statements(statements);
        }
    }

    fn over(&mut self, over: &Over) {
        match over {
            Over::Forever => {}
            Over::While(condition) => (self.formula)(condition),
            Over::Range { from, to, by, .. } => {
                [from, to].into_iter().chain(by).for_each(&mut *self.formula);
            }
            Over::Rows { sql, .. } => (self.sql)(sql),
            Over::Elements { array, .. } => (self.formula)(array),
        }
    }
}
