//! Expressions over rows.

use crate::aggregate;
use crate::functions;
use crate::names;
use crate::operators::{
    bool_of, compare, elements_of, int_of, is_distinct, is_in, like_of, operate, text_of, unary,
    with_backslashes,
};
use crate::route::OutputColumn;
use crate::select::{self, Row};
use crate::types::{self, folded};
use crate::world::World;
use sql_session::SqlError;
use sql_value::Value;
use sqlparser::ast::{self, AccessExpr, BinaryOperator, Expr, Subscript};
use std::cmp::Ordering;

/// The inputs of a query.
#[derive(Clone)]
pub struct Context<'a> {
    pub world: &'a World,
    pub parameters: &'a [Value],
    pub parameter_types: &'a [u32],
    /// The queries of `WITH`, the innermost last.
    pub ctes: Vec<Cte>,
}

/// A query of `WITH` with its rows.
#[derive(Clone, Debug)]
pub struct Cte {
    pub name: String,
    pub columns: Vec<OutputColumn>,
    pub rows: Vec<Row>,
}

/// The columns of the rows of a FROM clause.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    pub columns: Vec<LayoutColumn>,
}

#[derive(Clone, Debug)]
pub struct LayoutColumn {
    /// The alias of its table.
    pub source: String,
    pub name: String,
    pub oid: u32,
    /// Whether `*` leaves it out.
    pub is_hidden: bool,
}

impl Layout {
    /// The position of a column by its name, which may have its table's in front.
    pub fn find(&self, parts: &[&ast::Ident]) -> Option<usize> {
        let name = folded(parts.last()?);
        let source = parts.len().checked_sub(2).map(|at| folded(parts[at]));
        self.columns.iter().position(|column| {
            column.name == name && source.as_ref().is_none_or(|source| column.source == *source)
        })
    }
}

/// A row with its columns, within the rows of outer queries.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub layout: &'a Layout,
    pub row: &'a [Value],
    /// The rows that aggregates see.
    pub group: Option<&'a [Row]>,
    pub outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    /// The layouts from this one outwards.
    pub fn layouts(&self) -> Vec<&'a Layout> {
        let mut layouts = vec![self.layout];
        let mut outer = self.outer;
        while let Some(scope) = outer {
            layouts.push(scope.layout);
            outer = scope.outer;
        }
        layouts
    }

    fn column(&self, parts: &[&ast::Ident]) -> Option<&'a Value> {
        match self.layout.find(parts) {
            // The row of an empty group has no values.
            Some(at) => Some(self.row.get(at).unwrap_or(&Value::Null)),
            None => self.outer.and_then(|outer| outer.column(parts)),
        }
    }
}

pub fn unsupported(what: impl std::fmt::Display) -> SqlError {
    SqlError::new("0A000", format!("queries on the system catalog do not support {what}"))
}

/// `source.column[...]` is parsed as an access to `source`: the column, and the rest of the chain.
pub fn column_of_access<'e>(
    root: &Expr,
    chain: &'e [AccessExpr],
) -> Option<(Expr, &'e [AccessExpr])> {
    let (Expr::Identifier(source), [AccessExpr::Dot(Expr::Identifier(column)), rest @ ..]) =
        (root, chain)
    else {
        return None;
    };
    (!rest.is_empty())
        .then(|| (Expr::CompoundIdentifier(vec![source.clone(), column.clone()]), rest))
}

impl Context<'_> {
    /// The query of `WITH` with this name.
    pub fn cte(&self, name: &ast::ObjectName) -> Option<&Cte> {
        let [part] = name.0.as_slice() else { return None };
        let name = folded(part.as_ident()?);
        self.ctes.iter().rev().find(|cte| cte.name == name)
    }

    /// The value of an expression.
    pub fn value(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Value, SqlError> {
        let of = |inner: &Expr| self.value(inner, scope);
        Ok(match expression {
            Expr::Identifier(name) => self.column(&[name], scope)?,
            Expr::CompoundIdentifier(parts) => {
                self.column(&parts.iter().collect::<Vec<_>>(), scope)?
            }
            Expr::Value(value) => self.literal(&value.value)?,
            Expr::TypedString(typed) => {
                let value = self.literal(&typed.value.value)?;
                self.cast(value, types::TEXT, types::of_data_type(&typed.data_type))?
            }
            Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => of(inner)?,
            Expr::UnaryOp { op, expr } => unary(*op, &of(expr)?)?,
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, scope)?,
            Expr::Cast { expr, data_type, .. } => {
                let from = types::of(expr, &scope.layouts(), self);
                self.cast(of(expr)?, from, types::of_data_type(data_type))?
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let operand = operand.as_deref().map(of).transpose()?;
                for when in conditions {
                    let condition = of(&when.condition)?;
                    let is_met = match &operand {
                        Some(operand) => compare(operand, &condition) == Some(Ordering::Equal),
                        None => bool_of(&condition) == Some(true),
                    };
                    if is_met {
                        return of(&when.result);
                    }
                }
                else_result.as_deref().map_or(Ok(Value::Null), of)?
            }
            Expr::Exists { subquery, negated } => {
                Value::Bool(self.rows(subquery, Some(scope))?.is_empty() == *negated)
            }
            Expr::Subquery(query) => self.scalar(query, scope)?,
            Expr::Array(array) => {
                let values = array.elem.iter().map(of).collect::<Result<Vec<_>, _>>()?;
                Value::Array(values.into())
            }
            Expr::Function(function) => self.function(function, scope)?,
            Expr::CompoundFieldAccess { root, access_chain } => {
                let column = column_of_access(root, access_chain);
                let (root, chain) = match &column {
                    Some((column, rest)) => (column, *rest),
                    None => (&**root, &access_chain[..]),
                };
                let first = i64::from(!types::is_vector(types::of(root, &scope.layouts(), self)));
                self.access(&of(root)?, chain, (first, scope))?
            }
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let text = text_of(&of(expr)?);
                let number = |one: &Option<Box<Expr>>| -> Result<Option<i64>, SqlError> {
                    one.as_deref().map(of).transpose().map(|value| value.as_ref().and_then(int_of))
                };
                let (from, count) = (number(substring_from)?.unwrap_or(1), number(substring_for)?);
                text.map_or(Value::Null, |text| functions::substring(&text, from, count))
            }
            Expr::Trim { expr, trim_where, trim_what, .. } => {
                let what = trim_what.as_deref().map(of).transpose()?;
                let what = what.as_ref().map_or(Some(" ".to_owned()), text_of);
                match (text_of(&of(expr)?), what) {
                    (Some(text), Some(what)) => functions::trim(&text, *trim_where, &what),
                    _ => Value::Null,
                }
            }
            other => return self.predicate(other, scope),
        })
    }

    /// The value of a predicate.
    fn predicate(&self, expression: &Expr, scope: &Scope<'_>) -> Result<Value, SqlError> {
        let of = |inner: &Expr| self.value(inner, scope);
        let truth = |known: Option<bool>| known.map_or(Value::Null, Value::Bool);
        Ok(match expression {
            Expr::IsNull(inner) => Value::Bool(of(inner)?.is_null()),
            Expr::IsNotNull(inner) => Value::Bool(!of(inner)?.is_null()),
            Expr::IsTrue(inner) => Value::Bool(bool_of(&of(inner)?) == Some(true)),
            Expr::IsNotTrue(inner) => Value::Bool(bool_of(&of(inner)?) != Some(true)),
            Expr::IsFalse(inner) => Value::Bool(bool_of(&of(inner)?) == Some(false)),
            Expr::IsNotFalse(inner) => Value::Bool(bool_of(&of(inner)?) != Some(false)),
            Expr::IsDistinctFrom(left, right) => Value::Bool(is_distinct(&of(left)?, &of(right)?)),
            Expr::IsNotDistinctFrom(left, right) => {
                Value::Bool(!is_distinct(&of(left)?, &of(right)?))
            }
            Expr::InList { expr, list, negated } => {
                let list = list.iter().map(of).collect::<Result<Vec<_>, _>>()?;
                truth(is_in(&of(expr)?, &list).map(|is_in| is_in != *negated))
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let list = self.first_column(subquery, scope)?;
                truth(is_in(&of(expr)?, &list).map(|is_in| is_in != *negated))
            }
            Expr::Between { expr, negated, low, high } => {
                let value = of(expr)?;
                let above = compare(&value, &of(low)?).map(Ordering::is_ge);
                let below = compare(&value, &of(high)?).map(Ordering::is_le);
                truth(above.zip(below).map(|(above, below)| (above && below) != *negated))
            }
            Expr::Like { negated, expr, pattern, escape_char, .. } => {
                let pattern =
                    with_backslashes(of(pattern)?, escape_char.as_deref().map(of).transpose()?)?;
                truth(like_of(&of(expr)?, &pattern, false)?.map(|is_like| is_like != *negated))
            }
            Expr::ILike { negated, expr, pattern, escape_char, .. } => {
                let pattern =
                    with_backslashes(of(pattern)?, escape_char.as_deref().map(of).transpose()?)?;
                truth(like_of(&of(expr)?, &pattern, true)?.map(|is_like| is_like != *negated))
            }
            Expr::AnyOp { left, compare_op, right, .. } => {
                truth(self.any(&of(left)?, compare_op, right, scope, true)?)
            }
            Expr::AllOp { left, compare_op, right } => {
                truth(self.any(&of(left)?, compare_op, right, scope, false)?)
            }
            other => return Err(unsupported(format!("`{other}`"))),
        })
    }

    fn column(&self, parts: &[&ast::Ident], scope: &Scope<'_>) -> Result<Value, SqlError> {
        if let Some(value) = scope.column(parts) {
            return Ok(value.clone());
        }
        let names: Vec<String> = parts.iter().map(|part| folded(part)).collect();
        if let [name] = names.as_slice()
            && let Some(value) = functions::without_parentheses(name, self.world)
        {
            return Ok(value);
        }
        let message = format!("column {} does not exist", names.join("."));
        Err(SqlError::new("42703", message))
    }

    fn literal(&self, value: &ast::Value) -> Result<Value, SqlError> {
        Ok(match value {
            ast::Value::Number(digits, _) => match digits.parse() {
                Ok(number) => Value::Int(number),
                Err(_) => Value::Float(digits.parse().unwrap_or(f64::NAN)),
            },
            ast::Value::SingleQuotedString(text) | ast::Value::EscapedStringLiteral(text) => {
                Value::text(text)
            }
            ast::Value::DollarQuotedString(text) => Value::text(&text.value),
            ast::Value::Boolean(truth) => Value::Bool(*truth),
            ast::Value::Null => Value::Null,
            ast::Value::Placeholder(name) => {
                let at = name.trim_start_matches('$').parse::<usize>().unwrap_or(0);
                let value = self.parameters.get(at.wrapping_sub(1));
                value.cloned().ok_or_else(|| {
                    SqlError::new("42P02", format!("there is no parameter {name}"))
                })?
            }
            other => return Err(unsupported(format!("the literal {other}"))),
        })
    }

    fn binary(
        &self,
        left: &Expr,
        operator: &BinaryOperator,
        right: &Expr,
        scope: &Scope<'_>,
    ) -> Result<Value, SqlError> {
        let left = self.value(left, scope)?;
        // PostgreSQL's planner may evaluate them in any order; this one saves the right side.
        match (operator, bool_of(&left)) {
            (BinaryOperator::And, Some(false)) => return Ok(Value::Bool(false)),
            (BinaryOperator::Or, Some(true)) => return Ok(Value::Bool(true)),
            _ => {}
        }
        operate(&left, operator, &self.value(right, scope)?)
    }

    /// `left op ANY (right)`, or `ALL`.
    fn any(
        &self,
        left: &Value,
        operator: &BinaryOperator,
        right: &Expr,
        scope: &Scope<'_>,
        is_any: bool,
    ) -> Result<Option<bool>, SqlError> {
        let inner = if let Expr::Nested(inner) = right { inner } else { right };
        let list = match inner {
            Expr::Subquery(query) => self.first_column(query, scope)?,
            inner => {
                let value = self.value(inner, scope)?;
                match elements_of(&value) {
                    Some(elements) => elements,
                    None => return Ok(None),
                }
            }
        };
        let mut is_unknown = false;
        for element in &list {
            match bool_of(&operate(left, operator, element)?) {
                Some(truth) if truth == is_any => return Ok(Some(is_any)),
                Some(_) => {}
                None => is_unknown = true,
            }
        }
        Ok((!is_unknown).then_some(!is_any))
    }

    /// A field of the rows that `_pg_expandarray` returns, whose names are known.
    pub fn field(root: &Value, name: &ast::Ident) -> Result<Value, SqlError> {
        let at = match folded(name).as_str() {
            "x" => 0,
            "n" => 1,
            other => return Err(unsupported(format!("the field {other}"))),
        };
        match root {
            Value::Row(fields) => Ok(fields.get(at).cloned().unwrap_or(Value::Null)),
            Value::Null => Ok(Value::Null),
            _ => Err(unsupported("fields of this value")),
        }
    }

    /// A field of a value, or an element of an array whose first position is `first`.
    fn access(
        &self,
        root: &Value,
        chain: &[AccessExpr],
        (first, scope): (i64, &Scope<'_>),
    ) -> Result<Value, SqlError> {
        if let [AccessExpr::Dot(Expr::Identifier(name))] = chain {
            return Self::field(root, name);
        }
        let [AccessExpr::Subscript(Subscript::Index { index })] = chain else {
            return Err(unsupported("this subscript"));
        };
        let Some(at) = int_of(&self.value(index, scope)?) else { return Ok(Value::Null) };
        let Some(elements) = elements_of(root) else {
            // A `name` is an array of characters from 0.
            let letter =
                root.as_text().and_then(|text| text.chars().nth(usize::try_from(at).ok()?));
            return Ok(letter.map_or(Value::Null, |letter| Value::text(&letter.to_string())));
        };
        let element = usize::try_from(at - first).ok().and_then(|at| elements.get(at).cloned());
        Ok(element.unwrap_or(Value::Null))
    }

    fn function(&self, function: &ast::Function, scope: &Scope<'_>) -> Result<Value, SqlError> {
        if function.over.is_some() {
            return Err(unsupported("window functions"));
        }
        let name = functions::name(function);
        if let (Some(group), true) = (scope.group, aggregate::is_aggregate(&name)) {
            return aggregate::value(self, &name, function, group, scope);
        }
        if let ast::FunctionArguments::Subquery(query) = &function.args {
            // `ARRAY(SELECT ...)`
            return match name.as_str() {
                "array" => Ok(Value::Array(self.first_column(query, scope)?.into())),
                name => Err(unsupported(format!("{name}(SELECT ...)"))),
            };
        }
        let arguments = functions::arguments(function)?;
        let values = arguments.iter().map(|argument| self.value(argument, scope));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        functions::call(&name, &values, self.world)
    }

    /// Converts a value. Numbers of objects become their names as texts, and names their numbers.
    pub fn cast(&self, value: Value, from: u32, to: u32) -> Result<Value, SqlError> {
        if value.is_null() {
            return Ok(value);
        }
        match to {
            to if types::is_reference(to) => match int_of(&value) {
                Some(number) => Ok(Value::Int(number)),
                None => self.object_by_name(&text_of(&value).unwrap_or_default(), to),
            },
            types::TEXT | types::NAME | 1043 if types::is_reference(from) => {
                Ok(self.printed_reference(&value, from))
            }
            types::TEXT | types::NAME | 1043 | 18 => {
                Ok(text_of(&value).map_or(Value::Null, |text| Value::text(&text)))
            }
            types::BOOL => Ok(bool_of(&value).map_or(Value::Null, Value::Bool)),
            types::OID | types::INT4 | types::INT8 | 21 => match int_of(&value) {
                Some(number) => Ok(Value::Int(number)),
                None => {
                    let text = text_of(&value).unwrap_or_default();
                    let message = format!("invalid input syntax for type integer: \"{text}\"");
                    Err(SqlError::new("22P02", message))
                }
            },
            _ => Ok(match elements_of(&value) {
                Some(elements) if !matches!(value, Value::Array(_)) => {
                    Value::Array(elements.into())
                }
                _ => value,
            }),
        }
    }

    /// `'name'::regclass` and its like.
    fn object_by_name(&self, name: &str, kind: u32) -> Result<Value, SqlError> {
        let (found, what) = match kind {
            types::REGCLASS => (names::class_oid(name, self.world), ("42P01", "relation")),
            types::REGTYPE => (functions::type_oid(name, self.world), ("42704", "type")),
            types::REGNAMESPACE => {
                (functions::namespace_oid(name, self.world), ("3F000", "schema"))
            }
            _ => (self.world.role_oid(name), ("42704", "role")),
        };
        found
            .map(Value::Int)
            .ok_or_else(|| SqlError::new(what.0, format!("{} \"{name}\" does not exist", what.1)))
    }

    /// The name of an object by its number.
    pub fn printed_reference(&self, value: &Value, kind: u32) -> Value {
        let Some(number) = int_of(value) else { return value.clone() };
        if number == 0 {
            return Value::text("-");
        }
        let name = match kind {
            types::REGCLASS => names::class_name(number, self.world),
            types::REGTYPE => functions::format_type(number, None, self.world),
            types::REGNAMESPACE => functions::namespace_name(number, self.world),
            _ => self.world.role_name(number),
        };
        Value::text(&name.unwrap_or_else(|| number.to_string()))
    }

    fn scalar(&self, query: &ast::Query, scope: &Scope<'_>) -> Result<Value, SqlError> {
        let mut rows = self.rows(query, Some(scope))?;
        if rows.len() > 1 {
            let message = "more than one row returned by a subquery used as an expression";
            return Err(SqlError::new("21000", message));
        }
        let first = rows.pop().and_then(|row| row.into_iter().next());
        Ok(first.unwrap_or(Value::Null))
    }

    fn first_column(&self, query: &ast::Query, scope: &Scope<'_>) -> Result<Vec<Value>, SqlError> {
        let rows = self.rows(query, Some(scope))?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next()).collect())
    }

    fn rows(&self, query: &ast::Query, outer: Option<&Scope<'_>>) -> Result<Vec<Row>, SqlError> {
        select::run(query, outer, self)
    }
}
