//! The macro that declares records, and enums and groups of fields in them.

/// Declares a structure that represents a row of a table, and generates its schema, its key, its
/// indexes and the code that reads and writes it.
///
/// ```
/// use namdb::{Date, Decimal, Isolation, RecordTable, Retry, record};
///
/// record! {
///     /// The state of an account: an enum, stored as these numbers.
///     pub enum State { Open = 1, Closed = 2 }
/// }
///
/// record! {
///     /// A group of fields, stored in a column each.
///     pub struct Number { branch: i32, account: u64 }
/// }
///
/// record! {
///     /// A customer's account.
///     pub struct Account in "account" {
///         key { number: Number }
///         owner: String[40],
///         balance: Decimal<2>,
///         state: State,
///         closed_on: Option<Date>,
///         remark: Option<String>[200],
///     }
///     index by_owner(owner, state);
/// }
///
/// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let accounts = RecordTable::<Account>::create(&db, Default::default())?;
/// let by_owner = Account::by_owner(&db)?;
/// db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
///     let number = Number { branch: 1, account: 7 };
///     let account = Account {
///         number: number.clone(),
///         owner: "Ada".to_owned(),
///         balance: Decimal(100_00),
///         state: State::Open,
///         closed_on: None,
///         remark: None,
///     };
///     txn.insert(accounts, &account)?;
///     assert_eq!(txn.get(accounts, number)?, Some(account.clone()));
///     assert_eq!(txn.index(by_owner).get(("Ada", State::Open))?, [account]);
///     namdb::Ok(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Fields
/// The key columns come first, in the order that sorts the rows; a key or an index has at most six
/// fields. A field is of one of these types, or an `Option` of one with one column: `None` is null.
///
/// | type | column |
/// |---|---|
/// | `bool`, `f64` | `bool`, `float8` |
/// | `i8`, `i16`, `u8` | `int2` |
/// | `i32`, `u16` | `int4` |
/// | `i64`, `u32` | `int8` |
/// | `u64` | `int8`, less 2^63, so that the order is kept |
/// | [`Decimal<2>`](crate::Decimal) | `decimal` with 2 digits behind the point |
/// | [`Date`](crate::Date), [`Timestamp`](crate::Timestamp) | `date`, `timestamp` |
/// | `String[40]`, [`Text<40>`](crate::Text) | `varchar(40)`: the length is in bytes |
/// | [`Char<40>`](crate::Char) | `char(40)`: trailing blanks are not significant |
/// | `Vec<u8>[40]`, [`Bytes<40>`](crate::Bytes) | at most 40 bytes |
/// | an enum of `record!` | `int2` |
/// | a struct of `record!` | a column per member, called `field_member` |
///
/// # Room for texts
/// Columns have a fixed width, in a row and in each of its old versions. The maximal length of a
/// text or of bytes, up to 1 MiB, determines it:
///
/// | declared | in the row | out of line |
/// |---|---|---|
/// | `String[40]`: at most 64 | room for the longest | |
/// | `String[1000]`: over 64 | room for 63 bytes | longer texts, with the memory that they need |
/// | `String[1000, in_row = 200]` | room for 200 bytes, at most 255 | longer texts |
/// | `String[1000, in_row = 1000]`: at most 1024 | room for the longest | |
///
/// Reading texts out of line takes one more round trip for all those of a record together, and
/// writing them takes memory and log for the whole text. So declare with `in_row` what most texts
/// fit. A column with texts out of line cannot be in a key or an index. A table keeps the room that
/// it was created with, also if a later version of the program declares another. A row has at most
/// 8 KiB without texts out of line, a key at most 64 bytes; both are checked when the table is
/// created.
///
/// ```
/// namdb::record! {
///     pub struct Article in "article" {
///         key { number: u64 }
///         title: String[250, in_row = 100],
///         text: String[100_000],
///     }
/// }
///
/// use namdb::Record;
/// let row = Article::schema()?.row_layout(false);
/// // 104 bytes for a short title and its length, 64 for a short text.
/// assert_eq!(row.payload_words * 8, 104 + 64);
/// # Ok::<(), namdb::SchemaError>(())
/// ```
///
/// The compiler refuses a field whose type does not fit, and says which ones do:
///
/// ```compile_fail,E0277
/// namdb::record! {
///     struct City in "city" {
///         key { name: String } // It needs a maximal length.
///     }
/// }
/// ```
///
/// # Indexes
/// `index name(fields);` declares an index in which records may share a key, `unique name(fields);`
/// one in which they may not. [`RecordIndex`](crate::RecordIndex) has an example.
#[macro_export]
macro_rules! record {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident in $table:literal {
            key {
                $($(#[$key_attribute:meta])* $key:ident : $key_type:ty $([ $key_length:expr $(, in_row = $key_in_row:expr)? ])?),+
                $(,)?
            }
            $($(#[$field_attribute:meta])* $field:ident : $field_type:ty $([ $length:expr $(, in_row = $in_row:expr)? ])?),*
            $(,)?
        }
        $($kind:ident $index:ident ( $($column:ident),+ $(,)? ) ;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $($(#[$key_attribute])* pub $key: $key_type,)+
            $($(#[$field_attribute])* pub $field: $field_type,)*
        }

        const _: () = {
            /// The field types by the names of the fields.
            #[allow(non_camel_case_types, reason = "they are called like the fields")]
            pub trait __Fields {
                // The bounds let the compiler point at a type that does not fit.
                $(type $key: $crate::KeyField;)+
                $(type $field: $crate::Field;)*
            }

            impl __Fields for $name {
                $(type $key = $crate::__field!($key_type $(, $key_length $(, $key_in_row)?)?);)+
                $(type $field = $crate::__field!($field_type $(, $length $(, $in_row)?)?);)*
            }

            impl $name {
                $(
                    /// Opens this index.
                    $visibility fn $index(
                        db: &$crate::Db,
                    ) -> ::core::result::Result<
                        $crate::RecordIndex<
                            Self,
                            ($(<Self as __Fields>::$column,)+),
                            $crate::__uniqueness!($kind type),
                        >,
                        $crate::CatalogError,
                    > {
                        $crate::RecordIndex::open(db, stringify!($index))
                    }
                )*
            }

            impl $crate::Record for $name {
                const TABLE: &'static str = $table;

                type Key = ($(<Self as __Fields>::$key,)+);

                fn fields() -> &'static [(&'static str, usize)] {
                    &[
                        $((stringify!($key), <<Self as __Fields>::$key as $crate::Field>::COLUMNS),)+
                        $((
                            stringify!($field),
                            <<Self as __Fields>::$field as $crate::Field>::COLUMNS,
                        ),)*
                    ]
                }

                fn schema() -> ::core::result::Result<$crate::Schema, $crate::SchemaError> {
                    let mut columns = ::std::vec::Vec::new();
                    $(<<Self as __Fields>::$key as $crate::Field>::columns(
                        stringify!($key), &mut columns,
                    );)+
                    let key_columns = columns.len();
                    $(<<Self as __Fields>::$field as $crate::Field>::columns(
                        stringify!($field), &mut columns,
                    );)*
                    $crate::record::schema_of($table, columns, key_columns)
                }

                fn indexes() -> ::std::vec::Vec<$crate::IndexDesign> {
                    // A program may not use all indexes; this use avoids a "never used" warning.
                    $(let _ = Self::$index;)*
                    ::std::vec![$($crate::record::index_design::<Self>(
                        stringify!($index),
                        $crate::__uniqueness!($kind value),
                        &[$(stringify!($column)),+],
                    )),*]
                }

                fn own_key(&self) -> ::core::result::Result<$crate::Key, $crate::SchemaError> {
                    let key = $crate::KeyBuilder::new();
                    $(let key =
                        <<Self as __Fields>::$key as $crate::KeyField>::append(&self.$key, key)
                            .map_err(|misfit| {
                                $crate::record::misfit::<Self>(stringify!($key), misfit)
                            })?;)+
                    ::core::result::Result::Ok(key.key())
                }

                #[allow(unused_assignments, reason = "the last column has no successor")]
                fn read(
                    row: $crate::RecordRef<'_>,
                ) -> ::core::result::Result<Self, $crate::SchemaError> {
                    let mut column = 0;
                    $(
                        let $key = <<Self as __Fields>::$key as $crate::Field>::read(row, column)
                            .map_err(|misfit| {
                                $crate::record::misfit::<Self>(stringify!($key), misfit)
                            })?;
                        column += <<Self as __Fields>::$key as $crate::Field>::COLUMNS;
                    )+
                    $(
                        let $field = <<Self as __Fields>::$field as $crate::Field>::read(row, column)
                            .map_err(|misfit| {
                                $crate::record::misfit::<Self>(stringify!($field), misfit)
                            })?;
                        column += <<Self as __Fields>::$field as $crate::Field>::COLUMNS;
                    )*
                    ::core::result::Result::Ok(Self { $($key,)+ $($field,)* })
                }

                fn check(&self) -> ::core::result::Result<(), $crate::SchemaError> {
                    $(<<Self as __Fields>::$field as $crate::Field>::check(&self.$field).map_err(
                        |misfit| $crate::record::misfit::<Self>(stringify!($field), misfit),
                    )?;)*
                    ::core::result::Result::Ok(())
                }

                #[allow(
                    unused_variables,
                    unused_assignments,
                    unused_mut,
                    reason = "a record may be all key, and the last column has no successor"
                )]
                fn write(&self, row: &mut $crate::RecordMut<'_>) {
                    let mut column = 0 $(+ <<Self as __Fields>::$key as $crate::Field>::COLUMNS)+;
                    $(
                        <<Self as __Fields>::$field as $crate::Field>::write(
                            &self.$field, row, column,
                        );
                        column += <<Self as __Fields>::$field as $crate::Field>::COLUMNS;
                    )*
                }

                fn describe(
                    row: $crate::RecordRef<'_>,
                    columns: &[usize],
                ) -> ::core::option::Option<::std::string::String> {
                    $crate::record::Description::new(row, columns)
                        $(.field::<<Self as __Fields>::$key>(stringify!($key)))+
                        $(.field::<<Self as __Fields>::$field>(stringify!($field)))*
                        .finish()
                }
            }
        };
    };

    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field:ident : $field_type:ty $([ $length:expr $(, in_row = $in_row:expr)? ])?),+
            $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $($(#[$field_attribute])* pub $field: $field_type,)+
        }

        impl $crate::Field for $name {
            type Value = Self;

            const COLUMNS: usize =
                0 $(+ <$crate::__field!($field_type $(, $length $(, $in_row)?)?) as $crate::Field>::COLUMNS)+;

            fn columns(name: &str, into: &mut ::std::vec::Vec<$crate::Column>) {
                $(<$crate::__field!($field_type $(, $length $(, $in_row)?)?) as $crate::Field>::columns(
                    &::std::format!("{name}_{}", stringify!($field)), into,
                );)+
            }

            #[allow(unused_assignments, reason = "the last column has no successor")]
            fn read(
                row: $crate::RecordRef<'_>,
                mut column: usize,
            ) -> ::core::result::Result<Self, $crate::Misfit> {
                $(
                    let $field =
                        <$crate::__field!($field_type $(, $length $(, $in_row)?)?) as $crate::Field>::read(
                            row, column,
                        )?;
                    column +=
                        <$crate::__field!($field_type $(, $length $(, $in_row)?)?) as $crate::Field>::COLUMNS;
                )+
                ::core::result::Result::Ok(Self { $($field),+ })
            }

            fn check(value: &Self) -> ::core::result::Result<(), $crate::Misfit> {
                $(<$crate::__field!($field_type $(, $length $(, $in_row)?)?) as $crate::Field>::check(
                    &value.$field,
                )?;)+
                ::core::result::Result::Ok(())
            }

            #[allow(unused_assignments, reason = "the last column has no successor")]
            fn write(value: &Self, row: &mut $crate::RecordMut<'_>, mut column: usize) {
                $(
                    <$crate::__field!($field_type $(, $length $(, $in_row)?)?) as $crate::Field>::write(
                        &value.$field, row, column,
                    );
                    column +=
                        <$crate::__field!($field_type $(, $length $(, $in_row)?)?) as $crate::Field>::COLUMNS;
                )+
            }
        }

        impl $crate::KeyField for $name {
            fn append(
                value: &Self,
                key: $crate::KeyBuilder,
            ) -> ::core::result::Result<$crate::KeyBuilder, $crate::Misfit> {
                $(let key =
                    <$crate::__field!($field_type $(, $length $(, $in_row)?)?) as $crate::KeyField>::append(
                        &value.$field, key,
                    )?;)+
                ::core::result::Result::Ok(key)
            }
        }

        $crate::__key_parts!($name);
    };

    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $number:literal),+
            $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        $visibility enum $name {
            $($(#[$variant_attribute])* $variant = $number,)+
        }

        impl $crate::Field for $name {
            type Value = Self;

            const COLUMNS: usize = 1;

            fn columns(name: &str, into: &mut ::std::vec::Vec<$crate::Column>) {
                into.push(<Self as $crate::Scalar>::column(name));
            }

            fn read(
                row: $crate::RecordRef<'_>,
                column: usize,
            ) -> ::core::result::Result<Self, $crate::Misfit> {
                match row.int(column) {
                    $($number => ::core::result::Result::Ok(Self::$variant),)+
                    other => ::core::result::Result::Err($crate::Misfit(::std::format!(
                        "the row has {other}, which is no number of enum {}; \
                         a later version of the program may have written it",
                        stringify!($name),
                    ))),
                }
            }

            fn write(value: &Self, row: &mut $crate::RecordMut<'_>, column: usize) {
                row.set_int(column, i64::from(*value as i16));
            }
        }

        impl $crate::Scalar for $name {
            const COLUMN_TYPE: $crate::ColumnType = $crate::ColumnType::Int2;
        }

        impl $crate::KeyField for $name {
            fn append(
                value: &Self,
                key: $crate::KeyBuilder,
            ) -> ::core::result::Result<$crate::KeyBuilder, $crate::Misfit> {
                ::core::result::Result::Ok(key.int2(*value as i16))
            }
        }

        $crate::__key_parts!($name);
    };
}

/// The field type of a declared type, with a maximal length where one is given.
#[doc(hidden)]
#[macro_export]
macro_rules! __field {
    ($type:ty) => { $type };
    ($type:ty, $length:expr) => { $crate::field::Limited<$type, { $length }> };
    ($type:ty, $length:expr, $in_row:expr) => {
        $crate::field::Limited<$type, { $length }, { $in_row }>
    };
}

/// The keyword of an index, as a type and as a value.
#[doc(hidden)]
#[macro_export]
macro_rules! __uniqueness {
    (index type) => {
        $crate::index::Shared
    };
    (unique type) => {
        $crate::index::Unique
    };
    (index value) => {
        false
    };
    (unique value) => {
        true
    };
}

/// Lets values of a declared type be parts of keys.
#[doc(hidden)]
#[macro_export]
macro_rules! __key_parts {
    ($name:ident) => {
        impl $crate::key::KeyPart<$name> for $name {
            fn append_part(
                &self,
                key: $crate::KeyBuilder,
            ) -> ::core::result::Result<$crate::KeyBuilder, $crate::Misfit> {
                <Self as $crate::KeyField>::append(self, key)
            }
        }

        impl<K: $crate::key::KeyColumns> $crate::key::KeyPrefix<K> for $name
        where
            $name: $crate::key::KeyPart<K::First>,
        {
            fn append_prefix(
                &self,
                key: $crate::KeyBuilder,
            ) -> ::core::result::Result<$crate::KeyBuilder, $crate::Misfit> {
                $crate::key::KeyPart::append_part(self, key)
            }
        }

        impl $crate::key::FullKey<($name,)> for $name {}
    };
}
