//! Costs of typical transactions: exact round trips and verbs, and no allocation on the data path.
//! On `local`, with warm caches, and no other transactions.

use fabric::{Fabric, LocalEnv, run_now};
use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, PhysicalDesign, Placement, Schema,
    Storage,
};
use txn::local::{OpenConfig, open};
use txn::{Database, DatabaseConfig, Isolation, Lane, Oracle, Outcome, Scan, ScanSource, TableId};
use txn::{LaneStatistics, TableSpec, Transaction};

const VALUE: usize = 1;
const GROUP: usize = 2;
const ROWS: i64 = 200;

fn key(id: i64) -> Key {
    KeyBuilder::new().int8(id).key()
}

fn by_group(kind: IndexKind) -> IndexDesign {
    IndexDesign {
        name: "by_group".to_owned(),
        columns: vec![GROUP],
        unique: false,
        kind,
        node_bytes: 16 * 1024,
        size_hint: 4 * ROWS as u64,
        hashed_columns: None,
    }
}

/// A table of some rows, without overflow blocks, and a lane with warm caches.
struct Scene {
    database: Database<LocalEnv>,
    table: TableId,
    lane: Lane<LocalEnv>,
}

impl Scene {
    fn open(oracle: Oracle, storage: Storage, index: Option<IndexKind>) -> Self {
        let database = DatabaseConfig { oracle, ..DatabaseConfig::default() };
        let config = OpenConfig { server_bytes: 64 << 20, database, ..OpenConfig::default() };
        let database = open(&config).expect("memory");
        let columns = ["id", "value", "group"].map(|name| Column::new(name, ColumnType::Int8));
        let schema = Schema::new("t", columns.to_vec(), &[0]).expect("a valid schema");
        let placement = Placement::Hashed { load_percent: 10 };
        let design = PhysicalDesign {
            storage,
            size_hint: 4 * ROWS as u64,
            placement,
            node_bytes: 16 * 1024,
            ..PhysicalDesign::default()
        };
        let indexes = index.map(by_group).into_iter().collect();
        let table = run_now(database.create_table(TableSpec { schema, design, indexes }));
        let table = table.expect("created");
        let lane = run_now(database.lane()).expect("a lane");
        let mut scene = Self { database, table, lane };
        for id in 0..ROWS {
            scene.measure(Isolation::Snapshot, |txn, table| insert(txn, table, id));
        }
        // Every row has its version buffer, and every pool has an extent.
        for round in 0..3 {
            for id in 0..ROWS {
                let isolation = [Isolation::Snapshot, Isolation::Serializable][round % 2];
                scene.measure(isolation, |txn, table| update(txn, table, id));
            }
        }
        scene
    }

    fn statistics(&self) -> LaneStatistics {
        *self.lane.statistics().expect("the lane is here")
    }

    /// Round trips and verbs of one transaction, without its upkeep and its snapshot.
    fn measure(
        &mut self,
        isolation: Isolation,
        work: impl FnOnce(&mut Transaction<'_, LocalEnv>, TableId),
    ) -> (u64, u64) {
        let (before, was) = (self.lane.env().counters().counts(), self.statistics());
        let mut txn = run_now(self.lane.begin(isolation)).expect("begins");
        work(&mut txn, self.table);
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        let (cost, is) = (self.lane.env().counters().counts() - before, self.statistics());
        let apart = |now: u64, before: u64| now - before;
        let upkeep = apart(is.upkeep_round_trips, was.upkeep_round_trips);
        let snapshot = apart(is.snapshot_round_trips, was.snapshot_round_trips);
        let round_trips = cost.round_trips - upkeep - snapshot;
        let upkeep = apart(is.upkeep_verbs, was.upkeep_verbs);
        let snapshot_verbs = apart(is.snapshot_verbs, was.snapshot_verbs);
        (round_trips, cost.verbs - upkeep - snapshot_verbs)
    }

    /// Round trips of one transaction, when no old version is needed any more.
    fn round_trips(
        &mut self,
        isolation: Isolation,
        work: impl FnOnce(&mut Transaction<'_, LocalEnv>, TableId),
    ) -> u64 {
        run_now(self.lane.collect_garbage()).expect("collected");
        self.measure(isolation, work).0
    }

    /// Verbs of one transaction, under the same condition.
    fn verbs(&mut self, work: impl FnOnce(&mut Transaction<'_, LocalEnv>, TableId)) -> u64 {
        run_now(self.lane.collect_garbage()).expect("collected");
        self.measure(SNAPSHOT, work).1
    }
}

fn insert(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) {
    let row = run_now(txn.insert(table, &key(id))).expect("is free");
    let mut record = txn.update(row);
    record.set_int(VALUE, id);
    record.set_int(GROUP, id);
}

fn update(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) {
    let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
    let value = txn.row(row).int(VALUE);
    txn.update(row).set_int(VALUE, value + 1);
}

fn change_group(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) {
    let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
    let group = txn.row(row).int(GROUP);
    txn.update(row).set_int(GROUP, group + 1000);
}

fn read(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) {
    assert!(run_now(txn.read(table, &key(id))).expect("readable").is_some());
}

fn delete(txn: &mut Transaction<'_, LocalEnv>, table: TableId, id: i64) {
    let row = run_now(txn.read(table, &key(id))).expect("readable").expect("it exists");
    txn.delete(row);
}

const SNAPSHOT: Isolation = Isolation::Snapshot;
const SERIALIZABLE: Isolation = Isolation::Serializable;
/// Round trips of a commit with writes: lock, install, publish.
const COMMIT: u64 = 3;
/// Additional round trip of a serializable transaction: validation of all reads.
const VALIDATION: u64 = 1;

/// Round trips from a key to its row.
fn levels(storage: Storage) -> u64 {
    match storage {
        Storage::HashInlined => 1,
        Storage::HashOutside | Storage::Tree => 2,
    }
}

const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];

#[test]
fn snapshots_take_the_round_trips_of_their_oracle() {
    for (oracle, round_trips) in [(Oracle::DoubleCollect, 2), (Oracle::Frozen, 1)] {
        let mut scene = Scene::open(oracle, Storage::HashInlined, None);
        scene.measure(SNAPSHOT, |txn, table| read(txn, table, 1));
        // In some rounds a lane freezes a vector because the newest one is too old, but not in the
        // best of many rounds.
        let taken = (0..100).map(|_| {
            let before = scene.statistics().snapshot_round_trips;
            for _ in 0..10 {
                scene.measure(SNAPSHOT, |txn, table| read(txn, table, 1));
            }
            scene.statistics().snapshot_round_trips - before
        });
        assert_eq!(taken.min(), Some(10 * round_trips), "{oracle:?}");
    }
}

#[test]
fn point_reads_take_one_round_trip_per_level() {
    for storage in STORAGES {
        let mut scene = Scene::open(Oracle::DoubleCollect, storage, None);
        for id in 0..ROWS {
            let one = scene.round_trips(SNAPSHOT, |txn, table| read(txn, table, id));
            assert_eq!(one, levels(storage), "{storage:?}");
            // A single row was current when it was read: there is nothing to validate.
            let one = scene.round_trips(SERIALIZABLE, |txn, table| read(txn, table, id));
            assert_eq!(one, levels(storage), "{storage:?}, serializable");
        }
        let many = |txn: &mut Transaction<'_, LocalEnv>, table| {
            let reads: Vec<_> = (0..ROWS).map(|id| (table, key(id))).collect();
            let mut found = Vec::new();
            run_now(txn.read_many(&reads, &mut found)).expect("readable");
            assert!(found.iter().all(Option::is_some));
        };
        assert_eq!(scene.round_trips(SNAPSHOT, many), levels(storage), "{storage:?}, together");
        let both = levels(storage) + VALIDATION;
        assert_eq!(scene.round_trips(SERIALIZABLE, many), both, "{storage:?}, together");
    }
}

#[test]
fn a_miss_takes_no_more_than_a_hit() {
    for storage in STORAGES {
        let mut scene = Scene::open(Oracle::DoubleCollect, storage, None);
        let missing = |txn: &mut Transaction<'_, LocalEnv>, table| {
            assert!(run_now(txn.read(table, &key(-5))).expect("readable").is_none());
        };
        assert_eq!(scene.round_trips(SNAPSHOT, missing), 1, "{storage:?}");
    }
}

#[test]
fn updates_take_their_reads_and_three_round_trips() {
    for storage in STORAGES {
        let mut scene = Scene::open(Oracle::DoubleCollect, storage, None);
        for id in 0..ROWS {
            let one = scene.round_trips(SNAPSHOT, |txn, table| update(txn, table, id));
            assert_eq!(one, levels(storage) + COMMIT, "{storage:?}, row {id}");
            let one = scene.round_trips(SERIALIZABLE, |txn, table| update(txn, table, id));
            assert_eq!(one, levels(storage) + VALIDATION + COMMIT, "{storage:?}, row {id}");
        }
        let ten = |txn: &mut Transaction<'_, LocalEnv>, table| {
            let reads: Vec<_> = (0..10).map(|id| (table, key(id))).collect();
            let mut found = Vec::new();
            run_now(txn.read_many(&reads, &mut found)).expect("readable");
            for row in found {
                txn.update(row.expect("it exists")).set_int(VALUE, 7);
            }
        };
        assert_eq!(scene.round_trips(SNAPSHOT, ten), levels(storage) + COMMIT, "{storage:?}, ten");
    }
}

#[test]
fn inserts_and_deletes_take_their_reads_and_three_round_trips() {
    for storage in STORAGES {
        let mut scene = Scene::open(Oracle::DoubleCollect, storage, None);
        for id in ROWS..ROWS + 20 {
            // An absent key needs only its bucket or leaf.
            let one = scene.round_trips(SNAPSHOT, |txn, table| insert(txn, table, id));
            assert_eq!(one, 1 + COMMIT, "{storage:?}, insert of {id}");
        }
        for id in ROWS..ROWS + 20 {
            let one = scene.round_trips(SNAPSHOT, |txn, table| delete(txn, table, id));
            assert_eq!(one, levels(storage) + COMMIT, "{storage:?}, delete of {id}");
        }
    }
}

#[test]
fn indexes_cost_only_transactions_that_change_their_keys() {
    for (kind, entries) in [(IndexKind::Tree, 1), (IndexKind::Hash, 3)] {
        let mut scene = Scene::open(Oracle::DoubleCollect, Storage::HashInlined, Some(kind));
        let one = scene.round_trips(SNAPSHOT, |txn, table| update(txn, table, 3));
        assert_eq!(one, 1 + COMMIT, "{kind:?}, key unchanged");
        let one = scene.round_trips(SNAPSHOT, |txn, table| change_group(txn, table, 3));
        assert_eq!(one, 1 + entries + COMMIT, "{kind:?}, key changed");
    }
}

#[test]
fn a_scan_takes_one_round_trip_per_leaf_and_one_for_its_rows() {
    let mut scene = Scene::open(Oracle::DoubleCollect, Storage::Tree, None);
    let ten = |txn: &mut Transaction<'_, LocalEnv>, table| {
        let source = ScanSource::Table(table);
        let (low, high) = (key(20), key(29));
        let scan = Scan { source, low, high, reverse: false, limit: usize::MAX };
        let mut rows = Vec::new();
        run_now(txn.scan(&scan, &mut rows)).expect("readable");
        assert_eq!(rows.len(), 10);
    };
    scene.round_trips(SNAPSHOT, ten);
    assert_eq!(scene.round_trips(SNAPSHOT, ten), 2);
}

#[test]
fn rows_that_follow_each_other_are_read_by_one_verb_in_both_directions() {
    let mut scene = Scene::open(Oracle::DoubleCollect, Storage::Tree, None);
    let scan = |reverse: bool| {
        move |txn: &mut Transaction<'_, LocalEnv>, table| {
            let (source, limit) = (ScanSource::Table(table), usize::MAX);
            let scan = Scan { source, low: key(2), high: key(5), reverse, limit };
            let mut rows = Vec::new();
            run_now(txn.scan(&scan, &mut rows)).expect("readable");
            let ids: Vec<i64> = rows.iter().map(|row| txn.row(*row).int(0)).collect();
            assert_eq!(ids, if reverse { [5, 4, 3, 2] } else { [2, 3, 4, 5] });
        }
    };
    scene.verbs(scan(false));
    // One leaf, and all of its rows.
    assert_eq!((scene.verbs(scan(false)), scene.verbs(scan(true))), (2, 2));
}

#[test]
fn typical_transactions_post_a_fixed_number_of_verbs() {
    let mut scene = Scene::open(Oracle::DoubleCollect, Storage::HashInlined, None);
    // A commit that is followed by upkeep announces it.
    assert_eq!(scene.verbs(|txn, table| update(txn, table, 3)), 7 + 1);
    assert_eq!(scene.verbs(|txn, table| read(txn, table, 3)), 1);
    assert_eq!(scene.verbs(|txn, table| update(txn, table, 3)), 7);
    assert_eq!(scene.verbs(|txn, table| insert(txn, table, 1000)), 7);
    assert_eq!(scene.verbs(|txn, table| delete(txn, table, 1000)), 7);
}

#[test]
fn an_update_of_a_hot_row_may_advance_the_horizon() {
    let mut scene = Scene::open(Oracle::DoubleCollect, Storage::HashInlined, None);
    // The only old version beside the row is still needed at the next update, so that the commit
    // first advances the horizon: it increments the clock, reads the lanes' words, and raises the
    // collected-up-to word.
    scene.round_trips(SNAPSHOT, |txn, table| update(txn, table, 3));
    let second = scene.measure(SNAPSHOT, |txn, table| update(txn, table, 3)).0;
    assert_eq!(second, 1 + 3 + COMMIT);
}

#[test]
fn the_data_path_does_not_allocate() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1, "the counter counts");
    for storage in STORAGES {
        for isolation in [SNAPSHOT, SERIALIZABLE] {
            let mut scene = Scene::open(Oracle::DoubleCollect, storage, None);
            let mut run = |what: &str, work: fn(&mut Transaction<'_, LocalEnv>, TableId, i64)| {
                for id in 0..ROWS {
                    scene.measure(isolation, |txn, table| work(txn, table, id));
                }
                let counted = allocation_counter::measure(|| {
                    for id in 0..ROWS {
                        scene.measure(isolation, |txn, table| work(txn, table, id));
                    }
                });
                assert_eq!(counted.count_total, 0, "{storage:?}, {isolation:?}, {what}");
            };
            run("reads", read);
            run("updates", update);
            assert!(scene.database.table("t").is_some());
        }
    }
}

/// The maximal memory for creating an index over groups, where each row has a group of its own.
fn bytes_to_make_an_index(storage: Storage, rows: i64) -> u64 {
    let mut scene = Scene::open(Oracle::DoubleCollect, storage, None);
    for first in (ROWS..rows).step_by(256) {
        let (mut txn, mut inserted) =
            (run_now(scene.lane.begin(SNAPSHOT)).expect("begins"), vec![]);
        let keys = (first..rows.min(first + 256)).map(|id| (scene.table, key(id)));
        run_now(txn.insert_many(&keys.collect::<Vec<_>>(), &mut inserted)).expect("there is room");
        for (&row, id) in inserted.iter().zip(first..) {
            txn.update(row).set_int(GROUP, id);
        }
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
    }
    run_now(scene.lane.rest()).expect("reachable");
    let design = IndexDesign { size_hint: rows as u64, ..by_group(IndexKind::Hash) };
    let measured = allocation_counter::measure(|| {
        run_now(scene.database.create_index("t", design)).expect("created");
    });
    measured.bytes_max
}

/// An index is filled part by part, so the memory for that does not grow with the table.
#[test]
fn an_index_over_many_rows_is_made_with_little_memory() {
    for storage in STORAGES {
        let [few, many] = [10_000, 60_000].map(|rows| bytes_to_make_an_index(storage, rows));
        assert!(many < 2 * few, "{storage:?}: {few} bytes for few rows, {many} for many");
    }
}
