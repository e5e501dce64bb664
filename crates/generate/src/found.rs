//! Tests of `FOUND` right behind the statement that they are about, which become the two ways of looking for its row.

use sql::expression::{ExprKind, UnaryOperator};
use sql::procedure::{Procedure, Statement, StatementKind};

/// An `IF` that asks for nothing but `FOUND`.
#[derive(Clone, Copy, Debug)]
pub struct FoundTest<'a> {
    /// What is done if there was a row.
    pub present: &'a [Statement],
    /// What is done if there was none.
    pub absent: &'a [Statement],
}

/// The variable `FOUND`, if the routine has it.
pub fn variable(routine: &Procedure) -> Option<usize> {
    let position = routine.parameters.len();
    routine
        .variables
        .get(position)
        .is_some_and(|variable| variable.name == "found")
        .then_some(position)
}

/// `statement` as such a test.
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
