//! Loops that only append the columns of their rows to arrays: the rows of changes in `WITH`, and
//! those of called functions.

use sql::expression::{Expr, ExprKind};
use sql::function::Function;
use sql::procedure::{Over, Statement, StatementKind, Target};

/// The arrays of such a loop, each with the variable whose values it gets; `None` if the loop does
/// anything else.
pub(super) fn arrays(over: &Over, body: &[Statement]) -> Option<Vec<(usize, usize)>> {
    let Over::Rows { into, .. } = over else { return None };
    let pairs: Vec<(usize, usize)> = body.iter().map(appends).collect::<Option<_>>()?;
    let is_array = |variable: usize| pairs.iter().filter(|(array, _)| *array == variable).count();
    let is_apart = |target: &Target| match target {
        Target::Variable(variable) | Target::Field { variable, .. } => is_array(*variable) == 0,
        Target::Element { .. } => false,
    };
    let are_apart = into.targets.iter().all(|(target, _)| is_apart(target))
        && pairs.iter().all(|&(array, value)| is_array(array) == 1 && is_array(value) == 0);
    (!pairs.is_empty() && are_apart).then_some(pairs)
}

/// `array := array_append(array, value)`
fn appends(statement: &Statement) -> Option<(usize, usize)> {
    let StatementKind::Assign { target: Target::Variable(array), value } = &statement.kind else {
        return None;
    };
    let ExprKind::Function { function: Function::ArrayAppend, arguments } = &value.expr.kind else {
        return None;
    };
    match (&value.number, &arguments[..]) {
        (
            None,
            [
                Expr { kind: ExprKind::Variable(to), .. },
                Expr { kind: ExprKind::Variable(value), .. },
            ],
        ) if to == array => Some((*array, *value)),
        _ => None,
    }
}
