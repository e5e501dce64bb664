//! `WITH`, and `WITH RECURSIVE` with a union of a start and a step.

use crate::evaluate::{Context, Cte, Scope, unsupported};
use crate::select::{self, ROWS_MAX, Row, is_same};
use crate::types::folded;
use sql_session::SqlError;
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier};

impl Context<'_> {
    /// This context with the columns of the queries of `WITH`.
    pub fn with_shapes(&self, with: &ast::With) -> Result<Self, SqlError> {
        let mut context = self.clone();
        for one in &with.cte_tables {
            let cte = described(one, &context)?;
            context.ctes.push(cte);
        }
        Ok(context)
    }

    /// This context with the queries of `WITH` and their rows.
    pub fn with_rows(&self, with: &ast::With, outer: Option<&Scope<'_>>) -> Result<Self, SqlError> {
        let mut context = self.clone();
        for one in &with.cte_tables {
            let mut cte = described(one, &context)?;
            cte.rows = match (with.recursive, one.query.body.as_ref()) {
                (
                    true,
                    SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right },
                ) => {
                    let keeps_all = *set_quantifier == SetQuantifier::All;
                    recursive(&context, &cte, (left, right), keeps_all, outer)?
                }
                _ => select::run(&one.query, outer, &context)?,
            };
            context.ctes.push(cte);
        }
        Ok(context)
    }
}

fn described(one: &ast::Cte, context: &Context<'_>) -> Result<Cte, SqlError> {
    let mut columns = select::shape(&one.query, &[], context)?;
    for (column, named) in columns.iter_mut().zip(&one.alias.columns) {
        column.name = folded(&named.name);
    }
    Ok(Cte { name: folded(&one.alias.name), columns, rows: Vec::new() })
}

/// The rows of the start, and of the step over the rows that the step before has found.
fn recursive(
    context: &Context<'_>,
    cte: &Cte,
    (start, step): (&SetExpr, &SetExpr),
    keeps_all: bool,
    outer: Option<&Scope<'_>>,
) -> Result<Vec<Row>, SqlError> {
    let mut found: Vec<Row> = Vec::new();
    let mut last = select::run_body(start, outer, context)?;
    loop {
        if !keeps_all {
            let mut new: Vec<Row> = Vec::new();
            for row in last {
                if !found.iter().chain(&new).any(|other| is_same(&row, other)) {
                    new.push(row);
                }
            }
            last = new;
        }
        if last.is_empty() {
            return Ok(found);
        }
        found.extend(last.iter().cloned());
        if found.len() > ROWS_MAX {
            return Err(unsupported("so large a result of WITH RECURSIVE"));
        }
        let mut inner = context.clone();
        inner.ctes.push(Cte { rows: last, ..cte.clone() });
        last = select::run_body(step, outer, &inner)?;
    }
}
