//! Pieces of Rust with what is known of their values.

use crate::expression::atom;
use crate::unsupported::Unsupported;
use layout::ColumnType;
use sql::{Numeric, SqlType};
use std::collections::BTreeSet;

/// Most bytes of a text of which nothing tells how long it may be, where it is kept: longer ones deviate.
pub const TEXT_BYTES_MAX: usize = 128;

/// What a piece of Rust gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `i64`: integers, dates and times.
    Int,
    /// `i64`: the units of a decimal with so many digits behind the point.
    Decimal(u8),
    /// `bool`.
    Bool,
    /// `f64`.
    Float,
    /// `&[u8]`.
    Text,
    /// `&[T]`.
    List(Box<Kind>),
    /// A column that generated code does not read: one out of line.
    Unreadable,
    /// What no code is generated for, and may be an error.
    Unknown,
}

impl Kind {
    /// What values of a type are in Rust.
    pub fn of(sql_type: &SqlType) -> Result<Self, Unsupported> {
        Ok(match sql_type {
            SqlType::Bool => Self::Bool,
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => Self::Int,
            SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz => Self::Int,
            SqlType::Numeric(Numeric::Declared { scale, .. } | Numeric::Exact { scale }) => {
                Self::Decimal(*scale)
            }
            SqlType::Float8 => Self::Float,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => Self::Text,
            SqlType::Array(element) => Self::List(Box::new(Self::of(element)?)),
            other => return Err(Unsupported::new(format!("a value of type {other}"))),
        })
    }

    /// What a column of a table gives.
    pub fn of_column(column_type: ColumnType) -> Result<Self, Unsupported> {
        Ok(match column_type {
            ColumnType::Bool => Self::Bool,
            ColumnType::Decimal { scale } => Self::Decimal(scale),
            ColumnType::Float8 => Self::Float,
            ColumnType::Char(_) | ColumnType::Varchar(_) => Self::Text,
            ColumnType::Bytes(_) => return Err(Unsupported::new("a column of bytes")),
            _ => Self::Int,
        })
    }

    /// The type of an argument.
    pub fn argument_type(&self) -> String {
        match self {
            Self::Int | Self::Decimal(_) => "i64".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Float => "f64".to_owned(),
            Self::Text => "&'a [u8]".to_owned(),
            Self::List(element) => format!("&'a [{}]", element.argument_type()),
            Self::Unreadable | Self::Unknown => unreachable!("only columns are"),
        }
    }

    /// Digits behind the point of a number.
    pub fn scale(&self) -> Option<u8> {
        match self {
            Self::Int => Some(0),
            Self::Decimal(scale) => Some(*scale),
            _ => None,
        }
    }
}

/// An expression of Rust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// Its text.
    pub text: String,
    /// What it gives.
    pub kind: Kind,
    /// Whether it gives an `Option`, of which `None` is null.
    pub is_nullable: bool,
    /// The rows that have to be at hand: names of `RowId`s, and those of the records that the text refers to.
    pub rows: BTreeSet<Row>,
    /// Most bytes of a text, if they are known.
    pub bytes_max: Option<usize>,
    /// Whether a decimal may have more digits behind the point than PostgreSQL has for it: they are zeros, and stand there
    /// since other values in its place have them.
    pub is_padded: bool,
}

/// The name of a value behind an option, see [`Code::mapped`].
pub const VALUE: &str = "value";

/// The option in a piece of [`Code::mapped`], and what is made of its value.
fn behind_null(text: &str) -> Option<(&str, String)> {
    let (option, rest) = text.split_once(".map(")?;
    let (call, mark) = match rest.strip_suffix(").transpose()?") {
        Some(call) => (call, "?"),
        None => (rest.strip_suffix(')')?, ""),
    };
    let inner = match call.strip_prefix("|value| ") {
        Some(call) => format!("{call}{mark}"),
        None if is_path(call) => format!("{call}({VALUE}){mark}"),
        None => return None,
    };
    let mut depth = 0;
    let is_whole = inner.chars().all(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth >= 0
    });
    (is_whole && inner.matches(VALUE).count() == 1).then_some((option, inner))
}

/// Whether a text is the name of a function.
fn is_path(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':')
}

/// A row at hand.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Row {
    /// The variable with its `RowId`.
    pub id: String,
    /// The variable with its record, which is made where it is needed.
    pub record: String,
}

impl Code {
    /// A piece that is never null and needs no row.
    pub fn new(text: impl Into<String>, kind: Kind) -> Self {
        let (bytes_max, rows) = (None, BTreeSet::new());
        Self { text: text.into(), kind, is_nullable: false, rows, bytes_max, is_padded: false }
    }

    /// Null.
    pub fn null(kind: Kind) -> Self {
        Self { is_nullable: true, ..Self::new("None", kind) }
    }

    /// Whether it may deviate.
    pub fn can_stop(&self) -> bool {
        self.text.contains('?')
    }

    /// The same piece as a value: where it is null, the call deviates.
    pub fn known(&self) -> String {
        match self.is_nullable {
            true => match behind_null(&self.text) {
                Some((option, inner)) => inner.replacen(VALUE, &format!("known({option})?"), 1),
                None => format!("known({})?", self.text),
            },
            false => self.text.clone(),
        }
    }

    /// What `inner` makes of this value, which may be null, under the name [`VALUE`]: null of null.
    #[must_use]
    pub fn mapped(&self, inner: &str) -> String {
        let option = match self.text.ends_with(".as_deref()") {
            true => self.text.clone(),
            false => atom(&self.text),
        };
        let mapped = |call: &str| match call.strip_suffix("(value)").filter(|name| is_path(name)) {
            Some(name) => format!("{option}.map({name})"),
            None => format!("{option}.map(|{VALUE}| {call})"),
        };
        match inner.strip_suffix('?') {
            _ if inner == VALUE => self.text.clone(),
            Some(call) if !call.contains('?') => format!("{}.transpose()?", mapped(call)),
            None if !inner.contains('?') => mapped(inner),
            _ => format!("match {} {{ Some({VALUE}) => Some({inner}), None => None }}", self.text),
        }
    }

    /// A piece made of others, of which none may be null.
    pub fn from_parts(text: String, kind: Kind, parts: &[&Self]) -> Self {
        let rows = parts.iter().flat_map(|part| part.rows.iter().cloned()).collect();
        let is_decimal = matches!(kind, Kind::Decimal(_));
        let is_padded = is_decimal && parts.iter().any(|part| part.is_padded);
        Self { rows, is_padded, ..Self::new(text, kind) }
    }

    /// Refuses a decimal whose digits behind the point are not PostgreSQL's, where they can be seen.
    pub fn as_shown(&self) -> Result<&Self, Unsupported> {
        match self.is_padded {
            true => {
                Err(Unsupported::new("a decimal with now more, now fewer digits behind the point"))
            }
            false => Ok(self),
        }
    }

    /// The same with a known greatest length.
    #[must_use]
    pub fn at_most(self, bytes: Option<usize>) -> Self {
        Self { bytes_max: bytes, ..self }
    }
}
