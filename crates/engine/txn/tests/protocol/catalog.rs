//! Concurrent catalog changes, with transactions running: each change reports its true result, the
//! structures are intact, and no memory leaks.

use crate::support::cluster::Cluster;
use crate::support::{GROUP, STORAGES, VALUE, group_key, index, key, table};
use fabric::{Env, LocalEnv, run_now};
use layout::{IndexDesign, IndexKind, NodeId, PartRule, Storage};
use sim::{AsEndpoint, Carrier, Fault, PlannedFault, SimConfig, When};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Barrier;
use txn::catalog::TABLES_MAX;
use txn::local::{OpenConfig, open};
use txn::{CatalogError, Database, DatabaseConfig, Isolation, Lane, Oracle, TableId};

/// Number of worlds per pair of changes.
const SEEDS: u64 = 60;
/// The second change begins up to this much earlier or later than the first.
const OFFSET_MAX_NS: u64 = 1_500_000;
/// Number of rows of the table.
const ROWS: i32 = 20;
/// Number of groups of its rows.
const GROUPS: i64 = 3;
/// Number of rounds per pair of changes with threads.
const ROUNDS: usize = 25;

/// A catalog change. The table is always called "t".
#[derive(Clone, Copy, PartialEq, Debug)]
enum Change {
    CreateTable,
    DropTable,
    CreateIndex(&'static str, IndexKind),
    DropIndex(&'static str),
}
use Change::{CreateIndex, CreateTable, DropIndex, DropTable};

const HASH_A: Change = CreateIndex("a", IndexKind::Hash);
const TREE_A: Change = CreateIndex("a", IndexKind::Tree);
const TREE_B: Change = CreateIndex("b", IndexKind::Tree);

/// The expected catalog: the table, with the names of its indexes.
type Shape = Option<BTreeSet<&'static str>>;

impl Change {
    async fn run<E: Env>(self, database: &Database<E>, storage: Storage) -> ChangeResult {
        let design = |name: &str, kind| IndexDesign { name: name.to_owned(), ..index(kind, false) };
        match self {
            CreateTable => {
                let spec = table("t", storage, vec![design("c", IndexKind::Hash)]);
                database.create_table(spec).await.map(drop)
            }
            DropTable => database.drop_table("t").await,
            CreateIndex(name, kind) => {
                database.create_index("t", design(name, kind)).await.map(drop)
            }
            DropIndex(name) => database.drop_index("t", name).await,
        }
    }

    /// The catalog after this change alone, or the kind of error if the change has no effect.
    fn of(self, shape: &Shape) -> Result<Shape, &'static str> {
        match (self, shape.clone()) {
            (CreateTable, Some(_)) => Err("exists"),
            (CreateTable, None) => Ok(Some(BTreeSet::from(["c"]))),
            (_, None) => Err("no table"),
            (DropTable, Some(_)) => Ok(None),
            (CreateIndex(name, _), Some(mut indexes)) => {
                if indexes.insert(name) {
                    Ok(Some(indexes))
                } else {
                    Err("exists")
                }
            }
            (DropIndex(name), Some(mut indexes)) => {
                if indexes.remove(name) {
                    Ok(Some(indexes))
                } else {
                    Err("no index")
                }
            }
        }
    }
}

/// The result of a change.
type ChangeResult = Result<(), CatalogError>;

fn kind(result: &ChangeResult) -> Result<(), &'static str> {
    match result {
        Ok(()) => Ok(()),
        Err(CatalogError::Exists(_)) => Err("exists"),
        Err(CatalogError::NoTable(_)) => Err("no table"),
        Err(CatalogError::NoIndex(_)) => Err("no index"),
        Err(other) => panic!("no reason for this: {other}"),
    }
}

/// The catalogs that are allowed after two changes with these results: those after the changes one
/// after the other. A change whose table or index vanished halfway may report that, without effect.
fn allowed(
    before: &Shape,
    changes: [Change; 2],
    results: [Result<(), &'static str>; 2],
) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for [first, second] in [[0, 1], [1, 0]] {
        let alone = |n: usize, shape: &Shape| match changes[n].of(shape) {
            Ok(after) if results[n].is_ok() => Some(after),
            Err(refused) if results[n] == Err(refused) => Some(shape.clone()),
            _ => None,
        };
        let middle = alone(first, before);
        shapes.extend(middle.and_then(|middle| alone(second, &middle)));
        // The first change removed the object of the second, which had done half of its work.
        let vanished = matches!(results[second], Err("no table" | "no index"));
        let removes = matches!(changes[first], DropTable | DropIndex(_)) && results[first].is_ok();
        if let (true, true, Ok(middle)) = (vanished, removes, changes[second].of(before)) {
            shapes.extend(changes[first].of(&middle));
        }
    }
    shapes
}

/// The pairs of changes, each with the table's indexes before them; `None` for no table.
fn pairs() -> Vec<(Shape, [Change; 2])> {
    let with = |names: &[&'static str]| Some(names.iter().copied().collect());
    vec![
        (None, [CreateTable, CreateTable]),
        (with(&["a"]), [DropTable, CreateTable]),
        (with(&["a"]), [DropTable, DropTable]),
        (with(&[]), [HASH_A, TREE_B]),
        (with(&[]), [HASH_A, TREE_A]),
        (with(&["b"]), [HASH_A, DropTable]),
        (with(&[]), [TREE_A, DropTable]),
        (with(&["a"]), [DropIndex("a"), DropTable]),
        (with(&["a"]), [DropIndex("a"), DropIndex("a")]),
        (with(&["a", "b"]), [DropIndex("a"), DropIndex("b")]),
        (with(&["a"]), [DropIndex("a"), TREE_B]),
        (with(&["a"]), [DropIndex("a"), HASH_A]),
        (with(&[]), [DropIndex("a"), HASH_A]),
    ]
}

/// Allocated bytes that belong to no table.
async fn unowned_bytes<E: Env>(database: &Database<E>) -> u64 {
    database.refresh().await.expect("the servers answer");
    let usage = database.memory_usage().await.expect("the servers answer");
    usage.iter().find(|part| part.name == "system").expect("always there").used_bytes
}

/// The actual catalog.
fn shape<E: Env>(database: &Database<E>) -> Shape {
    database.table("t")?;
    let names = ["a", "b", "c"].into_iter();
    Some(names.filter(|name| database.index("t", name).is_some()).collect())
}

/// Creates the table of `before`, with rows.
async fn prepare<E: Env>(database: &Database<E>, before: &Shape, storage: Storage) {
    let Some(indexes) = before else { return };
    let kinds = [IndexKind::Hash, IndexKind::Tree];
    let indexes = indexes.iter().zip(kinds.into_iter().cycle());
    let design =
        |(name, kind): (&&str, _)| IndexDesign { name: (*name).to_owned(), ..index(kind, false) };
    let spec = table("t", storage, indexes.map(design).collect());
    let table = database.create_table(spec).await.expect("no other client runs");
    let mut lane = database.lane().await.expect("a lane");
    for id in 0..ROWS {
        let written = write(&mut lane, table, id, i64::from(id)).await;
        assert!(written, "no other client runs");
    }
}

/// Writes a row; returns whether that succeeded.
async fn write<E: Env>(lane: &mut Lane<E>, table: TableId, id: i32, value: i64) -> bool {
    write_into(lane, table, id, value, value % GROUPS).await
}

/// Writes a row of a group.
pub async fn write_into<E: Env>(
    lane: &mut Lane<E>,
    table: TableId,
    id: i32,
    value: i64,
    group: i64,
) -> bool {
    let Ok(mut txn) = lane.begin(Isolation::Snapshot).await else { return false };
    let row = match txn.read(table, &key(id)).await {
        Ok(Some(row)) => row,
        Ok(None) => match txn.insert(table, &key(id)).await {
            Ok(row) => row,
            Err(_) => return false,
        },
        Err(_) => return false,
    };
    let mut row = txn.update(row);
    row.set_int(VALUE, value);
    row.set_int(GROUP, group);
    txn.commit().await == txn::Outcome::Committed
}

/// Compares the rows of a group in an index with those in the table, unless the index was dropped.
pub async fn compare<E: Env>(lane: &mut Lane<E>, database: &Database<E>, name: &str, group: i64) {
    let (Some(table), Some(index)) = (database.table("t"), database.index("t", name)) else {
        return;
    };
    let Ok(mut txn) = lane.begin(Isolation::Snapshot).await else { return };
    let mut rows = Vec::new();
    if txn.lookup(index, &group_key(group), &mut rows).await.is_err() {
        return;
    }
    let found: BTreeSet<i64> = rows.iter().map(|&row| txn.row(row).int(0)).collect();
    let mut there = BTreeSet::new();
    let mut note = |row: layout::RecordRef<'_>| {
        if row.int(GROUP) == group {
            there.insert(row.int(0));
        }
    };
    if txn.for_each(table, &mut note).await.is_ok() {
        assert_eq!(found, there, "index {name}, group {group}");
    }
}

/// Transactions beside the changes: they write rows and compare indexes with them.
async fn session<E: Env>(database: Database<E>, seed: u64, transactions: u64) {
    let Ok(mut lane) = database.lane().await else { return };
    for n in 0..transactions {
        let _ = database.refresh().await;
        let draw = seed.wrapping_mul(2_654_435_761).wrapping_add(n * 7919);
        if let Some(table) = database.table("t") {
            write(&mut lane, table, (draw % (2 * ROWS as u64)) as i32, draw as i64 & 0xffff).await;
        }
        for name in ["a", "b"] {
            compare(&mut lane, &database, name, (n % GROUPS as u64) as i64).await;
        }
        let _ = lane.rest().await;
    }
}

/// Runs two changes from two compute servers in one world, with transactions from two more.
fn in_a_world(
    carrier: Carrier,
    seed: u64,
    before: &Shape,
    changes: [Change; 2],
) -> [Result<(), &'static str>; 2] {
    let config = SimConfig::hostile(seed).named(format!("{changes:?} after {before:?}"));
    let config = config.carried_by(carrier);
    let oracle = if seed % 4 == 3 { Oracle::Frozen } else { Oracle::DoubleCollect };
    let settings =
        DatabaseConfig { transaction_time_max_ns: 1_000_000_000, oracle, ..Default::default() };
    let cluster = Cluster::new(config, 1 + (seed % 2) as u16, settings);
    let storage = STORAGES[seed as usize % 3];
    let system = cluster.admin(unowned_bytes(&cluster.database));
    cluster.admin(prepare(&cluster.database, before, storage));
    let results = Rc::new(RefCell::new([None, None]));
    let offset_ns = seed * 1_000_003 % (2 * OFFSET_MAX_NS);
    let waits_ns =
        [offset_ns.saturating_sub(OFFSET_MAX_NS), OFFSET_MAX_NS.saturating_sub(offset_ns)];
    for (number, change) in changes.into_iter().enumerate() {
        let (database, results) = (cluster.compute(number as u16), results.clone());
        let env = database.env().endpoint().clone();
        cluster.world.spawn_on(&env, async move {
            database.env().sleep_ns(waits_ns[number]).await;
            let answer = change.run(&database, storage).await;
            results.borrow_mut()[number] = Some(answer);
        });
    }
    for number in [2, 3] {
        let database = cluster.compute(number);
        let env = database.env().clone();
        cluster.world.spawn_on(&env, session(database, seed + u64::from(number), 30));
    }
    let waiting = cluster.world.run_until_idle();
    let identity = cluster.world.identity();
    assert_eq!(waiting, 0, "{identity}: tasks wait for ever");
    let results = results.take().map(|result| kind(&result.expect("the change has ended")));
    assert_eq!(cluster.admin(unowned_bytes(&cluster.database)), system, "{identity}: {results:?}");
    let (shape, allowed) = (shape(&cluster.database), allowed(before, changes, results));
    assert!(allowed.contains(&shape), "{identity}: {results:?} and there is {shape:?}");
    cluster.check();
    // The rest can be dropped, too.
    if shape.is_some() {
        cluster.admin(cluster.database.drop_table("t")).expect("it exists");
    }
    assert_eq!(cluster.admin(unowned_bytes(&cluster.database)), system, "{identity}: {results:?}");
    results
}

#[test]
fn concurrent_changes_report_their_true_result() {
    for (before, changes) in pairs() {
        let mut answers = BTreeSet::new();
        for seed in 0..SEEDS {
            let carrier = [Carrier::Card, Carrier::Caller][seed as usize % 2];
            answers.insert(in_a_world(carrier, seed, &before, changes));
        }
        eprintln!("{changes:?}: {answers:?}");
    }
}

/// Runs two changes from two threads, with transactions from a third.
fn with_threads(round: usize, before: &Shape, changes: [Change; 2]) {
    let database = DatabaseConfig { lanes: 8, ..DatabaseConfig::default() };
    let config =
        OpenConfig { servers: 2, server_bytes: 32 << 20, database, ..OpenConfig::default() };
    let database: Database<LocalEnv> = open(&config).expect("memory");
    let storage = STORAGES[round % 3];
    let system = run_now(unowned_bytes(&database));
    run_now(prepare(&database, before, storage));
    let barrier = Barrier::new(3);
    let results = std::thread::scope(|scope| {
        let threads = changes.map(|change| {
            let (database, barrier) = (database.for_thread(), &barrier);
            scope.spawn(move || {
                barrier.wait();
                kind(&run_now(change.run(&database, storage)))
            })
        });
        let beside = database.for_thread();
        let beside = scope.spawn(|| {
            let beside = beside;
            barrier.wait();
            run_now(session(beside, round as u64, 20));
        });
        beside.join().expect("transactions are right");
        threads.map(|thread| thread.join().expect("the change has ended"))
    });
    assert_eq!(run_now(unowned_bytes(&database)), system, "{changes:?}: {results:?}");
    let (shape, allowed) = (shape(&database), allowed(before, changes, results));
    assert!(allowed.contains(&shape), "{changes:?}: {results:?} and there is {shape:?}");
    let report = run_now(database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()), "{changes:?}");
}

#[test]
fn changes_by_threads_report_their_true_result() {
    for (before, changes) in pairs() {
        (0..ROUNDS).for_each(|round| with_threads(round, &before, changes));
    }
}

/// Concurrent creations all count the tables before any of them has stored its own.
#[test]
fn concurrent_creations_respect_the_maximum_of_tables() {
    const SIDE_BY_SIDE: usize = 3;
    let config = SimConfig::hostile(1).named("creations at the limit".to_owned());
    // Many servers, to have memory for that number of tables.
    let cluster = Cluster::new(config, 16, DatabaseConfig::default());
    let named = |name: &str| table(name, Storage::Tree, Vec::new());
    for number in 0..TABLES_MAX - 1 {
        let created = cluster.database.create_table(named(&format!("t{number}")));
        cluster.admin(created).expect("there is room");
    }
    let (mut made, mut refused) = (0, 0);
    for round in 0..10 {
        let results = Rc::new(RefCell::new(vec![None; SIDE_BY_SIDE]));
        for number in 0..SIDE_BY_SIDE {
            let (database, results) = (cluster.compute(number as u16), results.clone());
            let env = database.env().clone();
            let spec = named(&format!("new{number}"));
            cluster.world.spawn_on(&env, async move {
                database.env().sleep_ns((round * number) as u64 * 30_000).await;
                let answer = database.create_table(spec).await;
                results.borrow_mut()[number] = Some(answer);
            });
        }
        assert_eq!(cluster.world.run_until_idle(), 0, "tasks wait for ever");
        let catalog = cluster.admin(cluster.database.refresh()).expect("the servers answer");
        let results = results.take();
        assert!(catalog.names().count() <= TABLES_MAX, "{results:?}");
        for (number, result) in results.iter().enumerate() {
            let name = format!("new{number}");
            let result = result.clone().expect("it has ended");
            assert_eq!(catalog.table(&name), result.clone().ok());
            match result {
                Ok(_) => {
                    made += 1;
                    cluster.admin(cluster.database.drop_table(&name)).expect("it exists");
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.to_string(), "a database has at most 1024 tables");
                }
            }
        }
    }
    assert!(made > 0 && refused > 10, "{made} made, {refused} refused");
}

/// A memory server that does not answer while a dropped table is freed keeps its share of the
/// table's memory until the next change.
#[test]
fn memory_that_could_not_be_freed_is_freed_by_the_next_change() {
    const LOST: NodeId = NodeId(1);
    let rule = PartRule::Hashed { columns: 1 };
    for storage in STORAGES {
        let config = SimConfig::new(1).named("a memory server is cut off during a drop");
        let cluster = Cluster::new(config, 2, DatabaseConfig::default());
        let (world, database) = (&cluster.world, &cluster.database);
        let used_bytes = || {
            let usage = cluster.admin(database.memory_usage()).expect("the servers answer");
            usage.iter().map(|part| part.used_bytes).sum::<u64>()
        };
        let create = || {
            let indexes = [IndexKind::Hash, IndexKind::Tree]
                .map(|kind| IndexDesign { name: format!("{kind:?}"), ..index(kind, false) });
            let spec = table("t", storage, indexes.to_vec());
            cluster.admin(database.create_in_parts(spec, &[0, 1], rule))
        };
        let before = used_bytes();
        create().expect("there is room");
        assert!(used_bytes() > before);
        let arrivals = world.coverage().reached.get("change::EpochKnown").copied().unwrap_or(0);
        let when = When::Point { name: "change::EpochKnown".to_owned(), nth: arrivals + 1 };
        let fault = Fault::FullPartition { nodes: vec![LOST], lasts_ns: u64::MAX };
        world.plan(&PlannedFault { when, fault });
        let dropped = cluster.admin(database.drop_table("t"));
        assert!(matches!(dropped, Err(CatalogError::Unreachable(_))), "{dropped:?}");
        world.stop_faults();
        assert!(used_bytes() > before, "{storage:?}: the server kept its share");
        create().expect("the name is free");
        assert_eq!(cluster.admin(database.drop_table("t")), Ok(()));
        assert_eq!(used_bytes(), before, "{storage:?}: the memory of the first table is lost");
    }
}
