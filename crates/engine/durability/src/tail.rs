//! The tail: what the redo log adds to the checkpoint, as the last entry of each row.
//!
//! The entries of a row are a chain: each names the version that it replaces. The row after a
//! restart is the end of the chain. Lanes append without a common order, so the end is found as the
//! version that no other entry replaces. Where a tombstone was collected, the next insert replaces
//! nothing, so several versions may be ends; all but one are tombstones then.
//!
//! Versions of different starts do not replace each other by number, since a restart loads rows
//! with new versions. Starts are resolved one after the other: each begins with the rows that the
//! one before has left.
//!
//! Entries that the checkpoint's group covers are left out, because each chunk of the checkpoint
//! has a later snapshot. The others make up the end of each chain, whichever version the chunk saw.
//!
//! Decision: docs/decisions/0303-a-row-after-a-restart-is-the-end-of-its-chain.md

use crate::control::Control;
use crate::error::{DurabilityError, Result};
use layout::{OutOfLine, RecordRef, Schema, VersionWord, set_changed_column};
use redo_log::entry::Columns;
use redo_log::{Change, Image, Incarnation, ReplayedRow, Survey};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use storage::{Directory, Disk, PlantedBug};

/// A row as it is loaded: its payload, and its long values in the order of their columns, empty for
/// nulls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LoadedRow {
    pub payload: Vec<u64>,
    pub values: Vec<Vec<u8>>,
}

/// An entry of a row.
#[derive(Clone, Debug)]
struct Link {
    incarnation: Incarnation,
    version: VersionWord,
    replaces: VersionWord,
    image: LinkImage,
}

/// The image of an entry, in the tail's bytes.
#[derive(Clone, Debug)]
enum LinkImage {
    Tombstone,
    Whole(Range<usize>),
    /// The columns that differ from the replaced version.
    Columns(Range<usize>),
}

impl Link {
    fn is_alive(&self) -> bool {
        !matches!(self.image, LinkImage::Tombstone)
    }
}

/// The entries of a row, by rising starts of the database.
#[derive(Default, Debug)]
pub(crate) struct Chain {
    links: Vec<Link>,
    is_loaded: AtomicBool,
}

impl Chain {
    /// Whether this call is the first for the row. A table's checkpoint may have a row twice.
    pub fn is_first(&self) -> bool {
        !self.is_loaded.swap(true, Relaxed)
    }
}

/// The rows of a table in the log.
pub(crate) struct TableTail {
    pub schema: Arc<Schema>,
    payload_bytes: usize,
    /// Rows are loaded in the order of this map. It is the same in each run of a simulated world.
    chains: HashMap<Box<[u8]>, Chain, BuildHasherDefault<DefaultHasher>>,
}

/// The entries that the checkpoint lacks.
pub(crate) struct Tail {
    tables: HashMap<u32, TableTail>,
    bytes: Vec<u8>,
    /// Rows of all entries.
    pub rows: u64,
    /// Only tests remove guards.
    planted: Planted,
}

/// Guards that are removed.
struct Planted {
    replays_covered: bool,
    wrong_order: bool,
}

impl Tail {
    /// Reads the entries that count.
    pub async fn read<D: Disk>(
        directory: &Directory<D>,
        control: &Control,
        survey: &Survey,
    ) -> Result<Self> {
        let mut tables = HashMap::new();
        for table in &control.tables {
            let schema = table.spec()?.schema;
            let payload_bytes = 8 * schema.row_layout(false).payload_words as usize;
            let chains = HashMap::default();
            let tail = TableTail { schema: Arc::new(schema), payload_bytes, chains };
            tables.insert(table.number, tail);
        }
        let planted = Planted {
            replays_covered: directory.has_planted(PlantedBug::CoveredEntriesReplayed),
            wrong_order: directory.has_planted(PlantedBug::ColumnsInWrongOrder),
        };
        let mut tail = Self { tables, bytes: Vec::new(), rows: 0, planted };
        for segment in 0..survey.segment_count() {
            let add = |row: ReplayedRow<'_>| tail.add(control, &row);
            survey.replay(directory, control.identity(), segment, add).await?;
        }
        Ok(tail)
    }

    fn add(&mut self, control: &Control, replayed: &ReplayedRow<'_>) -> Result<()> {
        let is_in_checkpoint = match self.planted.replays_covered {
            true => is_in_earlier_start(control, replayed),
            false => is_in_checkpoint(control, replayed),
        };
        if !replayed.is_covered || is_in_checkpoint {
            return Ok(());
        }
        let row = &replayed.row;
        let Some(table) = self.tables.get_mut(&row.table) else {
            if row.table < control.next_table {
                return Ok(()); // The table was dropped.
            }
            let table = format!("number {}", row.table);
            return Err(DurabilityError::Contradiction { table, what: "it was never created" });
        };
        let begin = self.bytes.len();
        let mut keep = |image: &[u8]| {
            self.bytes.extend_from_slice(image);
            begin..begin + image.len()
        };
        let image = match row.image {
            Image::None => LinkImage::Tombstone,
            Image::Whole(image) if image.len() >= table.payload_bytes => {
                LinkImage::Whole(keep(image))
            }
            Image::Whole(_) => return Err(table.contradiction("its image is too short")),
            Image::Columns(columns) => LinkImage::Columns(keep(columns.bytes())),
        };
        if matches!(image, LinkImage::Tombstone) != (row.change == Change::Delete) {
            return Err(table.contradiction("an image does not fit the change"));
        }
        let link = Link {
            incarnation: replayed.incarnation,
            version: replayed.version.timestamp(),
            replaces: row.replaces.timestamp(),
            image,
        };
        self.rows += 1;
        match table.chains.get_mut(row.key) {
            Some(chain) => chain.links.push(link),
            None => {
                let chain = Chain { links: vec![link], is_loaded: AtomicBool::new(false) };
                table.chains.insert(row.key.into(), chain);
            }
        }
        Ok(())
    }

    /// The entries of a row, if it has any.
    pub fn chain(&self, table: u32, key: &[u8]) -> Option<&Chain> {
        self.tables.get(&table)?.chains.get(key)
    }

    /// All rows with entries of a table.
    pub fn chains(&self, table: u32) -> impl Iterator<Item = (&[u8], &Chain)> {
        let chains = self.tables.get(&table).into_iter().flat_map(|table| &table.chains);
        chains.map(|(key, chain)| (&**key, chain))
    }

    /// The row after all its entries; `None` if it was deleted. `base` is the row of the
    /// checkpoint.
    pub fn resolve(
        &self,
        table: u32,
        chain: &Chain,
        base: Option<LoadedRow>,
    ) -> Result<Option<LoadedRow>> {
        let table = &self.tables[&table];
        let mut row = base;
        for links in chain.links.chunk_by(|one, next| one.incarnation == next.incarnation) {
            row = self.end_of(table, links, row)?;
        }
        Ok(row)
    }

    /// The row after one start of the database.
    fn end_of(
        &self,
        table: &TableTail,
        links: &[Link],
        base: Option<LoadedRow>,
    ) -> Result<Option<LoadedRow>> {
        let replaced: HashSet<VersionWord> = links.iter().map(|link| link.replaces).collect();
        let mut ends = links.iter().filter(|link| !replaced.contains(&link.version));
        let mut live = ends.by_ref().filter(|link| link.is_alive());
        match (live.next(), live.next()) {
            (None, _) => Ok(None),
            (Some(end), None) => self.row(table, links, end, base).map(Some),
            _ => Err(table.contradiction("two versions are the last one")),
        }
    }

    fn row(
        &self,
        table: &TableTail,
        links: &[Link],
        end: &Link,
        base: Option<LoadedRow>,
    ) -> Result<LoadedRow> {
        let payload = self.payload(table, links, end, base.as_ref())?;
        let mut values = Vec::new();
        for (position, reference) in references(&table.schema, &payload).into_iter().enumerate() {
            let value = match reference {
                _ if reference.version.is_none() => Vec::new(),
                _ => match links.iter().find(|link| link.version == reference.version) {
                    Some(link) => self.value(table, link, position)?,
                    // Stored before this start, or before the checkpoint.
                    None => base
                        .as_ref()
                        .map(|row| row.values[position].clone())
                        .ok_or_else(|| table.contradiction("a long value is missing"))?,
                },
            };
            if value.len() as u64 != reference.bytes {
                return Err(table.contradiction("a long value has another length"));
            }
            values.push(value);
        }
        Ok(LoadedRow { payload, values })
    }

    /// The payload at the end of a chain: from the last whole image on, or from the checkpoint's
    /// row. That row may be newer than the first changes behind it: all of them set columns to
    /// values, so that the last ones decide.
    fn payload(
        &self,
        table: &TableTail,
        links: &[Link],
        end: &Link,
        base: Option<&LoadedRow>,
    ) -> Result<Vec<u64>> {
        let by_version: HashMap<VersionWord, &Link> =
            links.iter().map(|link| (link.version, link)).collect();
        let (mut changes, mut link) = (Vec::new(), end);
        let mut payload = loop {
            match &link.image {
                LinkImage::Tombstone => return Err(table.contradiction("a deleted row is changed")),
                LinkImage::Whole(image) => {
                    break words(&self.bytes[image.clone()][..table.payload_bytes]);
                }
                LinkImage::Columns(image) => changes.push(image),
            }
            if changes.len() > links.len() {
                return Err(table.contradiction("versions replace each other in a circle"));
            }
            match by_version.get(&link.replaces) {
                Some(before) => link = before,
                None => {
                    let missing = || table.contradiction("the row that a change is of is missing");
                    break base.ok_or_else(missing)?.payload.clone();
                }
            }
        };
        if !self.planted.wrong_order {
            changes.reverse();
        }
        for image in changes {
            let malformed = || table.contradiction("a column is malformed");
            let columns = Columns::of(&self.bytes[image.clone()]).ok_or_else(malformed)?;
            for (column, value) in columns.iter() {
                if !set_changed_column(&table.schema, &mut payload, column, value) {
                    return Err(malformed());
                }
            }
        }
        Ok(payload)
    }

    /// The long value of one column that an entry has stored: values follow the payload in the
    /// order of their columns.
    fn value(&self, table: &TableTail, link: &Link, position: usize) -> Result<Vec<u8>> {
        let missing = || table.contradiction("a long value is missing");
        let LinkImage::Whole(image) = &link.image else { return Err(missing()) };
        let (payload, mut rest) = self.bytes[image.clone()].split_at(table.payload_bytes);
        let payload: Vec<u64> = words(payload);
        for (column, reference) in references(&table.schema, &payload).into_iter().enumerate() {
            if reference.version != link.version {
                continue;
            }
            let bytes = usize::try_from(reference.bytes).map_err(|_| missing())?;
            let (value, after) = rest.split_at_checked(bytes).ok_or_else(missing)?;
            if column == position {
                return Ok(value.to_vec());
            }
            rest = after;
        }
        Err(missing())
    }
}

impl TableTail {
    #[cold]
    fn contradiction(&self, what: &'static str) -> DurabilityError {
        DurabilityError::Contradiction { table: self.schema.name().to_owned(), what }
    }
}

/// Whether each chunk of the checkpoint has this entry's row in this or a later version.
fn is_in_checkpoint(control: &Control, replayed: &ReplayedRow<'_>) -> bool {
    let Some(checkpoint) = &control.checkpoint else { return false };
    if replayed.incarnation.0 != checkpoint.incarnation {
        return is_in_earlier_start(control, replayed);
    }
    let slot = usize::from(replayed.version.slot().0);
    checkpoint.counters.get(slot).is_some_and(|&counter| replayed.version.counter() <= counter)
}

/// Whether the entry is of a start before that of the checkpoint.
fn is_in_earlier_start(control: &Control, replayed: &ReplayedRow<'_>) -> bool {
    let start = control.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.incarnation);
    replayed.incarnation.0 < start
}

/// The references to long values in a payload; empty ones for nulls.
pub(crate) fn references(schema: &Schema, payload: &[u64]) -> Vec<OutOfLine> {
    let record = RecordRef::new(schema, &[], payload);
    let reference = |&column: &usize| {
        let reference = record.out_of_line(column).expect("the column is kept out of line");
        if record.is_null(column) { OutOfLine::EMPTY } else { reference }
    };
    schema.long_columns().iter().map(reference).collect()
}

pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0; bytes.len() / 8];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words).copy_from_slice(bytes);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{StoredCheckpoint, StoredTable};
    use fabric::run_now;
    use layout::{Column, ColumnType, SlotId};
    use redo_log::{Config, DatabaseId, Log, OnDamage, Row};
    use sim::disk::{DiskConfig, SimulatedDisk};
    use txn::TableSpec;

    const DATABASE: DatabaseId = DatabaseId([7; 16]);
    const KEY: [u8; 8] = 1_u64.to_le_bytes();
    const OLD: [u8; 8] = 10_u64.to_le_bytes();
    const NEW: [u8; 8] = 11_u64.to_le_bytes();

    fn version(slot: u16, counter: u64) -> VersionWord {
        VersionWord::new(SlotId(slot), counter)
    }

    fn append(lane: &mut redo_log::Lane, version: VersionWord, row: (VersionWord, &[u8], &[u8])) {
        let (replaces, key, image) = row;
        let change = if replaces.is_none() { Change::Insert } else { Change::Update };
        let mut entry = lane.begin(version);
        entry.row(&Row { table: 0, key, replaces, change, image: Image::Whole(image) });
        entry.finish();
    }

    /// Lane 0 replaces the row that lane 1 has inserted, both in group 1, where the block of lane 0
    /// is first. Another entry in the block of lane 1 is uncovered until group 3, so that a
    /// checkpoint of group 2 replays from that block: it has the older entry of the row only.
    fn directory(disk: &SimulatedDisk) -> (Control, Directory<sim::disk::DiskAccess>) {
        let columns = [Column::new("id", ColumnType::Int8), Column::new("value", ColumnType::Int8)];
        let schema = Schema::new("t", columns.to_vec(), &[0]).expect("it is well formed");
        let spec = TableSpec { schema, design: Default::default(), indexes: Vec::new() };
        let mut control = Control::new(DATABASE);
        (control.next_table, control.tables) = (1, vec![StoredTable::new(0, &spec)]);
        let directory = run_now(Directory::open(disk.access())).expect("nobody else has it");
        let log = run_now(Log::create(directory.clone(), Config::new(DATABASE)));
        let mut log = log.expect("the disk works");
        let (mut first, mut second) = (log.lanes().add(), log.lanes().add());
        append(&mut second, version(1, 1), (VersionWord::NONE, &KEY, &OLD));
        append(&mut first, version(0, 1), (version(1, 1), &KEY, &NEW));
        append(&mut second, version(1, 2), (VersionWord::NONE, &2_u64.to_le_bytes(), &OLD));
        let [_, group, _] = [[1, 1], [1, 1], [1, 2]]
            .map(|counters| run_now(log.commit_group(&counters)).expect("the disk works"));
        let replay_from = (group.replay_from.segment, group.replay_from.offset);
        let (counters, files) = (vec![1, 1], Vec::new());
        control.checkpoint = Some(StoredCheckpoint {
            number: 1,
            incarnation: 1,
            replay_from,
            counters,
            complete_group: 2,
            files,
        });
        drop((log, directory));
        disk.crash();
        (control, run_now(Directory::open(disk.access())).expect("the lock is free"))
    }

    fn tail(planted: &[PlantedBug]) -> Result<Tail> {
        let disk = SimulatedDisk::new(DiskConfig::new(1));
        let (control, directory) = directory(&disk);
        disk.plant(planted);
        let config = Config::new(DATABASE);
        run_now(async {
            let start = control.replay_from();
            let opened = Log::open(directory.clone(), config, start, OnDamage::Refuse).await?;
            Tail::read(&directory, &control, &opened.survey).await
        })
    }

    #[test]
    fn entries_that_the_checkpoint_has_are_left_out() {
        let whole = tail(&[]).expect("it is intact");
        assert_eq!((whole.rows, whole.chain(0, &KEY).is_none()), (1, true));
        // Without that, the older entry is the end of the chain.
        let tail = tail(&[PlantedBug::CoveredEntriesReplayed]).expect("it is intact");
        let chain = tail.chain(0, &KEY).expect("the older entry counts");
        let base = LoadedRow { payload: words(&NEW), values: Vec::new() };
        let row = tail.resolve(0, chain, Some(base)).expect("there is one end");
        assert_eq!(row.map(|row| row.payload), Some(words(&OLD)));
    }
}
