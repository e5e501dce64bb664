//! Random histories of rows over several starts of a database, whose entries reach the tail in any
//! order: the rows after a restart are those of the history.

use super::*;
use crate::control::{StoredCheckpoint, StoredTable};
use fabric::run_now;
use layout::{Column, ColumnType, RecordMut, SlotId, for_changed_columns};
use redo_log::{DatabaseId, Incarnation, Row};
use sim::disk::{DiskConfig, SimulatedDisk};
use std::collections::BTreeMap;
use std::ops::Range;
use txn::TableSpec;

const SEEDS: u64 = 3_000;
const TABLES: u32 = 2;
const KEYS: u64 = 5;
const SLOTS: u64 = 3;

/// The columns behind the key: a number, a text, a long value, and one with room in the row.
const NUMBER: usize = 1;
const TEXT: usize = 2;
const LONG: usize = 3;
const ROOM: usize = 4;

fn schema() -> Schema {
    let columns = vec![
        Column::new("id", ColumnType::Int8),
        Column::new("number", ColumnType::Int8),
        Column::nullable("text", ColumnType::Bytes(20)),
        Column::nullable("long", ColumnType::Bytes(5_000)),
        Column::nullable("room", ColumnType::Bytes(5_000)).with_packed(31),
    ];
    let schema = Schema::new("t", columns, &[0]).expect("it is well formed");
    assert_eq!(schema.long_columns(), [LONG, ROOM]);
    schema
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash_words(&[self.0]) % limit
    }

    fn bytes(&mut self, range: Range<u64>) -> Vec<u8> {
        let count = range.start + self.below(range.end - range.start);
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

/// A row in memory.
#[derive(Clone, Default)]
struct Model {
    /// [`VersionWord::NONE`] without a row or a tombstone.
    version: VersionWord,
    row: Option<LoadedRow>,
}

/// An entry as a lane has appended it.
struct Entry {
    incarnation: Incarnation,
    version: VersionWord,
    replaces: VersionWord,
    table: u32,
    key: [u8; 8],
    change: Change,
    is_whole: bool,
    image: Vec<u8>,
    is_covered: bool,
}

struct History {
    schema: Schema,
    dice: Dice,
    incarnation: Incarnation,
    counters: [u64; SLOTS as usize],
    rows: BTreeMap<(u32, u64), Model>,
    entries: Vec<Entry>,
    checkpoint: Option<(u32, Vec<u64>)>,
    /// The rows that the chunks of the checkpoint have seen.
    chunks: BTreeMap<(u32, u64), LoadedRow>,
    /// Rows whose chunk is still to come.
    to_visit: Vec<(u32, u64)>,
}

impl History {
    fn new(seed: u64) -> Self {
        let keys = (0..TABLES).flat_map(|table| (0..KEYS).map(move |key| (table, key)));
        Self {
            schema: schema(),
            dice: Dice(seed),
            incarnation: Incarnation(0),
            counters: [0; SLOTS as usize],
            rows: keys.map(|row| (row, Model::default())).collect(),
            entries: Vec::new(),
            checkpoint: None,
            chunks: BTreeMap::new(),
            to_visit: Vec::new(),
        }
    }

    fn next_version(&mut self) -> VersionWord {
        let slot = self.dice.below(SLOTS);
        let counter = &mut self.counters[slot as usize];
        *counter += 1;
        VersionWord::new(SlotId(slot as u16), *counter)
    }

    /// Loads the rows with new versions, which long values have too. Tombstones are gone.
    fn begin_start(&mut self) {
        self.incarnation.0 += 1;
        for row in self.rows.keys().copied().collect::<Vec<_>>() {
            let version = self.next_version();
            let schema = &self.schema;
            let model = self.rows.get_mut(&row).expect("it is a key");
            model.version = VersionWord::NONE;
            let Some(loaded) = &mut model.row else { continue };
            model.version = version;
            let references = references(schema, &loaded.payload);
            for (&column, reference) in schema.long_columns().iter().zip(references) {
                if !reference.version.is_none() {
                    let stored = OutOfLine { version, ..reference };
                    RecordMut::new(schema, &mut loaded.payload).set_out_of_line(column, stored);
                }
            }
        }
    }

    fn begin_checkpoint(&mut self) {
        self.checkpoint = Some((self.incarnation.0, self.counters.to_vec()));
        self.chunks.clear();
        self.to_visit = self.rows.keys().copied().collect();
    }

    fn visit_chunk(&mut self) {
        let Some(row) = self.to_visit.pop() else { return };
        let live = self.rows[&row].row.clone();
        self.chunks.extend(live.map(|loaded| (row, loaded)));
    }

    fn changed(&mut self, version: VersionWord, before: &LoadedRow) -> LoadedRow {
        let mut after = before.clone();
        for _ in 0..self.dice.below(3) {
            match self.dice.below(6) {
                0 => {
                    let number = self.dice.below(1 << 40) as i64;
                    RecordMut::new(&self.schema, &mut after.payload).set_int(NUMBER, number);
                }
                1 => {
                    let text = self.dice.bytes(0..21);
                    RecordMut::new(&self.schema, &mut after.payload).set_bytes(TEXT, &text);
                }
                2 => RecordMut::new(&self.schema, &mut after.payload).set_null(TEXT),
                3 | 4 => {
                    let column = [LONG, ROOM][self.dice.below(2) as usize];
                    let value = self.dice.bytes(31..80);
                    let (ptr, bytes) = (8 * (1 + self.dice.below(1 << 20)), value.len() as u64);
                    let stored = OutOfLine { ptr, bytes, version };
                    RecordMut::new(&self.schema, &mut after.payload).set_null(column);
                    RecordMut::new(&self.schema, &mut after.payload)
                        .set_out_of_line(column, stored);
                    after.values[column - LONG] = value;
                }
                _ => {
                    let mut cell = self.dice.bytes(1..31);
                    cell.insert(0, cell.len() as u8);
                    let cell = if self.dice.below(3) == 0 { &[][..] } else { &cell };
                    assert!(set_changed_column(&self.schema, &mut after.payload, ROOM as u8, cell));
                    after.values[ROOM - LONG].clear();
                }
            }
        }
        after
    }

    /// The bytes of an entry's image, and whether it is whole.
    fn image(
        &mut self,
        version: VersionWord,
        before: Option<&LoadedRow>,
        after: &LoadedRow,
    ) -> (bool, Vec<u8>) {
        let mut columns = Vec::new();
        if let Some(before) = before {
            let is_in_row = for_changed_columns(
                &self.schema,
                &before.payload,
                &after.payload,
                |column, value| {
                    Columns::append(&mut columns, column, value);
                },
            );
            if is_in_row && self.dice.below(5) > 0 {
                return (false, columns);
            }
        }
        let mut image = bytemuck::cast_slice(&after.payload).to_vec();
        let references = references(&self.schema, &after.payload);
        for (reference, value) in references.into_iter().zip(&after.values) {
            if reference.version == version {
                image.extend_from_slice(value);
            }
        }
        (true, image)
    }

    fn commit(&mut self, is_covered: bool) {
        let row = (self.dice.below(TABLES.into()) as u32, self.dice.below(KEYS));
        let model = self.rows[&row].clone();
        let version = self.next_version();
        let is_delete = model.row.is_some() && self.dice.below(5) == 0;
        let empty = || LoadedRow {
            payload: vec![0; self.schema.row_layout(false).payload_words as usize],
            values: vec![Vec::new(); 2],
        };
        let base = model.row.clone().unwrap_or_else(empty);
        let after = (!is_delete).then(|| self.changed(version, &base));
        let (change, (is_whole, image)) = match &after {
            None => (Change::Delete, (false, Vec::new())),
            Some(after) if model.row.is_some() => {
                (Change::Update, self.image(version, Some(&base), after))
            }
            Some(after) => (Change::Insert, self.image(version, None, after)),
        };
        // A tombstone may have been collected before an insert.
        let is_collected = change == Change::Insert && self.dice.below(2) == 0;
        let replaces = if is_collected { VersionWord::NONE } else { model.version };
        self.entries.push(Entry {
            incarnation: self.incarnation,
            version,
            replaces,
            table: row.0,
            key: row.1.to_le_bytes(),
            change,
            is_whole,
            image,
            is_covered,
        });
        if is_covered {
            self.rows.insert(row, Model { version, row: after });
        }
    }

    fn play(&mut self) {
        for _ in 0..1 + self.dice.below(3) {
            self.begin_start();
            for _ in 0..self.dice.below(60) {
                match self.dice.below(40) {
                    0 if self.to_visit.is_empty() => self.begin_checkpoint(),
                    1..8 => self.visit_chunk(),
                    _ => self.commit(true),
                }
            }
            while !self.to_visit.is_empty() {
                self.visit_chunk();
            }
            for _ in 0..self.dice.below(4) {
                self.commit(false);
            }
        }
    }

    fn control(&self) -> Control {
        let mut control = Control::new(DatabaseId([7; 16]));
        for number in 0..TABLES {
            let schema = self.schema.clone();
            let spec = TableSpec { schema, design: Default::default(), indexes: Vec::new() };
            control.tables.push(StoredTable::new(number, &spec));
        }
        control.next_table = TABLES;
        control.checkpoint = self.checkpoint.clone().map(|(incarnation, counters)| {
            let (replay_from, files) = ((1, 4096), Vec::new());
            StoredCheckpoint {
                number: 1,
                incarnation,
                replay_from,
                counters,
                complete_group: 1,
                files,
            }
        });
        control
    }

    /// The tail of its entries, which several workers read in any order.
    fn tail(&mut self) -> Tail {
        let disk = SimulatedDisk::new(DiskConfig::new(1));
        let directory = run_now(Directory::open(disk.access())).expect("nobody else has it");
        let control = self.control();
        let about = [0, 1 << 20][self.dice.below(2) as usize];
        let tail = Tail::new(&directory, &control, about).expect("its tables are well formed");
        let mut workers: Vec<Pieces> = (0..3).map(|_| tail.pieces()).collect();
        while !self.entries.is_empty() {
            let count = self.entries.len() as u64;
            let entry = self.entries.swap_remove(self.dice.below(count) as usize);
            let image = match (entry.change, entry.is_whole) {
                (Change::Delete, _) => Image::None,
                (_, true) => Image::Whole(&entry.image),
                _ => Image::Columns(Columns::of(&entry.image).expect("it was just encoded")),
            };
            let Entry { table, key, replaces, change, .. } = entry;
            let row = Row { table, key: &key, replaces, change, image };
            let Entry { version, incarnation, is_covered, .. } = entry;
            let replayed = ReplayedRow { version, incarnation, is_covered, row };
            let pieces = &mut workers[self.dice.below(3) as usize];
            tail.add(pieces, &control, &replayed).expect("the entry is well formed");
        }
        workers.into_iter().for_each(|pieces| tail.keep(pieces));
        (0..tail.part_count()).for_each(|part| tail.sort(part));
        tail
    }

    /// The columns of a row, as users see them.
    fn seen(&self, row: &LoadedRow) -> Vec<Option<Vec<u8>>> {
        let record = RecordRef::new(&self.schema, &[], &row.payload);
        let long = |column: usize| {
            let value = record.in_row(column).unwrap_or(&row.values[column - LONG]);
            (!record.is_null(column)).then(|| value.to_vec())
        };
        let text = (!record.is_null(TEXT)).then(|| record.bytes(TEXT).to_vec());
        vec![Some(record.int(NUMBER).to_le_bytes().to_vec()), text, long(LONG), long(ROOM)]
    }
}

#[test]
fn the_rows_after_a_restart_are_those_of_the_history() {
    let (mut chains, mut live) = (0, 0);
    for seed in 0..SEEDS {
        let mut history = History::new(seed);
        history.play();
        let tail = history.tail();
        let mut restored = BTreeMap::new();
        for (&(table, key), base) in &history.chunks {
            let row = match tail.chain(table, &key.to_le_bytes()) {
                None => Some(base.clone()),
                Some(chain) => {
                    assert!(chain.is_first(), "seed {seed}: row {key} has two chains");
                    let row = tail.resolve(chain, Some(base.clone()));
                    row.unwrap_or_else(|error| panic!("seed {seed}: row {key}: {error}"))
                }
            };
            restored.extend(row.map(|row| ((table, key), history.seen(&row))));
        }
        for chain in (0..tail.part_count()).flat_map(|part| tail.chains(part)) {
            chains += 1;
            if !chain.is_first() {
                continue;
            }
            let key = u64::from_le_bytes(chain.key().try_into().expect("a key has a word"));
            let row = tail.resolve(chain, None);
            let row = row.unwrap_or_else(|error| panic!("seed {seed}: row {key}: {error}"));
            restored.extend(row.map(|row| ((chain.table(), key), history.seen(&row))));
        }
        let expected: BTreeMap<_, _> = history
            .rows
            .iter()
            .filter_map(|(&row, model)| Some((row, history.seen(model.row.as_ref()?))))
            .collect();
        assert_eq!(restored, expected, "seed {seed}");
        live += expected.len();
    }
    assert!(chains > 5 * SEEDS && live > 5 * SEEDS as usize, "{chains} chains, {live} rows");
}
