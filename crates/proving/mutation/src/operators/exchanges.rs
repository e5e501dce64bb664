//! An operator or a method is exchanged for its neighbour: `<` for `<=`, `+` for `-`, `max` for
//! `min`.

use super::instead;
use crate::edits::Piece;
use crate::walk::Walk;
use syn::BinOp;

/// Methods of the same type with another meaning.
const METHODS: [(&str, &str); 12] = [
    ("min", "max"),
    ("min_by_key", "max_by_key"),
    ("any", "all"),
    ("is_some", "is_none"),
    ("is_ok", "is_err"),
    ("is_some_and", "is_none_or"),
    ("saturating_sub", "saturating_add"),
    ("wrapping_sub", "wrapping_add"),
    ("checked_sub", "checked_add"),
    ("first", "last"),
    ("fetch_add", "fetch_sub"),
    ("fetch_max", "fetch_min"),
];

/// Exchanges the operator.
pub(crate) fn binary(walk: &mut Walk<'_>, operation: &syn::ExprBinary) {
    let other = match operation.op {
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Add(_) => "-",
        BinOp::Sub(_) => "+",
        BinOp::BitAnd(_) => "|",
        BinOp::BitOr(_) => "&",
        BinOp::Shl(_) => ">>",
        BinOp::Shr(_) => "<<",
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) => "+=",
        BinOp::BitOrAssign(_) => "&=",
        BinOp::BitAndAssign(_) => "|=",
        _ => return,
    };
    let written = walk.text(&operation.op);
    let what = format!("`{written}` of {} becomes `{other}`", walk.quote(operation));
    let Some(site) = walk.mutant(what, operation) else { return };
    let (left, right) = (walk.range(&operation.left), walk.range(&operation.right));
    let alternative =
        vec![Piece::Written(left), Piece::New(format!(" {other} ")), Piece::Written(right)];
    let range = walk.range(operation);
    walk.edits.replace(site, range.clone(), instead(site, alternative, range));
}

/// Exchanges the method.
pub(crate) fn method(walk: &mut Walk<'_>, call: &syn::ExprMethodCall) {
    let written = call.method.to_string();
    let other = METHODS.iter().find_map(|&(one, other)| match written.as_str() {
        name if name == one => Some(other),
        name if name == other => Some(one),
        _ => None,
    });
    let Some(other) = other else { return };
    let what = format!("`{written}` of {} becomes `{other}`", walk.quote(call));
    let Some(site) = walk.mutant(what, call) else { return };
    let (range, name) = (walk.range(call), walk.range(&call.method));
    let alternative = vec![
        Piece::Written(range.start..name.start),
        Piece::New(other.to_owned()),
        Piece::Written(name.end..range.end),
    ];
    walk.edits.replace(site, range.clone(), instead(site, alternative, range));
}

#[cfg(test)]
mod tests {
    use crate::operators::testing::{mutants, mutated};

    #[test]
    fn comparisons_are_shifted() {
        for (written, other) in [("<", "<="), ("<=", "<"), (">", ">="), ("==", "!="), ("!=", "==")]
        {
            let source = format!("fn f() -> T {{ g(a {written} b) }}");
            let what = format!("`{written}` of `a {written} b` becomes `{other}`");
            let result = format!(
                "fn f() -> T {{ g((if on(1) {{ a {other} b }} else {{ a {written} b }})) }}"
            );
            assert_eq!(mutated(&source, &what), result);
        }
    }

    #[test]
    fn sums_become_differences_also_in_assignments() {
        assert_eq!(
            mutated("fn f() -> T { a + b }", "`+` of `a + b` becomes `-`"),
            "fn f() -> T { (if on(1) { a - b } else { a + b }) }"
        );
        assert_eq!(
            mutated("fn f() -> T { a += b; c }", "`+=` of `a += b` becomes `-=`"),
            "fn f() -> T { (if on(1) { a -= b } else { a += b }); c }"
        );
    }

    #[test]
    fn methods_are_exchanged_with_their_receiver_as_written() {
        let source = "fn f() -> T { (a + 1).max(b) }";
        assert_eq!(
            mutated(source, "`max` of `(a + 1).max(b)` becomes `min`"),
            "fn f() -> T { (if on(1) { (a + 1).min(b) } else { (a + 1).max(b) }) }"
        );
    }

    #[test]
    fn macros_patterns_types_and_constants_are_left_alone() {
        let source = "const A: u8 = 1 + 2; const fn c() -> T { 1 + 2 } \
                      fn f() -> T { assert!(a < b); let [0, 2] = x; g::<{ 1 + 1 }>([a; 1 + 1]) }";
        assert_eq!(mutants(source), []);
    }
}
