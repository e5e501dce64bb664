//! The control file: which tables a directory has, and where a restart begins.
//!
//! ```text
//! byte | field    | bytes | meaning
//!    0 | magic    |     8 | "namdbCTL"
//!    8 | format   |     4 | 1; 2 if a column has `Column::in_row`; 3 if one has `Column::packed`
//!   12 | checksum |     4 | CRC-32 of all other bytes of the file
//!   16 | length   |     8 | bytes of the text
//!   24 | text     |       | the fields of `Control` as JSON
//! ```
//!
//! A change writes a new file, syncs it, gives it the name of the old one and syncs the directory,
//! so that after a crash one of the two is there as a whole.

use crate::error::{DurabilityError, Result};
use layout::{Column, IndexDesign, PhysicalDesign, Schema};
use redo_log::{DatabaseId, Position};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use storage::{Directory, Disk, PlantedBug};
use txn::TableSpec;

/// The name of the control file.
pub const CONTROL_NAME: &str = "control";
/// The name of a control file that is being written.
pub(crate) const CONTROL_NEW_NAME: &str = "control.new";

const MAGIC: [u8; 8] = *b"namdbCTL";
/// The newest format that this version reads.
const FORMAT: u32 = 3;
/// The format of a directory with room for short values in rows, and none that is packed.
const FORMAT_ROOM: u32 = 2;
/// The format of a directory without columns that programs of format 1 do not know.
const FORMAT_PLAIN: u32 = 1;
const FORMAT_AT: usize = 8;
const CHECKSUM_AT: usize = 12;
const LENGTH_AT: usize = 16;
const TEXT_AT: usize = 24;

const _: () = {
    assert!(FORMAT_AT == MAGIC.len() && CHECKSUM_AT == FORMAT_AT + 4);
    assert!(LENGTH_AT == CHECKSUM_AT + 4 && TEXT_AT == LENGTH_AT + 8);
};

/// The content of the control file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Control {
    /// The identity of the database: 16 random bytes.
    pub database: [u8; 16],
    /// The number of the next table. Entries of the log with a lower number, of no table below, are
    /// of a table that was dropped.
    pub next_table: u32,
    /// By rising numbers.
    pub tables: Vec<StoredTable>,
    /// The newest complete checkpoint.
    pub checkpoint: Option<StoredCheckpoint>,
}

/// The definition of a table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredTable {
    /// Its number in the log; never reused.
    pub number: u32,
    pub name: String,
    pub columns: Vec<Column>,
    /// The primary key, by column position.
    pub key: Vec<usize>,
    pub design: PhysicalDesign,
    pub indexes: Vec<IndexDesign>,
    /// For each unique index that was created later than the table, the group that made the rows
    /// durable that it was filled from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unique_since: BTreeMap<String, u64>,
}

/// A checkpoint, and the group of the log from which a restart replays behind it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredCheckpoint {
    /// Counted from 1; the names of its files contain it.
    pub number: u64,
    /// The start of the database in which it was made.
    pub incarnation: u32,
    /// The place in the log where replay begins: segment and offset.
    pub replay_from: (u64, u64),
    /// The snapshot of the group before the first chunk. The checkpoint has what it covers.
    pub counters: Vec<u64>,
    /// The group that covers the snapshot of the last chunk; 0 in directories of earlier versions.
    #[serde(default)]
    pub complete_group: u64,
    /// The files, one per table.
    pub files: Vec<StoredFile>,
}

/// A file of a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredFile {
    pub table: u32,
    pub rows: u64,
    pub bytes: u64,
}

impl StoredTable {
    pub(crate) fn new(number: u32, spec: &TableSpec) -> Self {
        Self {
            number,
            name: spec.schema.name().to_owned(),
            columns: spec.schema.columns().to_vec(),
            key: spec.schema.key().to_vec(),
            design: spec.design.clone(),
            indexes: spec.indexes.clone(),
            unique_since: BTreeMap::new(),
        }
    }

    /// The specification with which the table is created again.
    pub fn spec(&self) -> Result<TableSpec> {
        let schema = Schema::new(&self.name, self.columns.clone(), &self.key);
        let schema = schema.map_err(|error| DurabilityError::Table {
            table: self.name.clone(),
            reason: error.to_string(),
        })?;
        let (design, indexes) = (self.design.clone(), self.indexes.clone());
        Ok(TableSpec { schema, design, indexes })
    }
}

impl StoredCheckpoint {
    /// The place in the log where replay begins.
    pub fn position(&self) -> Position {
        let (segment, offset) = self.replay_from;
        Position { segment, offset }
    }
}

impl Control {
    /// The control file of a new database.
    pub fn new(database: DatabaseId) -> Self {
        Self { database: database.0, next_table: 0, tables: Vec::new(), checkpoint: None }
    }

    /// The identity of the database.
    pub fn identity(&self) -> DatabaseId {
        DatabaseId(self.database)
    }

    /// The place in the log where a restart begins.
    pub fn replay_from(&self) -> Position {
        self.checkpoint.as_ref().map_or(Position::START, StoredCheckpoint::position)
    }

    /// The group that the log must reach. If its end is damaged before it, chunks of the checkpoint
    /// have rows of commits that are gone, and others lack them.
    pub fn needed_group(&self) -> u64 {
        self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.complete_group)
    }

    /// A group that the log has reached.
    pub fn reached_group(&self) -> u64 {
        let unique = self.tables.iter().flat_map(|table| table.unique_since.values());
        unique.copied().max().unwrap_or(0).max(self.needed_group())
    }

    /// The table with this number.
    pub fn table(&self, number: u32) -> Option<&StoredTable> {
        self.tables.iter().find(|table| table.number == number)
    }

    pub(crate) fn table_named(&mut self, name: &str) -> Option<&mut StoredTable> {
        self.tables.iter_mut().find(|table| table.name == name)
    }

    /// Reads the control file; `None` if the directory has none.
    pub async fn read<D: Disk>(directory: &Directory<D>) -> Result<Option<Self>> {
        let entries = directory.list().await?;
        if !entries.iter().any(|entry| entry.name == CONTROL_NAME) {
            return Ok(None);
        }
        let file = directory.open_file(CONTROL_NAME).await?;
        let mut bytes = vec![0; file.length().await? as usize];
        let count = file.read_at(0, &mut bytes).await?;
        bytes.truncate(count);
        decode(&bytes, &file.path()).map(Some)
    }

    /// Replaces the control file, durably.
    pub async fn write<D: Disk>(&self, directory: &Directory<D>) -> Result<()> {
        let entries = directory.list().await?;
        if entries.iter().any(|entry| entry.name == CONTROL_NEW_NAME) {
            directory.remove(CONTROL_NEW_NAME).await?;
        }
        let file = directory.create(CONTROL_NEW_NAME).await?;
        file.write_at(0, &self.encode()).await?;
        if !directory.has_planted(PlantedBug::ControlRenamedUnsynced) {
            file.sync().await?;
        }
        directory.rename(CONTROL_NEW_NAME, CONTROL_NAME).await?;
        if !directory.has_planted(PlantedBug::ControlNameUnsynced) {
            directory.sync().await?;
        }
        Ok(())
    }

    /// The oldest format with these columns, so that older programs open what they can read.
    fn format(&self) -> u32 {
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        let formats = columns.map(|column| match (column.packed, column.in_row) {
            (Some(_), _) => FORMAT,
            (None, Some(_)) => FORMAT_ROOM,
            (None, None) => FORMAT_PLAIN,
        });
        formats.max().unwrap_or(FORMAT_PLAIN)
    }

    fn encode(&self) -> Vec<u8> {
        let text = serde_json::to_vec(self).expect("the control file is plain data");
        let mut bytes = vec![0; TEXT_AT];
        bytes[..FORMAT_AT].copy_from_slice(&MAGIC);
        bytes[FORMAT_AT..CHECKSUM_AT].copy_from_slice(&self.format().to_le_bytes());
        bytes[LENGTH_AT..TEXT_AT].copy_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend(text);
        let checksum = checksum(&bytes);
        bytes[CHECKSUM_AT..LENGTH_AT].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..CHECKSUM_AT]);
    hasher.update(&bytes[LENGTH_AT..]);
    hasher.finalize()
}

fn decode(bytes: &[u8], path: &str) -> Result<Control> {
    let damaged = |what| DurabilityError::Damaged { path: path.to_owned(), offset: 0, what };
    if bytes.len() < TEXT_AT || bytes[..FORMAT_AT] != MAGIC {
        return Err(damaged("it does not begin as a control file"));
    }
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    if word(CHECKSUM_AT) != checksum(bytes) {
        return Err(damaged("its checksum is wrong"));
    }
    // Behind the checksum: a flipped bit is damage, and not another format.
    let format = word(FORMAT_AT);
    if !(FORMAT_PLAIN..=FORMAT).contains(&format) {
        let path = path.to_owned();
        return Err(DurabilityError::Format { path, found: format, expected: FORMAT });
    }
    let length = u64::from_le_bytes(bytes[LENGTH_AT..TEXT_AT].try_into().expect("8 bytes"));
    let text = &bytes[TEXT_AT..];
    if text.len() as u64 != length {
        return Err(damaged("it has another length than it says"));
    }
    serde_json::from_slice(text).map_err(|_| damaged("its text is malformed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::run_now;
    use layout::ColumnType;
    use sim::disk::{DiskConfig, SimulatedDisk};

    fn control() -> Control {
        let columns = vec![Column::new("id", ColumnType::Int8)];
        let schema = Schema::new("t", columns, &[0]).expect("a table of one column");
        let spec = TableSpec { schema, design: Default::default(), indexes: Vec::new() };
        let mut control = Control::new(DatabaseId([7; 16]));
        control.tables.push(StoredTable::new(3, &spec));
        control.next_table = 4;
        control
    }

    #[test]
    fn a_control_file_comes_back_after_a_crash() {
        let disk = SimulatedDisk::new(DiskConfig::new(1));
        let directory = run_now(Directory::open(disk.access())).expect("nobody else has it");
        assert_eq!(run_now(Control::read(&directory)).expect("a list"), None);
        let mut control = control();
        for next_table in [4, 5] {
            control.next_table = next_table;
            run_now(control.write(&directory)).expect("the disk works");
        }
        drop(directory);
        disk.crash();
        let directory = run_now(Directory::open(disk.access())).expect("the lock is free");
        let read = run_now(Control::read(&directory)).expect("it is intact");
        assert_eq!(read, Some(control.clone()));
        let spec = control.tables[0].spec().expect("it is well formed");
        assert_eq!(spec.schema.name(), "t");
    }

    #[test]
    fn columns_with_room_for_short_values_have_a_format_of_their_own() {
        let format = |bytes: &[u8]| u32::from_le_bytes([8, 9, 10, 11].map(|at: usize| bytes[at]));
        let mut control = control();
        assert_eq!(format(&control.encode()), FORMAT_PLAIN);
        let text = Column::new("text", ColumnType::Varchar(100)).with_in_row(31);
        control.tables[0].columns.push(text);
        assert_eq!(format(&control.encode()), FORMAT_ROOM);
        let text = Column::new("city", ColumnType::Varchar(100)).with_packed(30);
        control.tables[0].columns.push(text);
        let mut bytes = control.encode();
        assert_eq!(format(&bytes), FORMAT);
        assert_eq!(decode(&bytes, "control").ok(), Some(control));
        for other in [0, FORMAT + 1] {
            bytes[FORMAT_AT..CHECKSUM_AT].copy_from_slice(&other.to_le_bytes());
            let sum = checksum(&bytes);
            bytes[CHECKSUM_AT..LENGTH_AT].copy_from_slice(&sum.to_le_bytes());
            let error = decode(&bytes, "control").expect_err("the format is unknown");
            assert!(matches!(error, DurabilityError::Format { found, .. } if found == other));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_refused() {
        let bytes = control().encode();
        assert_eq!(decode(&bytes, "control").ok(), Some(control()));
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = decode(&flipped, "control").expect_err("a bit is flipped");
            assert!(matches!(error, DurabilityError::Damaged { .. }), "bit {bit}: {error}");
        }
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length], "control").is_err(), "{length} bytes");
        }
    }
}
