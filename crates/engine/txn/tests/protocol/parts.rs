//! A compute server dies while it creates or drops a table in parts: the others see all parts or
//! none, drop the rest, and create the table again.

use crate::support::cluster::Cluster;
use crate::support::{VALUE, index, key, table};
use fabric::{DynEnv, FailurePoint};
use layout::{IndexKind, PartRule, Storage};
use sim::{Carrier, SimConfig};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use txn::step::ChangeStep;
use txn::{CatalogError, Database, DatabaseConfig, Isolation, Outcome, TableId, TableSpec};

const SERVERS: [u16; 3] = [0, 1, 2];
/// Number of keys in the ranges of the parts.
const KEYS: i32 = 30;
const RULE: PartRule = PartRule::Ranges { smallest: 0, values: KEYS as u64 };
const NAMES: [&str; 3] = ["parts", "parts.1", "parts.2"];
/// Time for which the victim is held at the point of its death.
const HOLD_NS: u64 = 10_000_000;
/// Time for its posted verbs to arrive.
const LINGER_NS: u64 = 100_000_000;

fn spec(storage: Storage) -> TableSpec {
    table(NAMES[0], storage, vec![index(IndexKind::Hash, false)])
}

fn cluster(seed: u64, name: &str) -> Cluster {
    let config = SimConfig::hostile(seed).named(format!("parts, killed at {name}"));
    let config = SimConfig { carrier: Carrier::Card, ..config };
    let database =
        DatabaseConfig { transaction_time_max_ns: 20_000_000, ..DatabaseConfig::default() };
    Cluster::new(config, SERVERS.len() as u16, database)
}

/// Creates the table and drops it.
async fn live(database: Database<DynEnv>, storage: Storage, is_over: Rc<Cell<bool>>) {
    database.create_in_parts(spec(storage), &SERVERS, RULE).await.expect("there is room");
    database.drop_table(NAMES[0]).await.expect("it was created");
    is_over.set(true);
}

/// Runs a compute server, and kills it when it is held at `point`; returns how often it has passed
/// each point.
fn run(
    cluster: &Cluster,
    storage: Storage,
    point: Option<(&'static str, u64)>,
) -> BTreeMap<&'static str, u64> {
    let (world, victim) = (&cluster.world, cluster.compute(1));
    let before = world.reached();
    let passed = |name: &str, count: u64| count - before.get(name).copied().unwrap_or(0);
    if let Some((name, nth)) = point {
        world.hold_at(name, nth + before.get(name).copied().unwrap_or(0), HOLD_NS);
    }
    let (env, is_over) = (victim.env().clone(), Rc::new(Cell::new(false)));
    world.spawn_on(&env, live(victim, storage, is_over.clone()));
    loop {
        world.run_for(HOLD_NS / 10);
        let reached = world.reached();
        let now = |name: &str| passed(name, reached.get(name).copied().unwrap_or(0));
        match point {
            Some((name, nth)) if now(name) >= nth => world.kill(&env),
            None if is_over.get() => {}
            _ => continue,
        }
        return reached.iter().map(|(name, count)| (*name, passed(name, *count))).collect();
    }
}

/// Inserts rows into every part and reads them.
async fn work(database: &Database<DynEnv>, table: TableId) {
    let mut lane = database.lane().await.expect("there are slots");
    let mut txn = lane.begin(Isolation::Snapshot).await.expect("begins");
    for id in 0..KEYS {
        let row = txn.insert(table, &key(id)).await.expect("is free");
        txn.update(row).set_int(VALUE, i64::from(id));
    }
    assert_eq!(txn.commit().await, Outcome::Committed);
    let mut txn = lane.begin(Isolation::Snapshot).await.expect("begins");
    let mut found = Vec::new();
    txn.for_each(table, &mut |row| found.push(row.int(VALUE))).await.expect("readable");
    found.sort_unstable();
    assert_eq!(found, (0..i64::from(KEYS)).collect::<Vec<_>>());
    lane.rest().await.expect("the oracle answers");
}

/// Checks what survivors of a death at `point` see and can do.
fn survive(seed: u64, storage: Storage, point: &'static str, nth: u64) {
    let cluster = cluster(seed, &format!("{point}, arrival {nth}"));
    let context = cluster.world.identity();
    run(&cluster, storage, Some((point, nth)));
    cluster.world.run_for(LINGER_NS);
    let database = cluster.compute(2);
    cluster.admin(database.refresh()).expect("the servers answer");
    let seen = NAMES.map(|name| database.table(name));
    assert!(seen.iter().all(|table| table.is_some() == seen[0].is_some()), "{context}: {seen:?}");
    if let Some(table) = seen[0] {
        cluster.admin(work(&database, table));
    }
    let dropped = cluster.admin(database.drop_table(NAMES[0]));
    assert!(matches!(dropped, Ok(()) | Err(CatalogError::NoTable(_))), "{context}: {dropped:?}");
    assert!(seen[0].is_none() || dropped.is_ok(), "{context}");
    let made = cluster.admin(database.create_in_parts(spec(storage), &SERVERS, RULE));
    let table = made.unwrap_or_else(|error| panic!("{context}: {error}"));
    cluster.admin(work(&database, table));
    let report = cluster.admin(database.check()).expect("the servers answer");
    assert_eq!((report.errors, report.locks), (Vec::new(), Vec::new()), "{context}");
}

#[test]
fn others_see_all_parts_or_none_when_the_creator_dies() {
    let points: Vec<&str> = ChangeStep::ALL.iter().map(|step| step.name()).collect();
    for (seed, storage) in [(1, Storage::Tree), (2, Storage::HashInlined)] {
        let passed = run(&cluster(seed, "no point"), storage, None);
        let of_changes = passed.into_iter().filter(|(name, _)| points.contains(name));
        let mut deaths = 0;
        for (point, count) in of_changes {
            for nth in 1..=count {
                survive(seed, storage, point, nth);
                deaths += 1;
            }
        }
        assert!(deaths > 3 * SERVERS.len(), "{deaths}");
    }
}

/// One client drops a table while another creates it in parts: the creation fails, or the table is
/// complete.
#[test]
fn a_table_dropped_during_its_creation_is_complete_or_absent() {
    let mut refused = 0;
    for nth in 1..=SERVERS.len() as u64 {
        let cluster = cluster(nth, "drop between");
        let (world, maker) = (&cluster.world, cluster.compute(1));
        let stored = ChangeStep::DefinitionStored.name();
        let before = world.reached().get(stored).copied().unwrap_or(0);
        world.hold_at(stored, before + nth, HOLD_NS);
        let (env, made) = (maker.env().clone(), Rc::new(Cell::new(None)));
        let answer = made.clone();
        world.spawn_on(&env, async move {
            let made = maker.create_in_parts(spec(Storage::Tree), &SERVERS, RULE).await;
            answer.set(Some(made.is_ok()));
        });
        while world.reached().get(stored).copied().unwrap_or(0) < before + nth {
            world.run_for(HOLD_NS / 10);
        }
        let database = cluster.compute(2);
        let dropped = cluster.admin(database.drop_table(NAMES[0]));
        assert_eq!(dropped, Ok(()), "{}", world.identity());
        while made.get().is_none() {
            world.run_for(HOLD_NS);
        }
        cluster.admin(database.refresh()).expect("the servers answer");
        let is_there = database.table(NAMES[0]).is_some();
        assert_eq!(made.get(), Some(is_there), "{}", world.identity());
        refused += usize::from(!is_there);
    }
    assert!(refused > 0, "no drop came between");
}
