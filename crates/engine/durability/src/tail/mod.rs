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
//! Workers read the segments of the log, each into pieces of its own, and divide the entries by the
//! hash of their rows. Then they sort the parts: a row's entries are next to each other, and memory
//! is read in the order in which it lies.
//!
//! Decision: docs/decisions/0303-a-row-after-a-restart-is-the-end-of-its-chain.md

#[cfg(test)]
mod histories;
mod part;

use crate::control::Control;
use crate::error::{DurabilityError, Result};
use layout::{
    KEY_WORDS_MAX, OutOfLine, RecordRef, Schema, VersionWord, hash_words, set_changed_column,
};
use part::{Effect, ImageKind, Link, Part, Piece, RowOf};
use redo_log::entry::Columns;
use redo_log::{Change, Image, ReplayedRow};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use storage::{Directory, Disk, PlantedBug};

pub(crate) use part::Chain;

/// Entries of a part of a long log.
const PART_ENTRIES: u64 = 1 << 16;
/// Parts of a short log, so that several workers have some.
const PARTS_MIN: u64 = 8;
const PARTS_MAX: u64 = 1 << 12;

/// A row as it is loaded: its payload, and its long values in the order of their columns, empty for
/// nulls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LoadedRow {
    pub payload: Vec<u64>,
    pub values: Vec<Vec<u8>>,
}

/// A table whose rows may be in the log.
struct TailTable {
    schema: Arc<Schema>,
    key_bytes: usize,
    payload_bytes: usize,
}

/// A part before and after it is sorted.
#[derive(Default)]
struct PartState {
    pieces: Mutex<Vec<Piece>>,
    sorted: OnceLock<Part>,
}

/// The entries that one worker has read.
pub(crate) struct Pieces(Vec<Piece>);

/// The entries that the checkpoint lacks.
pub(crate) struct Tail {
    tables: HashMap<u32, TailTable>,
    parts: Vec<PartState>,
    entries: AtomicU64,
    /// Only tests remove guards.
    planted: Planted,
}

/// Guards that are removed.
struct Planted {
    replays_covered: bool,
    wrong_order: bool,
}

impl Tail {
    /// A tail for about `entries` entries, which are still to be read.
    pub fn new<D: Disk>(directory: &Directory<D>, control: &Control, entries: u64) -> Result<Self> {
        let mut tables = HashMap::new();
        for table in &control.tables {
            let schema = Arc::new(table.spec()?.schema);
            let row = schema.row_layout(false);
            let (key_bytes, payload_bytes) =
                (8 * row.key_words as usize, 8 * row.payload_words as usize);
            tables.insert(table.number, TailTable { schema, key_bytes, payload_bytes });
        }
        let planted = Planted {
            replays_covered: directory.has_planted(PlantedBug::CoveredEntriesReplayed),
            wrong_order: directory.has_planted(PlantedBug::ColumnsInWrongOrder),
        };
        let parts = (entries / PART_ENTRIES).next_power_of_two().clamp(PARTS_MIN, PARTS_MAX);
        let parts = (0..parts).map(|_| PartState::default()).collect();
        Ok(Self { tables, parts, entries: AtomicU64::new(0), planted })
    }

    /// For a worker that reads the log: [`Tail::add`] fills them, [`Tail::keep`] takes them back.
    pub fn pieces(&self) -> Pieces {
        Pieces(self.parts.iter().map(|_| Piece::default()).collect())
    }

    /// Adds an entry; returns whether it counts.
    pub fn add(
        &self,
        pieces: &mut Pieces,
        control: &Control,
        replayed: &ReplayedRow<'_>,
    ) -> Result<bool> {
        let is_in_checkpoint = match self.planted.replays_covered {
            true => is_in_earlier_start(control, replayed),
            false => is_in_checkpoint(control, replayed),
        };
        if !replayed.is_covered || is_in_checkpoint {
            return Ok(false);
        }
        let row = &replayed.row;
        let Some(table) = self.tables.get(&row.table) else {
            if row.table < control.next_table {
                return Ok(false); // The table was dropped.
            }
            let table = format!("number {}", row.table);
            return Err(DurabilityError::Contradiction { table, what: "it was never created" });
        };
        if row.key.len() != table.key_bytes {
            return Err(table.contradiction("a key has another length"));
        }
        let (kind, image) = match row.image {
            Image::None => (ImageKind::Tombstone, &[][..]),
            Image::Whole(image) if image.len() >= table.payload_bytes => (ImageKind::Whole, image),
            Image::Whole(_) => return Err(table.contradiction("its image is too short")),
            Image::Columns(columns) => (ImageKind::Columns, columns.bytes()),
        };
        if (kind == ImageKind::Tombstone) != (row.change == Change::Delete) {
            return Err(table.contradiction("an image does not fit the change"));
        }
        let effect = Effect {
            incarnation: replayed.incarnation,
            version: replayed.version.timestamp(),
            replaces: row.replaces.timestamp(),
            kind,
            image,
        };
        let row = RowOf { table: row.table, hash: hash(row.table, row.key), key: row.key };
        pieces.0[self.part_of(row.hash)].add(row, effect);
        Ok(true)
    }

    /// Takes the entries that a worker has read.
    pub fn keep(&self, pieces: Pieces) {
        for (part, piece) in self.parts.iter().zip(pieces.0) {
            self.entries.fetch_add(piece.entries(), Relaxed);
            part.pieces.lock().expect("no holder panics").push(piece);
        }
    }

    /// The number of parts; [`Tail::sort`] sorts one.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// Sorts a part, after all of the log was read.
    pub fn sort(&self, part: usize) {
        let part = &self.parts[part];
        let pieces = std::mem::take(&mut *part.pieces.lock().expect("no holder panics"));
        part.sorted.get_or_init(|| Part::sort(pieces, self.part_bits()));
    }

    /// Entries read so far.
    pub fn entries(&self) -> u64 {
        self.entries.load(Relaxed)
    }

    /// The bits of a hash that choose the part.
    fn part_bits(&self) -> u32 {
        self.parts.len().ilog2()
    }

    fn part_of(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.part_bits())) as usize
    }

    fn sorted(&self, part: usize) -> &Part {
        self.parts[part].sorted.get().expect("rows are loaded after parts are sorted")
    }

    /// The entries of a row, if it has any.
    pub fn chain(&self, table: u32, key: &[u8]) -> Option<Chain<'_>> {
        let hash = hash(table, key);
        self.sorted(self.part_of(hash)).chain(RowOf { table, hash, key })
    }

    /// The rows with entries of a part, by table.
    pub fn chains(&self, part: usize) -> impl Iterator<Item = Chain<'_>> {
        self.sorted(part).chains()
    }

    /// The row after all its entries; `None` if it was deleted. `base` is the row of the
    /// checkpoint.
    pub fn resolve(&self, chain: Chain<'_>, base: Option<LoadedRow>) -> Result<Option<LoadedRow>> {
        let table = &self.tables[&chain.table()];
        let mut row = base;
        for links in chain.links.chunk_by(|one, next| one.incarnation == next.incarnation) {
            row = self.end_of(table, Start { chain, links }, row)?;
        }
        Ok(row)
    }

    /// The row after one start of the database.
    fn end_of(
        &self,
        table: &TailTable,
        start: Start<'_>,
        base: Option<LoadedRow>,
    ) -> Result<Option<LoadedRow>> {
        let mut replaced: Vec<u64> = start.links.iter().map(|link| link.replaces.word()).collect();
        replaced.sort_unstable();
        let mut replaced = replaced.into_iter().peekable();
        // Both are sorted by version.
        let mut ends = start.links.iter().filter(|link| {
            let version = link.version.word();
            while replaced.next_if(|&before| before < version).is_some() {}
            replaced.peek() != Some(&version)
        });
        let mut live = ends.by_ref().filter(|link| link.kind != ImageKind::Tombstone);
        match (live.next(), live.next()) {
            (None, _) => Ok(None),
            (Some(end), None) => self.row(table, start, end, base).map(Some),
            _ => Err(table.contradiction("two versions are the last one")),
        }
    }

    fn row(
        &self,
        table: &TailTable,
        start: Start<'_>,
        end: &Link,
        base: Option<LoadedRow>,
    ) -> Result<LoadedRow> {
        let payload = self.payload(table, start, end, base.as_ref())?;
        let mut values = Vec::new();
        for (position, reference) in references(&table.schema, &payload).into_iter().enumerate() {
            let value = match reference {
                _ if reference.version.is_none() => Vec::new(),
                _ => match start.link(reference.version) {
                    Some(link) => value(table, start.chain, link, position)?,
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
        table: &TailTable,
        start: Start<'_>,
        end: &Link,
        base: Option<&LoadedRow>,
    ) -> Result<Vec<u64>> {
        let (mut changes, mut link) = (Vec::new(), end);
        let mut payload = loop {
            let image = start.chain.image(link);
            match link.kind {
                ImageKind::Tombstone => {
                    return Err(table.contradiction("a deleted row is changed"));
                }
                ImageKind::Whole => break words(&image[..table.payload_bytes]),
                ImageKind::Columns => changes.push(image),
            }
            if changes.len() > start.links.len() {
                return Err(table.contradiction("versions replace each other in a circle"));
            }
            match start.link(link.replaces) {
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
            let columns = Columns::of(image).ok_or_else(malformed)?;
            for (column, value) in columns.iter() {
                if !set_changed_column(&table.schema, &mut payload, column, value) {
                    return Err(malformed());
                }
            }
        }
        Ok(payload)
    }
}

/// The entries of a row in one start of the database.
#[derive(Clone, Copy)]
struct Start<'a> {
    chain: Chain<'a>,
    links: &'a [Link],
}

impl<'a> Start<'a> {
    /// The entry of a version.
    fn link(self, version: VersionWord) -> Option<&'a Link> {
        let word = version.word();
        let index = self.links.binary_search_by_key(&word, |link| link.version.word());
        index.ok().map(|index| &self.links[index])
    }
}

/// The long value of one column that an entry has stored: values follow the payload in the order of
/// their columns.
fn value(table: &TailTable, chain: Chain<'_>, link: &Link, position: usize) -> Result<Vec<u8>> {
    let missing = || table.contradiction("a long value is missing");
    if link.kind != ImageKind::Whole {
        return Err(missing());
    }
    let (payload, mut rest) = chain.image(link).split_at(table.payload_bytes);
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

impl TailTable {
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

/// The hash of a row, whose first bits choose its part.
fn hash(table: u32, key: &[u8]) -> u64 {
    let mut words = [u64::from(table); KEY_WORDS_MAX + 1];
    let count = key.len() / 8;
    bytemuck::cast_slice_mut::<u64, u8>(&mut words[1..=count]).copy_from_slice(key);
    hash_words(&words[..=count])
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
    use redo_log::{Config, DatabaseId, Incarnation, Log, OnDamage, Row};
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
            let survey = opened.survey;
            let tail = Tail::new(&directory, &control, survey.rows)?;
            let mut pieces = tail.pieces();
            for segment in 0..survey.segment_count() {
                let add = |row: ReplayedRow<'_>| tail.add(&mut pieces, &control, &row).map(drop);
                survey.replay(&directory, DATABASE, segment, add).await?;
            }
            tail.keep(pieces);
            (0..tail.part_count()).for_each(|part| tail.sort(part));
            Ok(tail)
        })
    }

    #[test]
    fn entries_that_the_checkpoint_has_are_left_out() {
        let whole = tail(&[]).expect("it is intact");
        assert_eq!((whole.entries(), whole.chain(0, &KEY).is_none()), (1, true));
        // Without that, the older entry is the end of the chain.
        let tail = tail(&[PlantedBug::CoveredEntriesReplayed]).expect("it is intact");
        let chain = tail.chain(0, &KEY).expect("the older entry counts");
        let base = LoadedRow { payload: words(&NEW), values: Vec::new() };
        let row = tail.resolve(chain, Some(base)).expect("there is one end");
        assert_eq!(row.map(|row| row.payload), Some(words(&OLD)));
    }
    /// Checksums do not protect against a control file of another log.
    #[test]
    fn entries_that_do_not_fit_their_table_are_refused() {
        let disk = SimulatedDisk::new(DiskConfig::new(1));
        let (mut control, directory) = directory(&disk);
        control.checkpoint = None;
        let tail = Tail::new(&directory, &control, 1).expect("its table is well formed");
        let mut pieces = tail.pieces();
        let mut add = |table, key, change, image| {
            let row = Row { table, key, replaces: VersionWord::NONE, change, image };
            let (version, incarnation) = (version(0, 1), Incarnation(1));
            let replayed = ReplayedRow { version, incarnation, is_covered: true, row };
            tail.add(&mut pieces, &control, &replayed).map_err(|error| error.to_string())
        };
        let whole = Image::Whole(&OLD);
        for (table, key, change, image, what) in [
            (0, &KEY[..4], Change::Insert, whole, "row of table t: a key has another length"),
            (0, &[0; 72][..], Change::Insert, whole, "row of table t: a key has another length"),
            (0, &KEY, Change::Insert, Image::Whole(&OLD[1..]), "t: its image is too short"),
            (0, &KEY, Change::Delete, whole, "t: an image does not fit the change"),
            (0, &KEY, Change::Update, Image::None, "t: an image does not fit the change"),
            (1, &KEY, Change::Insert, whole, "table number 1: it was never created"),
        ] {
            let refused = add(table, key, change, image);
            assert!(refused.as_ref().is_err_and(|error| error.contains(what)), "{refused:?}");
        }
        assert_eq!(add(0, &KEY, Change::Insert, whole), Ok(true));
        assert_eq!(add(0, &KEY, Change::Delete, Image::None), Ok(true));
    }
}
