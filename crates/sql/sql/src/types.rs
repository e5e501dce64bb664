//! The supported PostgreSQL types, and how table columns store them.

use crate::enumeration::EnumType;
use crate::namespace::{shown_type, type_number};
use layout::ColumnType;
use std::fmt;
use std::sync::Arc;

/// Maximum number of digits of a decimal, which is stored in eight bytes.
pub const DECIMAL_DIGITS_MAX: u8 = 18;

/// The type of an expression, a variable or a column, as PostgreSQL sees it.
///
/// Its `Debug` leaves out precisions that are not declared: the fingerprints of generated code are
/// made of this text.
#[derive(Clone, PartialEq, Eq)]
pub enum SqlType {
    /// A literal whose type follows from its use.
    Unknown,
    /// `boolean`.
    Bool,
    /// `smallint`.
    Int2,
    /// `integer`.
    Int4,
    /// `bigint`.
    Int8,
    /// `numeric`, as declared or as computed by an expression.
    Numeric(Numeric),
    /// `real`.
    Float4,
    /// `double precision`.
    Float8,
    /// `text`.
    Text,
    /// `character varying`, with its maximum length if declared.
    Varchar(Option<u32>),
    /// `character`; trailing blanks are not significant. An expression may have lost the length.
    Char(Option<u32>),
    /// `bytea`.
    Bytes,
    /// `uuid`.
    Uuid,
    /// `json`: a text.
    Json,
    /// `jsonb`.
    Jsonb,
    /// `date`.
    Date,
    /// `time without time zone`, with its digits after the second if declared.
    Time(Option<u8>),
    /// `timestamp without time zone`, with its digits after the second if declared.
    Timestamp(Option<u8>),
    /// `timestamp with time zone`, with its digits after the second if declared.
    TimestampTz(Option<u8>),
    /// `interval`.
    Interval,
    /// An enumerated type.
    Enum(Arc<EnumType>),
    /// A one-dimensional array.
    Array(Box<SqlType>),
    /// A row.
    Record(Vec<Field>),
    /// No value.
    Void,
}

/// The statically known precision of a `numeric`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numeric {
    /// `numeric(precision, scale)`: values are rounded to the scale; values beyond the precision
    /// are refused.
    Declared { precision: u8, scale: u8 },
    /// An expression whose values have exactly `scale` decimal places.
    Exact { scale: u8 },
    /// The number of decimal places depends on the values, as in division.
    Open,
}

impl Numeric {
    /// The number of decimal places of every value, if it is known.
    pub const fn scale(self) -> Option<u8> {
        match self {
            Self::Declared { scale, .. } | Self::Exact { scale } => Some(scale),
            Self::Open => None,
        }
    }
}

/// A column of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    pub name: String,
    pub sql_type: SqlType,
}

impl SqlType {
    /// The type's name in PostgreSQL with its declared length or precision, as in `PREPARE`.
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// The type's name in the text of a definition: it stays when the type gets another name.
    pub fn written(&self) -> String {
        match self {
            Self::Enum(of) => format!("\"{}\"", type_number(of.oid)),
            Self::Array(element) => format!("{}[]", element.written()),
            other => other.to_string(),
        }
    }

    /// The stored type of a column, or `None` if columns cannot have this type.
    pub fn column_type(&self) -> Option<ColumnType> {
        Some(match self {
            Self::Bool => ColumnType::Bool,
            Self::Int2 => ColumnType::Int2,
            Self::Int4 => ColumnType::Int4,
            Self::Int8 | Self::Enum(_) => ColumnType::Int8,
            Self::Numeric(Numeric::Declared { scale, .. }) => ColumnType::Decimal { scale: *scale },
            // Eight bytes hold every `real`, with its order.
            Self::Float4 | Self::Float8 => ColumnType::Float8,
            Self::Varchar(Some(length)) => ColumnType::Varchar(*length),
            Self::Char(Some(length)) => ColumnType::Char(*length),
            Self::Uuid | Self::Interval => ColumnType::Bytes(16),
            Self::Date => ColumnType::Date,
            Self::Time(_) | Self::Timestamp(_) | Self::TimestampTz(_) => ColumnType::Timestamp,
            _ => return None,
        })
    }

    pub fn is_number(&self) -> bool {
        self.is_integer() || matches!(self, Self::Numeric(_)) || self.is_float()
    }

    /// Whether it is `smallint`, `integer` or `bigint`.
    pub fn is_integer(&self) -> bool {
        matches!(self, Self::Int2 | Self::Int4 | Self::Int8)
    }

    /// Whether it is `real` or `double precision`.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::Float4 | Self::Float8)
    }

    /// Whether a session stores values of any length, up to a megabyte, in a column of this type.
    pub fn is_long(&self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Varchar(None)
                | Self::Bytes
                | Self::Json
                | Self::Jsonb
                | Self::Array(_)
        )
    }

    /// Whether it is `json` or `jsonb`.
    pub fn is_json(&self) -> bool {
        matches!(self, Self::Json | Self::Jsonb)
    }

    /// Whether columns of this type can be part of keys and indexes of a session's tables.
    pub fn is_key(&self) -> bool {
        !self.is_json() && !matches!(self, Self::Array(_) | Self::Interval)
    }

    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Varchar(_) | Self::Char(_))
    }

    /// Whether values are dates, or times of a date.
    pub fn is_time(&self) -> bool {
        matches!(self, Self::Date | Self::Timestamp(_) | Self::TimestampTz(_))
    }

    /// A time of this type with digits after the second.
    #[must_use]
    pub fn with_digits(self, digits: u8) -> Self {
        match self {
            Self::Time(_) => Self::Time(Some(digits)),
            Self::Timestamp(_) => Self::Timestamp(Some(digits)),
            Self::TimestampTz(_) => Self::TimestampTz(Some(digits)),
            other => other,
        }
    }

    /// The declared digits after the second.
    pub fn digits(&self) -> Option<u8> {
        match self {
            Self::Time(digits) | Self::Timestamp(digits) | Self::TimestampTz(digits) => *digits,
            _ => None,
        }
    }

    /// The type without length and precision; PostgreSQL chooses operators by it.
    pub fn base(&self) -> Self {
        match self {
            Self::Numeric(_) => Self::Numeric(Numeric::Open),
            Self::Varchar(_) => Self::Varchar(None),
            Self::Char(_) => Self::Char(None),
            Self::Time(_) => Self::Time(None),
            Self::Timestamp(_) => Self::Timestamp(None),
            Self::TimestampTz(_) => Self::TimestampTz(None),
            Self::Array(element) => Self::Array(Box::new(element.base())),
            other => other.clone(),
        }
    }
}

fn time_name(
    formatter: &mut fmt::Formatter<'_>,
    name: &str,
    digits: Option<u8>,
    with: &str,
) -> fmt::Result {
    match digits {
        Some(digits) => write!(formatter, "{name}({digits}) {with} time zone"),
        None => write!(formatter, "{name} {with} time zone"),
    }
}

impl fmt::Debug for SqlType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Varchar(length) => {
                return formatter.debug_tuple("Varchar").field(length).finish();
            }
            Self::Char(length) => return formatter.debug_tuple("Char").field(length).finish(),
            Self::Numeric(of) => return formatter.debug_tuple("Numeric").field(of).finish(),
            Self::Enum(of) => return formatter.debug_tuple("Enum").field(of).finish(),
            Self::Array(of) => return formatter.debug_tuple("Array").field(of).finish(),
            Self::Record(of) => return formatter.debug_tuple("Record").field(of).finish(),
            Self::Time(Some(digits)) => return write!(formatter, "Time({digits})"),
            Self::Timestamp(Some(digits)) => return write!(formatter, "Timestamp({digits})"),
            Self::TimestampTz(Some(digits)) => return write!(formatter, "TimestampTz({digits})"),
            Self::Unknown => "Unknown",
            Self::Bool => "Bool",
            Self::Int2 => "Int2",
            Self::Int4 => "Int4",
            Self::Int8 => "Int8",
            Self::Float4 => "Float4",
            Self::Float8 => "Float8",
            Self::Text => "Text",
            Self::Bytes => "Bytes",
            Self::Uuid => "Uuid",
            Self::Json => "Json",
            Self::Jsonb => "Jsonb",
            Self::Date => "Date",
            Self::Time(None) => "Time",
            Self::Timestamp(None) => "Timestamp",
            Self::TimestampTz(None) => "TimestampTz",
            Self::Interval => "Interval",
            Self::Void => "Void",
        };
        formatter.write_str(name)
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => formatter.write_str("unknown"),
            Self::Bool => formatter.write_str("boolean"),
            Self::Int2 => formatter.write_str("smallint"),
            Self::Int4 => formatter.write_str("integer"),
            Self::Int8 => formatter.write_str("bigint"),
            Self::Numeric(Numeric::Declared { precision, scale }) => {
                write!(formatter, "numeric({precision},{scale})")
            }
            Self::Numeric(_) => formatter.write_str("numeric"),
            Self::Float4 => formatter.write_str("real"),
            Self::Float8 => formatter.write_str("double precision"),
            Self::Text => formatter.write_str("text"),
            Self::Varchar(Some(length)) => write!(formatter, "character varying({length})"),
            Self::Varchar(None) => formatter.write_str("character varying"),
            Self::Char(Some(length)) => write!(formatter, "character({length})"),
            Self::Char(None) => formatter.write_str("bpchar"),
            Self::Bytes => formatter.write_str("bytea"),
            Self::Uuid => formatter.write_str("uuid"),
            Self::Json => formatter.write_str("json"),
            Self::Jsonb => formatter.write_str("jsonb"),
            Self::Date => formatter.write_str("date"),
            Self::Time(digits) => time_name(formatter, "time", *digits, "without"),
            Self::Timestamp(digits) => time_name(formatter, "timestamp", *digits, "without"),
            Self::TimestampTz(digits) => time_name(formatter, "timestamp", *digits, "with"),
            Self::Interval => formatter.write_str("interval"),
            Self::Enum(of) => formatter.write_str(&shown_type(&of.name)),
            Self::Array(element) => write!(formatter, "{element}[]"),
            Self::Record(_) => formatter.write_str("record"),
            Self::Void => formatter.write_str("void"),
        }
    }
}
