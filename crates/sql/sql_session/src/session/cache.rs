//! Statements that were prepared before: clients send the same texts again, and texts that differ
//! in constants only.
//!
//! A constant behind a comparison or an arithmetic sign, or in `VALUES`, becomes a parameter. The
//! types are the same: an integer constant is an `integer`, and a text in quotes gets its type from
//! its use, as a parameter without a type does. Constants of a table with constants in an index
//! stay, so that the index is found. If the statement with parameters is refused, the
//! text is prepared as it is.
//!
//! Decision: docs/decisions/0328-constants-of-simple-queries-become-parameters.md

use super::{Prepared, StatementKind};
use crate::lexer::{Kind, Token, tokens};
use sql::expression::{Expr, ExprKind};
use sql::namespace::own_name;
use sql::{Catalog, SqlType};
use sql_value::style::Style;
use sql_value::{Value, input};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// Number of statements that a session keeps.
const STATEMENTS_MAX: usize = 256;
/// Longer texts are not kept.
const BYTES_MAX: usize = 4_096;
/// The number of `integer` among the types of clients, and that of no type.
const INTEGER: u32 = 23;
const UNKNOWN: u32 = 0;

/// The kept statements, by text and declared types, with the version of the catalog.
#[derive(Default)]
pub(super) struct Cache {
    /// The style in which their constants were read.
    style: Option<Arc<Style>>,
    statements: HashMap<(String, Vec<u32>), (u64, Prepared)>,
}

impl Cache {
    /// A statement that was prepared for this version of the catalog.
    pub fn find(&self, text: &str, types: &[u32], version: u64) -> Option<Prepared> {
        // A search by a borrowed pair would need a key type of its own.
        let key = (text.to_owned(), types.to_vec());
        let (serial, prepared) = self.statements.get(&key)?;
        (*serial == version).then(|| prepared.clone())
    }

    pub fn keep(&mut self, text: &str, types: &[u32], version: u64, prepared: &Prepared) {
        let is_kept = matches!(prepared.kind(), StatementKind::Rows | StatementKind::Change);
        if !is_kept || text.len() > BYTES_MAX {
            return;
        }
        if self.statements.len() == STATEMENTS_MAX {
            self.statements.clear();
        }
        self.statements.insert((text.to_owned(), types.to_vec()), (version, prepared.clone()));
    }

    /// Forgets statements whose constants were read in another style.
    pub fn keep_style(&mut self, style: &Option<Arc<Style>>) {
        let is_same = match (&self.style, style) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        if !is_same {
            self.style = style.clone();
            self.clear();
        }
    }

    pub fn clear(&mut self) {
        self.statements.clear();
    }
}

/// A statement whose constants are parameters.
pub(super) struct Shape {
    pub text: String,
    pub types: Vec<u32>,
    /// Integers, or the characters of texts.
    constants: Vec<Value>,
}

impl Shape {
    /// The values of the parameters; `None` if one cannot be read as its parameter's type.
    pub fn values(&self, types: &[SqlType]) -> Option<Vec<Value>> {
        let value = |(constant, sql_type): (&Value, &SqlType)| match constant {
            Value::Text(text) => input::read(text, sql_type).ok(),
            other => Some(other.clone()),
        };
        self.constants.iter().zip(types).map(value).collect()
    }
}

/// Whether a query may read a table with constants in an index, which the planner compares with
/// those of the query.
pub(super) fn needs_constants(text: &str, catalog: &Catalog) -> bool {
    let has_constant = |value: &Expr| {
        let mut found = false;
        value.visit(&mut |part| {
            found |= matches!(part.kind, ExprKind::Integer(_) | ExprKind::Text(_));
        });
        found
    };
    let mut tables =
        catalog.tables.iter().filter(|table| table.computed.iter().any(has_constant)).peekable();
    if tables.peek().is_none() {
        return false;
    }
    let text = text.to_lowercase();
    if text.starts_with("insert") && !text.contains("select") {
        return false;
    }
    tables.any(|table| text.contains(&own_name(&table.name).to_lowercase()))
}

/// Replaces the constants of a statement by parameters; `None` if it has none to replace.
pub(super) fn shape(text: &str) -> Option<Shape> {
    if text.len() > BYTES_MAX {
        return None;
    }
    let tokens = tokens(text).ok()?;
    let first = tokens.first()?;
    let is_insert = first.is_word("INSERT");
    let is_query = ["SELECT", "UPDATE", "DELETE"].iter().any(|word| first.is_word(word));
    let has_parameters = tokens.iter().any(|token| token.kind == Kind::Parameter);
    if has_parameters || !is_insert && !is_query {
        return None;
    }
    let mut shape = Shape {
        text: String::with_capacity(text.len() + 8),
        types: Vec::new(),
        constants: Vec::new(),
    };
    let (mut copied, mut depth, mut is_in_values) = (0, 0_i32, false);
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Sign('(') => depth += 1,
            Kind::Sign(')') => depth -= 1,
            Kind::Word if is_insert && depth == 0 => is_in_values = token.is_word("VALUES"),
            _ => {}
        }
        let before = at.checked_sub(1).map(|before| tokens[before]);
        let is_listed = is_in_values && depth == 1;
        let Some((oid, constant)) = before.and_then(|one| constant(&one, token, is_listed)) else {
            continue;
        };
        shape.text.push_str(&text[copied..token.at]);
        shape.types.push(oid);
        shape.constants.push(constant);
        // Writing to a string cannot fail.
        let _ = write!(shape.text, "${}", shape.types.len());
        copied = token.end();
    }
    shape.text.push_str(&text[copied..]);
    (!shape.types.is_empty()).then_some(shape)
}

/// The constant of a token that may become a parameter, with the parameter's type.
fn constant(before: &Token<'_>, token: &Token<'_>, is_listed: bool) -> Option<(u32, Value)> {
    let is_behind_sign = matches!(before.kind, Kind::Sign('=' | '<' | '>' | '+' | '-'));
    let is_behind_list = is_listed && matches!(before.kind, Kind::Sign('(' | ','));
    if !is_behind_sign && !is_behind_list {
        return None;
    }
    match token.kind {
        Kind::Number => {
            let number: i32 = token.text.parse().ok()?;
            Some((INTEGER, Value::Int(i64::from(number))))
        }
        Kind::Text if token.text.starts_with('\'') => {
            Some((UNKNOWN, Value::text(&token.string()?)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shaped(text: &str) -> Option<(String, usize)> {
        shape(text).map(|shape| (shape.text, shape.constants.len()))
    }

    #[test]
    fn constants_become_parameters() {
        let found = |text: &str, count| Some((text.to_owned(), count));
        assert_eq!(
            shaped("UPDATE t SET a = a + -5 WHERE b = 'x' LIMIT 3"),
            found("UPDATE t SET a = a + -$1 WHERE b = $2 LIMIT 3", 2)
        );
        assert_eq!(
            shaped("INSERT INTO t (a) VALUES (1, 'b', f(2)), (9999999999, 3, now())"),
            found("INSERT INTO t (a) VALUES ($1, $2, f(2)), (9999999999, $3, now())", 3)
        );
        assert_eq!(shaped("SELECT a FROM t ORDER BY 1"), None);
        assert_eq!(shaped("SELECT a FROM t WHERE a = $1 AND b = 2"), None);
        assert_eq!(shaped("CREATE TABLE t (a int CHECK (a > 1))"), None);
    }
}
