//! What an expression of a plan sees.
//!
//! PostgreSQL prints a value that another node delivers as that one prints it, in further parentheses unless it is a column. So
//! what a node sees are printed expressions with their types, and a value is found by comparing.

use plan::Expression;
use sql::expression::{ColumnRef, Expr, ExprKind};
use sql::{SqlType, Table};

/// A value that is there, by what plans print for it.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    /// As [`plain`] makes it.
    pub(super) shown: Expression,
    pub(super) sql_type: SqlType,
}

/// The values of a row.
pub(super) type Row = Vec<Visible>;

/// The rows that an expression sees: the inputs of its node, and what is around.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    pub(super) around: Option<&'s Scope<'s>>,
    pub(super) sources: &'s [Row],
}

impl<'s> Scope<'s> {
    /// What is seen inside `around` by something that has no input.
    pub(super) fn outside(around: Option<&'s Scope<'s>>) -> Self {
        Self { around, sources: &[] }
    }

    /// The value that is printed as `shown`.
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

    /// Whether `shown` is printed for several columns that are not the same, so that nobody can tell which one is meant.
    pub(super) fn is_ambiguous(&self, shown: &Expression) -> bool {
        let hidden = hidden(&plain(shown));
        let mut scopes = std::iter::successors(Some(self), |scope| scope.around);
        scopes.any(|scope| scope.sources.iter().flatten().any(|visible| visible.shown == hidden))
    }
}

/// A name that [`Scope::find`] does not find.
pub(super) fn hidden(shown: &Expression) -> Expression {
    Expression::Computed(Box::new(shown.clone()))
}

/// Whether a node prints, column by column, what its input does.
pub(super) fn passes_on<'e>(row: &Row, shown: impl Iterator<Item = &'e Expression>) -> bool {
    shown.map(plain).eq(row.iter().map(|visible| plain(&visible.shown)))
}

/// `shown` without the marks of values that are computed elsewhere.
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

/// The row of a table called `alias`.
pub(super) fn row_of_table(table: &Table, alias: &str) -> Row {
    let visible = |column: &sql::catalog::TableColumn| Visible {
        shown: column_of(alias, &column.name),
        sql_type: column.sql_type.clone(),
    };
    table.columns.iter().map(visible).collect()
}

/// `alias.column`
pub(super) fn column_of(alias: &str, column: &str) -> Expression {
    Expression::Column { relation: Some(alias.to_owned()), column: column.to_owned() }
}

/// Whether an output serves PostgreSQL's own bookkeeping: places of rows, and whole rows to look at again.
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
