//! How fields of a record are stored: one column each, or several for a group of fields.

use crate::calendar::{Date, Timestamp};
use crate::decimal::{Decimal, SCALE_MAX};
use crate::key::{KeyPart, append_option};
use crate::text::{Bytes, Char, Text};
use layout::column::{COLUMN_LENGTH_MAX, INLINE_LENGTH_MAX};
use layout::{Column, ColumnType, KeyBuilder, RecordMut, RecordRef};

/// Why a value does not fit its column, or a stored value is none of its type.
///
/// ```
/// use namdb::{Field, Misfit, Text};
///
/// let misfit = <Text<3> as Field>::check(&"Ghent".into()).expect_err("it is too long");
/// assert_eq!(misfit, Misfit("it has 5 bytes, at most 3 fit".to_owned()));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit(pub String);

/// A type that a field of a record may have. [`record!`](crate::record!) implements it for enums
/// and groups of fields.
///
/// ```
/// use namdb::{Column, ColumnType, KeyBuilder, Misfit, RecordMut, RecordRef};
/// use namdb::{Field, KeyField, Scalar};
///
/// /// A share of at most 100 percent, in a column of two bytes.
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct Percent(u8);
///
/// impl Field for Percent {
///     type Value = Self;
///     const COLUMNS: usize = 1;
///
///     fn columns(name: &str, into: &mut Vec<Column>) {
///         into.push(Self::column(name));
///     }
///
///     fn read(row: RecordRef<'_>, column: usize) -> Result<Self, Misfit> {
///         Ok(Self(row.int(column) as u8))
///     }
///
///     fn check(value: &Self) -> Result<(), Misfit> {
///         let misfit = || Misfit(format!("{} percent are more than all", value.0));
///         if value.0 <= 100 { Ok(()) } else { Err(misfit()) }
///     }
///
///     fn write(value: &Self, row: &mut RecordMut<'_>, column: usize) {
///         row.set_int(column, i64::from(value.0));
///     }
/// }
///
/// // With one column, it may be in an `Option` too.
/// impl Scalar for Percent {
///     const COLUMN_TYPE: ColumnType = ColumnType::Int2;
/// }
///
/// // It may be in an index.
/// impl KeyField for Percent {
///     fn append(value: &Self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
///         Ok(key.int2(i16::from(value.0)))
///     }
/// }
///
/// namdb::record! {
///     struct Battery in "battery" {
///         key { id: u32 }
///         charge: Percent,
///         target: Option<Percent>,
///     }
///     index by_charge(charge);
/// }
///
/// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let batteries = namdb::RecordTable::<Battery>::create(&db, Default::default())?;
/// let mut session = db.session();
/// let mut txn = session.begin(namdb::Isolation::Snapshot)?;
/// let battery = Battery { id: 1, charge: Percent(70), target: Some(Percent(90)) };
/// txn.insert(batteries, &battery)?;
/// assert_eq!(txn.get(batteries, 1)?, Some(battery.clone()));
/// let refused = txn.update(batteries, &Battery { charge: Percent(101), ..battery });
/// assert!(refused.is_err_and(|error| error.to_string().contains("more than all")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a record cannot have a field of type `{Self}`",
    label = "not a type of a column",
    note = "a field is a bool, i8 to i64, u8 to u64, f64, Decimal, Date or Timestamp, an enum or struct of `record!`, \
            or an Option of one of these",
    note = "text and bytes have a maximal length in bytes: write `String[40]`, `Option<String>[40]` or `Vec<u8>[16]`"
)]
pub trait Field {
    /// The type of the field in the structure; for most fields the type itself.
    type Value;

    /// Number of columns.
    const COLUMNS: usize;

    /// Appends the definitions of the columns of a field with this name.
    fn columns(name: &str, into: &mut Vec<Column>);

    /// Reads the value from the columns from position `column` on.
    fn read(row: RecordRef<'_>, column: usize) -> Result<Self::Value, Misfit>;

    /// Checks that the value fits.
    #[inline]
    fn check(_value: &Self::Value) -> Result<(), Misfit> {
        Ok(())
    }

    /// Writes a value that fits to the columns from position `column` on.
    fn write(value: &Self::Value, row: &mut RecordMut<'_>, column: usize);
}

/// A field with one column.
/// [`Field`] has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in an Option of a record",
    note = "an Option has one column; text and bytes have a maximal length: write `Option<String>[40]`"
)]
pub trait Scalar: Field {
    /// Type of the column.
    const COLUMN_TYPE: ColumnType;
    /// Whether the column may be null.
    const NULLABLE: bool = false;
    /// Of text and bytes: the row has room for values of up to this many bytes, and longer ones are
    /// out of line. `None`: every row has room for the longest, unless that is over 1024 bytes.
    const IN_ROW: Option<u8> = None;

    /// The definition of a column of this type.
    fn column(name: &str) -> Column {
        let column = Column::new(name, Self::COLUMN_TYPE);
        Column { nullable: Self::NULLABLE, in_row: Self::IN_ROW, ..column }
    }
}

/// A field that a key or an index may have.
/// [`Field`] has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in a key or an index",
    note = "a key has numbers, bool, Date, Timestamp, enums and groups of these, text and bytes",
    note = "text and bytes have a maximal length in bytes: write `String[40]` or `Vec<u8>[16]`"
)]
pub trait KeyField: Field {
    /// Appends a value to a key.
    fn append(value: &Self::Value, key: KeyBuilder) -> Result<KeyBuilder, Misfit>;
}

/// Implements [`Field`] for a type with one column that is an integer.
macro_rules! integer_fields {
    ($([$($parameter:tt)*] $field:ty, $column:expr, $append:ident($inner:ty),
       $to:expr, $from:expr;)+) => {$(
        impl<$($parameter)*> Field for $field {
            type Value = Self;
            const COLUMNS: usize = 1;

            fn columns(name: &str, into: &mut Vec<Column>) {
                into.push(<Self as Scalar>::column(name));
            }

            #[inline]
            fn read(row: RecordRef<'_>, column: usize) -> Result<Self, Misfit> {
                let from: fn($inner) -> Self = $from;
                Ok(from(row.int(column) as $inner))
            }

            #[inline]
            fn write(value: &Self, row: &mut RecordMut<'_>, column: usize) {
                let to: fn(&Self) -> $inner = $to;
                row.set_int(column, i64::from(to(value)));
            }
        }

        impl<$($parameter)*> Scalar for $field {
            const COLUMN_TYPE: ColumnType = $column;
        }

        impl<$($parameter)*> KeyField for $field {
            #[inline]
            fn append(value: &Self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                let to: fn(&Self) -> $inner = $to;
                Ok(key.$append(to(value)))
            }
        }
    )+};
}

/// A decimal column; refused by the compiler if an `i64` does not hold the digits.
const fn decimal_type(scale: u8) -> ColumnType {
    assert!(scale <= SCALE_MAX, "a Decimal has at most 18 digits after the point");
    ColumnType::Decimal { scale }
}

/// The sign bit, by which the order of unsigned numbers differs from that of signed ones.
const SIGN: u64 = 1 << 63;

integer_fields! {
    [] i8, ColumnType::Int2, int2(i16), |value| i16::from(*value), |stored| stored as i8;
    [] i16, ColumnType::Int2, int2(i16), |value| *value, |stored| stored;
    [] i32, ColumnType::Int4, int4(i32), |value| *value, |stored| stored;
    [] i64, ColumnType::Int8, int8(i64), |value| *value, |stored| stored;
    [] u8, ColumnType::Int2, int2(i16), |value| i16::from(*value), |stored| stored as u8;
    [] u16, ColumnType::Int4, int4(i32), |value| i32::from(*value), |stored| stored as u16;
    [] u32, ColumnType::Int8, int8(i64), |value| i64::from(*value), |stored| stored as u32;
    [] u64, ColumnType::Int8, int8(i64), |value| (*value ^ SIGN) as i64, |stored| stored as u64 ^ SIGN;
    [const SCALE: u8] Decimal<SCALE>, decimal_type(SCALE), int8(i64),
        |value| value.0, Decimal;
    [] Date, ColumnType::Date, int4(i32), |value| value.0, Date;
    [] Timestamp, ColumnType::Timestamp, int8(i64), |value| value.0, Timestamp;
}

impl Field for bool {
    type Value = Self;
    const COLUMNS: usize = 1;

    fn columns(name: &str, into: &mut Vec<Column>) {
        into.push(Self::column(name));
    }

    #[inline]
    fn read(row: RecordRef<'_>, column: usize) -> Result<Self, Misfit> {
        Ok(row.int(column) == 1)
    }

    #[inline]
    fn write(value: &Self, row: &mut RecordMut<'_>, column: usize) {
        row.set_int(column, i64::from(*value));
    }
}

impl Scalar for bool {
    const COLUMN_TYPE: ColumnType = ColumnType::Bool;
}

impl KeyField for bool {
    #[inline]
    fn append(value: &Self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
        Ok(key.unsigned(u64::from(*value), 1))
    }
}

impl Field for f64 {
    type Value = Self;
    const COLUMNS: usize = 1;

    fn columns(name: &str, into: &mut Vec<Column>) {
        into.push(Self::column(name));
    }

    #[inline]
    fn read(row: RecordRef<'_>, column: usize) -> Result<Self, Misfit> {
        Ok(row.float(column))
    }

    #[inline]
    fn write(value: &Self, row: &mut RecordMut<'_>, column: usize) {
        row.set_float(column, *value);
    }
}

impl Scalar for f64 {
    const COLUMN_TYPE: ColumnType = ColumnType::Float8;
}

impl KeyField for f64 {
    #[inline]
    fn append(value: &Self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
        Ok(key.float8(*value))
    }
}

impl<T: Scalar> Field for Option<T> {
    type Value = Option<T::Value>;
    const COLUMNS: usize = 1;

    fn columns(name: &str, into: &mut Vec<Column>) {
        into.push(Self::column(name));
    }

    #[inline]
    fn read(row: RecordRef<'_>, column: usize) -> Result<Self::Value, Misfit> {
        match row.is_null(column) {
            true => Ok(None),
            false => T::read(row, column).map(Some),
        }
    }

    #[inline]
    fn check(value: &Self::Value) -> Result<(), Misfit> {
        value.as_ref().map_or(Ok(()), T::check)
    }

    #[inline]
    fn write(value: &Self::Value, row: &mut RecordMut<'_>, column: usize) {
        match value {
            Some(value) => T::write(value, row, column),
            None => row.set_null(column),
        }
    }
}

impl<T: Scalar> Scalar for Option<T> {
    const COLUMN_TYPE: ColumnType = T::COLUMN_TYPE;
    const NULLABLE: bool = true;
    const IN_ROW: Option<u8> = T::IN_ROW;
}

impl<T: Scalar + KeyField> KeyField for Option<T> {
    fn append(value: &Self::Value, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
        match value {
            Some(value) => T::append(value, key.unsigned(0, 1)),
            None => Ok(append_null::<T>(key)),
        }
    }
}

/// Appends null, which sorts behind all values.
pub(crate) fn append_null<T: Scalar>(key: KeyBuilder) -> KeyBuilder {
    let length = match T::COLUMN_TYPE {
        ColumnType::Bytes(length) => length + 2,
        other => other.raw_bytes(),
    };
    key.unsigned(1, 1).padded(&[], length)
}

/// Text or bytes with a maximal length of `N` bytes. Values of up to `IN_ROW` bytes are stored in
/// the row. [`record!`](crate::record!) stores `String[N, in_row = IN_ROW]`, `Vec<u8>` and Options
/// of these so.
/// [`record!`](crate::record!) has an example.
pub struct Limited<T, const N: u32, const IN_ROW: u32 = IN_ROW_DEFAULT>(
    std::marker::PhantomData<T>,
);

/// In place of a declared `in_row`.
pub const IN_ROW_DEFAULT: u32 = u32::MAX;
/// With at most this maximal length, rows have room for the longest text.
const WHOLE_BYTES_MAX: u32 = 64;
/// With a larger one, texts of up to this many bytes are in the row: 64 bytes with the length.
const SHORT_BYTES_MAX: u8 = 63;

/// The room in the row for values with this maximal length.
const fn room_in_row(bytes_max: u32, in_row: u32) -> Option<u8> {
    if in_row == IN_ROW_DEFAULT {
        return if bytes_max <= WHOLE_BYTES_MAX { None } else { Some(SHORT_BYTES_MAX) };
    }
    if in_row >= bytes_max {
        assert!(
            bytes_max <= INLINE_LENGTH_MAX,
            "a row has room for a text of at most 1024 bytes; `in_row` is 1 to 255 for a longer one"
        );
        return None;
    }
    assert!(
        1 <= in_row && in_row <= u8::MAX as u32,
        "`in_row` is 1 to 255 bytes, or the maximal length"
    );
    Some(in_row as u8)
}

/// A maximal length; refused by the compiler if no column may have it.
const fn checked_limit(bytes: u32) -> u32 {
    assert!(
        1 <= bytes && bytes <= COLUMN_LENGTH_MAX,
        "a text or bytes have a maximal length of 1 byte to 1 MiB (1_048_576)"
    );
    bytes
}

pub(crate) fn check_length(bytes: usize, bytes_max: u32) -> Result<(), Misfit> {
    if bytes <= bytes_max as usize {
        return Ok(());
    }
    Err(Misfit(format!("it has {bytes} bytes, at most {bytes_max} fit")))
}

/// Implements [`Field`] for text or bytes of a maximal length, given its bytes.
macro_rules! limited_fields {
    ($([$($parameter:tt)*] $field:ty, $value:ty, $in_row:expr, $column:ident, $bytes:expr,
       $from:expr, $append:ident;)+) => {$(
        impl<$($parameter)*> Field for $field {
            type Value = $value;
            const COLUMNS: usize = 1;

            fn columns(name: &str, into: &mut Vec<Column>) {
                into.push(<Self as Scalar>::column(name));
            }

            fn read(row: RecordRef<'_>, column: usize) -> Result<$value, Misfit> {
                let from: fn(layout::Value) -> $value = $from;
                Ok(from(row.value(column)))
            }

            #[inline]
            fn check(value: &$value) -> Result<(), Misfit> {
                let bytes: fn(&$value) -> &[u8] = $bytes;
                check_length(bytes(value).len(), N)
            }

            #[inline]
            fn write(value: &$value, row: &mut RecordMut<'_>, column: usize) {
                let bytes: fn(&$value) -> &[u8] = $bytes;
                row.set_bytes(column, bytes(value));
            }
        }

        impl<$($parameter)*> Scalar for $field {
            const COLUMN_TYPE: ColumnType = ColumnType::$column(checked_limit(N));
            const IN_ROW: Option<u8> = room_in_row(N, $in_row);
        }

        impl<$($parameter)*> KeyField for $field {
            fn append(value: &$value, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                let bytes: fn(&$value) -> &[u8] = $bytes;
                $append(bytes(value), N, key)
            }
        }
    )+};
}

limited_fields! {
    [const N: u32, const R: u32] Limited<String, N, R>, String, R, Varchar,
        |value| value.as_bytes(), text_of, append_text;
    [const N: u32, const R: u32] Limited<Vec<u8>, N, R>, Vec<u8>, R, Bytes,
        |value| value, bytes_of, append_bytes;
    [const N: u32] Text<N>, Text<N>, IN_ROW_DEFAULT, Varchar,
        |value| value.0.as_bytes(), |value| Text(text_of(value)), append_text;
    [const N: u32] Char<N>, Char<N>, IN_ROW_DEFAULT, Char,
        |value| value.as_bytes(), |value| Char(text_of(value)), append_text;
    [const N: u32] Bytes<N>, Bytes<N>, IN_ROW_DEFAULT, Bytes,
        |value| &value.0, |value| Bytes(bytes_of(value)), append_bytes;
}

fn text_of(value: layout::Value) -> String {
    match value {
        layout::Value::Text(text) => text,
        _ => unreachable!("a column of text holds text"),
    }
}

fn bytes_of(value: layout::Value) -> Vec<u8> {
    match value {
        layout::Value::Bytes(bytes) => bytes,
        _ => unreachable!("a column of bytes holds bytes"),
    }
}

pub(crate) fn append_text(text: &[u8], max: u32, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
    check_length(text.len(), max)?;
    if text.contains(&0) {
        return Err(Misfit("a text in a key cannot contain the character NUL".to_owned()));
    }
    Ok(key.padded(text, max))
}

pub(crate) fn append_bytes(bytes: &[u8], max: u32, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
    check_length(bytes.len(), max)?;
    Ok(key.padded(bytes, max).unsigned(bytes.len() as u64, 2))
}

/// An Option of text or bytes is stored as an Option of a field of this maximal length.
macro_rules! limited_options {
    ($($value:ty;)+) => {$(
        impl<const N: u32, const R: u32> Field for Limited<Option<$value>, N, R> {
            type Value = Option<$value>;
            const COLUMNS: usize = 1;

            fn columns(name: &str, into: &mut Vec<Column>) {
                into.push(Self::column(name));
            }

            fn read(row: RecordRef<'_>, column: usize) -> Result<Option<$value>, Misfit> {
                Option::<Limited<$value, N, R>>::read(row, column)
            }

            fn check(value: &Option<$value>) -> Result<(), Misfit> {
                Option::<Limited<$value, N, R>>::check(value)
            }

            fn write(value: &Option<$value>, row: &mut RecordMut<'_>, column: usize) {
                Option::<Limited<$value, N, R>>::write(value, row, column);
            }
        }

        impl<const N: u32, const R: u32> Scalar for Limited<Option<$value>, N, R> {
            const COLUMN_TYPE: ColumnType = Limited::<$value, N, R>::COLUMN_TYPE;
            const NULLABLE: bool = true;
            const IN_ROW: Option<u8> = Limited::<$value, N, R>::IN_ROW;
        }

        impl<const N: u32, const R: u32> KeyField for Limited<Option<$value>, N, R> {
            fn append(value: &Option<$value>, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                Option::<Limited<$value, N, R>>::append(value, key)
            }
        }

        impl<T: KeyPart<Limited<$value, N, R>>, const N: u32, const R: u32> KeyPart<Limited<Option<$value>, N, R>>
            for Option<T>
        {
            fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                append_option::<Limited<$value, N, R>, T>(self, key)
            }
        }
    )+};
}

limited_options! { String; Vec<u8>; }
