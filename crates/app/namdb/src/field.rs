//! Types of record fields and the column types they map to.

use layout::{Column, ColumnType, KeyBuilder, RecordMut, RecordRef, SchemaError, Value};
use std::ops::Deref;

/// A type that a field of a [`Record`] may have.
pub trait Field: Sized {
    /// Type of the column.
    const COLUMN_TYPE: ColumnType;
    /// Whether the column may be null.
    const NULLABLE: bool = false;

    /// The definition of a column of this type.
    fn column(name: &str) -> Column {
        let column = Column::new(name, Self::COLUMN_TYPE);
        Column { nullable: Self::NULLABLE, ..column }
    }

    /// Reads the value from a row.
    fn read(row: RecordRef<'_>, column: usize) -> Self;

    /// Writes the value to a row.
    fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError>;
}

/// A type that a key field may have.
pub trait KeyField: Field {
    /// Appends the value to a key; `None` if it does not fit its column.
    fn append(&self, key: KeyBuilder) -> Option<KeyBuilder>;
}

macro_rules! integer_fields {
    ($($field:ident $column:ident $append:ident;)+) => {$(
        impl Field for $field {
            const COLUMN_TYPE: ColumnType = ColumnType::$column;

            #[inline]
            fn read(row: RecordRef<'_>, column: usize) -> Self {
                row.int(column) as Self
            }

            #[inline]
            fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError> {
                row.set_int(column, i64::from(*self));
                Ok(())
            }
        }

        impl KeyField for $field {
            #[inline]
            fn append(&self, key: KeyBuilder) -> Option<KeyBuilder> {
                Some(key.$append(*self))
            }
        }
    )+};
}

integer_fields! {
    i16 Int2 int2;
    i32 Int4 int4;
    i64 Int8 int8;
}

impl Field for bool {
    const COLUMN_TYPE: ColumnType = ColumnType::Bool;

    #[inline]
    fn read(row: RecordRef<'_>, column: usize) -> Self {
        row.int(column) == 1
    }

    #[inline]
    fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError> {
        row.set_int(column, i64::from(*self));
        Ok(())
    }
}

impl Field for f64 {
    const COLUMN_TYPE: ColumnType = ColumnType::Float8;

    #[inline]
    fn read(row: RecordRef<'_>, column: usize) -> Self {
        row.float(column)
    }

    #[inline]
    fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError> {
        row.set_float(column, *self);
        Ok(())
    }
}

/// Text of at most `N` bytes, up to 1 MiB; [`Transaction::put`](crate::Transaction::put) checks the
/// length. If `N` is over 1024, the text is stored out of line, and reading the record takes one
/// more round trip.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: u32>(pub String);

impl<const N: u32> From<&str> for Text<N> {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl<const N: u32> From<String> for Text<N> {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<const N: u32> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const N: u32> Field for Text<N> {
    const COLUMN_TYPE: ColumnType = ColumnType::Varchar(N);

    fn read(row: RecordRef<'_>, column: usize) -> Self {
        match row.value(column) {
            Value::Text(text) => Self(text),
            _ => unreachable!("a column of text holds text"),
        }
    }

    fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError> {
        if self.0.len() <= N as usize {
            row.set_bytes(column, self.0.as_bytes());
            return Ok(());
        }
        row.set(column, &Value::Text(self.0.clone()))
    }
}

impl<const N: u32> KeyField for Text<N> {
    fn append(&self, key: KeyBuilder) -> Option<KeyBuilder> {
        let fits = self.0.len() <= N as usize && !self.0.contains('\0');
        fits.then(|| key.padded(self.0.as_bytes(), N))
    }
}

/// At most `N` bytes, up to 1 MiB; [`Transaction::put`](crate::Transaction::put) checks the length.
/// If `N` is over 1024, they are stored out of line, as for [`Text`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes<const N: u32>(pub Vec<u8>);

impl<const N: u32> From<&[u8]> for Bytes<N> {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl<const N: u32> Deref for Bytes<N> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<const N: u32> Field for Bytes<N> {
    const COLUMN_TYPE: ColumnType = ColumnType::Bytes(N);

    fn read(row: RecordRef<'_>, column: usize) -> Self {
        match row.value(column) {
            Value::Bytes(bytes) => Self(bytes),
            _ => unreachable!("a column of bytes holds bytes"),
        }
    }

    fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError> {
        if self.0.len() <= N as usize {
            row.set_bytes(column, &self.0);
            return Ok(());
        }
        row.set(column, &Value::Bytes(self.0.clone()))
    }
}

impl<const N: u32> KeyField for Bytes<N> {
    fn append(&self, key: KeyBuilder) -> Option<KeyBuilder> {
        let fits = self.0.len() <= N as usize;
        fits.then(|| key.padded(&self.0, N).unsigned(self.0.len() as u64, 2))
    }
}

/// A decimal number with `SCALE` digits after the decimal point, as an integer of its smallest
/// unit: with a scale of 2, 12.34 is `Decimal(1234)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal<const SCALE: u8>(pub i64);

/// A date, as days since 2000-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// A point in time, as microseconds since 2000-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

macro_rules! wrapped_integer_fields {
    ($($field:ty, $inner:ty, $column:expr, $append:ident $(, $scale:ident)?;)+) => {$(
        impl$(<const $scale: u8>)? Field for $field {
            const COLUMN_TYPE: ColumnType = $column;

            #[inline]
            fn read(row: RecordRef<'_>, column: usize) -> Self {
                Self(row.int(column) as $inner)
            }

            #[inline]
            fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError> {
                row.set_int(column, i64::from(self.0));
                Ok(())
            }
        }

        impl$(<const $scale: u8>)? KeyField for $field {
            #[inline]
            fn append(&self, key: KeyBuilder) -> Option<KeyBuilder> {
                Some(key.$append(self.0))
            }
        }

        impl$(<const $scale: u8>)? From<$inner> for $field {
            fn from(value: $inner) -> Self {
                Self(value)
            }
        }
    )+};
}

wrapped_integer_fields! {
    Decimal<SCALE>, i64, ColumnType::Decimal { scale: SCALE }, int8, SCALE;
    Date, i32, ColumnType::Date, int4;
    Timestamp, i64, ColumnType::Timestamp, int8;
}

/// Text of at most `N` bytes in which trailing blanks are insignificant, as in SQL's `char(n)`.
/// Otherwise like [`Text`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Char<const N: u32>(String);

impl<const N: u32> From<&str> for Char<N> {
    fn from(text: &str) -> Self {
        Self(text.trim_end_matches(' ').to_owned())
    }
}

impl<const N: u32> Deref for Char<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const N: u32> Field for Char<N> {
    const COLUMN_TYPE: ColumnType = ColumnType::Char(N);

    fn read(row: RecordRef<'_>, column: usize) -> Self {
        Self(Text::<N>::read(row, column).0)
    }

    fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError> {
        row.set(column, &Value::Text(self.0.clone()))
    }
}

impl<const N: u32> KeyField for Char<N> {
    fn append(&self, key: KeyBuilder) -> Option<KeyBuilder> {
        Text::<N>(self.0.clone()).append(key)
    }
}

impl<T: Field> Field for Option<T> {
    const COLUMN_TYPE: ColumnType = T::COLUMN_TYPE;
    const NULLABLE: bool = true;

    fn read(row: RecordRef<'_>, column: usize) -> Self {
        (!row.is_null(column)).then(|| T::read(row, column))
    }

    fn write(&self, row: &mut RecordMut<'_>, column: usize) -> Result<(), SchemaError> {
        match self {
            Some(value) => value.write(row, column)?,
            None => row.set_null(column),
        }
        Ok(())
    }
}
