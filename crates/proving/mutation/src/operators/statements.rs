//! A statement is dropped, or changes places with the next one: a write of a batch, or a verb and
//! an await.

use super::on;
use crate::edits::Piece;
use crate::walk::{Walk, is_plain};
use syn::{Expr, Stmt};

/// The changes that a statement allows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It has an effect, and no value.
    Effect,
    /// It binds names, so others may move over it, and it stays.
    Binding,
    Fixed,
}

/// The edits around one statement.
#[derive(Default)]
struct Around {
    site: u32,
    before: Vec<Piece>,
    /// The mutants under which the statement is not executed here.
    unless: Vec<u32>,
    after: Vec<Piece>,
}

/// Drops and swaps the statements of a block.
pub(crate) fn block(walk: &mut Walk<'_>, block: &syn::Block) {
    let kinds: Vec<Kind> = block.stmts.iter().map(|statement| kind(walk, statement)).collect();
    let mut edits: Vec<Around> = block.stmts.iter().map(|_| Around::default()).collect();
    for (index, statement) in block.stmts.iter().enumerate() {
        if kinds[index] == Kind::Effect {
            let quote = walk.quote(statement);
            if let Some(site) = walk.mutant(format!("{quote} is dropped"), statement) {
                edits[index].unless.push(site);
                edits[index].site = site;
            }
        }
        if index + 1 < block.stmts.len() {
            swap(walk, &block.stmts, &kinds, index, &mut edits);
        }
    }
    for (statement, around) in block.stmts.iter().zip(edits) {
        let Around { site, before, unless, after } = around;
        if site == 0 {
            continue;
        }
        let range = walk.range(statement);
        let mut pieces = before;
        let guards: Vec<String> = unless.iter().map(|&site| format!("!{}", on(site))).collect();
        if !guards.is_empty() {
            pieces.push(Piece::New(format!("if {} {{ ", guards.join(" && "))));
        }
        pieces.push(Piece::Edited(range.clone()));
        if !guards.is_empty() {
            pieces.push(Piece::New(" }".into()));
        }
        pieces.extend(after);
        walk.edits.replace(site, range, pieces);
    }
}

/// Swaps a statement with the next one: the one of them that has an effect moves.
fn swap(
    walk: &mut Walk<'_>,
    statements: &[Stmt],
    kinds: &[Kind],
    index: usize,
    edits: &mut [Around],
) {
    let (first, second) = (&statements[index], &statements[index + 1]);
    let moved = match (kinds[index], kinds[index + 1]) {
        (Kind::Effect, Kind::Effect | Kind::Binding) => index,
        (Kind::Binding, Kind::Effect) => index + 1,
        _ => return,
    };
    if !is_order_of_interest(walk, first, second) {
        return;
    }
    let what = format!("{} and {} are swapped", walk.quote(first), walk.quote(second));
    let Some(site) = walk.mutant(what, first) else { return };
    let copy = vec![
        Piece::New(format!(" if {} {{ ", on(site))),
        Piece::Written(walk.range(&statements[moved])),
        Piece::New(" } ".into()),
    ];
    edits[moved].unless.push(site);
    edits[moved].site = site;
    if moved == index {
        edits[index + 1].site = site;
        edits[index + 1].after.extend(copy);
    } else {
        edits[index].site = site;
        edits[index].before.extend(copy);
    }
}

/// Whether the order of two statements can matter to other processes: one of them waits and the
/// other is a call, or both call something of the same object.
fn is_order_of_interest(walk: &Walk<'_>, first: &Stmt, second: &Stmt) -> bool {
    let waits = |statement| walk.text(statement).contains(".await");
    let receiver = |statement: &Stmt| match statement {
        Stmt::Expr(Expr::MethodCall(call), _) => Some(walk.text(&*call.receiver)),
        _ => None,
    };
    let is_call = |statement: &Stmt| match statement {
        Stmt::Local(local) => local.init.as_ref().is_some_and(|init| has_call(&init.expr)),
        Stmt::Expr(expression, _) => has_call(expression),
        _ => false,
    };
    let is_beside_wait = waits(first) && is_call(second) || waits(second) && is_call(first);
    is_beside_wait || receiver(first).is_some_and(|object| receiver(second) == Some(object))
}

/// Whether an expression is a call, perhaps with `?` or `.await`.
fn has_call(expression: &Expr) -> bool {
    match expression {
        Expr::Call(_) | Expr::MethodCall(_) => true,
        Expr::Try(inner) => has_call(&inner.expr),
        Expr::Await(inner) => has_call(&inner.base),
        _ => false,
    }
}

fn kind(walk: &Walk<'_>, statement: &Stmt) -> Kind {
    match statement {
        _ if walk.is_silent(statement) => Kind::Fixed,
        Stmt::Local(local) if local.init.is_some() => Kind::Binding,
        Stmt::Expr(Expr::ForLoop(_), _) => Kind::Effect,
        Stmt::Expr(expression, Some(_)) if is_plain(expression) => Kind::Effect,
        _ => Kind::Fixed,
    }
}

#[cfg(test)]
mod tests {
    use crate::operators::testing::{mutants, mutated};

    #[test]
    fn statements_with_an_effect_are_dropped() {
        let source = "fn f() -> T { a = b; c(); d()?; e.f().await?; g }";
        assert_eq!(
            mutated(source, "`a = b;` is dropped"),
            "fn f() -> T { if !on(1) { a = b; } c(); d()?; e.f().await?; g }"
        );
        assert_eq!(
            mutated(source, "`e.f().await?;` is dropped"),
            "fn f() -> T { a = b; c(); d()?; if !on(1) { e.f().await?; } g }"
        );
        let names = |source| mutants(source).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert!(names("fn f() -> T { let a = 1; env.reach(A).await; return b; }").is_empty());
        assert!(names("fn f() -> T { self.statistics.reads += 1; c }").is_empty());
        assert!(names("fn f() -> T { for a in b { env.prefetch(a + 1, 1); } c }").is_empty());
    }

    #[test]
    fn writes_of_one_batch_are_swapped() {
        let source = "fn f() -> T { b.write(1); b.write(2); c }";
        assert_eq!(
            mutated(source, "`b.write(1);` and `b.write(2);` are swapped"),
            "fn f() -> T { if !on(1) { b.write(1); } b.write(2); if on(1) { b.write(1); }  c }"
        );
        assert!(!mutants("fn f() -> T { a = 1; b = 2; c }")[0].0.contains("swapped"));
    }

    #[test]
    fn a_verb_moves_over_an_await() {
        let source = "fn f() -> T { let a = b.await?; c.write(1); d }";
        assert_eq!(
            mutated(source, "`let a = b.await?;` and `c.write(1);` are swapped"),
            "fn f() -> T {  if on(1) { c.write(1); } let a = b.await?; if !on(1) { c.write(1); } d }"
        );
    }
}
