//! Casts of rows whose columns are known only when a routine runs.

use crate::catalog::Catalog;
use crate::error::Result;
use crate::expression::{ColumnRef, Expr, ExprKind};
use crate::resolve::Resolver;
use crate::resolve::coerce::Context;
use crate::resolve::names::Names;
use crate::source::Source;
use crate::types::{Field, SqlType};
use sqlparser::tokenizer::Span;

fn column(fields: &[Field], column: usize) -> Expr {
    let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column });
    Expr::new(kind, fields[column].sql_type.clone())
}

/// The values that variables of these types get from a row: a variable beyond its columns becomes
/// null.
///
/// # Errors
///
/// PL/pgSQL cannot convert a column.
pub fn variable_casts(catalog: &Catalog, row: &[Field], wanted: &[SqlType]) -> Result<Vec<Expr>> {
    let (source, names, place) = (Source::new("statement", ""), Names::default(), Span::empty());
    let resolver = Resolver::new(&source, catalog, &names, &[], place);
    let cast = |(at, wanted): (usize, &SqlType)| match at < row.len() {
        true => resolver.convert(column(row, at), wanted, Context::Variable, place),
        false => Ok(Expr::new(ExprKind::Null, wanted.clone())),
    };
    wanted.iter().enumerate().map(cast).collect()
}
