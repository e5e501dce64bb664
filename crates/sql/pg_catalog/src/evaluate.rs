//! Expressions over rows.

use crate::aggregate;
use crate::functions;
use crate::names;
use crate::operators::{bool_of, compare, elements_of, int_of, matches, text_of};
use crate::route::OutputColumn;
use crate::select::{self, Row};
use crate::types::{self, folded};
use crate::world::World;
use sql_session::SqlError;
use sql_value::{Value, like};
use sqlparser::ast::{self, AccessExpr, BinaryOperator, Expr, Subscript, UnaryOperator};
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
            types::REGTYPE => (functions::type_oid(name), ("42704", "type")),
            types::REGNAMESPACE => (functions::namespace_oid(name), ("3F000", "schema")),
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
            types::REGTYPE => functions::format_type(number, None),
            types::REGNAMESPACE => functions::namespace_name(number),
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

fn is_distinct(left: &Value, right: &Value) -> bool {
    match (left.is_null(), right.is_null()) {
        (true, true) => false,
        (false, false) => compare(left, right) != Some(Ordering::Equal),
        _ => true,
    }
}

fn is_in(value: &Value, list: &[Value]) -> Option<bool> {
    let mut is_unknown = value.is_null() && !list.is_empty();
    for element in list {
        match compare(value, element) {
            Some(Ordering::Equal) => return Some(true),
            Some(_) => {}
            None => is_unknown = true,
        }
    }
    (!is_unknown).then_some(false)
}

/// A pattern of LIKE whose escape character is the backslash.
fn with_backslashes(pattern: Value, escape: Option<Value>) -> Result<Value, SqlError> {
    let Some(escape) = escape else { return Ok(pattern) };
    let (Some(text), Some(escape)) = (text_of(&pattern), text_of(&escape)) else {
        return Ok(Value::Null);
    };
    if escape.chars().count() > 1 {
        let error = SqlError::new("22025", "invalid escape string");
        return Err(error.hint("Escape string must be empty or one character."));
    }
    let escape = escape.chars().next();
    let mut letters = text.chars();
    let mut written = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => {
                written.push('\\');
                // At the end, the matcher refuses the backslash without a letter.
                written.extend(letters.next());
            }
            '\\' => written.push_str("\\\\"),
            letter => written.push(letter),
        }
    }
    Ok(Value::text(&written))
}

fn like_of(value: &Value, pattern: &Value, ignores_case: bool) -> Result<Option<bool>, SqlError> {
    match (text_of(value), text_of(pattern)) {
        (Some(text), Some(pattern)) => {
            let matched = like::matches(&text, &pattern, ignores_case);
            matched.map(Some).map_err(|error| SqlError::new("22025", error.message.clone()))
        }
        _ => Ok(None),
    }
}

fn unary(operator: UnaryOperator, value: &Value) -> Result<Value, SqlError> {
    Ok(match operator {
        UnaryOperator::Not => bool_of(value).map_or(Value::Null, |truth| Value::Bool(!truth)),
        UnaryOperator::Minus => match value {
            Value::Float(number) => Value::Float(-number),
            other => int_of(other).map_or(Value::Null, |number| Value::Int(number.wrapping_neg())),
        },
        UnaryOperator::Plus => value.clone(),
        other => return Err(unsupported(format!("the operator {other}"))),
    })
}

/// A binary operator; `OPERATOR(pg_catalog.~)` is `~`.
pub fn operate(left: &Value, operator: &BinaryOperator, right: &Value) -> Result<Value, SqlError> {
    let named = match operator {
        BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        BinaryOperator::Custom(name) => name.clone(),
        other => other.to_string(),
    };
    let truth = |known: Option<bool>| known.map_or(Value::Null, Value::Bool);
    let order = |test: fn(Ordering) -> bool| truth(compare(left, right).map(test));
    let regex = |ignores_case: bool, is_wanted: bool| -> Result<Value, SqlError> {
        match (text_of(left), text_of(right)) {
            (Some(text), Some(pattern)) => {
                Ok(Value::Bool(matches(&text, &pattern, ignores_case)? == is_wanted))
            }
            _ => Ok(Value::Null),
        }
    };
    let number = |operation: fn(i64, i64) -> Option<i64>| {
        let both = int_of(left).zip(int_of(right));
        both.and_then(|(left, right)| operation(left, right)).map_or(Value::Null, Value::Int)
    };
    Ok(match named.to_uppercase().as_str() {
        "AND" => truth(match (bool_of(left), bool_of(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }),
        "OR" => truth(match (bool_of(left), bool_of(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }),
        "=" => order(Ordering::is_eq),
        "<>" | "!=" => order(Ordering::is_ne),
        "<" => order(Ordering::is_lt),
        ">" => order(Ordering::is_gt),
        "<=" => order(Ordering::is_le),
        ">=" => order(Ordering::is_ge),
        "~" => regex(false, true)?,
        "~*" => regex(true, true)?,
        "!~" => regex(false, false)?,
        "!~*" => regex(true, false)?,
        "~~" => truth(like_of(left, right, false)?),
        "!~~" => truth(like_of(left, right, false)?.map(|is_like| !is_like)),
        "~~*" => truth(like_of(left, right, true)?),
        "||" => concatenate(left, right),
        "+" => number(i64::checked_add),
        "-" => number(i64::checked_sub),
        "*" => number(i64::checked_mul),
        "/" => number(i64::checked_div),
        "%" => number(i64::checked_rem),
        "&" => number(|left, right| Some(left & right)),
        "|" => number(|left, right| Some(left | right)),
        "@>" => truth(contains(left, right)),
        "<@" => truth(contains(right, left)),
        other => return Err(unsupported(format!("the operator {other}"))),
    })
}

fn contains(left: &Value, right: &Value) -> Option<bool> {
    let (left, right) = elements_of(left).zip(elements_of(right))?;
    Some(right.iter().all(|element| is_in(element, &left) == Some(true)))
}

fn concatenate(left: &Value, right: &Value) -> Value {
    if let (Value::Array(left), Value::Array(right)) = (left, right) {
        return Value::Array(left.iter().chain(right.iter()).cloned().collect());
    }
    match (text_of(left), text_of(right)) {
        (Some(left), Some(right)) => Value::text(&(left + &right)),
        _ => Value::Null,
    }
}
