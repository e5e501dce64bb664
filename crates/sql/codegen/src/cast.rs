//! Prints casts, including the implicit ones of operators.

use crate::code::{Code, Kind, VALUE};
use crate::expression::{Scope, text_literal};
use crate::unsupported::Unsupported;
use sql::expression::{CastKind, Expr, ExprKind};
use sql::{Numeric, SqlType};

type Result<T> = std::result::Result<T, Unsupported>;

impl Scope<'_> {
    /// Casts a value to another type.
    pub fn cast(self, operand: &Expr, kind: CastKind, to: &SqlType) -> Result<Code> {
        if let ExprKind::Text(literal) = &operand.kind {
            return cast_literal(literal, to);
        }
        if matches!(operand.kind, ExprKind::Null) {
            return Ok(Code::null(Kind::of(to)?));
        }
        let code = self.code(operand)?;
        let is_open = matches!(to, SqlType::Numeric(Numeric::Open));
        let target =
            if is_open { Kind::Decimal(code.kind.scale().unwrap_or(0)) } else { Kind::of(to)? };
        let from_type = &operand.sql_type;
        let is_padded = is_open && code.is_padded;
        if code.is_nullable && code.kind == target && !loses(from_type, to) {
            return Ok(Code { kind: target, is_padded, ..code });
        }
        if code.is_nullable && code.text != "None" {
            return self.cast_value(operand, &code, kind, to);
        }
        self.cast_known(operand, code, (kind, to), target)
    }

    /// Casts a value that may be null: null stays null.
    fn cast_value(self, operand: &Expr, code: &Code, kind: CastKind, to: &SqlType) -> Result<Code> {
        let value = Code { text: VALUE.to_owned(), is_nullable: false, ..code.clone() };
        let is_open = matches!(to, SqlType::Numeric(Numeric::Open));
        let target =
            if is_open { Kind::Decimal(code.kind.scale().unwrap_or(0)) } else { Kind::of(to)? };
        let inner = self.cast_known(operand, value, (kind, to), target.clone())?;
        if inner.text.starts_with('&') {
            // The value needs a name.
            return self.cast_known(
                operand,
                Code { text: code.known(), is_nullable: false, ..code.clone() },
                (kind, to),
                target,
            );
        }
        let text = code.mapped(&inner.text);
        Ok(Code { text, is_nullable: true, rows: code.rows.clone(), ..inner })
    }

    /// Casts a value that is not null.
    fn cast_known(
        self,
        operand: &Expr,
        code: Code,
        (kind, to): (CastKind, &SqlType),
        target: Kind,
    ) -> Result<Code> {
        let from_type = &operand.sql_type;
        let is_padded = matches!(to, SqlType::Numeric(Numeric::Open)) && code.is_padded;
        let value = code.known();
        let text = match (&code.kind, &target) {
            (Kind::Int, Kind::Int) => whole(value, from_type, to),
            (Kind::Int | Kind::Decimal(_), Kind::Decimal(scale)) => {
                let from = code.kind.scale().unwrap_or(0);
                let scaled = rescaled(value, from, *scale);
                match to {
                    SqlType::Numeric(Numeric::Declared { precision, .. })
                        if loses(from_type, to) =>
                    {
                        let has_room = scaled.parse::<i64>().is_ok()
                            && scaled.len() <= usize::from(*precision);
                        if has_room {
                            scaled
                        } else {
                            format!("number::digits({scaled}, {precision})?")
                        }
                    }
                    _ => scaled,
                }
            }
            (Kind::Decimal(scale), Kind::Int) => {
                whole(rescaled(value, *scale, 0), &SqlType::Int8, to)
            }
            (Kind::Text, Kind::Text) => return text_cast(&code, from_type, kind, to),
            (Kind::Int, Kind::Text) if from_type.is_integer() => {
                let text = format!("&text::number({value}, 0)");
                let code = Code::from_parts(text, Kind::Text, &[&code]);
                return text_cast(&code.at_most(Some(20)), from_type, kind, to);
            }
            (Kind::Decimal(scale), Kind::Text) => {
                let text = format!("&text::number({value}, {scale})");
                let code = Code::from_parts(text, Kind::Text, &[code.as_shown()?]);
                return text_cast(&code.at_most(Some(22)), from_type, kind, to);
            }
            (from, target) if from == target => value,
            _ => return Err(Unsupported::new(format!("a conversion from {from_type} to {to}"))),
        };
        Ok(Code { is_padded, ..Code::from_parts(text, target, &[&code]) })
    }
}

/// Parses a quoted literal of a type.
fn cast_literal(literal: &str, to: &SqlType) -> Result<Code> {
    match Kind::of(to)? {
        Kind::Text if matches!(to, SqlType::Char(_)) => {
            Ok(text_literal(literal.trim_end_matches(' ')))
        }
        Kind::Text => Ok(text_literal(literal)),
        Kind::Int if to.is_integer() => {
            let value: i64 = literal
                .trim()
                .parse()
                .map_err(|_| Unsupported::new(format!("'{literal}' as a number")))?;
            Ok(Code::new(value.to_string(), Kind::Int))
        }
        _ => Err(Unsupported::new(format!("'{literal}' as {to}"))),
    }
}

/// Casts text to a text type.
fn text_cast(code: &Code, from: &SqlType, kind: CastKind, to: &SqlType) -> Result<Code> {
    let value = code.known();
    let fits = |length: u32| code.bytes_max.is_some_and(|bytes| bytes <= length as usize);
    let (text, bytes) = match to {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) if !fits(*length) => {
            let text = match kind {
                CastKind::Explicit => format!("text::left({value}, {length})?"),
                _ => format!("text::fitting({value}, {length})?"),
            };
            (text, Some(*length as usize))
        }
        _ => (value, code.bytes_max),
    };
    let text = match to {
        // Truncated text may end in blanks again.
        SqlType::Char(_)
            if !matches!(from, SqlType::Char(_)) || text.starts_with("text::left(") =>
        {
            format!("text::trimmed({text})")
        }
        _ => text,
    };
    Ok(Code::from_parts(text, Kind::Text, &[code]).at_most(bytes))
}

/// Casts an integer to the type `to`, checked if it may be out of range.
fn whole(value: String, from: &SqlType, to: &SqlType) -> String {
    match to {
        _ if !loses(from, to) => value,
        SqlType::Int2 if value.parse::<i16>().is_ok() => value,
        SqlType::Int4 if value.parse::<i32>().is_ok() => value,
        SqlType::Int2 => format!("number::int2({value})?"),
        SqlType::Int4 => format!("number::int4({value})?"),
        _ => value,
    }
}

/// Checks the result of an integer operator if it may be out of range for the type.
pub fn in_type(value: String, of: &SqlType) -> String {
    match of {
        SqlType::Int2 => format!("number::int2({value})?"),
        SqlType::Int4 => format!("number::int4({value})?"),
        _ => value,
    }
}

pub fn rescaled(value: String, from: u8, to: u8) -> String {
    match value.parse::<i64>() {
        _ if from == to => value,
        Ok(literal) if to > from => match 10_i64.checked_pow(u32::from(to - from)) {
            Some(power) if literal.checked_mul(power).is_some() => (literal * power).to_string(),
            _ => format!("number::rescale({value}, {from}, {to})?"),
        },
        _ => format!("number::rescale({value}, {from}, {to})?"),
    }
}

/// Converts a value to `kind`, whose scale is at least as large.
pub fn in_scale(code: &Code, kind: &Kind) -> Result<Code> {
    if code.kind == *kind || code.text == "None" {
        return Ok(Code { kind: kind.clone(), ..code.clone() });
    }
    match (code.kind.scale(), kind.scale()) {
        (Some(from), Some(to)) => {
            let text = rescaled(code.known(), from, to);
            let is_padded = code.is_padded || from != to;
            Ok(Code { is_padded, ..Code::from_parts(text, kind.clone(), &[code]) })
        }
        _ => Err(Unsupported::new("alternative values of different types")),
    }
}

/// Whether a cast between types of one kind may fail or change a value.
fn loses(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Int2, SqlType::Int4 | SqlType::Int8) | (SqlType::Int4, SqlType::Int8) => false,
        (from, to) if from == to => false,
        (SqlType::Varchar(Some(from)), SqlType::Varchar(Some(to))) => from > to,
        (_, SqlType::Text | SqlType::Varchar(None)) => false,
        (SqlType::Char(Some(from)), SqlType::Char(Some(to))) => from > to,
        (SqlType::Char(_), SqlType::Char(None)) => false,
        _ => true,
    }
}

/// Strips the casts around an expression.
pub fn without_casts(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast { operand, .. } => without_casts(operand),
        _ => expr,
    }
}
