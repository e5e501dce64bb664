//! Divides the bytes of keys among columns whose values may not fit.
//!
//! Decisions:
//! - docs/decisions/0359-keys-have-digests-of-long-values.md
//! - docs/decisions/0367-columns-of-sessions-hold-as-many-characters-as-declared.md

use crate::catalog::TableColumn;
use crate::types::SqlType;
use layout::{ColumnType, KEY_WORDS_MAX};

/// Most bytes of a character in UTF-8.
pub(super) const CHARACTER_BYTES: u32 = 4;

/// Bytes of a key.
const KEY_BYTES: u32 = 8 * KEY_WORDS_MAX as u32;
/// Bytes of the key of a table without a primary key.
const HIDDEN_KEY_BYTES: u32 = 8;
/// Most bytes of a digest: 22 bytes of a long value and its hash.
const DIGEST_BYTES_MAX: u32 = 38;
/// Bytes of a digest with a whole hash and no part of the value.
const HASH_BYTES: u32 = 16;
/// Fewest bytes of a digest: a shortened hash.
const DIGEST_BYTES_MIN: u32 = 11;
/// Bytes of the length behind a digest in a key.
const LENGTH_BYTES: u32 = 2;

/// How keys of a table have its columns.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct KeyRoom {
    /// For each column, the bytes of its digests if keys do not have its values.
    pub(super) digests: Vec<Option<u8>>,
    /// Bytes for each character of a text that keys have.
    pub(super) character_bytes: u32,
}

impl KeyRoom {
    /// Divides the bytes of keys; `None` if a key has no room for its columns. If the texts of a
    /// key do not fit with all bytes of their characters, keys have a byte for each.
    pub(super) fn of<'k>(
        columns: &[TableColumn],
        primary: Option<&[usize]>,
        indexes: impl Iterator<Item = &'k [usize]> + Clone,
    ) -> Option<Self> {
        [CHARACTER_BYTES, 1].into_iter().find_map(|character_bytes| {
            let digests = digest_bytes(columns, primary, indexes.clone(), character_bytes)?;
            Some(Self { digests, character_bytes })
        })
    }
}

/// Returns, for each column, the bytes of its digests if keys do not have its values; `None` if a
/// key has no room for the digests of its columns.
///
/// Columns without a declared length have digests, and those that do not fit alone. Others have
/// them only if a key is too long otherwise: the columns outside the primary key first, because
/// those of the primary key are behind those of every index, and the widest first.
fn digest_bytes<'k>(
    columns: &[TableColumn],
    primary: Option<&[usize]>,
    indexes: impl Iterator<Item = &'k [usize]>,
    character_bytes: u32,
) -> Option<Vec<Option<u8>>> {
    let whole = |column: &TableColumn| whole(column, character_bytes);
    let primary_columns = primary.unwrap_or_default();
    let behind = |index: &[usize]| {
        let lacking = primary_columns.iter().filter(|column| !index.contains(column));
        index.iter().chain(lacking).copied().collect()
    };
    let mut keys: Vec<Vec<usize>> = primary.map(<[usize]>::to_vec).into_iter().collect();
    keys.extend(indexes.map(behind));
    let hidden = if primary.is_none() { HIDDEN_KEY_BYTES } else { 0 };
    let is_in_key = |column: &usize| keys.iter().any(|key| key.contains(column));
    let mut has_digest: Vec<bool> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let fits = !column.sql_type.is_long() && whole(column) <= KEY_BYTES;
            !fits && is_in_key(&at)
        })
        .collect();
    for key in &keys {
        let bytes = |has_digest: &[bool]| -> u32 {
            let part = |&at: &usize| match has_digest[at] {
                true => overhead(&columns[at]) + HASH_BYTES,
                false => whole(&columns[at]),
            };
            key.iter().map(part).fold(hidden, u32::saturating_add)
        };
        while bytes(&has_digest) > KEY_BYTES {
            let shrinks = |&&at: &&usize| {
                let column = &columns[at];
                !has_digest[at] && is_text(column) && whole(column) > overhead(column) + HASH_BYTES
            };
            let rank = |&&at: &&usize| (!primary_columns.contains(&at), whole(&columns[at]), at);
            let Some(&widest) = key.iter().filter(shrinks).max_by_key(rank) else { break };
            has_digest[widest] = true;
        }
    }
    let wanted = columns.iter().map(digest_bytes_max).zip(&has_digest);
    let mut found: Vec<Option<u32>> = wanted.map(|(bytes, has)| has.then_some(bytes)).collect();
    for key in &keys {
        let fixed: u32 = key
            .iter()
            .map(|&at| if has_digest[at] { overhead(&columns[at]) } else { whole(&columns[at]) })
            .sum();
        let count = key.iter().filter(|&&at| has_digest[at]).count() as u32;
        let room = KEY_BYTES.checked_sub(fixed + hidden);
        // The schema refuses a key that is too long even so.
        if count == 0 && (room.is_some() || character_bytes == 1) {
            continue;
        }
        let share = room? / count;
        for &at in key {
            found[at] = found[at].map(|bytes| bytes.min(share));
        }
    }
    let fits = |bytes: &u32| *bytes >= DIGEST_BYTES_MIN;
    let all_fit = found.iter().flatten().all(fits);
    all_fit.then(|| found.into_iter().map(|bytes| bytes.map(|bytes| bytes as u8)).collect())
}

fn is_text(column: &TableColumn) -> bool {
    length(column).is_some()
}

/// The declared characters of a text.
fn length(column: &TableColumn) -> Option<u32> {
    match column.sql_type {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => Some(length),
        _ => None,
    }
}

/// Most bytes of the column's digests. Texts of ASCII letters are ordered by all their bytes.
fn digest_bytes_max(column: &TableColumn) -> u32 {
    length(column).map_or(DIGEST_BYTES_MAX, |length| DIGEST_BYTES_MAX.min(length + HASH_BYTES))
}

/// Bytes of the column's values in a key.
fn whole(column: &TableColumn, character_bytes: u32) -> u32 {
    let bytes = match column.sql_type.column_type() {
        Some(ColumnType::Varchar(length) | ColumnType::Char(length)) => {
            length.saturating_mul(character_bytes)
        }
        Some(ColumnType::Bytes(length)) => length + LENGTH_BYTES,
        Some(other) => other.raw_bytes(),
        None => 0,
    };
    bytes.saturating_add(u32::from(column.nullable))
}

/// Bytes of a key beside a digest of the column.
fn overhead(column: &TableColumn) -> u32 {
    LENGTH_BYTES + u32::from(column.nullable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(sql_type: SqlType, nullable: bool) -> TableColumn {
        let name = String::new();
        TableColumn { name, number: 1, sql_type, nullable, default: None, identity: None }
    }

    fn varchar(length: u32) -> TableColumn {
        column(SqlType::Varchar(Some(length)), true)
    }

    /// The bytes of each column's digest in a table whose key is the first column.
    fn bytes(columns: &[TableColumn], indexes: &[&[usize]]) -> Option<Vec<Option<u8>>> {
        let room = KeyRoom::of(columns, Some(&[0]), indexes.iter().copied())?;
        assert_eq!(room.character_bytes, CHARACTER_BYTES);
        Some(room.digests)
    }

    #[test]
    fn columns_that_fit_have_no_digests() {
        let number = || column(SqlType::Int8, false);
        assert_eq!(bytes(&[number(), varchar(13)], &[&[1]]), Some(vec![None, None]));
        assert_eq!(bytes(&[number(), varchar(14)], &[&[1]]), Some(vec![None, Some(30)]));
        assert_eq!(bytes(&[number(), varchar(55)], &[&[1]]), Some(vec![None, Some(38)]));
        assert_eq!(bytes(&[number(), varchar(255)], &[]), Some(vec![None, None]));
        let key = column(SqlType::Varchar(Some(16)), false);
        assert_eq!(bytes(&[key], &[]), Some(vec![None]));
    }

    #[test]
    fn the_columns_of_an_index_are_cut_before_those_of_the_primary_key() {
        let key = column(SqlType::Varchar(Some(10)), false);
        let columns = [key, varchar(9)];
        assert_eq!(bytes(&columns, &[&[1]]), Some(vec![None, Some(21)]));
        let wide = column(SqlType::Varchar(Some(255)), false);
        let columns = [wide, varchar(5)];
        assert_eq!(bytes(&columns, &[&[1]]), Some(vec![Some(38), None]));
    }

    #[test]
    fn long_columns_share_the_room() {
        let number = column(SqlType::Int8, false);
        let text = || column(SqlType::Text, true);
        let table = [number, text(), text(), varchar(255), text(), text()];
        let of = |index: &[usize]| bytes(&table, &[index]);
        assert_eq!(of(&[1]), Some(vec![None, Some(38), None, None, None, None]));
        assert_eq!(of(&[1, 2]), Some(vec![None, Some(25), Some(25), None, None, None]));
        let three = Some(15);
        assert_eq!(of(&[1, 2, 3]), Some(vec![None, three, three, three, None, None]));
        let four = Some(11);
        assert_eq!(of(&[1, 2, 3, 4]), Some(vec![None, four, four, four, four, None]));
        assert_eq!(of(&[1, 2, 3, 4, 5]), None);
    }

    #[test]
    fn many_short_columns_have_a_byte_for_each_character() {
        let number = column(SqlType::Int8, false);
        let table = [number, varchar(9), varchar(9), varchar(9), varchar(9), varchar(9)];
        let index: &[usize] = &[1, 2, 3, 4, 5];
        let room = KeyRoom::of(&table, Some(&[0]), [index].into_iter());
        assert_eq!(room, Some(KeyRoom { digests: vec![None; 6], character_bytes: 1 }));
    }
}
