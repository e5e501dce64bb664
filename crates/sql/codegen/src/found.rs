//! Tests of `FOUND` right after a statement; they become the two branches of finding its row.

use sql::expression::{ExprKind, UnaryOperator};
use sql::procedure::{Procedure, Statement, StatementKind};

/// An `IF` that tests only `FOUND`.
#[derive(Clone, Copy, Debug)]
pub struct FoundTest<'a> {
    /// Statements of the branch with a row.
    pub present: &'a [Statement],
    /// Statements of the branch without a row.
    pub absent: &'a [Statement],
}

/// Returns the variable `FOUND`, if the routine has it.
pub fn variable(routine: &Procedure) -> Option<usize> {
    let position = routine.parameters.len();
    routine
        .variables
        .get(position)
        .is_some_and(|variable| variable.name == "found")
        .then_some(position)
}

/// Returns `statement` as such a test, if it is one.
pub fn test<'a>(routine: &Procedure, statement: &'a Statement) -> Option<FoundTest<'a>> {
    let found = variable(routine)?;
    let StatementKind::If { branches, otherwise } = &statement.kind else { return None };
    let [(condition, statements)] = branches.as_slice() else { return None };
    let is_found = |kind: &ExprKind| *kind == ExprKind::Variable(found);
    match &condition.expr.kind {
        kind if is_found(kind) => Some(FoundTest { present: statements, absent: otherwise }),
        ExprKind::Unary { operator: UnaryOperator::Not, operand } if is_found(&operand.kind) => {
            Some(FoundTest { present: otherwise, absent: statements })
        }
        _ => None,
    }
}
