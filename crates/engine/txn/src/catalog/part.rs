//! Tables in parts: one table for each memory server that has some of its rows, and a rule that
//! selects the part of a key.
//!
//! Each part is a table with its own rows, trees and indexes; the name of any part denotes the
//! whole table. Point operations go to the part of their key, and scans go to all parts in their
//! range, one after another. An index entry is in the part of its row if the index begins with the
//! column that divides the rows. Otherwise the hash of the index's columns, or of leading ones,
//! selects the part, so that a lookup reads a single part, and so does a range that fixes those
//! columns. Copies are in [`crate::write::copies`].
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

/// The rule that selects the part of an encoded key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// By the integer at the start of the key, which has this many bytes.
    Ranges { bytes: u32, rule: PartRule },
    /// By the hash of leading columns, with their number and bytes.
    Hashed { columns: usize, bytes: u32 },
    /// All parts have all keys; reads use the part at this position, the nearest.
    Nearest(u16),
}

impl Parts {
    /// The numbers of all parts.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// How many leading columns a range must fix by equality to be in a single part, or in parts
    /// that are in key order.
    pub fn named(&self) -> usize {
        match self.choice {
            Choice::Ranges { .. } | Choice::Nearest(_) => 0,
            Choice::Hashed { columns, .. } => columns,
        }
    }

    /// Whether each part has all rows.
    pub fn are_copies(&self) -> bool {
        matches!(self.choice, Choice::Nearest(_))
    }

    /// The parts that together have each row once.
    pub fn of_all_rows(&self) -> &[u32] {
        match self.choice {
            Choice::Nearest(nearest) => std::slice::from_ref(&self.numbers[usize::from(nearest)]),
            _ => &self.numbers,
        }
    }

    /// The part that has a key; of copies the nearest.
    #[inline]
    pub fn of(&self, key: &[u64]) -> u32 {
        self.numbers[self.position(key)]
    }

    /// The part that has a key which belongs to part `own` of another structure: a copy has all its
    /// keys itself.
    #[inline]
    fn part_within_copy(&self, own: u32, key: &[u64]) -> u32 {
        if self.are_copies() { own } else { self.of(key) }
    }

    fn position(&self, key: &[u64]) -> usize {
        let count = self.numbers.len();
        match self.choice {
            Choice::Ranges { bytes, rule } => {
                let part = rule.part_of(read_signed(key, 0, bytes), count as u16);
                usize::from(part.expect("the rule has ranges"))
            }
            // One part has all entries; which one differs between the indexes of a table.
            Choice::Hashed { columns: 0, .. } => self.numbers[0] as usize % count,
            // Use the upper half: the lower half selects the bucket.
            Choice::Hashed { bytes, .. } => {
                let upper = hash_words(prefix(key, bytes).words()) >> 32;
                ((upper * count as u64) >> 32) as usize
            }
            Choice::Nearest(nearest) => usize::from(nearest),
        }
    }

    /// The parts that have keys of a range; `None` if the range is in several hashed parts.
    fn between(&self, low: &Key, high: &Key) -> Option<RangeInclusive<usize>> {
        if let Choice::Hashed { bytes, .. } = self.choice {
            // An empty range, such as the rest of a finished scan, may be anywhere.
            let is_of_one = prefix(low.words(), bytes) == prefix(high.words(), bytes);
            let at = self.position(low.words());
            return (is_of_one || low > high).then_some(at..=at);
        }
        Some(self.position(low.words())..=self.position(high.words()))
    }
}

/// The first `bytes` bytes of a key, followed by zeros.
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

/// The number of bytes of this column in keys, if ranges of it can divide rows.
fn range_bytes(schema: &Schema, column: usize) -> Option<u32> {
    let of = &schema.columns()[column];
    let is_integer =
        matches!(of.column_type, ColumnType::Int2 | ColumnType::Int4 | ColumnType::Int8);
    (is_integer && !of.nullable).then(|| schema.key_part_bytes(column))
}

/// The copy that is nearest to a compute server whose memory server is `nearest`: the one there, or
/// else one selected by `nearest` modulo the number of copies.
fn nearest_of(copies: &[&TableDefinition], nearest: u16) -> u16 {
    let there = copies.iter().position(|copy| copy.design.server == Some(nearest));
    there.unwrap_or(usize::from(nearest) % copies.len()) as u16
}

/// The rule for keys with these leading columns, where `divider` is the first column of the table's
/// own key. With a hash, the first `hashed` columns select the part.
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
    /// Joins the tables that are parts of one table, if all of them exist. Parts that remain from
    /// another division of a table with the same name are ignored. Of copies, reads use the one on
    /// memory server `nearest`.
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

/// Refuses an impossible division of this table.
fn check_division(spec: &TableSpec, servers: &[u16], rule: PartRule) -> Result<(), CatalogError> {
    let table = spec.schema.name().to_owned();
    let refuse = |reason: &str| {
        Err(CatalogError::Design { table: table.clone(), reason: reason.to_owned() })
    };
    if servers.is_empty() || servers.len() > usize::from(PARTS_MAX) {
        return refuse("a table in parts has 1 to 256 of them");
    }
    match rule {
        PartRule::Ranges { values: 0, .. } => refuse("the ranges of its parts are empty"),
        PartRule::Ranges { .. } if range_bytes(&spec.schema, spec.schema.key()[0]).is_none() => {
            refuse("parts by ranges need a key whose first column is an integer that is never null")
        }
        PartRule::Hashed { columns: 0 } => refuse("its parts are hashed by no column"),
        PartRule::Hashed { columns } if usize::from(columns) > spec.schema.key().len() => {
            refuse("its parts are hashed by more columns than its key has")
        }
        PartRule::Hashed { .. } if matches!(spec.design.placement, Placement::Dense { .. }) => {
            refuse(
                "a dense placement needs parts by ranges, because the keys of a hashed part have gaps",
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
        // Keys outside the ranges are in the first or the last part, so extend these parts'
        // placement to the table's. A part needs no places beyond the table's, whose range of
        // values may be smaller than that of the parts; the clamp ensures that.
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
        // Make the first part last: until then no transaction finds the table by its name.
        let parts = servers.iter().enumerate().rev().map(|(number, &server)| {
            let part = Part { of: of.clone(), number: number as u16, count, rule };
            part_spec(&spec, part, server)
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let name = of.clone();
        self.run_to_end(|database| async move {
            if database.refresh().await?.table(&name).is_some() {
                return Err(CatalogError::Exists(format!("table {name}")));
            }
            let made = database.create_tables(parts).await?;
            let first = made.last().map(|made| made.table);
            let table = database.shared.cached_catalog().table(&name);
            if let Some(table) = table.filter(|_| table == first) {
                return Ok(table);
            }
            // Another client has dropped the first parts meanwhile: remove the remaining ones.
            match database.remove_tables(&made).await {
                Ok(()) | Err(CatalogError::Unacknowledged) => Err(CatalogError::NoTable(name)),
                Err(error) => Err(error),
            }
        })
        .await
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NamedTable {
    pub name: String,
    pub table: TableId,
}

/// All parts of a table, even if some are missing, in order. A table that is not in parts is alone,
/// or with parts that remain from an earlier table of that name. Empty if no table has that name.
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

    /// The part of an index that has entries whose keys begin with `key`; of copies the nearest.
    #[inline]
    pub(crate) fn index_part_of(&self, index: IndexId, info: &IndexInfo, key: &[u64]) -> IndexId {
        info.parts.as_ref().map_or(index, |parts| IndexId(parts.of(key)))
    }

    /// The part of the table with the row of an index entry, where the index belongs to part
    /// `table`.
    #[inline]
    pub(crate) fn row_part_of(&self, table: TableId, key: &[u64]) -> TableId {
        let parts = self.info(table).parts.as_ref();
        parts.map_or(table, |parts| TableId(parts.part_within_copy(table.0, key)))
    }

    /// The part of an index that has a row's entry, where the part of the row has part `index` of
    /// the index.
    #[inline]
    pub(crate) fn entry_part_of(&self, index: IndexId, info: &IndexInfo, key: &[u64]) -> IndexId {
        info.parts.as_ref().map_or(index, |parts| IndexId(parts.part_within_copy(index.0, key)))
    }

    /// Whether two tables are the same, or parts with different rows of the same table.
    #[inline]
    pub(crate) fn is_same_table(&self, one: TableId, other: TableId) -> bool {
        let parts = || self.info(one).parts.as_ref().filter(|parts| !parts.are_copies());
        one == other || parts().is_some_and(|parts| parts.numbers.contains(&other.0))
    }

    /// The parts that a scan reads, by position; `None` if its source is not in parts.
    ///
    /// # Errors
    ///
    /// If its source is divided by a hash, and the range has several values of the hashed columns.
    #[inline]
    pub(crate) fn scanned_parts(
        &self,
        scan: &Scan,
    ) -> Result<Option<RangeInclusive<usize>>, CatalogError> {
        let Some(parts) = self.parts(scan.source) else { return Ok(None) };
        let reason = "a scan over several values needs parts by ranges of its first column";
        let range = parts.between(&scan.low, &scan.high);
        range.map(Some).ok_or(CatalogError::WrongKind(reason))
    }

    /// A part of the source of a scan.
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
    use crate::catalog::definition::{TableStorage, TreeRoot};
    use layout::{GlobalPtr, NodeId, PhysicalDesign};

    fn copy_on(server: u16) -> TableDefinition {
        let root = TreeRoot { root: GlobalPtr::NULL, node: NodeId(server), node_bytes: 512 };
        TableDefinition {
            number: 0,
            name: String::new(),
            columns: Vec::new(),
            key: Vec::new(),
            design: PhysicalDesign { server: Some(server), ..PhysicalDesign::default() },
            storage: TableStorage::Tree(root),
            indexes: Vec::new(),
        }
    }

    #[test]
    fn the_nearest_copy_is_the_one_on_the_nearest_server_or_one_of_the_others() {
        let copies = [2, 0, 1].map(copy_on);
        let copies: Vec<&TableDefinition> = copies.iter().collect();
        assert_eq!([0, 1, 2].map(|nearest| nearest_of(&copies, nearest)), [1, 2, 0]);
        assert_eq!([3, 4, 5].map(|nearest| nearest_of(&copies, nearest)), [0, 1, 2]);
    }

    /// An index whose entries are not divided has them all in one part; different indexes of a
    /// table use different parts.
    #[test]
    fn undivided_indexes_use_different_parts() {
        let choice = Choice::Hashed { columns: 0, bytes: 0 };
        let place = |numbers: [u32; 4]| {
            let parts = Parts { numbers: numbers.to_vec(), choice };
            let [first, other] = [[0, 0], [7, 9]].map(|key| parts.of(&key));
            assert_eq!(first, other, "whatever the key is");
            numbers.iter().position(|number| *number == first).expect("it is one of them")
        };
        // Parts are created last to first, each with three indexes.
        let places = [0, 1, 2].map(|index| place([9, 6, 3, 0].map(|number| number + index)));
        assert_eq!(places, [1, 2, 3]);
    }
}
