//! Prints expressions as PostgreSQL does.

use super::{Expression, FunctionCall, Literal, SortKey, State};
use std::fmt::{Formatter, Result};

pub(super) fn expression(expression: &Expression, out: &mut Formatter<'_>) -> Result {
    match expression {
        Expression::Column { relation: Some(relation), column } => {
            write!(out, "{}.{}", name(relation), name(column))
        }
        Expression::Column { relation: None, column } => out.write_str(&name(column)),
        Expression::WholeRow { relation } => write!(out, "{}.*", name(relation)),
        Expression::Parameter(number) | Expression::InitPlanOutput(number) => {
            write!(out, "${number}")
        }
        Expression::SubPlan { name } => write!(out, "({name})"),
        Expression::Computed(operand) => write!(out, "({operand})"),
        Expression::Constant { value, type_name } => constant(value, type_name.as_deref(), out),
        Expression::Unary { operator, operand } => write!(out, "({operator} {operand})"),
        Expression::Binary { operator, left, right } => write!(out, "({left} {operator} {right})"),
        Expression::Quantified { operator, left, array, all } => {
            write!(out, "({left} {operator} {} ({array}))", if *all { "ALL" } else { "ANY" })
        }
        Expression::And(parts) => parenthesized(parts, " AND ", out),
        Expression::Or(parts) => parenthesized(parts, " OR ", out),
        Expression::Not(operand) => write!(out, "(NOT {operand})"),
        Expression::Is { operand, negated, state } => is(operand, *negated, *state, out),
        Expression::Distinct { left, right } => write!(out, "({left} IS DISTINCT FROM {right})"),
        Expression::Call(call) => self::call(call, out),
        Expression::Moment { name, precision: None } => out.write_str(name),
        Expression::Moment { name, precision: Some(digits) } => write!(out, "{name}({digits})"),
        Expression::Cast { operand, type_name } => write!(out, "({operand})::{type_name}"),
        Expression::Collate { operand, collation } => {
            write!(out, "({operand} COLLATE {})", quoted(collation))
        }
        Expression::AtTimeZone { operand, zone } => write!(out, "({operand} AT TIME ZONE {zone})"),
        Expression::Element { array, positions } => element(array, positions, out),
        Expression::Field { record, field } => write!(out, "({record}).{}", name(field)),
        Expression::Case { operand, branches, otherwise } => {
            case(operand.as_deref(), branches, otherwise.as_deref(), out)
        }
        Expression::Array(elements) => {
            out.write_str("ARRAY[")?;
            list(elements, ", ", out)?;
            out.write_str("]")
        }
        Expression::Row(fields) => {
            out.write_str("ROW(")?;
            list(fields, ", ", out)?;
            out.write_str(")")
        }
    }
}

pub(super) fn sort_key(key: &SortKey, out: &mut Formatter<'_>) -> Result {
    write!(out, "{}", key.value)?;
    match (key.descending, key.nulls_first) {
        (false, false) => Ok(()),
        (false, true) => out.write_str(" NULLS FIRST"),
        (true, true) => out.write_str(" DESC"),
        (true, false) => out.write_str(" DESC NULLS LAST"),
    }
}

fn list(parts: &[Expression], between: &str, out: &mut Formatter<'_>) -> Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.write_str(between)?;
        }
        expression(part, out)?;
    }
    Ok(())
}

fn parenthesized(parts: &[Expression], between: &str, out: &mut Formatter<'_>) -> Result {
    out.write_str("(")?;
    list(parts, between, out)?;
    out.write_str(")")
}

fn constant(value: &Literal, type_name: Option<&str>, out: &mut Formatter<'_>) -> Result {
    match value {
        Literal::Null => out.write_str("NULL")?,
        Literal::Boolean(value) => write!(out, "{value}")?,
        Literal::Number(digits) => out.write_str(digits)?,
        Literal::Text(text) => write!(out, "'{}'", text.replace('\'', "''"))?,
    }
    match type_name {
        None => Ok(()),
        Some(type_name) => write!(out, "::{type_name}"),
    }
}

fn is(operand: &Expression, negated: bool, state: State, out: &mut Formatter<'_>) -> Result {
    let state = match state {
        State::Null => "NULL",
        State::True => "TRUE",
        State::False => "FALSE",
        State::Unknown => "UNKNOWN",
    };
    write!(out, "({operand} IS {}{state})", if negated { "NOT " } else { "" })
}

fn call(call: &FunctionCall, out: &mut Formatter<'_>) -> Result {
    match (&*call.function, &*call.arguments) {
        ("EXTRACT", [Expression::Constant { value: Literal::Text(field), .. }, from]) => {
            return write!(out, "EXTRACT({field} FROM {from})");
        }
        ("TRIM", [Expression::Constant { value: Literal::Text(side), .. }, whole, rest @ ..]) => {
            write!(out, "TRIM({side} ")?;
            rest.iter().try_for_each(|characters| write!(out, "{characters} "))?;
            return write!(out, "FROM {whole})");
        }
        ("POSITION", [part, whole]) => return write!(out, "POSITION(({part}) IN ({whole}))"),
        ("SUBSTRING", [whole, from]) => return write!(out, "SUBSTRING({whole} FROM {from})"),
        ("SUBSTRING", [whole, from, count]) => {
            return write!(out, "SUBSTRING({whole} FROM {from} FOR {count})");
        }
        _ => {}
    }
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    write!(out, "{}({distinct}", call.function)?;
    if call.star {
        out.write_str("*")?;
    }
    list(&call.arguments, ", ", out)?;
    for (index, key) in call.order_by.iter().enumerate() {
        write!(out, "{}{key}", if index == 0 { " ORDER BY " } else { ", " })?;
    }
    out.write_str(")")?;
    match &call.filter {
        None => Ok(()),
        Some(filter) => write!(out, " FILTER (WHERE {filter})"),
    }
}

fn element(array: &Expression, positions: &[Expression], out: &mut Formatter<'_>) -> Result {
    match array {
        Expression::Column { .. } => write!(out, "{array}")?,
        _ => write!(out, "({array})")?,
    }
    positions.iter().try_for_each(|position| write!(out, "[{position}]"))
}

fn case(
    operand: Option<&Expression>,
    branches: &[(Expression, Expression)],
    otherwise: Option<&Expression>,
    out: &mut Formatter<'_>,
) -> Result {
    out.write_str("CASE")?;
    if let Some(operand) = operand {
        write!(out, " {operand}")?;
    }
    for (condition, result) in branches {
        write!(out, " WHEN {condition} THEN {result}")?;
    }
    if let Some(otherwise) = otherwise {
        write!(out, " ELSE {otherwise}")?;
    }
    out.write_str(" END")
}

/// A name, quoted if it has characters other than lower-case letters, digits and underscores.
fn name(name: &str) -> String {
    let plain = |character: char| matches!(character, 'a'..='z' | '_' | '0'..='9' | '$');
    if name.chars().all(plain) && name.starts_with(|first: char| matches!(first, 'a'..='z' | '_')) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
