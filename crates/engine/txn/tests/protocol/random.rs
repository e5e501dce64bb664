//! Random transactions over a few rows, in hostile worlds; all their results are checked.

use crate::support::cluster::Cluster;
use crate::support::history::{Execution, cycle, violations};
use crate::support::program::{KEY_MAX, Program, Step, Tables};
use crate::support::{STORAGES, index, table, table_with_notes};
use layout::{IndexKind, Storage};
use sim::{Carrier, SimConfig};
use txn::{DatabaseConfig, Isolation, Oracle};

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
            Program { collects, ..program }
        };
        (0..mix.transactions).map(|number| program(number, dice)).collect()
    };
    (0..mix.sessions).map(|number| session(number, dice)).collect()
}

impl Mix {
    /// A world with this mix's table.
    pub fn open(&self, config: SimConfig, servers: u16, dice: &mut Dice) -> (Cluster, Tables) {
        let mut database = DatabaseConfig {
            oracle: self.oracle,
            shares_slot: self.shares_slot,
            keeps_leaves: self.keeps_leaves,
            vector_copies: self.vector_copies,
            ..DatabaseConfig::default()
        };
        if self.is_tight {
            database.transaction_time_max_ns = 2000 << dice.below(14);
        }
        let cluster = Cluster::new(config, servers, database);
        let indexes = self.index.map(|kind| index(kind, false)).into_iter().collect();
        let make = if self.has_notes { table_with_notes } else { table };
        let mut spec = make("t", self.storage, indexes);
        spec.design.versions_beside = 1 + dice.below(3) as u32;
        spec.design.keeps_versions = self.keeps_versions;
        if self.is_tight {
            spec.design.neighbourhood = 1 + dice.below(2) as u32;
            spec.design.size_hint = 1;
        }
        spec.design.neighbourhood = self.slots.unwrap_or(spec.design.neighbourhood);
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

pub fn run(config: SimConfig, mix: &Mix) -> (Vec<Execution>, Cluster) {
    let mut dice = Dice(config.seed ^ 0xd1ce);
    let servers = 1 + (config.seed % 2) as u16 + u16::from(mix.is_copied);
    let (mut cluster, tables) = mix.open(config, servers, &mut dice);
    (cluster.has_collector, cluster.fetches) = (mix.has_collector, mix.fetches);
    let history = cluster.run(tables, &mix.setup(), &programs(&mut dice, mix));
    (history, cluster)
}

fn check(carrier: Carrier, seed: u64, mix: &Mix) {
    let config = SimConfig::hostile(seed).named(format!("{mix:?}")).carried_by(carrier);
    let (history, cluster) = run(config, mix);
    let identity = cluster.world.identity();
    assert_eq!(violations(&history), Vec::<String>::new(), "{identity}");
    if mix.isolation == Isolation::Serializable {
        assert_eq!(cycle(&history), None, "{identity}");
    }
    cluster.check();
}

pub fn check_all(base: Mix, seeds: std::ops::Range<u64>) {
    let offset: u64 =
        std::env::var("PROTOCOL_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let factor: u64 =
        std::env::var("PROTOCOL_FACTOR").map_or(1, |factor| factor.parse().expect("a number"));
    for seed in seeds.start + offset..offset + seeds.end * factor {
        let storage = STORAGES[(seed % 3) as usize];
        let index = [None, Some(IndexKind::Hash), Some(IndexKind::Tree)][(seed / 3 % 3) as usize];
        let mix = Mix { storage, index, ..base };
        let carrier = [Carrier::Card, Carrier::Caller, Carrier::Server][(seed / 9 % 3) as usize];
        check(carrier, seed, &mix);
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
    shares_slot: false,
    has_collector: false,
    fetches: false,
    vector_copies: 0,
    keeps_versions: false,
    keeps_leaves: false,
    slots: None,
    is_copied: false,
};
/// Growth and collection all the time.
pub const TIGHT: Mix = Mix { transactions: 12, keys: KEY_MAX + 1, is_tight: true, ..SNAPSHOT };

#[test]
fn snapshots_are_snapshots() {
    check_all(SNAPSHOT, 0..1000);
}

#[test]
fn serializable_transactions_have_an_order() {
    check_all(Mix { isolation: Isolation::Serializable, ..SNAPSHOT }, 0..1000);
}

#[test]
fn frozen_vectors_are_snapshots() {
    check_all(Mix { oracle: Oracle::Frozen, ..SNAPSHOT }, 0..500);
}

#[test]
fn growth_and_collection_hide_nothing() {
    check_all(TIGHT, 0..500);
}

#[test]
fn growth_and_collection_hide_nothing_on_hot_rows() {
    check_all(Mix { keys: 3, ..TIGHT }, 0..500);
}

#[test]
fn growth_and_collection_keep_an_order() {
    check_all(Mix { isolation: Isolation::Serializable, ..TIGHT }, 0..500);
}

#[test]
fn growth_and_collection_hide_nothing_in_wide_buckets() {
    check_all(Mix { slots: Some(12), ..TIGHT }, 0..300);
    check_all(Mix { slots: Some(32), ..TIGHT }, 0..300);
}

#[test]
fn growth_and_collection_under_frozen_vectors() {
    check_all(Mix { oracle: Oracle::Frozen, ..TIGHT }, 0..500);
}

#[test]
fn values_out_of_line_are_those_of_their_rows() {
    check_all(Mix { has_notes: true, ..SNAPSHOT }, 0..500);
}

#[test]
fn collection_frees_no_visible_value() {
    check_all(Mix { has_notes: true, ..TIGHT }, 0..300);
}

#[test]
fn collection_frees_no_visible_value_of_hot_rows() {
    check_all(Mix { has_notes: true, keys: 3, ..TIGHT }, 0..500);
}

#[test]
fn values_out_of_line_under_frozen_vectors() {
    check_all(Mix { has_notes: true, oracle: Oracle::Frozen, ..TIGHT }, 0..300);
}

#[test]
fn lanes_share_a_slot() {
    check_all(Mix { shares_slot: true, sessions: 5, ..SNAPSHOT }, 0..500);
}

#[test]
fn lanes_share_a_slot_of_frozen_vectors() {
    check_all(Mix { shares_slot: true, sessions: 5, oracle: Oracle::Frozen, ..SNAPSHOT }, 0..300);
}

#[test]
fn a_collector_freezes_vectors_for_lanes_that_share_a_slot() {
    let frozen = Mix { oracle: Oracle::Frozen, has_collector: true, ..SNAPSHOT };
    check_all(Mix { shares_slot: true, sessions: 5, ..frozen }, 0..300);
}

/// A collector freezes the vectors, and each compute server fetches them for all its lanes.
const FETCHED: Mix = Mix {
    oracle: Oracle::Frozen,
    has_collector: true,
    fetches: true,
    shares_slot: true,
    sessions: 5,
    ..SNAPSHOT
};

#[test]
fn fetched_vectors_are_snapshots() {
    check_all(FETCHED, 0..300);
}

/// The same under growth and collection.
const FETCHED_TIGHT: Mix =
    Mix { transactions: TIGHT.transactions, keys: TIGHT.keys, is_tight: true, ..FETCHED };

#[test]
fn collection_frees_nothing_that_a_fetched_vector_covers() {
    check_all(FETCHED_TIGHT, 0..300);
}

/// Each of the two compute servers reads a different copy.
#[test]
fn vectors_fetched_from_copies_are_snapshots() {
    check_all(Mix { vector_copies: 2, ..FETCHED }, 0..300);
}

#[test]
fn collection_frees_nothing_that_a_copied_vector_covers() {
    check_all(Mix { vector_copies: 2, ..FETCHED_TIGHT }, 0..300);
}

#[test]
fn collection_on_hot_rows_under_vectors_from_copies() {
    check_all(Mix { vector_copies: 2, keys: 3, ..FETCHED_TIGHT }, 0..300);
}

#[test]
fn rows_that_keep_their_old_versions_show_the_right_ones() {
    check_all(Mix { keeps_versions: true, keys: 3, ..TIGHT }, 0..300);
}

/// Rows, leaves and vectors as in the fastest configuration.
pub const FASTEST: Mix = Mix { keeps_versions: true, keeps_leaves: true, ..FETCHED };

#[test]
fn inserts_into_kept_leaves_show_snapshots() {
    check_all(Mix { keeps_leaves: true, ..SNAPSHOT }, 0..300);
    check_all(Mix { keeps_leaves: true, ..TIGHT }, 0..300);
}

#[test]
fn kept_leaves_are_witnesses_of_serializable_transactions() {
    let serializable = Mix { isolation: Isolation::Serializable, keeps_leaves: true, ..TIGHT };
    check_all(serializable, 0..300);
}

#[test]
fn the_fastest_configuration_shows_snapshots() {
    check_all(FASTEST, 0..300);
    let tight =
        Mix { transactions: TIGHT.transactions, keys: TIGHT.keys, is_tight: true, ..FASTEST };
    check_all(tight, 0..300);
}

#[test]
fn collection_for_lanes_that_share_a_slot() {
    check_all(Mix { shares_slot: true, sessions: 5, ..TIGHT }, 0..300);
}
