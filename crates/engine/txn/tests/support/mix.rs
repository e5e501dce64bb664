//! The parameters of random runs, and the programs that are drawn from them.

use super::cluster::Cluster;
use super::program::{KEY_MAX, Program, Step, Tables};
use super::{index, table, with_notes};
use layout::{IndexKind, Storage};
use sim::SimConfig;
use txn::{DatabaseConfig, Isolation, Oracle, TableSpec};

/// The parameters of a run, besides its seed.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    pub storage: Storage,
    pub isolation: Isolation,
    pub oracle: Oracle,
    pub index: Option<IndexKind>,
    pub sessions: usize,
    pub transactions: usize,
    pub keys: i32,
    /// Small buckets and leaves, frequent collection, and an E that transactions exceed.
    pub is_tight: bool,
    /// Rows have a long column.
    pub has_notes: bool,
    /// Its values of up to this many bytes are stored in the row.
    pub notes_in_row: Option<u8>,
    /// Whether lanes of a compute server share a slot.
    pub shares_slot: bool,
    /// Whether a collector freezes the vectors.
    pub has_collector: bool,
    /// Whether a task of each compute server fetches them for its lanes.
    pub fetches: bool,
    /// Number of copies of vectors for these tasks.
    pub vector_copies: u32,
    /// Whether rows keep their version buffers.
    pub keeps_versions: bool,
    /// Whether lanes keep the leaves that they have written last.
    pub keeps_leaves: bool,
    /// Slots of a bucket, if they are not random.
    pub slots: Option<u32>,
    /// Whether the table is copied, and sessions read different copies.
    pub is_copied: bool,
    /// Whether transactions are parked between their steps.
    pub parks: bool,
    /// Whether E is longer than any transaction, although the mix is tight.
    pub is_patient: bool,
}

/// A random generator of its own, so that programs do not depend on the world's.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % limit
    }
}

fn step(dice: &mut Dice, mix: &Mix) -> Step {
    let id = dice.below(mix.keys as u64) as i32;
    let group = dice.below(3) as i64;
    let has_index = mix.index.is_some();
    match dice.below(16) {
        0..=2 => Step::Read(id),
        3 => Step::ReadMany((0..mix.keys).collect()),
        4 | 5 => Step::Scan(id.min(2), mix.keys - 1),
        6 | 7 if has_index => Step::Lookup(group),
        6..=9 => Step::Put(id),
        10 | 11 if has_index => Step::PutInto(id, group),
        10 | 11 => Step::Put(id),
        12 => Step::Insert(id, group),
        13 | 14 => Step::Delete(id),
        _ => Step::Pause(4000),
    }
}

pub fn programs(dice: &mut Dice, mix: &Mix) -> Vec<Vec<Program>> {
    let session = |session: usize, dice: &mut Dice| {
        let program = |number: usize, dice: &mut Dice| {
            let steps = (0..=dice.below(4)).map(|_| step(dice, mix)).collect();
            let collects = mix.is_tight && dice.below(3) == 0;
            let program = Program::new((session * 100 + number) as i64, mix.isolation, steps);
            Program { collects, parks: mix.parks, ..program }
        };
        (0..mix.transactions).map(|number| program(number, dice)).collect()
    };
    (0..mix.sessions).map(|number| session(number, dice)).collect()
}

impl Mix {
    /// The configuration of a database for this mix.
    pub fn database(&self, dice: &mut Dice) -> DatabaseConfig {
        let mut database = DatabaseConfig {
            oracle: self.oracle,
            shares_slot: self.shares_slot,
            keeps_leaves: self.keeps_leaves,
            vector_copies: self.vector_copies,
            ..DatabaseConfig::default()
        };
        if self.is_tight && !self.is_patient {
            database.transaction_time_max_ns = 2000 << dice.below(14);
        }
        database
    }

    /// This mix's table.
    pub fn spec(&self, name: &str, dice: &mut Dice) -> TableSpec {
        let indexes = self.index.map(|kind| index(kind, false)).into_iter().collect();
        let mut spec = table(name, self.storage, indexes);
        if self.has_notes {
            spec = with_notes(spec, self.notes_in_row);
        }
        spec.design.versions_beside = 1 + dice.below(3) as u32;
        spec.design.keeps_versions = self.keeps_versions;
        if self.is_tight {
            spec.design.neighbourhood = 1 + dice.below(2) as u32;
            spec.design.size_hint = 1;
        }
        spec.design.neighbourhood = self.slots.unwrap_or(spec.design.neighbourhood);
        spec
    }

    /// A world with this mix's table.
    pub fn open(&self, config: SimConfig, servers: u16, dice: &mut Dice) -> (Cluster, Tables) {
        let cluster = Cluster::new(config, servers, self.database(dice));
        let spec = self.spec("t", dice);
        let tables = match self.is_copied {
            true => cluster.create_copied(spec),
            false => cluster.create(spec),
        };
        (cluster, tables)
    }

    /// The transaction that fills the table: two of three rows.
    pub fn setup(&self) -> Program {
        Program::filling((0..self.keys.min(KEY_MAX)).filter(|id| id % 3 != 2))
    }
}

/// Snapshot isolation in a table with room.
pub const SNAPSHOT: Mix = Mix {
    storage: Storage::Tree,
    isolation: Isolation::Snapshot,
    oracle: Oracle::DoubleCollect,
    index: None,
    sessions: 3,
    transactions: 4,
    keys: 4,
    is_tight: false,
    has_notes: false,
    notes_in_row: None,
    shares_slot: false,
    has_collector: false,
    fetches: false,
    vector_copies: 0,
    keeps_versions: false,
    keeps_leaves: false,
    slots: None,
    is_copied: false,
    parks: false,
    is_patient: false,
};
/// About half of the notes are stored in the row.
pub const SHORT_NOTES: Mix = Mix { has_notes: true, notes_in_row: Some(150), ..SNAPSHOT };
/// Growth and collection all the time.
pub const TIGHT: Mix = Mix { transactions: 12, keys: KEY_MAX + 1, is_tight: true, ..SNAPSHOT };
