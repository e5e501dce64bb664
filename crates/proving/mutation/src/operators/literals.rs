//! Whole numbers in arithmetic, comparisons, ranges and indexes grow by one.

use super::instead;
use crate::edits::Piece;
use crate::walk::Walk;
use syn::{Expr, ExprLit, Lit};

/// A number grows by one.
pub(crate) fn operand(walk: &mut Walk<'_>, operand: &Expr) {
    let Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) = operand else { return };
    let written = walk.text(operand);
    let Some(site) = walk.mutant(format!("`{written}` grows by one"), operand) else { return };
    let range = walk.range(operand);
    let alternative = vec![Piece::Written(range.clone()), Piece::New(" + 1".into())];
    walk.edits.replace(site, range.clone(), instead(site, alternative, range));
}

#[cfg(test)]
mod tests {
    use crate::operators::testing::{mutants, mutated};

    #[test]
    fn numbers_in_arithmetic_grow_by_one() {
        let one = "(if on(1) { 1 + 1 } else { 1 })";
        let expected = format!("fn f() -> T {{ a * {one} }}");
        assert_eq!(mutated("fn f() -> T { a * 1 }", "`1` grows by one"), expected);
        let expected = format!("fn f() -> T {{ g(b[{one}]) }}");
        assert_eq!(mutated("fn f() -> T { g(b[1]) }", "`1` grows by one"), expected);
        assert_eq!(mutants("fn f() -> T { g(1, a.1) }"), [], "arguments and fields stay");
        assert_eq!(mutants("fn f() -> T { Vec::with_capacity(a + 1) }"), [], "that is a hint");
    }
}
