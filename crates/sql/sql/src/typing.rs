//! Types and conversions for the expressions of plans.
//!
//! PostgreSQL's plans omit the conversions that PostgreSQL inserts by itself. The reader of plans
//! therefore types their operations with the functions of this module, which also typed the
//! statement, so that plan and statement agree.
//!
//! Decision: docs/decisions/0176-a-plan-is-typed-by-the-code-that-typed-its-statement.md

use crate::catalog::Catalog;
use crate::error::Result;
use crate::expression::{Expr, ExprKind};
use crate::parse;
use crate::procedure::Variable;
use crate::resolve::Resolver;
use crate::resolve::coerce::{self, Context, coerce};
use crate::resolve::names::Names;
use crate::resolve::scope::Scope;
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use crate::type_name::parse_type;
use crate::types::SqlType;
use sqlparser::tokenizer::Span;

/// The purpose of a conversion; each purpose allows all conversions of the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conversion {
    /// For an operand: only lossless conversions.
    Operand,
    /// For a column of a table.
    Column,
    /// For a variable: types without a cast are converted through text.
    Variable,
}

/// Resolves an expression in which `$1` to `$n` are the operands. It may contain aggregates.
///
/// # Errors
///
/// The text is not an expression, or types do not fit; the error's position is one in the text.
pub fn apply(text: &str, operands: Vec<Expr>) -> Result<Expr> {
    let source = Source::new("plan", text);
    let tokens = tokenize(&source, 0, text)?;
    let place = Span::new(source.location(0), source.location(text.len()));
    let node = parse::expression(&source, &tokens, place)?;
    let variable = |(at, operand): (usize, &Expr)| Variable {
        name: format!("${}", at + 1),
        sql_type: operand.sql_type.clone(),
        line: 1,
        is_constant: true,
        is_not_null: false,
    };
    let variables: Vec<Variable> = operands.iter().enumerate().map(variable).collect();
    let mut names = Names::default();
    names.positional = (0..operands.len()).collect();
    let catalog = Catalog::default();
    let mut resolver = Resolver::new(&source, &catalog, &names, &variables, place);
    let mut expr = resolver.with_all_aggregates(|resolver| {
        let expr = resolver.expr(&Scope::default(), &node)?;
        let sql_type = match expr.sql_type {
            SqlType::Unknown => SqlType::Text,
            ref known => known.clone(),
        };
        resolver.convert(expr, &sql_type, Context::Implicit, place)
    })?;
    insert(&mut expr, &operands);
    Ok(expr)
}

/// Replaces the variables by the operands.
fn insert(expr: &mut Expr, operands: &[Expr]) {
    if let ExprKind::Variable(position) = expr.kind
        && let Some(operand) = operands.get(position)
    {
        // A conversion that changes no value changes only the type.
        *expr = operand.clone().relabelled(expr.sql_type.clone());
        return;
    }
    expr.for_each_child_mut(&mut |child| insert(child, operands));
}

/// Converts `expr` to `target`; `None` if no such conversion exists.
pub fn convert(expr: Expr, target: &SqlType, conversion: Conversion) -> Option<Expr> {
    let context = match conversion {
        Conversion::Operand => Context::Implicit,
        Conversion::Column => Context::Assignment,
        Conversion::Variable => Context::Variable,
    };
    coerce(expr, target, context).ok().flatten()
}

/// The type to which all of `types` convert, if there is one.
pub fn common_type(types: &[SqlType]) -> Option<SqlType> {
    coerce::common_type(types)
}

/// Parses a type name such as `character varying(16)`.
///
/// # Errors
///
/// The type does not exist or is unsupported.
pub fn type_named(name: &str) -> Result<SqlType> {
    let source = Source::new("plan", name);
    let mut cursor = Cursor::new(&source, tokenize(&source, 0, name)?, name.len());
    let sql_type = parse_type(&mut cursor)?;
    if cursor.is_at_end() { Ok(sql_type) } else { Err(cursor.expected("the end of the type")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Numeric;

    fn operand(position: usize, sql_type: SqlType) -> Expr {
        // Far from the positions of operands, so that a mix-up shows.
        Expr { kind: ExprKind::Variable(position + 70), sql_type }
    }

    #[test]
    fn operands_stand_where_they_are_named() {
        let price = SqlType::Numeric(Numeric::Declared { precision: 12, scale: 2 });
        let operands = vec![operand(0, price), operand(1, SqlType::Int4)];
        let sum = apply("($2 + $1)", operands.clone()).expect("it has a type");
        assert_eq!(sum.sql_type, SqlType::Numeric(Numeric::Exact { scale: 2 }));
        let ExprKind::Binary { left, right, .. } = &sum.kind else { panic!("{sum:?}") };
        assert!(matches!(&left.kind, ExprKind::Cast { operand, .. } if **operand == operands[1]));
        assert_eq!(right.kind, operands[0].kind);
    }

    #[test]
    fn aggregates_and_conversions_have_the_types_of_statements() {
        let count = apply("count(DISTINCT $1)", vec![operand(0, SqlType::Int2)]);
        assert_eq!(count.expect("an aggregate").sql_type, SqlType::Int8);
        assert!(
            apply("($1 + $2)", vec![operand(0, SqlType::Bool), operand(1, SqlType::Int4)]).is_err()
        );
        let text = operand(0, SqlType::Text);
        assert!(convert(text.clone(), &SqlType::Int4, Conversion::Column).is_none());
        assert!(convert(text, &SqlType::Int4, Conversion::Variable).is_some());
    }

    #[test]
    fn a_text_that_is_cut_and_used_as_a_text_stays_cut() {
        let cut = apply("$1::varchar(2)", vec![operand(0, SqlType::Text)]).expect("a conversion");
        assert_eq!(cut.sql_type, SqlType::Varchar(Some(2)));
        for form in ["$1::text", "CAST($1::varchar AS text)"] {
            let text = apply(form, vec![cut.clone()]).expect("a conversion");
            assert_eq!(text.sql_type, SqlType::Text);
            assert!(matches!(&text.kind, ExprKind::Cast { operand, .. } if **operand == cut));
        }
        let at_once = apply("($1::varchar(2))::text", vec![operand(0, SqlType::Text)]);
        let at_once = at_once.expect("a conversion");
        assert!(matches!(&at_once.kind, ExprKind::Cast { operand, .. } if **operand == cut));
    }

    #[test]
    fn types_have_names() {
        for name in ["bpchar", "character varying(16)", "timestamp without time zone", "integer[]"]
        {
            assert_eq!(type_named(name).expect(name).name(), name);
        }
        assert!(type_named("integer integer").is_err());
        assert!(type_named("xml").is_err());
    }
}
