//! `json` and `jsonb` [PostgreSQL 15, `src/backend/utils/adt/jsonb.c` and `jsonb_util.c`].
//!
//! A `json` is its text. A `jsonb` is a tree, printed as PostgreSQL prints it: keys by length and
//! bytes, of equal keys the last, numbers as `numeric` with all their digits.
//!
//! ```text
//! parse   texts            access   operators that read, containment
//! number  numbers          change   operators and functions that build
//! raw     `json` texts     convert  values of other types
//! ```
//!
//! Decision: docs/decisions/0340-json-is-read-by-a-reader-of-our-own.md

mod access;
mod change;
mod convert;
mod number;
mod parse;
mod raw;

pub use access::{
    contains, elements, field, has, keys, length, path, position_or_self, text_of, type_of, values,
};
pub use change::{
    build_array, build_object, concatenate, delete, delete_at, delete_path, delete_some, object_of,
    set, without_nulls,
};
pub use convert::{of_value, print_array, print_object, print_pair, print_value, to_scalar};
pub use parse::{check, parse};
pub use raw::RawJson;

use crate::error::{Error, Result, sqlstate};
use compact_str::CompactString;
use std::cmp::Ordering;
use std::fmt::Write;
use std::hash::{Hash, Hasher};

/// Most containers inside each other. PostgreSQL's limit is the size of its stack.
pub const DEPTH_MAX: usize = 1000;

/// A value of type `jsonb`.
#[derive(Clone, PartialEq, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    /// A decimal as `numeric` prints it.
    Number(CompactString),
    Text(CompactString),
    Array(Vec<Json>),
    /// Different keys, by length and bytes.
    Object(Vec<(CompactString, Json)>),
}

impl Json {
    /// Makes an object of pairs in any order; of pairs with the same key the last one counts.
    pub fn object(mut pairs: Vec<(CompactString, Self)>) -> Self {
        pairs.sort_by(|(left, _), (right, _)| key_order(left, right));
        let mut unique: Vec<(CompactString, Self)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match unique.last_mut() {
                Some(last) if last.0 == pair.0 => *last = pair,
                _ => unique.push(pair),
            }
        }
        Self::Object(unique)
    }

    pub fn text(text: &str) -> Self {
        Self::Text(CompactString::new(text))
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// The number of containers inside each other.
    fn depth(&self) -> usize {
        match self {
            Self::Array(elements) => 1 + elements.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(pairs) => {
                1 + pairs.iter().map(|(_, value)| value.depth()).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Checks that a built value is not too deep.
    ///
    /// # Errors
    /// 54001 if it is.
    pub fn checked(self) -> Result<Self> {
        if self.depth() > DEPTH_MAX { Err(too_deep()) } else { Ok(self) }
    }
}

#[cold]
fn too_deep() -> Box<Error> {
    Error::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .detail(format!("A JSON value has at most {DEPTH_MAX} levels."))
}

fn key_order(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.as_bytes().cmp(right.as_bytes()))
}

/// Finds the value of a key.
fn find<'j>(pairs: &'j [(CompactString, Json)], key: &str) -> Option<&'j Json> {
    let found = pairs.binary_search_by(|(own, _)| key_order(own, key));
    found.ok().map(|at| &pairs[at].1)
}

/// Prints the value as PostgreSQL prints a `jsonb`.
pub fn text(json: &Json) -> CompactString {
    let mut text = CompactString::default();
    print(json, &mut text);
    text
}

fn print(json: &Json, out: &mut CompactString) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Json::Number(number) => out.push_str(number),
        Json::Text(text) => quote(text, out),
        Json::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                print(element, out);
            }
            out.push(']');
        }
        Json::Object(pairs) => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                quote(key, out);
                out.push_str(": ");
                print(value, out);
            }
            out.push('}');
        }
    }
}

/// Prints a value over several lines, as `jsonb_pretty`.
pub fn pretty(json: &Json) -> CompactString {
    let mut text = CompactString::default();
    print_lines(json, 0, &mut text);
    text
}

fn print_lines(json: &Json, level: usize, out: &mut CompactString) {
    let line = |level: usize, out: &mut CompactString| {
        out.push('\n');
        (0..level).for_each(|_| out.push_str("    "));
    };
    match json {
        Json::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(level + 1, out);
                print_lines(element, level + 1, out);
            }
            line(level, out);
            out.push(']');
        }
        Json::Object(pairs) => {
            out.push('{');
            for (at, (key, value)) in pairs.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(level + 1, out);
                quote(key, out);
                out.push_str(": ");
                print_lines(value, level + 1, out);
            }
            line(level, out);
            out.push('}');
        }
        scalar => print(scalar, out),
    }
}

/// Prints a text between double quotes.
pub(crate) fn quote(text: &str, out: &mut CompactString) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            // Writing to a string cannot fail.
            letter if letter < ' ' => drop(write!(out, "\\u{:04x}", letter as u32)),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

/// Compares as the operators of `jsonb` do: objects are greater than arrays, those than booleans,
/// numbers, texts and null; containers compare by their size first. As in PostgreSQL, an empty
/// array is less than all scalars, if it is inside of nothing.
pub fn order(left: &Json, right: &Json) -> Ordering {
    let is_empty = |json: &Json| matches!(json, Json::Array(elements) if elements.is_empty());
    match (is_empty(left), is_empty(right)) {
        (true, false) if right.is_scalar() => Ordering::Less,
        (false, true) if left.is_scalar() => Ordering::Greater,
        _ => order_inside(left, right),
    }
}

fn order_inside(left: &Json, right: &Json) -> Ordering {
    match (left, right) {
        (Json::Bool(left), Json::Bool(right)) => left.cmp(right),
        (Json::Number(left), Json::Number(right)) => number::order(left, right),
        (Json::Text(left), Json::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Json::Array(left), Json::Array(right)) => left.len().cmp(&right.len()).then_with(|| {
            let pairs = left.iter().zip(right);
            first_difference(pairs.map(|(left, right)| order_inside(left, right)))
        }),
        (Json::Object(left), Json::Object(right)) => left.len().cmp(&right.len()).then_with(|| {
            let pairs = left.iter().zip(right);
            first_difference(pairs.map(|(left, right)| {
                let keys = left.0.as_bytes().cmp(right.0.as_bytes());
                keys.then_with(|| order_inside(&left.1, &right.1))
            }))
        }),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn rank(json: &Json) -> u8 {
    match json {
        Json::Null => 0,
        Json::Text(_) => 1,
        Json::Number(_) => 2,
        Json::Bool(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
    }
}

/// Hashes a value so that equal values have equal hashes.
pub fn hash(json: &Json, state: &mut impl Hasher) {
    state.write_u8(rank(json));
    match json {
        Json::Null => {}
        Json::Bool(truth) => truth.hash(state),
        Json::Number(number) => number::shortest(number).hash(state),
        Json::Text(text) => text.as_bytes().hash(state),
        Json::Array(elements) => {
            state.write_usize(elements.len());
            elements.iter().for_each(|element| hash(element, state));
        }
        Json::Object(pairs) => {
            state.write_usize(pairs.len());
            for (key, value) in pairs {
                key.as_bytes().hash(state);
                hash(value, state);
            }
        }
    }
}

fn refuse(message: impl Into<String>) -> Box<Error> {
    Error::new(sqlstate::INVALID_PARAMETER_VALUE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn values_are_printed_in_one_form() {
        for (written, printed) in [
            (r#" {"bb":1, "a":2,"a" : 3, "c":[ ] } "#, r#"{"a": 3, "c": [], "bb": 1}"#),
            ("[1.50,1e3,-0,12e-2, 1E+2]", "[1.50, 1000, 0, 0.12, 100]"),
            (r#""\u00e9\n\u0001\/\ud83d\ude00""#, "\"\u{e9}\\n\\u0001/\u{1f600}\""),
            ("123456789012345678901234567890123456789012345.6780", ""),
        ] {
            let printed = if printed.is_empty() { written } else { printed };
            assert_eq!(text(&json(written)), printed);
            assert_eq!(json(printed), json(written), "it is read again");
        }
    }

    #[test]
    fn values_have_postgresqls_order() {
        let sorted = [
            "[]",
            "null",
            "\"\"",
            "\"a\"",
            "\"b\"",
            "-1.5",
            "0",
            "1",
            "1.0001",
            "10",
            "false",
            "true",
            "[null]",
            "[1]",
            "[[]]",
            "[1, 2]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 1}",
            "{\"a\": 1, \"b\": 1}",
        ];
        for (at, left) in sorted.iter().enumerate() {
            for (to, right) in sorted.iter().enumerate() {
                assert_eq!(order(&json(left), &json(right)), at.cmp(&to), "{left} {right}");
            }
        }
        assert!(order(&json("[1.0, 0.00]"), &json("[1.00, -0]")).is_eq());
    }

    #[test]
    fn deep_values_are_refused() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(parse(&nested(DEPTH_MAX)).is_ok());
        assert_eq!(parse(&nested(DEPTH_MAX + 1)).expect_err("it is deep").sqlstate, "54001");
        let deep = json(&nested(DEPTH_MAX));
        assert_eq!(build_array(vec![deep]).expect_err("it is deep").sqlstate, "54001");
    }
}
