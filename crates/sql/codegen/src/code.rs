//! Fragments of Rust code, with the properties of their values.
//!
//! Decision: docs/decisions/0199-the-load-says-which-arguments-may-be-null-and-how-many.md

use crate::expression::atom;
use crate::unsupported::Unsupported;
use layout::ColumnType;
use sql::{Numeric, SqlType};
use std::collections::BTreeSet;

/// Size in bytes of a text variable if the maximum length is unknown: a longer text deviates.
pub const TEXT_BYTES_MAX: usize = 128;

/// The Rust type of a fragment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `i64`: integers, dates and times.
    Int,
    /// `i64`: the units of a decimal of this scale.
    Decimal(u8),
    Bool,
    /// `f64`.
    Float,
    /// `&[u8]`.
    Text,
    /// `&[T]`.
    List(Box<Kind>),
    /// A column that generated code cannot read: it is stored out of line.
    Unreadable,
    /// Unsupported, and may fail.
    Unknown,
}

impl Kind {
    /// Returns the Rust type for an SQL type.
    pub fn of(sql_type: &SqlType) -> Result<Self, Unsupported> {
        Ok(match sql_type {
            SqlType::Bool => Self::Bool,
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => Self::Int,
            SqlType::Date => Self::Int,
            // Casts to fewer digits round, which generated code does not.
            SqlType::Timestamp(None | Some(6..)) | SqlType::TimestampTz(None | Some(6..)) => {
                Self::Int
            }
            SqlType::Numeric(Numeric::Declared { scale, .. } | Numeric::Exact { scale }) => {
                Self::Decimal(*scale)
            }
            SqlType::Float8 => Self::Float,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => Self::Text,
            SqlType::Array(element) => Self::List(Box::new(Self::of(element)?)),
            other => return Err(Unsupported::new(format!("a value of type {other}"))),
        })
    }

    /// Returns the Rust type for a column.
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

    /// Returns the type of an argument.
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

    /// Returns the scale of a number.
    pub fn scale(&self) -> Option<u8> {
        match self {
            Self::Int => Some(0),
            Self::Decimal(scale) => Some(*scale),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    pub text: String,
    pub kind: Kind,
    /// Whether it is an `Option`, with `None` for null.
    pub is_nullable: bool,
    /// The rows that it reads: names of their `RowId`s, and of the records that the text uses.
    pub rows: BTreeSet<FoundRow>,
    /// Maximum length of a text in bytes, if it is known.
    pub bytes_max: Option<usize>,
    /// Whether a decimal may have a larger scale than PostgreSQL's. The extra digits are zeros, and
    /// are there because alternative values have them.
    pub is_padded: bool,
}

/// Name of the value inside an option, see [`Code::mapped`].
pub const VALUE: &str = "value";

/// Splits a fragment of [`Code::mapped`] into the option and the expression over its value.
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

/// Whether a text is the path of a function.
fn is_path(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':')
}

/// A row that generated code has found.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FoundRow {
    /// The variable with its `RowId`.
    pub id: String,
    /// The variable with its record, which is created at its first use.
    pub record: String,
}

impl Code {
    /// Creates a fragment that is never null and reads no row.
    pub fn new(text: impl Into<String>, kind: Kind) -> Self {
        let (bytes_max, rows) = (None, BTreeSet::new());
        Self { text: text.into(), kind, is_nullable: false, rows, bytes_max, is_padded: false }
    }

    pub fn null(kind: Kind) -> Self {
        Self { is_nullable: true, ..Self::new("None", kind) }
    }

    pub fn can_stop(&self) -> bool {
        self.text.contains('?')
    }

    /// Returns the fragment as a value that is not null; null deviates.
    pub fn known(&self) -> String {
        match self.is_nullable {
            true => match behind_null(&self.text) {
                Some((option, inner)) => inner.replacen(VALUE, &format!("known({option})?"), 1),
                None => format!("known({})?", self.text),
            },
            false => self.text.clone(),
        }
    }

    /// Maps this nullable value with `inner`, which refers to it as [`VALUE`]; null stays null.
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

    /// Combines fragments. Null is not allowed.
    pub fn from_parts(text: String, kind: Kind, parts: &[&Self]) -> Self {
        let rows = parts.iter().flat_map(|part| part.rows.iter().cloned()).collect();
        let is_decimal = matches!(kind, Kind::Decimal(_));
        let is_padded = is_decimal && parts.iter().any(|part| part.is_padded);
        Self { rows, is_padded, ..Self::new(text, kind) }
    }

    /// Refuses a decimal whose scale differs from PostgreSQL's, if it becomes visible.
    pub fn as_shown(&self) -> Result<&Self, Unsupported> {
        match self.is_padded {
            true => Err(Unsupported::new("a decimal whose scale varies")),
            false => Ok(self),
        }
    }

    /// Sets the maximum length in bytes.
    #[must_use]
    pub fn at_most(self, bytes: Option<usize>) -> Self {
        Self { bytes_max: bytes, ..self }
    }
}
