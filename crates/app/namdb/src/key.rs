//! Keys and ranges of keys as Rust values.
//!
//! The columns of a key are a tuple of field types `K`, such as `(i32, i64)`. Values for all of
//! them are a [`FullKey`], values for leading columns a [`KeyPrefix`]: a tuple, or for one column
//! the value itself.

use crate::calendar::{Date, Timestamp};
use crate::decimal::Decimal;
use crate::field::{KeyField, Limited, Misfit, Scalar, append_bytes, append_null, append_text};
use crate::text::{Bytes, Char, Text};
use layout::{Key, KeyBuilder};
use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A value for a key column that is declared as `C`: for text a `&str` or a `String`.
///
/// ```
/// # use namdb::{Isolation, Record, RecordTable, Storage, record};
/// # record! {
/// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
/// #     index by_size(inhabitants);
/// # }
/// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
/// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
/// # let mut session = db.session();
/// # let mut txn = session.begin(Isolation::Serializable)?;
/// txn.insert(cities, &ghent)?;
/// assert_eq!(txn.get(cities, "Ghent")?, txn.get(cities, "Ghent".to_owned())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a key column of type `{C}` does not take a `{Self}`",
    note = "text is given as `&str`, bytes as `&[u8]`, other values in the type of the field"
)]
pub trait KeyPart<C> {
    /// Appends the value to a key.
    fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit>;
}

/// The columns of a key, as a tuple of field types.
/// [`KeyRange`] has an example.
pub trait KeyColumns {
    /// The first column.
    type First;
}

/// Values for the leading columns of a key with the columns `K`.
/// [`KeyRange`] has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no values for the leading columns of the key `{K}`",
    note = "give one value, or a tuple of values in the order of the key columns"
)]
pub trait KeyPrefix<K> {
    /// Appends the values to a key.
    fn append_prefix(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit>;
}

/// Values for all columns of a key with the columns `K`.
///
/// ```
/// use namdb::{Isolation, RecordTable, record};
///
/// record! {
///     struct Entry in "entry" { key { account: u32, name: String[10] } }
/// }
///
/// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let entries = RecordTable::<Entry>::create(&db, Default::default())?;
/// let mut session = db.session();
/// assert_eq!(session.begin(Isolation::Snapshot)?.get(entries, (7, "rent"))?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of the columns `{K}`",
    note = "give a value for every key column: a tuple, or for one column the value itself"
)]
pub trait FullKey<K>: KeyPrefix<K> {}

/// Values that are one column by themselves, and may be given without a tuple.
macro_rules! bare_parts {
    ($([$($generic:tt)*] $value:ty;)+) => {$(
        impl<$($generic)* K: KeyColumns> KeyPrefix<K> for $value
        where
            $value: KeyPart<K::First>,
        {
            #[inline]
            fn append_prefix(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                self.append_part(key)
            }
        }

        impl<$($generic)* C> FullKey<(C,)> for $value where $value: KeyPart<C> {}
    )+};
}

macro_rules! own_parts {
    ($([$($generic:tt)*] $value:ty;)+) => {
        $(impl<$($generic)*> KeyPart<$value> for $value {
            #[inline]
            fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                <$value as KeyField>::append(self, key)
            }
        })+
        bare_parts! { $([$($generic)*] $value;)+ }
    };
}

own_parts! {
    [] i8; [] i16; [] i32; [] i64; [] u8; [] u16; [] u32; [] u64; [] bool; [] f64;
    [] Date; [] Timestamp;
    [const SCALE: u8,] Decimal<SCALE>;
    [const N: u32,] Text<N>;
    [const N: u32,] Char<N>;
    [const N: u32,] Bytes<N>;
}

bare_parts! {
    ['a,] &'a str; [] String; ['a,] &'a String;
    ['a,] &'a [u8]; [] Vec<u8>; ['a,] &'a Vec<u8>; ['a, const L: usize,] &'a [u8; L];
    [T,] Option<T>;
}

macro_rules! text_parts {
    ($($value:ty)+) => {$(
        impl<const N: u32, const R: u32> KeyPart<Limited<String, N, R>> for $value {
            fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                append_text(self.as_bytes(), N, key)
            }
        }

        impl<const N: u32> KeyPart<Text<N>> for $value {
            fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                append_text(self.as_bytes(), N, key)
            }
        }

        impl<const N: u32> KeyPart<Char<N>> for $value {
            fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                append_text(self.trim_end_matches(' ').as_bytes(), N, key)
            }
        }
    )+};
}

text_parts! { &str String &String }

macro_rules! bytes_parts {
    ($([$($generic:tt)*] $value:ty;)+) => {$(
        impl<$($generic)* const N: u32, const R: u32> KeyPart<Limited<Vec<u8>, N, R>> for $value {
            fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                append_bytes(&self[..], N, key)
            }
        }

        impl<$($generic)* const N: u32> KeyPart<Bytes<N>> for $value {
            fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                append_bytes(&self[..], N, key)
            }
        }
    )+};
}

bytes_parts! { [] &[u8]; [] Vec<u8>; [] &Vec<u8>; [const L: usize,] &[u8; L]; }

impl<C: Scalar, T: KeyPart<C>> KeyPart<Option<C>> for Option<T> {
    fn append_part(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
        append_option(self, key)
    }
}

/// Appends a value of a column that may be null.
pub(crate) fn append_option<C: Scalar, T: KeyPart<C>>(
    value: &Option<T>,
    key: KeyBuilder,
) -> Result<KeyBuilder, Misfit> {
    match value {
        Some(value) => value.append_part(key.unsigned(0, 1)),
        None => Ok(append_null::<C>(key)),
    }
}

/// Tuples of values as prefixes of a key with one column more each time.
macro_rules! tuple_prefixes {
    ([$($column:ident $value:ident $at:tt)+] of [$($rest:ident)*]) => {
        impl<$($column, $value: KeyPart<$column>,)+ $($rest,)*> KeyPrefix<($($column,)+ $($rest,)*)>
            for ($($value,)+)
        {
            #[inline]
            fn append_prefix(&self, key: KeyBuilder) -> Result<KeyBuilder, Misfit> {
                $(let key = self.$at.append_part(key)?;)+
                Ok(key)
            }
        }
    };
}

macro_rules! tuple_keys {
    ($($column:ident $value:ident)+) => {
        impl<$($column, $value: KeyPart<$column>,)+> FullKey<($($column,)+)> for ($($value,)+) {}
    };
}

macro_rules! key_columns {
    ($($first:ident $($rest:ident)*;)+) => {$(
        impl<$first, $($rest),*> KeyColumns for ($first, $($rest,)*) {
            type First = $first;
        }
    )+};
}

key_columns! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }
tuple_keys! { A S }
tuple_keys! { A S B T }
tuple_keys! { A S B T C U }
tuple_keys! { A S B T C U D V }
tuple_keys! { A S B T C U D V E W }
tuple_keys! { A S B T C U D V E W F X }
tuple_prefixes! { [A S 0] of [] }
tuple_prefixes! { [A S 0] of [B] }
tuple_prefixes! { [A S 0] of [B C] }
tuple_prefixes! { [A S 0] of [B C D] }
tuple_prefixes! { [A S 0] of [B C D E] }
tuple_prefixes! { [A S 0] of [B C D E F] }
tuple_prefixes! { [A S 0 B T 1] of [] }
tuple_prefixes! { [A S 0 B T 1] of [C] }
tuple_prefixes! { [A S 0 B T 1] of [C D] }
tuple_prefixes! { [A S 0 B T 1] of [C D E] }
tuple_prefixes! { [A S 0 B T 1] of [C D E F] }
tuple_prefixes! { [A S 0 B T 1 C U 2] of [] }
tuple_prefixes! { [A S 0 B T 1 C U 2] of [D] }
tuple_prefixes! { [A S 0 B T 1 C U 2] of [D E] }
tuple_prefixes! { [A S 0 B T 1 C U 2] of [D E F] }
tuple_prefixes! { [A S 0 B T 1 C U 2 D V 3] of [] }
tuple_prefixes! { [A S 0 B T 1 C U 2 D V 3] of [E] }
tuple_prefixes! { [A S 0 B T 1 C U 2 D V 3] of [E F] }
tuple_prefixes! { [A S 0 B T 1 C U 2 D V 3 E W 4] of [] }
tuple_prefixes! { [A S 0 B T 1 C U 2 D V 3 E W 4] of [F] }
tuple_prefixes! { [A S 0 B T 1 C U 2 D V 3 E W 4 F X 5] of [] }

/// A range of keys with the columns `K`: `..`, `a..b`, `a..=b`, `a..`, `..b`, `..=b`, or a pair of
/// [`Bound`]s. A bound may have leading columns only: `1..=1` are all keys that begin with 1.
///
/// ```
/// use namdb::{Isolation, RecordTable, Retry, Storage, record};
/// use std::ops::Bound;
///
/// record! {
///     struct Entry in "entry" {
///         key { account: u32, number: u32 }
///     }
/// }
///
/// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let entries = RecordTable::<Entry>::create(&db, Storage::Tree.into())?;
/// db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
///     for (account, number) in [(1, 1), (2, 1), (2, 2), (3, 1)] {
///         txn.insert(entries, &Entry { account, number })?;
///     }
///     assert_eq!(txn.range(entries, ..).count(), 4);
///     assert_eq!(txn.range(entries, 2..=2).count(), 2);
///     assert_eq!(txn.range(entries, (2, 2)..).count(), 2);
///     let behind_two = (Bound::Excluded(2), Bound::Unbounded);
///     assert_eq!(txn.range(entries, behind_two).count(), 1);
///     namdb::Ok(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of keys with the columns `{K}`",
    note = "a range is `..`, `a..b`, `a..=b`, `a..`, `..b` or `..=b` of values for the leading key columns"
)]
pub trait KeyRange<K> {
    /// The smallest and the largest key in the range, of `words` words; `None` if it is empty.
    fn bounds(self, words: u32) -> Result<Option<(Key, Key)>, Misfit>;
}

impl<K, T: KeyPrefix<K>> KeyRange<K> for (Bound<T>, Bound<T>) {
    fn bounds(self, words: u32) -> Result<Option<(Key, Key)>, Misfit> {
        let part = |value: &T| value.append_prefix(KeyBuilder::new());
        let low = match &self.0 {
            Bound::Unbounded => Some(Key::lowest(words)),
            Bound::Included(value) => Some(part(value)?.prefix_low(words)),
            Bound::Excluded(value) => part(value)?.prefix_high(words).successor(),
        };
        let high = match &self.1 {
            Bound::Unbounded => Some(Key::highest(words)),
            Bound::Included(value) => Some(part(value)?.prefix_high(words)),
            Bound::Excluded(value) => part(value)?.prefix_low(words).predecessor(),
        };
        Ok(low.zip(high).filter(|(low, high)| low <= high))
    }
}

impl<K> KeyRange<K> for RangeFull {
    fn bounds(self, words: u32) -> Result<Option<(Key, Key)>, Misfit> {
        Ok(Some((Key::lowest(words), Key::highest(words))))
    }
}

macro_rules! ranges {
    ($($range:ident $value:ident => $from:expr, $to:expr;)+) => {$(
        impl<K, T: KeyPrefix<K>> KeyRange<K> for $range<T> {
            fn bounds(self, words: u32) -> Result<Option<(Key, Key)>, Misfit> {
                let $value = self;
                ($from, $to).bounds(words)
            }
        }
    )+};
}

ranges! {
    Range range => Bound::Included(range.start), Bound::Excluded(range.end);
    RangeFrom range => Bound::Included(range.start), Bound::Unbounded;
    RangeTo range => Bound::Unbounded, Bound::Excluded(range.end);
    RangeToInclusive range => Bound::Unbounded, Bound::Included(range.end);
}

impl<K, T: KeyPrefix<K>> KeyRange<K> for RangeInclusive<T> {
    fn bounds(self, words: u32) -> Result<Option<(Key, Key)>, Misfit> {
        let (start, end) = self.into_inner();
        (Bound::Included(start), Bound::Included(end)).bounds(words)
    }
}
