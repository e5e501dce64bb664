//! The values that an expression of a plan can refer to.
//!
//! Where an expression uses a value that another node computes, PostgreSQL prints that node's
//! expression again, in extra parentheses unless it is a column. So a scope is a list of printed
//! expressions with their types, and a value is found by comparing the text.

use postgres_plan::Expression;
use sql::expression::{ColumnRef, Expr, ExprKind};
use sql::{SqlType, Table};

/// A value in scope, with the expression that plans print for it.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    /// Normalised by [`plain`].
    pub(super) shown: Expression,
    pub(super) sql_type: SqlType,
}

pub(super) type ScopeRow = Vec<Visible>;

/// The rows in scope: the inputs of the node, and the enclosing scopes.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    pub(super) around: Option<&'s Scope<'s>>,
    pub(super) sources: &'s [ScopeRow],
}

impl<'s> Scope<'s> {
    /// Returns the scope of a node without inputs inside `around`.
    pub(super) fn outside(around: Option<&'s Scope<'s>>) -> Self {
        Self { around, sources: &[] }
    }

    /// Finds the value that is printed as `shown`.
    pub(super) fn find(&self, shown: &Expression) -> Option<Expr> {
        let shown = plain(shown);
        let mut level = 0;
        let mut scope = Some(self);
        while let Some(here) = scope {
            for (source, row) in here.sources.iter().enumerate() {
                if let Some(column) = row.iter().position(|visible| visible.shown == shown) {
                    let kind = ExprKind::Column(ColumnRef { level, source, column });
                    return Some(Expr { kind, sql_type: row[column].sql_type.clone() });
                }
            }
            level += 1;
            scope = here.around;
        }
        None
    }

    /// Whether `shown` is printed for several different columns, so that the reference is
    /// ambiguous.
    pub(super) fn is_ambiguous(&self, shown: &Expression) -> bool {
        let hidden = hidden(&plain(shown));
        let mut scopes = std::iter::successors(Some(self), |scope| scope.around);
        scopes.any(|scope| scope.sources.iter().flatten().any(|visible| visible.shown == hidden))
    }
}

/// Hides a name from [`Scope::find`].
pub(super) fn hidden(shown: &Expression) -> Expression {
    Expression::Computed(Box::new(shown.clone()))
}

/// Whether a node prints the same columns as its input.
pub(super) fn passes_on<'e>(row: &ScopeRow, shown: impl Iterator<Item = &'e Expression>) -> bool {
    shown.map(plain).eq(row.iter().map(|visible| plain(&visible.shown)))
}

/// Removes the extra parentheses around values that other nodes compute.
pub(super) fn plain(shown: &Expression) -> Expression {
    let mut shown = shown.clone();
    let unwrapped: Result<(), std::convert::Infallible> = shown.change(&mut |part| {
        if let Expression::Computed(inner) = part {
            *part = (**inner).clone();
        }
        Ok(())
    });
    match unwrapped {
        Ok(()) => shown,
    }
}

/// Returns the columns of a table called `alias`.
pub(super) fn row_of_table(table: &Table, alias: &str) -> ScopeRow {
    let visible = |column: &sql::catalog::TableColumn| Visible {
        shown: column_of(alias, &column.name),
        sql_type: column.sql_type.clone(),
    };
    table.columns.iter().map(visible).collect()
}

pub(super) fn column_of(alias: &str, column: &str) -> Expression {
    Expression::Column { relation: Some(alias.to_owned()), column: column.to_owned() }
}

/// Whether an output is internal to PostgreSQL: row ids, and whole rows for rechecks.
pub(super) fn is_system(output: &Expression) -> bool {
    match output {
        Expression::WholeRow { .. } => true,
        Expression::Column { column, .. } => {
            matches!(&**column, "ctid" | "tableoid" | "xmin" | "xmax" | "cmin" | "cmax")
        }
        Expression::Computed(inner) => is_system(inner),
        _ => false,
    }
}
