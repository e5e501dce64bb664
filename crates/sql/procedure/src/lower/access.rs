//! Turns index conditions into keys, lookups and ranges.
//!
//! The terms on the index's leading columns become the access; the remaining terms are returned and
//! go to the filter.

use super::Lowering;
use super::error::LowerError;
use super::narrow::{Use, key};
use super::scope::Scope;
use crate::node::{Access, Bound, Range};
use layout::IndexKind;
use postgres_plan::Expression;
use postgres_plan::expression::{Literal, State};
use postgres_plan::node::{Bitmap, BitmapSource};
use sql::expression::{Expr, ExprKind};
use sql::{SqlType, Table};

/// A table with its alias in the plan.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) table: &'a Table,
    pub(super) alias: &'a str,
}

/// An index scan as the plan describes it.
pub(super) struct Wanted<'a> {
    pub(super) index: &'a str,
    pub(super) condition: Option<&'a Expression>,
    pub(super) is_backward: bool,
    /// Whether another node relies on the order of the rows.
    pub(super) is_ordered: bool,
}

/// An access, and the conditions that it does not enforce.
pub(super) struct Taken {
    pub(super) access: Access,
    pub(super) rest: Vec<Expression>,
}

/// How a term compares its column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    /// Equal to any element of an array.
    Any,
    Low {
        is_included: bool,
    },
    High {
        is_included: bool,
    },
}

/// A term of a condition that compares a column of the table with a value.
struct Term<'a> {
    whole: &'a Expression,
    column: usize,
    comparison: Comparison,
    value: Side<'a>,
}

/// The value with which a column is compared.
enum Side<'a> {
    Value(&'a Expression),
    Truth(bool),
}

impl Lowering<'_> {
    /// Returns the access of an index scan.
    pub(super) fn index_access(
        &mut self,
        outside: &Scope<'_>,
        target: Target<'_>,
        wanted: &Wanted<'_>,
    ) -> Result<Taken, LowerError> {
        let table = target.table;
        let index = table.indexes.iter().position(|index| index.name == wanted.index);
        let columns = match index {
            Some(index) => &table.indexes[index].columns,
            None if wanted.index == table.primary_key_name && !table.primary_key.is_empty() => {
                &table.primary_key
            }
            None => {
                let name = &table.name;
                return self.error(format!(
                    "the table `{name}` has no index `{}`; create the plans again",
                    wanted.index
                ));
            }
        };
        let mut terms = Vec::new();
        let mut rest = Vec::new();
        for condition in wanted.condition.map(conjuncts).unwrap_or_default() {
            match term(condition, target) {
                Some(term) => terms.push(term),
                None if is_always_true(condition, target) => {}
                None => rest.push(condition.clone()),
            }
        }
        let mut taking = Taking { table, terms, rest, array: None };
        let equal = taking.equal(self, outside, columns)?;
        let next = columns.get(equal.len()).copied();
        let low = taking.bound(self, outside, next, Use::Low)?;
        let high = taking.bound(self, outside, next, Use::High)?;
        let Taking { terms, mut rest, array, .. } = taking;
        rest.extend(terms.into_iter().map(|term| term.whole.clone()));
        let is_whole = equal.len() == columns.len();
        let is_hash = index.is_some_and(|index| table.indexes[index].kind == IndexKind::Hash);
        let access = match index {
            None if is_whole => Access::Key(equal),
            Some(index) if is_whole => Access::Lookup { index, key: equal },
            _ if is_hash => {
                return self.error(format!(
                    "the hash index `{}` is used with only a part of its columns; declare it as btree",
                    wanted.index
                ));
            }
            _ if equal.is_empty() && low.is_none() && high.is_none() && !wanted.is_ordered => {
                Access::All
            }
            _ => Access::Range(Range { index, equal, low, high, is_backward: wanted.is_backward }),
        };
        let access = match array {
            None => access,
            Some(array) => {
                Access::Each { array, access: Box::new(access), is_backward: wanted.is_backward }
            }
        };
        Ok(Taken { access, rest })
    }

    /// Returns the access of a bitmap scan.
    pub(super) fn bitmap_access(
        &mut self,
        outside: &Scope<'_>,
        target: Target<'_>,
        bitmap: &Bitmap,
    ) -> Result<Taken, LowerError> {
        match &bitmap.source {
            BitmapSource::Index { index, condition } => {
                let condition = condition.as_ref();
                self.index_access(
                    outside,
                    target,
                    &Wanted { index, condition, is_backward: false, is_ordered: false },
                )
            }
            BitmapSource::Or(parts) => {
                let mut accesses = Vec::new();
                let mut rest = Vec::new();
                for part in parts {
                    let taken = self.bitmap_access(outside, target, part)?;
                    accesses.push(taken.access);
                    rest.extend(taken.rest);
                }
                // Conditions left over from one part hold only for the rows of that part, so filter
                // by the whole condition.
                if !rest.is_empty() {
                    rest = condition_of(bitmap).into_iter().collect();
                }
                // If one part reads all rows, the others add none.
                let access = match accesses.contains(&Access::All) {
                    true => Access::All,
                    false => Access::Any(accesses),
                };
                Ok(Taken { access, rest })
            }
            BitmapSource::And(parts) => {
                let first = parts.iter().enumerate().min_by_key(|(_, part)| part.estimate.rows);
                let Some((first, best)) = first else {
                    return self.error("a bitmap has no inputs; create the plans again");
                };
                let mut taken = self.bitmap_access(outside, target, best)?;
                let others = parts.iter().enumerate().filter(|(at, _)| *at != first);
                taken.rest.extend(others.filter_map(|(_, part)| condition_of(part)));
                Ok(taken)
            }
        }
    }
}

/// An index access under construction.
struct Taking<'a> {
    table: &'a Table,
    terms: Vec<Term<'a>>,
    rest: Vec<Expression>,
    array: Option<Expr>,
}

impl Taking<'_> {
    /// Takes the values of the leading columns that are compared for equality.
    fn equal(
        &mut self,
        lowering: &mut Lowering<'_>,
        outside: &Scope<'_>,
        columns: &[usize],
    ) -> Result<Vec<Expr>, LowerError> {
        let mut equal = Vec::new();
        for &column in columns {
            let is_plain =
                |term: &Term<'_>| term.column == column && term.comparison == Comparison::Equal;
            let is_array =
                |term: &Term<'_>| term.column == column && term.comparison == Comparison::Any;
            let array_allowed = self.array.is_none();
            let position = self.terms.iter().position(is_plain);
            let position =
                position.or_else(|| self.terms.iter().position(is_array).filter(|_| array_allowed));
            let Some(position) = position else { break };
            let term = &self.terms[position];
            let value = term.value(lowering, outside)?;
            let (value, array) = match (&value.sql_type, term.comparison) {
                (SqlType::Array(element), Comparison::Any) => {
                    (Expr { kind: ExprKind::Element, sql_type: (**element).clone() }, Some(value))
                }
                (_, Comparison::Any) => {
                    return lowering
                        .error(format!("`{}` does not compare with an array", term.whole));
                }
                _ => (value, None),
            };
            let Some(found) = key(value, &self.table.columns[column].sql_type, Use::Equal) else {
                break;
            };
            let term = self.terms.remove(position);
            if !found.is_exact {
                self.rest.push(term.whole.clone());
            }
            self.array = self.array.take().or(array);
            equal.push(found.value);
        }
        Ok(equal)
    }

    /// Takes a bound of the column after them.
    fn bound(
        &mut self,
        lowering: &mut Lowering<'_>,
        outside: &Scope<'_>,
        column: Option<usize>,
        purpose: Use,
    ) -> Result<Option<Bound>, LowerError> {
        let Some(column) = column else { return Ok(None) };
        for position in 0..self.terms.len() {
            let term = &self.terms[position];
            let is_included = match (term.comparison, purpose) {
                (Comparison::Low { is_included }, Use::Low)
                | (Comparison::High { is_included }, Use::High) => is_included,
                _ => continue,
            };
            if term.column != column {
                continue;
            }
            let value = term.value(lowering, outside)?;
            let Some(found) = key(value, &self.table.columns[column].sql_type, purpose) else {
                continue;
            };
            let term = self.terms.remove(position);
            // A value out of the column's range was clamped to its minimum or maximum, which is
            // then inside.
            let is_integer = self.table.columns[column].sql_type.is_integer();
            let is_seen_to = found.is_exact || is_included && is_integer;
            if !is_seen_to {
                self.rest.push(term.whole.clone());
            }
            return Ok(Some(Bound {
                value: found.value,
                is_included: is_included || !found.is_exact,
            }));
        }
        Ok(None)
    }
}

impl Term<'_> {
    fn value(&self, lowering: &mut Lowering<'_>, outside: &Scope<'_>) -> Result<Expr, LowerError> {
        match self.value {
            Side::Value(value) => lowering.typed(outside, value),
            Side::Truth(truth) => Ok(Expr { kind: ExprKind::Bool(truth), sql_type: SqlType::Bool }),
        }
    }
}

/// Splits a condition at `AND`.
pub(super) fn conjuncts(condition: &Expression) -> Vec<&Expression> {
    match condition {
        Expression::And(parts) => parts.iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}

fn term<'a>(whole: &'a Expression, target: Target<'_>) -> Option<Term<'a>> {
    let of = |column, comparison, value| Some(Term { whole, column, comparison, value });
    match whole {
        Expression::Binary { operator, left, right } => {
            if let Some(column) = column(left, target) {
                return of(column, comparison(operator)?, Side::Value(right));
            }
            of(column(right, target)?, comparison(turned(operator))?, Side::Value(left))
        }
        Expression::Quantified { operator, left, array, all: false } if operator == "=" => {
            of(column(left, target)?, Comparison::Any, Side::Value(array))
        }
        Expression::Column { .. } => {
            of(column(whole, target)?, Comparison::Equal, Side::Truth(true))
        }
        Expression::Not(operand) => {
            of(column(operand, target)?, Comparison::Equal, Side::Truth(false))
        }
        _ => None,
    }
}

/// Returns the table's column, also under a cast to `text`, with which PostgreSQL compares
/// `varchar`.
fn column(side: &Expression, target: Target<'_>) -> Option<usize> {
    match side {
        Expression::Column { relation, column } if relation.as_deref() == Some(target.alias) => {
            target.table.column(column)
        }
        Expression::Cast { operand, type_name } if type_name == "text" => {
            let column = column(operand, target)?;
            let is_text = matches!(
                target.table.columns[column].sql_type,
                SqlType::Varchar(_) | SqlType::Text
            );
            is_text.then_some(column)
        }
        _ => None,
    }
}

fn comparison(operator: &str) -> Option<Comparison> {
    Some(match operator {
        "=" => Comparison::Equal,
        ">" => Comparison::Low { is_included: false },
        ">=" => Comparison::Low { is_included: true },
        "<" => Comparison::High { is_included: false },
        "<=" => Comparison::High { is_included: true },
        _ => return None,
    })
}

fn turned(operator: &str) -> &str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

/// Whether the condition is `IS NOT NULL` of a `NOT NULL` column.
fn is_always_true(condition: &Expression, target: Target<'_>) -> bool {
    match condition {
        Expression::Is { operand, negated: true, state: State::Null } => {
            column(operand, target).is_some_and(|column| !target.table.columns[column].nullable)
        }
        Expression::Constant { value: Literal::Boolean(true), .. } => true,
        _ => false,
    }
}

/// Returns the condition that the rows of a bitmap satisfy.
fn condition_of(bitmap: &Bitmap) -> Option<Expression> {
    let all = |parts: &[Bitmap]| parts.iter().map(condition_of).collect::<Option<Vec<_>>>();
    match &bitmap.source {
        BitmapSource::Index { condition, .. } => condition.clone(),
        // A part without a condition contains all rows.
        BitmapSource::Or(parts) => all(parts).map(Expression::Or),
        BitmapSource::And(parts) => {
            Some(Expression::And(parts.iter().filter_map(condition_of).collect()))
        }
    }
}
