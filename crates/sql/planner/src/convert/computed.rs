//! Replaces expressions that indexes have by the hidden columns with their values.
//!
//! Decision: docs/decisions/0372-an-index-over-an-expression-has-a-hidden-column.md

use super::Converter;
use crate::block::{Logical, RelationKind};
use crate::expression::column;
use crate::set::RelationSet;
use sql::expression::{BinaryOperator, Expr, ExprKind, UnaryOperator};
use sql::function::Function;
use sql::{Catalog, SqlType};

/// The hidden columns of a catalog.
#[derive(Default)]
pub(super) struct Computed {
    values: Vec<Value>,
    /// The relations whose columns are null where an outer join has found no row.
    nullable: RelationSet,
}

struct Value {
    table: usize,
    column: usize,
    /// Over the table, which is source 0.
    expr: Expr,
}

impl Converter {
    pub fn new(catalog: &Catalog) -> Self {
        let of_table = |(table, of): (usize, &sql::Table)| {
            let first = of.visible().len();
            let values = of.computed.iter().enumerate();
            let value = |(at, expr): (usize, &Expr)| Value {
                table,
                column: first + at,
                expr: expr.clone(),
            };
            values.map(value).collect::<Vec<_>>()
        };
        let values = catalog.tables.iter().enumerate().flat_map(of_table).collect();
        Self { computed: Computed { values, ..Computed::default() }, ..Self::default() }
    }

    /// Adds the types of a table's hidden columns to those that SQL sees.
    pub(super) fn add_hidden(&self, table: usize, types: &mut Vec<SqlType>) {
        let own = self.computed.values.iter().filter(|value| value.table == table);
        types.extend(own.map(|value| value.expr.sql_type.clone()));
    }

    /// Notes that an outer join may set the columns of these relations to null.
    pub(super) fn note_nullable(&mut self, relations: RelationSet) {
        self.computed.nullable = self.computed.nullable.and(relations);
    }

    /// The hidden column with the values of an expression.
    pub(super) fn stored(&self, expr: &Expr) -> Option<Expr> {
        if self.computed.values.is_empty() || matches!(expr.kind, ExprKind::Column(_)) {
            return None;
        }
        let (relation, table) = only_table(&self.logical, expr)?;
        let mut own = self.computed.values.iter().filter(|value| value.table == table);
        let found = own.find(|value| is_over(&value.expr, expr, relation))?;
        // A row without a partner has null in the hidden column, which the expression may not be.
        let is_known = !self.computed.nullable.contains(relation) || is_null_of_nulls(expr);
        is_known.then(|| column(relation, found.column, &expr.sql_type))
    }
}

/// The only relation whose columns an expression has, if it is a table.
fn only_table(logical: &Logical, expr: &Expr) -> Option<(usize, usize)> {
    let (mut relation, mut is_single) = (None, true);
    expr.visit(&mut |part| match &part.kind {
        ExprKind::Column(found) => {
            is_single &= *relation.get_or_insert(found.source) == found.source;
        }
        ExprKind::SubPlan { .. } | ExprKind::Subquery { .. } => is_single = false,
        _ => {}
    });
    let relation = relation.filter(|_| is_single)?;
    match logical.relations.get(relation)?.kind {
        RelationKind::Table(table) => Some((relation, table)),
        _ => None,
    }
}

/// Whether an expression is that of a table's row, whose number is `relation`.
fn is_over(stored: &Expr, expr: &Expr, relation: usize) -> bool {
    let mut moved = stored.clone();
    set_source(&mut moved, relation);
    moved == *expr
}

fn set_source(expr: &mut Expr, source: usize) {
    if let ExprKind::Column(column) = &mut expr.kind {
        column.source = source;
    }
    expr.for_each_child_mut(&mut |child| set_source(child, source));
}

/// Whether an expression is null if all its columns are.
fn is_null_of_nulls(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Column(_) => true,
        ExprKind::Cast { operand, .. }
        | ExprKind::Unary { operator: UnaryOperator::Not | UnaryOperator::Negate, operand } => {
            is_null_of_nulls(operand)
        }
        ExprKind::Binary { operator, left, right } => {
            let may_know = matches!(
                operator,
                BinaryOperator::And
                    | BinaryOperator::Or
                    | BinaryOperator::Distinct
                    | BinaryOperator::NotDistinct
                    | BinaryOperator::Concatenate
            );
            !may_know && (is_null_of_nulls(left) || is_null_of_nulls(right))
        }
        ExprKind::Function { function, arguments } => {
            is_strict(*function) && arguments.iter().any(is_null_of_nulls)
        }
        _ => false,
    }
}

/// Whether the function is null if one of its arguments is; a false answer is always right.
fn is_strict(function: Function) -> bool {
    matches!(
        function,
        Function::Abs
            | Function::Round
            | Function::Trunc
            | Function::Floor
            | Function::Ceil
            | Function::Mod
            | Function::Sign
            | Function::Length
            | Function::Lower
            | Function::Upper
            | Function::Substr
            | Function::Left
            | Function::Right
            | Function::Btrim
            | Function::Ltrim
            | Function::Rtrim
            | Function::Replace
            | Function::Reverse
            | Function::SplitPart
            | Function::InitCap
            | Function::Extract
            | Function::DatePart
            | Function::DateTrunc
            | Function::OctetLength
    )
}
