//! Arguments of procedure calls.

use crate::{Date, Timestamp};
use sql::SqlType;

/// A value for a parameter. Arrays contain no nulls.
///
/// ```
/// use namdb::procedures::{Argument, Texts};
///
/// assert_eq!(Argument::from(7), Argument::Int(7));
/// assert_eq!(Argument::from("Ghent"), Argument::Text("Ghent".to_owned()));
/// assert_eq!(Argument::from([5, 6]), Argument::Ints(vec![5, 6]));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// Null of any type.
    Null,
    /// A `smallint`, `integer` or `bigint`; also accepted for `numeric` and `double precision`.
    Int(i64),
    /// A `boolean` value.
    Bool(bool),
    /// A `double precision` value.
    Float(f64),
    /// A `numeric` value.
    Decimal(Decimal),
    /// A `text`, `varchar` or `char` value.
    Text(String),
    /// A `date`, in days since 2000-01-01.
    Date(i32),
    /// A `timestamp`, with or without time zone, in microseconds since 2000-01-01 00:00 UTC.
    Timestamp(i64),
    /// An array of `smallint`, `integer` or `bigint`.
    Ints(Vec<i64>),
    /// An array of `boolean`.
    Bools(Vec<bool>),
    /// An array of `text`, `varchar` or `char`.
    Texts(Texts),
}

/// A decimal number: 12.34 is 1234 units of scale 2. Generated code accepts it if its scale is that
/// of the values in `workload.toml`; otherwise the plan executor runs the call.
///
/// ```
/// use namdb::procedures::{Argument, Decimal};
///
/// let price = Decimal { units: 12_34, scale: 2 };
/// assert_eq!(Argument::from(price), Argument::Decimal(price));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Decimal {
    /// The number in units of its last digit.
    pub units: i64,
    /// Digits after the decimal point, 0 to 18.
    pub scale: u8,
}

/// Maximal number of digits after the decimal point.
pub(crate) const SCALE_MAX: u8 = 18;

/// The elements of a text array.
///
/// ```
/// use namdb::procedures::{Argument, Texts};
///
/// let towns = Texts(vec!["Ghent".to_owned(), "Bruges".to_owned()]);
/// assert_eq!(Argument::from(towns.clone()), Argument::Texts(towns));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Texts(pub Vec<String>);

impl Argument {
    /// The type's name in PostgreSQL.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "integer",
            Self::Bool(_) => "boolean",
            Self::Float(_) => "double precision",
            Self::Decimal(_) => "numeric",
            Self::Text(_) => "text",
            Self::Date(_) => "date",
            Self::Timestamp(_) => "timestamp",
            Self::Ints(_) => "integer[]",
            Self::Bools(_) => "boolean[]",
            Self::Texts(_) => "text[]",
        }
    }

    /// Whether a parameter of this type accepts the value.
    pub(crate) fn fits(&self, of: &SqlType) -> bool {
        match self {
            Self::Null => true,
            Self::Int(_) => is_int(of) || matches!(of, SqlType::Numeric(_) | SqlType::Float8),
            Self::Bool(_) => *of == SqlType::Bool,
            Self::Float(_) => *of == SqlType::Float8,
            Self::Decimal(decimal) => {
                matches!(of, SqlType::Numeric(_)) && decimal.scale <= SCALE_MAX
            }
            Self::Text(_) => is_text(of),
            Self::Date(_) => *of == SqlType::Date,
            Self::Timestamp(_) => matches!(of, SqlType::Timestamp(_) | SqlType::TimestampTz(_)),
            Self::Ints(_) => element(of).is_some_and(is_int),
            Self::Bools(_) => element(of) == Some(&SqlType::Bool),
            Self::Texts(_) => element(of).is_some_and(is_text),
        }
    }

    /// Converts to the argument type of generated code, for a parameter that the value fits.
    /// `texts` has the elements if the value is a text array.
    pub(crate) fn borrowed<'a>(
        &'a self,
        of: &SqlType,
        texts: &'a [&'a [u8]],
    ) -> procedure_runtime::Argument<'a> {
        match self {
            Self::Null => procedure_runtime::Argument::Null,
            Self::Int(number) | Self::Timestamp(number) => {
                procedure_runtime::Argument::Int(*number)
            }
            Self::Bool(flag) => procedure_runtime::Argument::Bool(*flag),
            Self::Float(number) => procedure_runtime::Argument::Float(*number),
            Self::Decimal(Decimal { units, scale }) => {
                procedure_runtime::Argument::Decimal(*units, *scale)
            }
            Self::Text(text) => procedure_runtime::Argument::Text(significant(text, of)),
            Self::Date(days) => procedure_runtime::Argument::Int(i64::from(*days)),
            Self::Ints(numbers) => procedure_runtime::Argument::Ints(numbers),
            Self::Bools(flags) => procedure_runtime::Argument::Bools(flags),
            Self::Texts(_) => procedure_runtime::Argument::Texts(texts),
        }
    }

    /// The elements of a text array; empty for other values.
    pub(crate) fn texts(&self, of: &SqlType) -> Vec<&[u8]> {
        match (self, element(of)) {
            (Self::Texts(Texts(texts)), Some(element)) => {
                texts.iter().map(|text| significant(text, element)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Removes the trailing blanks of a `character` value, which are insignificant.
fn significant<'a>(text: &'a str, of: &SqlType) -> &'a [u8] {
    match of {
        SqlType::Char(_) => text.trim_end_matches(' ').as_bytes(),
        _ => text.as_bytes(),
    }
}

fn element(of: &SqlType) -> Option<&SqlType> {
    match of {
        SqlType::Array(element) => Some(element),
        _ => None,
    }
}

fn is_int(of: &SqlType) -> bool {
    matches!(of, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
}

fn is_text(of: &SqlType) -> bool {
    matches!(of, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_))
}

macro_rules! from {
    ($($given:ty, $value:ident => $argument:expr;)+) => {$(
        impl From<$given> for Argument {
            fn from($value: $given) -> Self {
                $argument
            }
        }
    )+};
}

from! {
    i16, value => Self::Int(value.into());
    i32, value => Self::Int(value.into());
    i64, value => Self::Int(value);
    u32, value => Self::Int(value.into());
    bool, value => Self::Bool(value);
    f64, value => Self::Float(value);
    Decimal, value => Self::Decimal(value);
    Date, value => Self::Date(value.0);
    Timestamp, value => Self::Timestamp(value.0);
    &str, value => Self::Text(value.to_owned());
    String, value => Self::Text(value);
    Vec<i64>, value => Self::Ints(value);
    &[i64], value => Self::Ints(value.to_vec());
    Vec<bool>, value => Self::Bools(value);
    Texts, value => Self::Texts(value);
    &[&str], value => Self::Texts(Texts(value.iter().map(|&text| text.to_owned()).collect()));
}

impl<const N: usize> From<[i64; N]> for Argument {
    fn from(value: [i64; N]) -> Self {
        Self::Ints(value.to_vec())
    }
}

impl<const N: usize> From<[&str; N]> for Argument {
    fn from(value: [&str; N]) -> Self {
        value.as_slice().into()
    }
}

impl<T: Into<Self>> From<Option<T>> for Argument {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_the_types_that_postgresql_takes_them_for() {
        let numeric = SqlType::Numeric(sql::Numeric::Open);
        let ints = SqlType::Array(Box::new(SqlType::Int2));
        let texts = SqlType::Array(Box::new(SqlType::Varchar(None)));
        let fits = |argument: Argument, of: &SqlType| argument.fits(of);
        assert!(fits(7.into(), &SqlType::Int2) && fits(7.into(), &numeric));
        assert!(fits(7_i64.into(), &SqlType::Float8) && !fits(7.into(), &SqlType::Date));
        assert!(fits(Date(7).into(), &SqlType::Date) && !fits(Date(7).into(), &SqlType::Int4));
        assert!(fits(Timestamp(7).into(), &SqlType::TimestampTz(None)));
        assert!(fits("x".into(), &SqlType::Char(Some(3))) && !fits("7".into(), &SqlType::Int4));
        assert!(fits([1_i64, 2].into(), &ints) && !fits([1_i64].into(), &texts));
        assert!(fits(["a"].into(), &texts) && !fits(["a"].into(), &SqlType::Text));
        assert!(fits(None::<i32>.into(), &ints));
        let wide = Decimal { units: 1, scale: 19 };
        assert!(!fits(wide.into(), &numeric) && fits(Decimal::default().into(), &numeric));
        assert!(!fits(1.5.into(), &numeric) && fits(true.into(), &SqlType::Bool));
    }

    #[test]
    fn blanks_at_the_end_of_characters_go() {
        let argument = Argument::from("ab  ");
        let of = |of: &SqlType| match argument.borrowed(of, &[]) {
            procedure_runtime::Argument::Text(text) => text.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!((of(&SqlType::Char(Some(4))), of(&SqlType::Text)), (2, 4));
        let array = SqlType::Array(Box::new(SqlType::Char(None)));
        assert_eq!(Argument::from(["a ", "b"]).texts(&array), [b"a", b"b"]);
    }
}
