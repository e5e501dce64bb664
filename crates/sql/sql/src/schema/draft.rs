//! A parsed table whose keys may be added by later statements.

use super::key_room::{CHARACTER_BYTES, KeyRoom};
use crate::catalog::{Check, Digest, ForeignKey, HIDDEN_KEY, Index, Table, TableColumn};
use crate::error::{Error, ErrorKind, Result};
use crate::expression::Expr;
use crate::source::Source;
use crate::types::SqlType;
use layout::column::{COLUMN_LENGTH_MAX, INLINE_LENGTH_MAX};
use layout::{Column, ColumnType, Schema};
use sqlparser::tokenizer::Span;

/// Values of any length are stored in the row if they have at most this many bytes.
const LONG_BYTES_IN_ROW: u8 = 28;
/// The same for columns in keys, whose accesses read the value.
const KEY_BYTES_IN_ROW: u8 = 39;
/// Fewest bytes of room for short values: those of a reference.
const ROOM_BYTES_MIN: u32 = 24;

/// A parsed table without its row layout.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) place: Span,
    pub(super) columns: Vec<TableColumn>,
    /// The names that the columns have in the engine. They do not change.
    pub(super) stored_names: Vec<String>,
    /// The number of the last column, which may be gone.
    pub(super) last_number: u32,
    pub(super) primary: Option<Key>,
    pub(super) indexes: Vec<Index>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    pub(super) checks: Vec<Check>,
    /// The expressions of indexes; the last columns have their values.
    pub(super) computed: Vec<Expr>,
}

pub(super) struct Key {
    pub(super) name: String,
    pub(super) columns: Vec<usize>,
}

impl Draft {
    pub(super) fn new(name: String, place: Span) -> Self {
        Self {
            name,
            place,
            columns: Vec::new(),
            stored_names: Vec::new(),
            last_number: 0,
            primary: None,
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            computed: Vec::new(),
        }
    }

    /// Adds a column behind all others that SQL sees; returns its position.
    pub(super) fn add_column(
        &mut self,
        name: String,
        sql_type: SqlType,
        nullable: bool,
        default: Option<Expr>,
    ) -> usize {
        self.last_number += 1;
        let number = self.last_number;
        // A column that is behind gone or renamed ones may have the name of one.
        let at = self.visible();
        let is_first = number as usize == at + 1;
        let is_taken = !is_first || self.stored_names.contains(&name);
        let stored = if is_taken { format!("{name}.{number}") } else { name.clone() };
        self.stored_names.insert(at, stored);
        let column = TableColumn { name, number, sql_type, nullable, default, identity: None };
        self.columns.insert(at, column);
        for position in self.indexes.iter_mut().flat_map(|index| &mut index.columns) {
            *position += usize::from(*position >= at);
        }
        at
    }

    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns[..self.visible()].iter().position(|column| column.name == name)
    }

    /// How many columns SQL sees.
    pub(super) fn visible(&self) -> usize {
        self.columns.len() - self.computed.len()
    }

    /// Whether a key of the table has exactly these columns.
    pub(super) fn has_unique(&self, columns: &[usize]) -> bool {
        let same = |key: &[usize]| {
            key.len() == columns.len() && columns.iter().all(|column| key.contains(column))
        };
        let primary = self.primary.as_ref().is_some_and(|key| same(&key.columns));
        primary || self.indexes.iter().any(|index| index.unique && same(&index.columns))
    }

    /// Builds the table. If errors were reported before, columns of refused types are stored as
    /// numbers.
    pub(super) fn finish(
        mut self,
        source: &Source,
        has_errors: bool,
        is_session: bool,
    ) -> Result<Table> {
        // PostgreSQL checks them in this order and reports the first violation.
        self.checks.sort_by(|one, other| one.name.cmp(&other.name));
        let room = match is_session {
            true => Some(self.key_room(source)?),
            false => None,
        };
        self.name_computed();
        let mut stored = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            if !column.sql_type.is_key() && self.is_indexed(at) {
                let sentence = format!(
                    "a key or index over the column `{}` of type {} is outside the supported SQL",
                    column.name, column.sql_type
                );
                let error = Error::at(source, self.place, ErrorKind::Outside, sentence);
                return Err(error.advise("index a column that has the value you look for"));
            }
            let of_session = room.as_ref().and_then(|room| self.stored_text(at, room));
            if let Some(column) = of_session {
                stored.push(column);
                continue;
            }
            let stand_in = has_errors.then_some(ColumnType::Int8);
            let Some(column_type) = column.sql_type.column_type().or(stand_in) else {
                let sentence = format!("a column cannot have the type {}", column.sql_type);
                return Err(Error::at(source, self.place, ErrorKind::Outside, sentence));
            };
            let new = Column::new(&self.stored_names[at], column_type);
            stored.push(Column { nullable: column.nullable, ..new });
        }
        if self.primary.is_none() {
            stored.push(Column::new(HIDDEN_KEY, ColumnType::Int8));
        }
        let digests = room.map_or_else(Vec::new, |room| self.add_digests(&room, &mut stored));
        let (primary_key_name, primary_key) = match self.primary {
            Some(key) => (key.name, key.columns),
            None => (String::new(), Vec::new()),
        };
        let in_key = |&column: &usize| {
            let digest = digests.iter().find(|digest| digest.column == column);
            digest.map_or(column, |digest| digest.at)
        };
        let key: Vec<usize> = match primary_key.is_empty() {
            true => vec![self.columns.len()],
            false => primary_key.iter().map(in_key).collect(),
        };
        let schema = Schema::new(&self.name, stored, &key).map_err(|error| {
            Error::at(source, self.place, ErrorKind::Outside, error.to_string())
        })?;
        Ok(Table {
            name: self.name,
            columns: self.columns,
            schema,
            primary_key,
            primary_key_name,
            indexes: self.indexes,
            foreign_keys: self.foreign_keys,
            checks: self.checks,
            digests,
            computed: self.computed,
        })
    }

    /// Divides the bytes of keys among their columns.
    fn key_room(&self, source: &Source) -> Result<KeyRoom> {
        let primary = self.primary.as_ref().map(|key| &key.columns[..]);
        let indexes = self.indexes.iter().map(|index| &index.columns[..]);
        KeyRoom::of(&self.columns, primary, indexes).ok_or_else(|| {
            let sentence = format!(
                "a key or index of the table `{}` has too many columns of text or bytes",
                self.name
            );
            let error = Error::at(source, self.place, ErrorKind::Outside, sentence);
            error.advise("index fewer columns, or declare short lengths: `varchar(8)`")
        })
    }

    /// Adds a column for the digests of each column that does not fit a key.
    fn add_digests(&self, room: &KeyRoom, stored: &mut Vec<Column>) -> Vec<Digest> {
        let mut digests = Vec::new();
        for (column, &bytes) in room.digests.iter().enumerate() {
            let Some(bytes) = bytes else { continue };
            let mut name = format!("{} digest", self.stored_names[column]);
            while stored.iter().any(|other| other.name == name) {
                name.push('.');
            }
            digests.push(Digest { column, at: stored.len(), bytes });
            let column_type = ColumnType::Bytes(bytes.into());
            let nullable = self.columns[column].nullable;
            stored.push(Column { nullable, ..Column::new(&name, column_type) });
        }
        digests
    }
}

impl Draft {
    /// Whether the column is part of a key or an index.
    fn is_indexed(&self, at: usize) -> bool {
        self.primary.as_ref().is_some_and(|key| key.columns.contains(&at))
            || self.indexes.iter().any(|index| index.columns.contains(&at))
    }

    /// How a session's table stores texts and other values of any length; `None` for other types.
    fn stored_text(&self, at: usize, room: &KeyRoom) -> Option<Column> {
        let TableColumn { sql_type, nullable, .. } = &self.columns[at];
        let new = |column_type| Column {
            nullable: *nullable,
            ..Column::new(&self.stored_names[at], column_type)
        };
        let long = |column_type| {
            let room = if self.is_indexed(at) { KEY_BYTES_IN_ROW } else { LONG_BYTES_IN_ROW };
            new(column_type).with_in_row(room)
        };
        let text = |characters: u32, column_type: fn(u32) -> ColumnType| {
            let bytes = characters.saturating_mul(CHARACTER_BYTES).min(COLUMN_LENGTH_MAX);
            let is_whole_in_keys = self.is_indexed(at) && room.digests[at].is_none();
            // Texts of ASCII letters are always in the row.
            let in_row = characters.max(ROOM_BYTES_MIN);
            match in_row < bytes {
                _ if is_whole_in_keys => new(column_type(characters * room.character_bytes)),
                false => new(column_type(bytes)),
                true if characters > INLINE_LENGTH_MAX => long(column_type(bytes)),
                true => new(column_type(bytes)).with_packed(in_row as u16),
            }
        };
        match sql_type {
            SqlType::Varchar(Some(characters)) => Some(text(*characters, ColumnType::Varchar)),
            SqlType::Char(Some(characters)) => Some(text(*characters, ColumnType::Char)),
            SqlType::Bytes => Some(long(ColumnType::Bytes(COLUMN_LENGTH_MAX))),
            other if other.is_long() => Some(long(ColumnType::Varchar(COLUMN_LENGTH_MAX))),
            _ => None,
        }
    }
}

/// The error and the advice if columns cannot have this type.
pub(super) fn refusal(sql_type: &SqlType, is_session: bool) -> Option<(String, &'static str)> {
    if is_session && sql_type.is_long() {
        return None;
    }
    let advice = match sql_type {
        SqlType::Text | SqlType::Varchar(None) => {
            "write varchar(n) with the longest length that occurs"
        }
        SqlType::Char(None) => "write char(n)",
        SqlType::Numeric(crate::types::Numeric::Open) => "write numeric(p,s)",
        SqlType::Bytes => {
            "namdb has no column type for raw bytes yet: encode them in the client, as hexadecimal digits in varchar(n)"
        }
        SqlType::Uuid | SqlType::Json | SqlType::Jsonb if !is_session => "write `varchar(n)`",
        SqlType::Float4 if !is_session => "write `double precision`",
        // Generated code does not round.
        SqlType::Timestamp(Some(0..=5)) | SqlType::TimestampTz(Some(0..=5)) if !is_session => {
            "write `timestamp`, which has microseconds, and round with date_trunc"
        }
        SqlType::Array(_) => "write a second table with a row for each element",
        SqlType::Time(_) | SqlType::Interval if !is_session => {
            "write bigint, and count microseconds"
        }
        _ => return None,
    };
    Some((format!("a column of type {sql_type}"), advice))
}
