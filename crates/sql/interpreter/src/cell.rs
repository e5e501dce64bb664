//! Converts directly between stored columns and SQL values.

use crate::digest::Digests;
use compact_str::CompactString;
use layout::{KeyBuilder, Place, RecordMut, RecordRef, Schema, Slot};
use sql::types::Numeric;
use sql::{Field, SqlType};
use sql_value::{Decimal, Error, Interval, Value, input, json, output};
use std::borrow::Cow;

/// How a row stores a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    Bool,
    Int,
    Decimal(u8),
    Float,
    /// Text or characters in the payload or out of line, of at most this many bytes.
    Text(u32),
    /// Text that is part of the key, of at most this many bytes.
    KeyText(u32),
    /// Bytes, of at most this many.
    Bytes(u32),
    Uuid,
    /// Months and days of four bytes each, and microseconds of eight.
    Interval,
    /// The text of an array, of at most this many bytes. Enumerated elements are places.
    Array(u32),
    /// The text of a `jsonb`, of at most this many bytes.
    Json(u32),
    Date,
    Timestamp,
}

/// A column, with all that reading and writing it requires.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BoundColumn {
    pub name: String,
    pub sql_type: SqlType,
    /// The type as which an array is printed into a row and read again.
    stored: SqlType,
    pub cell: Cell,
    pub nullable: bool,
    /// Whether it is part of the primary key.
    pub is_key: bool,
    /// Where a row stores it.
    slot: Slot,
    /// Bytes of its value in a key, without the null flag; 0 if it cannot be part of a key.
    pub key_bytes: u32,
    /// 64 minus the width of an integer column, in bits.
    spare_bits: u32,
    /// The digests that keys have in place of its values.
    pub digests: Option<Digests>,
}

impl BoundColumn {
    /// Binds column `at` of a schema. `None` if a column cannot have this type.
    pub fn new(field: Field, nullable: bool, schema: &Schema, at: usize) -> Option<Self> {
        let Field { name, sql_type } = field;
        let is_key = matches!(schema.place(at), Place::Key { .. });
        let key_bytes = schema.key_part_bytes(at) - u32::from(nullable);
        let length = schema.columns()[at].column_type.length_max();
        let text = if is_key { Cell::KeyText(length) } else { Cell::Text(length) };
        let cell = match &sql_type {
            SqlType::Bool => Cell::Bool,
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Enum(_) => Cell::Int,
            SqlType::Numeric(Numeric::Declared { scale, .. }) => Cell::Decimal(*scale),
            SqlType::Float4 | SqlType::Float8 => Cell::Float,
            SqlType::Bytes => Cell::Bytes(length),
            SqlType::Uuid => Cell::Uuid,
            SqlType::Interval => Cell::Interval,
            SqlType::Array(_) => Cell::Array(length),
            SqlType::Jsonb => Cell::Json(length),
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(Some(_)) | SqlType::Json => text,
            SqlType::Date => Cell::Date,
            SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::TimestampTz(_) => Cell::Timestamp,
            _ => return None,
        };
        let slot = schema.slot(at);
        let spare_bits = match &sql_type {
            SqlType::Int2 => 48,
            SqlType::Int4 | SqlType::Date => 32,
            _ => 0,
        };
        let (stored, digests) = (stored_type(&sql_type), None);
        Some(Self {
            name,
            sql_type,
            stored,
            cell,
            nullable,
            is_key,
            slot,
            key_bytes,
            spare_bits,
            digests,
        })
    }

    /// Appends an integer to a key if it is in range for the column; returns whether it is.
    #[inline]
    pub fn append_int(&self, builder: &mut KeyBuilder, value: &Value) -> bool {
        match value {
            Value::Int(value) if self.is_int() => self.append_number(builder, *value),
            _ => false,
        }
    }

    /// Whether it is an integer column.
    #[inline]
    pub fn is_int(&self) -> bool {
        self.cell == Cell::Int
    }

    /// As [`Self::append_int`], for an integer column.
    #[inline]
    pub fn append_number(&self, builder: &mut KeyBuilder, number: i64) -> bool {
        if !self.holds(number) {
            return false;
        }
        if self.nullable {
            builder.append_unsigned(0, 1);
        }
        builder.append_signed(number, self.key_bytes);
        true
    }

    /// Whether the column `at` of a row is null.
    #[inline]
    fn is_null(&self, record: RecordRef<'_>, at: usize) -> bool {
        self.nullable
            && match self.is_key {
                true => record.is_null(at),
                false => record.is_null_in(self.slot),
            }
    }

    /// Reads column `at` of a row as an integer; `None` if it is null or has another type.
    #[inline]
    pub fn read_int(&self, record: RecordRef<'_>, at: usize) -> Option<i64> {
        if self.cell != Cell::Int || self.is_null(record, at) {
            return None;
        }
        Some(record.int_in(self.slot))
    }

    /// Reads column `at` of a row as a decimal; `None` if it is null or has another type.
    #[inline]
    pub fn read_numeric(&self, record: RecordRef<'_>, at: usize) -> Option<Decimal> {
        match self.cell {
            Cell::Decimal(scale) if !self.is_null(record, at) => {
                Some(Decimal { units: i128::from(record.int_in(self.slot)), scale })
            }
            _ => None,
        }
    }

    /// Reads column `at` of a row.
    ///
    /// # Errors
    ///
    /// The bytes are not valid UTF-8, see [`Self::text`].
    #[inline]
    pub fn read(&self, record: RecordRef<'_>, at: usize) -> sql_value::Result<Value> {
        if self.is_null(record, at) {
            return Ok(Value::Null);
        }
        let slot = self.slot;
        Ok(match self.cell {
            Cell::Int => Value::Int(record.int_in(slot)),
            Cell::Text(_) => {
                Value::Text(CompactString::new(self.text(record, record.bytes_in(slot))?))
            }
            Cell::Decimal(scale) => {
                Value::Numeric(Decimal { units: i128::from(record.int_in(slot)), scale })
            }
            Cell::Bool => Value::Bool(record.int_in(slot) != 0),
            Cell::Float => Value::Float(record.float(at)),
            Cell::KeyText(_) => {
                Value::Text(CompactString::new(self.text(record, &record.key_text(at))?))
            }
            Cell::Bytes(_) => Value::Bytes(self.bytes(record, at).as_ref().into()),
            Cell::Array(_) => input::read(self.text(record, record.bytes_in(slot))?, &self.stored)?,
            Cell::Json(_) => Value::from(json::parse(self.text(record, record.bytes_in(slot))?)?),
            Cell::Uuid => match <[u8; 16]>::try_from(&*self.bytes(record, at)) {
                Ok(uuid) => Value::Uuid(uuid),
                Err(_) => return Err(self.damaged(record)),
            },
            Cell::Interval => match <[u8; 16]>::try_from(record.bytes_in(slot)) {
                Ok(bytes) => Value::Interval(interval_of(bytes)),
                Err(_) => return Err(self.damaged(record)),
            },
            Cell::Date => Value::Date(record.int_in(slot) as i32),
            Cell::Timestamp => Value::Timestamp(record.int_in(slot)),
        })
    }

    /// The bytes of column `at`.
    fn bytes<'r>(&self, record: RecordRef<'r>, at: usize) -> Cow<'r, [u8]> {
        if !self.is_key {
            return Cow::Borrowed(record.bytes_in(self.slot));
        }
        match record.value(at) {
            layout::Value::Bytes(bytes) => Cow::Owned(bytes),
            _ => Cow::Borrowed(&[]),
        }
    }

    /// Stored bytes are no value of the column's type.
    #[cold]
    fn damaged(&self, record: RecordRef<'_>) -> Box<Error> {
        let (column, table) = (&self.name, record.schema().name());
        let message = format!("column \"{column}\" of relation \"{table}\" is damaged");
        Error::new("XX001", message)
    }

    /// As [`Self::read`], reusing the memory of the text that was there before.
    #[inline]
    pub fn read_into(
        &self,
        record: RecordRef<'_>,
        at: usize,
        place: &mut Value,
    ) -> sql_value::Result<()> {
        match (self.cell, &mut *place) {
            (Cell::Text(_), Value::Text(held))
                if held.is_heap_allocated() && !self.is_null(record, at) =>
            {
                let text = self.text(record, record.bytes_in(self.slot))?;
                held.clear();
                held.push_str(text);
            }
            _ => place.put(self.read(record, at)?),
        }
        Ok(())
    }

    /// Checks that bytes are UTF-8. SQL stores nothing else, but a program may build a key of any
    /// bytes, and memory may be damaged.
    #[inline]
    fn text<'b>(&self, record: RecordRef<'_>, bytes: &'b [u8]) -> sql_value::Result<&'b str> {
        std::str::from_utf8(bytes).map_err(|error| {
            no_text(&bytes[error.valid_up_to()..], &self.name, record.schema().name())
        })
    }

    /// Sets column `at`, which is not part of the key, to a value of its type.
    ///
    /// # Errors
    ///
    /// The value does not fit the column. The caller checks `NOT NULL`.
    #[inline]
    pub fn write(
        &self,
        record: &mut RecordMut<'_>,
        at: usize,
        value: &Value,
    ) -> Result<(), Box<Error>> {
        match (self.cell, value) {
            (Cell::Int, Value::Int(number)) if self.holds(*number) => {
                record.set_int_in(self.slot, *number);
            }
            (Cell::Text(length), Value::Text(text)) => {
                if text.len() > length as usize {
                    return Err(too_long(&self.sql_type, text, length));
                }
                record.set_bytes(at, text.as_bytes());
                self.write_digest(record, Some(text.as_bytes()));
            }
            (Cell::Bytes(length), Value::Bytes(bytes)) => {
                if bytes.len() > length as usize {
                    return Err(too_many_bytes(length));
                }
                record.set_bytes(at, bytes);
                self.write_digest(record, Some(bytes));
            }
            (Cell::Array(length) | Cell::Json(length), Value::Array(_) | Value::Json(_)) => {
                let text = output::text(value, &self.stored);
                if text.len() > length as usize {
                    return Err(too_many_bytes(length));
                }
                record.set_bytes(at, text.as_bytes());
            }
            (Cell::Uuid, Value::Uuid(uuid)) => record.set_bytes(at, uuid),
            (Cell::Interval, Value::Interval(interval)) => {
                record.set_bytes(at, &bytes_of(*interval));
            }
            (Cell::Float, Value::Float(float)) => record.set_float(at, *float),
            (_, Value::Null) => {
                record.set_null(at);
                self.write_digest(record, None);
            }
            (_, value) => {
                let units = self.units(value).filter(|&units| self.holds(units));
                record.set_int_in(self.slot, units.ok_or_else(|| out_of_range(&self.sql_type))?);
            }
        }
        Ok(())
    }

    /// Sets the digest of a value, `None` for null. A digest in the primary key is set with it.
    #[inline]
    fn write_digest(&self, record: &mut RecordMut<'_>, value: Option<&[u8]>) {
        let Some(digests) = self.digests.filter(|digests| !digests.is_key) else { return };
        match value {
            Some(value) => record.set_bytes(digests.at, digests.of(value).as_slice()),
            None => record.set_null(digests.at),
        }
    }

    /// Returns the stored form of a value in a fixed-width column; `None` if it does not fit.
    #[inline]
    pub fn units(&self, value: &Value) -> Option<i64> {
        match (self.cell, value) {
            (Cell::Int, Value::Int(value)) => Some(*value),
            (Cell::Decimal(scale), Value::Numeric(decimal)) => match decimal.scale == scale {
                true => i64::try_from(decimal.units).ok(),
                false => rescaled(*decimal, scale)
                    .and_then(|(units, is_exact)| i64::try_from(units).ok().filter(|_| is_exact)),
            },
            (Cell::Bool, Value::Bool(value)) => Some(i64::from(*value)),
            (Cell::Date, Value::Date(days)) => Some(i64::from(*days)),
            (Cell::Timestamp, Value::Timestamp(microseconds)) => Some(*microseconds),
            _ => None,
        }
    }

    /// Whether the number fits the column's width.
    #[inline]
    pub fn holds(&self, units: i64) -> bool {
        units << self.spare_bits >> self.spare_bits == units
    }
}

/// The type as which rows store values of an array type. The labels of an enumerated type may get
/// other names, but their places stay.
fn stored_type(sql_type: &SqlType) -> SqlType {
    match sql_type {
        SqlType::Array(element) => SqlType::Array(Box::new(stored_type(element))),
        SqlType::Enum(_) => SqlType::Int8,
        other => other.clone(),
    }
}

/// The stored form of an interval.
fn bytes_of(interval: Interval) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&interval.months.to_le_bytes());
    bytes[4..8].copy_from_slice(&interval.days.to_le_bytes());
    bytes[8..].copy_from_slice(&interval.microseconds.to_le_bytes());
    bytes
}

fn interval_of(bytes: [u8; 16]) -> Interval {
    let all = u128::from_le_bytes(bytes);
    Interval { months: all as i32, days: (all >> 32) as i32, microseconds: (all >> 64) as i64 }
}

/// Rescales a decimal, rounding down; returns whether that is exact. `None` if the result has more
/// than 38 digits.
pub(crate) fn rescaled(decimal: Decimal, scale: u8) -> Option<(i128, bool)> {
    let Decimal { units, scale: own } = decimal;
    if own <= scale {
        let factor = 10_i128.checked_pow(u32::from(scale - own))?;
        return Some((units.checked_mul(factor)?, true));
    }
    let divisor = 10_i128.checked_pow(u32::from(own - scale))?;
    Some((units.div_euclid(divisor), units.rem_euclid(divisor) == 0))
}

/// The text is too long for its column, which holds `length` bytes.
pub(crate) fn too_long(sql_type: &SqlType, text: &str, length: u32) -> Box<Error> {
    let bytes = text.len();
    match sql_type {
        SqlType::Varchar(Some(characters)) | SqlType::Char(Some(characters))
            if text.chars().count() <= *characters as usize =>
        {
            Error::new("22001", format!("value too long for type {sql_type}"))
                .detail(format!("The column holds {length} bytes, and the value has {bytes}."))
                .hint("Declare a longer type: each character of the value takes up to 4 bytes.")
        }
        SqlType::Varchar(Some(_)) | SqlType::Char(Some(_)) => {
            Error::new("22001", format!("value too long for type {sql_type}"))
        }
        _ => too_many_bytes(length),
    }
}

/// The bytes are too many for their column.
pub(crate) fn too_many_bytes(length: u32) -> Box<Error> {
    let message = format!("value too long: the column holds {length} bytes");
    Error::new("54000", message).hint("Split the value over several rows.")
}

/// The bytes are not valid UTF-8; says which, and where. Like PostgreSQL, it shows as many bytes as
/// the first byte announces.
#[cold]
fn no_text(bytes: &[u8], column: &str, table: &str) -> Box<Error> {
    let count = match bytes.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let shown: Vec<String> = bytes.iter().take(count).map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
    Error::new("22021", message)
        .detail(format!("The value is in column \"{column}\" of relation \"{table}\"."))
}

fn out_of_range(sql_type: &SqlType) -> Box<Error> {
    Error::new("22003", format!("{} out of range", sql_type.base()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_as_they_were_written() {
        let interval = Interval { months: -1, days: i32::MAX, microseconds: i64::MIN };
        assert_eq!(interval_of(bytes_of(interval)), interval);
    }

    #[test]
    fn decimals_change_their_scale_downwards() {
        let decimal = |units, scale| Decimal { units, scale };
        assert_eq!(rescaled(decimal(125, 2), 4), Some((12_500, true)));
        assert_eq!(rescaled(decimal(12_500, 4), 2), Some((125, true)));
        assert_eq!(rescaled(decimal(-12_501, 4), 2), Some((-126, false)));
        assert_eq!(rescaled(decimal(i128::MAX, 0), 4), None);
    }
}
