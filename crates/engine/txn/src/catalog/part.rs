//! Tables in parts: one table for each memory server that has rows of it, and a rule by which keys
//! choose among them.
//!
//! Each part is a table with its own rows, trees and indexes; who names any of them names all.
//! Operations go to the part that has their key, and scans through as many as their range touches,
//! one after the other. An entry of an index is in the part of its row if the index begins with the
//! column that divides the rows; else the hash of its own columns, or of the first of them, chooses
//! the part, so that one lookup finds it, and a range that names these. Copies are in
//! [`crate::write::copies`].
//!
//! Decisions:
//! - docs/decisions/0244-parts-of-a-table-are-tables.md
//! - docs/decisions/0276-copies-of-a-table-are-parts-with-all-rows.md

use crate::catalog::definition::TableDefinition;
use crate::catalog::{Catalog, CatalogError, IndexId, IndexInfo, TableId, TableSpec};
use crate::database::Database;
use crate::lane::OpenCatalog;
use crate::read::scan::{Scan, ScanSource};
use fabric::Env;
use layout::key::{hash_words, read_signed};
use layout::{ColumnType, KEY_WORDS_MAX, Key, PARTS_MAX, Part, PartRule, Placement, Schema};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The parts of a table or of an index, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    numbers: Vec<u32>,
    choice: Choice,
}

/// How encoded keys choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// By the integer of this many bytes that they begin with.
    Ranges { bytes: u32, rule: PartRule },
    /// By the hash of the first columns: how many columns and bytes.
    Hashed { columns: usize, bytes: u32 },
    /// All parts have all keys; reads go to the part at this position, the nearest.
    Nearest(u16),
}

impl Parts {
    /// The numbers of all of them.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// How many first columns a range has to name by their values to be in one part, or in parts
    /// that are in order.
    pub fn named(&self) -> usize {
        match self.choice {
            Choice::Ranges { .. } | Choice::Nearest(_) => 0,
            Choice::Hashed { columns, .. } => columns,
        }
    }

    /// Whether each has all rows.
    pub fn are_copies(&self) -> bool {
        matches!(self.choice, Choice::Nearest(_))
    }

    /// Those that have all rows together, each row once.
    pub fn of_all_rows(&self) -> &[u32] {
        match self.choice {
            Choice::Nearest(nearest) => std::slice::from_ref(&self.numbers[usize::from(nearest)]),
            _ => &self.numbers,
        }
    }

    /// The one that has a key; of copies the nearest.
    #[inline]
    pub fn of(&self, key: &[u64]) -> u32 {
        self.numbers[self.position(key)]
    }

    /// The one that has a key which belongs to something in part `own`: copies have all of it
    /// themselves.
    #[inline]
    fn beside(&self, own: u32, key: &[u64]) -> u32 {
        if self.are_copies() { own } else { self.of(key) }
    }

    fn position(&self, key: &[u64]) -> usize {
        let count = self.numbers.len();
        match self.choice {
            Choice::Ranges { bytes, rule } => {
                let part = rule.part_of(read_signed(key, 0, bytes), count as u16);
                usize::from(part.expect("the rule has ranges"))
            }
            // One part has all, not the same one of each index.
            Choice::Hashed { columns: 0, .. } => self.numbers[0] as usize % count,
            // The upper half: buckets are chosen by what remains.
            Choice::Hashed { bytes, .. } => {
                let upper = hash_words(prefix(key, bytes).words()) >> 32;
                ((upper * count as u64) >> 32) as usize
            }
            Choice::Nearest(nearest) => usize::from(nearest),
        }
    }

    /// Those that have keys of a range; `None` if the range names no part.
    fn between(&self, low: &Key, high: &Key) -> Option<RangeInclusive<usize>> {
        if let Choice::Hashed { bytes, .. } = self.choice {
            // A range of nothing, as what is left of one may be, is anywhere.
            let is_of_one = prefix(low.words(), bytes) == prefix(high.words(), bytes);
            let at = self.position(low.words());
            return (is_of_one || low > high).then_some(at..=at);
        }
        Some(self.position(low.words())..=self.position(high.words()))
    }
}

/// The first bytes of a key, with zeros behind them.
fn prefix(key: &[u64], bytes: u32) -> Key {
    let (whole, rest) = ((bytes / 8) as usize, bytes % 8);
    let mut words = [0; KEY_WORDS_MAX];
    words[..whole].copy_from_slice(&key[..whole]);
    if rest == 0 {
        return Key::from_words(&words[..whole]);
    }
    words[whole] = key[whole] & !(u64::MAX >> (8 * rest));
    Key::from_words(&words[..whole + 1])
}

/// Whether ranges of this column can divide rows, and the bytes that it takes in keys.
fn range_bytes(schema: &Schema, column: usize) -> Option<u32> {
    let of = &schema.columns()[column];
    let is_integer =
        matches!(of.column_type, ColumnType::Int2 | ColumnType::Int4 | ColumnType::Int8);
    (is_integer && !of.nullable).then(|| schema.key_part_bytes(column))
}

/// Which of these copies is nearest to whom memory server `nearest` is: the one there, or else one
/// by turns.
fn nearest_of(copies: &[&TableDefinition], nearest: u16) -> u16 {
    let there = copies.iter().position(|copy| copy.design.server == Some(nearest));
    there.unwrap_or(usize::from(nearest) % copies.len()) as u16
}

/// How keys that begin with these columns choose, where the table's own begin with column
/// `divider`; by hash the first `hashed` of them choose.
fn choice(
    schema: &Schema,
    columns: &[usize],
    hashed: Option<u16>,
    divider: usize,
    rule: PartRule,
) -> Choice {
    let begins = columns.first() == Some(&divider);
    match (rule, range_bytes(schema, divider)) {
        (PartRule::Ranges { .. }, Some(bytes)) if begins => Choice::Ranges { bytes, rule },
        _ => {
            let hashed = hashed.map_or(columns.len(), usize::from);
            let hashed = &columns[..hashed.min(columns.len())];
            let bytes = hashed.iter().map(|&column| schema.key_part_bytes(column)).sum();
            Choice::Hashed { columns: hashed.len(), bytes }
        }
    }
}

impl Catalog {
    /// Joins the tables that are parts of one, as soon as all of them are there. Parts that
    /// somebody has left of another division of a table with the same name belong to none. Of
    /// copies the one on memory server `nearest` is read.
    pub(crate) fn join_parts<'a>(
        &mut self,
        definitions: impl Iterator<Item = &'a TableDefinition>,
        nearest: u16,
    ) -> Result<(), CatalogError> {
        let mut families: BTreeMap<&str, BTreeMap<u16, (&Part, &TableDefinition)>> =
            BTreeMap::new();
        for definition in definitions {
            if let Some(part) = &definition.design.part {
                families.entry(&part.of).or_default().insert(part.number, (part, definition));
                self.incomplete.insert(definition.number);
            }
        }
        for family in families.values() {
            let Some((first, _)) = family.get(&0) else { continue };
            let is_of_it = |part: &Part| (part.count, part.rule) == (first.count, first.rule);
            let parts = family.values().filter(|(part, _)| is_of_it(part));
            let parts: Vec<&TableDefinition> = parts.map(|(_, definition)| *definition).collect();
            if parts.len() == usize::from(first.count) {
                self.join(&parts, first.rule, nearest)?;
            }
        }
        Ok(())
    }

    fn join(
        &mut self,
        parts: &[&TableDefinition],
        rule: PartRule,
        nearest: u16,
    ) -> Result<(), CatalogError> {
        let schema = parts[0].schema()?;
        let divider = schema.key()[0];
        let numbers = parts.iter().map(|part| part.number).collect();
        self.has_copies |= rule.is_copied();
        let nearest = Choice::Nearest(nearest_of(parts, nearest));
        let choice_of = |columns: &[usize], hashed: Option<u16>| match rule {
            PartRule::Copied => nearest,
            _ => choice(&schema, columns, hashed, divider, rule),
        };
        let hashed = match rule {
            PartRule::Hashed { columns } => Some(columns),
            _ => None,
        };
        let tables = Arc::new(Parts { numbers, choice: choice_of(schema.key(), hashed) });
        for &number in &tables.numbers {
            self.incomplete.remove(&number);
            let info = self.tables[number as usize].as_mut().expect("its definition was added");
            Arc::make_mut(info).parts = Some(tables.clone());
        }
        for (position, index) in parts[0].indexes.iter().enumerate() {
            let numbers = parts.iter().map(|part| part.indexes[position].number).collect();
            let choice = choice_of(&index.design.columns, index.design.hashed_columns);
            let indexes = Arc::new(Parts { numbers, choice });
            for &number in &indexes.numbers {
                let info = self.indexes[number as usize].as_mut().expect("it was added");
                Arc::make_mut(info).parts = Some(indexes.clone());
            }
        }
        Ok(())
    }
}

/// What is wrong with a division of this table, if anything is.
fn check_division(spec: &TableSpec, servers: &[u16], rule: PartRule) -> Result<(), CatalogError> {
    let table = spec.schema.name().to_owned();
    let refuse = |reason: &str| {
        Err(CatalogError::Design { table: table.clone(), reason: reason.to_owned() })
    };
    if servers.is_empty() || servers.len() > usize::from(PARTS_MAX) {
        return refuse("a table in parts has 1 to 256 of them");
    }
    match rule {
        PartRule::Ranges { values: 0, .. } => refuse("the ranges of its parts have no values"),
        PartRule::Ranges { .. } if range_bytes(&spec.schema, spec.schema.key()[0]).is_none() => {
            refuse(
                "parts with ranges take a key that begins with an integer column that is never null",
            )
        }
        PartRule::Hashed { columns: 0 } => refuse("the hash of its parts is of no column"),
        PartRule::Hashed { columns } if usize::from(columns) > spec.schema.key().len() => {
            refuse("the hash of its parts is of more columns than its key has")
        }
        PartRule::Hashed { .. } if matches!(spec.design.placement, Placement::Dense { .. }) => {
            refuse(
                "a dense placement takes parts with ranges, since the keys of a hashed part have gaps",
            )
        }
        _ => Ok(()),
    }
}

/// The specification of one part.
fn part_spec(spec: &TableSpec, part: Part, server: u16) -> Result<TableSpec, CatalogError> {
    // A copy has as many rows as the table.
    let count = if part.rule.is_copied() { 1 } else { u64::from(part.count) };
    let schema = match part.number {
        0 => spec.schema.clone(),
        number => {
            let name = format!("{}.{number}", part.of);
            Schema::new(&name, spec.schema.columns().to_vec(), spec.schema.key())?
        }
    };
    let mut design = spec.design.clone();
    design.size_hint = design.size_hint.div_ceil(count);
    if let (Placement::Dense { columns }, PartRule::Ranges { smallest, .. }) =
        (&mut design.placement, part.rule)
    {
        // What keys outside the ranges have is planned for where they are: at either end. A part
        // has places for no others than the table has, which may be fewer than its ranges: those of
        // a group are the same.
        let low = i128::from(columns[0].0);
        let end = low + i128::from(columns[0].1);
        let range = part.rule.values(part.number, part.count).expect("the rule has ranges");
        let at = |distance: u64| (i128::from(smallest) + i128::from(distance)).clamp(low, end);
        let from = if part.number == 0 { low } else { at(range.start).min(end - 1) };
        let until = if part.number + 1 == part.count { end } else { at(range.end) };
        columns[0] = (from as i64, u64::try_from(until - from).unwrap_or(0).max(1));
    }
    (design.server, design.part) = (Some(server), Some(part));
    let mut indexes = spec.indexes.clone();
    indexes.iter_mut().for_each(|index| index.size_hint = index.size_hint.div_ceil(count));
    Ok(TableSpec { schema, design, indexes })
}

impl<E: Env> Database<E> {
    pub(crate) async fn create_in_parts_generic(
        &self,
        spec: TableSpec,
        servers: &[u16],
        rule: PartRule,
    ) -> Result<TableId, CatalogError> {
        check_division(&spec, servers, rule)?;
        let (of, count) = (spec.schema.name().to_owned(), servers.len() as u16);
        // The first part comes last: before, nobody finds any by the table's name.
        let parts = servers.iter().enumerate().rev().map(|(number, &server)| {
            let part = Part { of: of.clone(), number: number as u16, count, rule };
            part_spec(&spec, part, server)
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let name = of.clone();
        self.to_its_end(|database| async move {
            if database.refresh().await?.table(&name).is_some() {
                return Err(CatalogError::Exists(format!("table {name}")));
            }
            let made = database.make_tables(parts).await?;
            let first = made.last().map(|made| made.table);
            let table = database.shared.cached_catalog().table(&name);
            if let Some(table) = table.filter(|_| table == first) {
                return Ok(table);
            }
            // Somebody has dropped the parts that were there: the others come too late, and go.
            match database.remove_tables(&made).await {
                Ok(()) | Err(CatalogError::Unacknowledged) => Err(CatalogError::NoTable(name)),
                Err(error) => Err(error),
            }
        })
        .await
    }
}

/// A table of the catalog with its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NamedTable {
    pub name: String,
    pub table: TableId,
}

/// All parts of a table, the first part first, also if some are missing. A table that is whole
/// comes alone, or with parts that were left of an earlier one. Empty if nothing has that name.
pub(crate) fn parts_of(definitions: &[(u64, TableDefinition)], name: &str) -> Vec<NamedTable> {
    let all = || definitions.iter().map(|(_, definition)| definition);
    let part_of = |one: &TableDefinition| Some(one.design.part.as_ref()?.of.clone());
    let of = all().find(|one| one.name == name).and_then(part_of).unwrap_or(name.to_owned());
    let number = |one: &TableDefinition| match &one.design.part {
        None => (one.name == of).then_some(0),
        Some(part) => (part.of == of).then_some(part.number),
    };
    let mut parts: Vec<(u16, &TableDefinition)> =
        all().filter_map(|one| Some((number(one)?, one))).collect();
    parts.sort_unstable_by_key(|(number, _)| *number);
    let named = |(_, one): (u16, &TableDefinition)| NamedTable {
        name: one.name.clone(),
        table: TableId(one.number),
    };
    parts.into_iter().map(named).collect()
}

impl OpenCatalog {
    /// The part of a table that has a key; of copies the nearest.
    #[inline]
    pub(crate) fn part_of(&self, table: TableId, key: &[u64]) -> TableId {
        self.info(table).parts.as_ref().map_or(table, |parts| TableId(parts.of(key)))
    }

    /// The part of an index that has an entry whose key begins so; of copies the nearest.
    #[inline]
    pub(crate) fn index_part_of(&self, index: IndexId, info: &IndexInfo, key: &[u64]) -> IndexId {
        info.parts.as_ref().map_or(index, |parts| IndexId(parts.of(key)))
    }

    /// The part of a table that has the row to which an entry of an index of part `table` leads.
    #[inline]
    pub(crate) fn row_part_of(&self, table: TableId, key: &[u64]) -> TableId {
        let parts = self.info(table).parts.as_ref();
        parts.map_or(table, |parts| TableId(parts.beside(table.0, key)))
    }

    /// The part of an index that has the entry of a row whose part of the table has part `index` of
    /// it.
    #[inline]
    pub(crate) fn entry_part_of(&self, index: IndexId, info: &IndexInfo, key: &[u64]) -> IndexId {
        info.parts.as_ref().map_or(index, |parts| IndexId(parts.beside(index.0, key)))
    }

    /// Whether two tables are one, or parts of one that have different rows of it.
    #[inline]
    pub(crate) fn is_same_table(&self, one: TableId, other: TableId) -> bool {
        let parts = || self.info(one).parts.as_ref().filter(|parts| !parts.are_copies());
        one == other || parts().is_some_and(|parts| parts.numbers.contains(&other.0))
    }

    /// The parts that a scan goes through, by position; `None` if its source is not in parts.
    ///
    /// # Errors
    /// Its range goes over several values of what is divided by a hash.
    #[inline]
    pub(crate) fn scanned_parts(
        &self,
        scan: &Scan,
    ) -> Result<Option<RangeInclusive<usize>>, CatalogError> {
        let Some(parts) = self.parts(scan.source) else { return Ok(None) };
        let reason =
            "a range over several keys needs parts with ranges, by the column that it begins with";
        let range = parts.between(&scan.low, &scan.high);
        range.map(Some).ok_or(CatalogError::WrongKind(reason))
    }

    /// A part of what is scanned.
    pub(crate) fn scanned_part(&self, source: ScanSource, position: usize) -> ScanSource {
        let parts = self.parts(source).expect("it is in parts");
        let number = parts.numbers[position];
        match source {
            ScanSource::Table(_) => ScanSource::Table(TableId(number)),
            ScanSource::Index(_) => ScanSource::Index(IndexId(number)),
        }
    }

    #[inline]
    fn parts(&self, source: ScanSource) -> Option<&Arc<Parts>> {
        match source {
            ScanSource::Table(table) => self.catalog.info(table)?.parts.as_ref(),
            ScanSource::Index(index) => self.catalog.index_info(index)?.parts.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index that nothing divides has all of its entries in one part; others of the same table
    /// are elsewhere.
    #[test]
    fn indexes_that_nothing_divides_take_turns() {
        let choice = Choice::Hashed { columns: 0, bytes: 0 };
        let place = |numbers: [u32; 4]| {
            let parts = Parts { numbers: numbers.to_vec(), choice };
            let [first, other] = [[0, 0], [7, 9]].map(|key| parts.of(&key));
            assert_eq!(first, other, "whatever the key is");
            numbers.iter().position(|number| *number == first).expect("it is one of them")
        };
        // Parts are made last to first, each with three indexes.
        let places = [0, 1, 2].map(|index| place([9, 6, 3, 0].map(|number| number + index)));
        assert_eq!(places, [1, 2, 3]);
    }
}
