//! Conditions: each becomes true or false, an operand of `&&` or `||` is dropped, `!` is dropped.

use super::{instead, on};
use crate::edits::Piece;
use crate::walk::Walk;
use syn::{BinOp, Expr};

/// The condition of a branch becomes true, or false.
pub(crate) fn condition(walk: &mut Walk<'_>, condition: &Expr) {
    if binds(condition) || walk.is_for_planted_bugs(condition) {
        return;
    }
    let quote = walk.quote(condition);
    if let Some(site) = walk.mutant(format!("{quote} becomes true"), condition) {
        let range = walk.range(condition);
        let pieces = vec![
            Piece::New(format!("({} || (", on(site))),
            Piece::Edited(range.clone()),
            Piece::New("))".into()),
        ];
        walk.edits.replace(site, range, pieces);
    }
    never(walk, condition);
}

/// The condition of a branch or loop becomes false.
pub(crate) fn never(walk: &mut Walk<'_>, condition: &Expr) {
    if binds(condition) || walk.is_for_planted_bugs(condition) {
        return;
    }
    let quote = walk.quote(condition);
    if let Some(site) = walk.mutant(format!("{quote} becomes false"), condition) {
        let range = walk.range(condition);
        let pieces = vec![
            Piece::New(format!("(!{} && (", on(site))),
            Piece::Edited(range.clone()),
            Piece::New("))".into()),
        ];
        walk.edits.replace(site, range, pieces);
    }
}

/// One operand of `&&` or `||` is dropped.
pub(crate) fn operands(walk: &mut Walk<'_>, operation: &syn::ExprBinary) {
    let (name, start, middle) = match operation.op {
        BinOp::And(_) => ("&&", "", "||"),
        BinOp::Or(_) => ("||", "!", "&&"),
        _ => return,
    };
    for operand in [&*operation.left, &*operation.right] {
        // The left operand of a chain is a chain itself: its operands are dropped one by one.
        let is_chain = matches!(operand, Expr::Binary(inner) if is_same(&inner.op, &operation.op));
        if is_chain || binds(operand) || walk.is_for_planted_bugs(operand) {
            continue;
        }
        let quote = walk.quote(operand);
        if let Some(site) = walk.mutant(format!("operand {quote} of {name} is dropped"), operand) {
            let range = walk.range(operand);
            let pieces = vec![
                Piece::New(format!("({start}{} {middle} (", on(site))),
                Piece::Edited(range.clone()),
                Piece::New("))".into()),
            ];
            walk.edits.replace(site, range, pieces);
        }
    }
}

/// `!` is dropped.
pub(crate) fn negation(walk: &mut Walk<'_>, operation: &syn::ExprUnary) {
    if !matches!(operation.op, syn::UnOp::Not(_)) || walk.is_for_planted_bugs(operation) {
        return;
    }
    let quote = walk.quote(operation);
    if let Some(site) = walk.mutant(format!("`!` of {quote} is dropped"), operation) {
        let inner = Piece::Written(walk.range(&operation.expr));
        let range = walk.range(operation);
        walk.edits.replace(site, range.clone(), instead(site, vec![inner], range));
    }
}

/// Whether the expression is a chain with a `let`, which is no value.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(chain) => binds(&chain.left) || binds(&chain.right),
        _ => false,
    }
}

fn is_same(one: &BinOp, other: &BinOp) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

#[cfg(test)]
mod tests {
    use crate::operators::testing::{mutants, mutated};

    #[test]
    fn conditions_become_true_and_false() {
        let source = "fn f(a: u8) { if a() { b() } }";
        assert_eq!(
            mutated(source, "`a()` becomes true"),
            "fn f(a: u8) { if (on(1) || (a())) { b() } }"
        );
        assert_eq!(
            mutated(source, "`a()` becomes false"),
            "fn f(a: u8) { if (!on(1) && (a())) { b() } }"
        );
        let guard = mutated("fn f() { match x { 1 if a() => 2, _ => 3 } }", "`a()` becomes true");
        assert_eq!(guard, "fn f() { match x { 1 if (on(1) || (a())) => 2, _ => 3 } }");
    }

    #[test]
    fn the_condition_of_a_loop_becomes_false_only() {
        let found = mutants("fn f(a: u8) -> T { while a() { b() } }");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, "fn f(a: u8) -> T { while (!on(1) && (a())) { b() } }");
    }

    #[test]
    fn operands_are_dropped_one_by_one_and_bindings_stay() {
        let source = "fn f() -> T { a && b && c }";
        let found = mutants(source);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].1, "fn f() -> T { a && b && (on(1) || (c)) }");
        assert_eq!(
            mutated(source, "operand `a` of && is dropped"),
            "fn f() -> T { (on(1) || (a)) && b && c }"
        );
        assert_eq!(
            mutated("fn f() -> T { a || b }", "operand `b` of || is dropped"),
            "fn f() -> T { a || (!on(1) && (b)) }"
        );
        let found = mutants("fn f() -> T { if let Some(a) = b && c { d } else { e } }");
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].1,
            "fn f() -> T { if let Some(a) = b && (on(1) || (c)) { d } else { e } }"
        );
    }

    #[test]
    fn negations_are_dropped() {
        let source = "fn f() -> T { g(!a) }";
        assert_eq!(
            mutated(source, "`!` of `!a` is dropped"),
            "fn f() -> T { g((if on(1) { a } else { !a })) }"
        );
    }

    #[test]
    fn planted_bugs_are_left_alone() {
        let source = "fn f() -> T { if env.mutant(A) { g(1 < 2); } if a || env.mutant(B) { c } }";
        let names: Vec<String> = mutants(source).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["operand `a` of || is dropped"]);
        assert!(mutants("fn f() -> T { let a = env.mutant(A); if !a { b } }").is_empty());
    }
}
