//! Hash tables, trees and their indexes against a sorted map. Concurrent transactions insert,
//! change and delete runs of rows: buckets overflow and split, leaves split and merge, garbage is
//! collected.
//!
//! The expected result of a transaction follows from its snapshot alone: the committed changes that
//! the snapshot covers, replayed in the order in which they saw each other. A failure prints the
//! seed that repeats it.

use crate::random::Dice;
use crate::support::cluster::Cluster;
use crate::support::history::Cell;
use crate::support::key;
use crate::support::twins::{Changes, GROUPS, Rows, Twins, expected};
use fabric::{DynEnv, Env};
use sim::{Carrier, SimConfig};
use std::cell::RefCell;
use std::rc::Rc;
use txn::{
    Abort, Database, DatabaseConfig, Isolation, Lane, Oracle, Outcome, Scan, ScanSource, Snapshot,
    Transaction,
};

/// Number of worlds per kind of memory and oracle.
const SEEDS: u64 = 60;
const SESSIONS: u64 = 4;
const TRANSACTIONS: usize = 14;
/// Keys are 0 to below this.
const ID_END: i32 = 72;
/// Maximal number of rows that a transaction writes.
const RUN_MAX: u64 = 14;

/// A committed transaction with writes.
struct Commit {
    snapshot: Snapshot,
    version: layout::VersionWord,
    changes: Changes,
}

/// A range of the tree table, as read by a transaction.
struct Ranged {
    low: i32,
    high: i32,
    is_reverse: bool,
    limit: usize,
    seen: Vec<(i32, Cell)>,
}

/// The reads of a transaction before its writes.
struct Sight {
    snapshot: Snapshot,
    ranges: Vec<Ranged>,
    /// All rows, read in every way.
    all: Option<Rows>,
}

#[derive(Default)]
struct History {
    commits: Vec<Commit>,
    sights: Vec<Sight>,
    aborts: u64,
}

type Shared = Rc<RefCell<History>>;

/// The rows of a snapshot: of all committed changes of a row that the snapshot covers, the one
/// whose writer saw all others.
fn contents(commits: &[Commit], snapshot: &Snapshot) -> Rows {
    let covered: Vec<&Commit> =
        commits.iter().filter(|commit| snapshot.covers(commit.version)).collect();
    let mut rows = Rows::new();
    for id in 0..ID_END {
        let writers: Vec<&&Commit> =
            covered.iter().filter(|commit| commit.changes.contains_key(&id)).collect();
        let is_last = |commit: &&&&Commit| {
            writers.iter().all(|other| {
                other.version == commit.version || commit.snapshot.covers(other.version)
            })
        };
        let last: Vec<_> = writers.iter().filter(is_last).collect();
        assert!(last.len() == usize::from(!writers.is_empty()), "row {id}: a lost update");
        if let Some(cell) = last.first().and_then(|last| last.changes[&id]) {
            rows.insert(id, cell);
        }
    }
    rows
}

fn some_changes(dice: &mut Dice, number: i64) -> Changes {
    let start = dice.below(ID_END as u64) as i32;
    let length = 1 + dice.below(RUN_MAX) as i32;
    let is_deletion = dice.below(5) < 2;
    let group = dice.below(GROUPS as u64) as i64;
    let cell = |id: i32| Cell { value: number * 1000 + i64::from(id), group };
    let ids = (start..start + length).map(|id| id % ID_END);
    ids.map(|id| (id, (!is_deletion).then(|| cell(id)))).collect()
}

async fn look<E: Env>(
    txn: &mut Transaction<'_, E>,
    twins: Twins,
    dice: &mut Dice,
) -> Result<Ranged, Abort> {
    let low = dice.below(ID_END as u64) as i32;
    let high = low + dice.below((ID_END - low) as u64) as i32;
    let limit = [usize::MAX, 1 + dice.below(20) as usize][dice.below(2) as usize];
    let is_reverse = dice.below(2) == 1;
    let source = ScanSource::Table(twins.tables[2]);
    let scan = Scan { source, low: key(low), high: key(high), reverse: is_reverse, limit };
    let mut rows = Vec::new();
    txn.scan(&scan, &mut rows).await.map_err(expected)?;
    let seen = rows.into_iter().map(|row| Twins::contents_of(txn, row)).collect();
    Ok(Ranged { low, high, is_reverse, limit, seen })
}

/// One transaction: reads, writes, commits.
async fn run_one<E: Env>(
    lane: &mut Lane<E>,
    twins: Twins,
    dice: &mut Dice,
    number: i64,
    history: &Shared,
) -> Result<(), Abort> {
    let isolation = [Isolation::Snapshot, Isolation::Serializable][dice.below(2) as usize];
    let mut txn = lane.begin(isolation).await?;
    let snapshot = txn.snapshot().clone();
    let mut ranges = Vec::new();
    for _ in 0..dice.below(3) {
        ranges.push(look(&mut txn, twins, dice).await?);
    }
    let all = match dice.below(4) {
        0 => Some(twins.read_all_in(&mut txn, ID_END).await?),
        _ => None,
    };
    history.borrow_mut().sights.push(Sight { snapshot: snapshot.clone(), ranges, all });
    let changes = some_changes(dice, number);
    let changes = twins.write(&mut txn, &changes).await?;
    match txn.commit().await {
        Outcome::Committed if changes.is_empty() => Ok(()),
        Outcome::Committed => {
            let version = lane.last_commit().expect("the lane is here");
            history.borrow_mut().commits.push(Commit { snapshot, version, changes });
            Ok(())
        }
        Outcome::Aborted(abort) => Err(abort),
        Outcome::Unknown => panic!("no server is dead"),
    }
}

async fn session<E: Env>(database: Database<E>, twins: Twins, seed: u64, history: Shared) {
    let mut dice = Dice(seed);
    let mut lane = database.lane().await.expect("there are slots");
    for number in 0..TRANSACTIONS {
        let number = (seed % 100) as i64 * 100 + number as i64;
        if let Err(abort) = run_one(&mut lane, twins, &mut dice, number, &history).await {
            assert!(abort.is_retryable(), "{abort}");
            history.borrow_mut().aborts += 1;
            lane.env().sleep_ns(dice.below(20_000)).await;
        }
        if dice.below(4) == 0 {
            lane.collect_garbage().await.expect("the servers answer");
        }
    }
}

fn run(carrier: Carrier, seed: u64, oracle: Oracle) -> u64 {
    let config = SimConfig::hostile(seed).named(format!("contents, {oracle:?}"));
    let config = config.carried_by(carrier);
    let transaction_time_max_ns = 100_000 << (seed % 8);
    let database = DatabaseConfig { oracle, transaction_time_max_ns, ..Default::default() };
    let cluster = Cluster::new(config, 1 + (seed % 2) as u16, database);
    let twins = Twins::create(&cluster);
    let history = Shared::default();
    for number in 0..SESSIONS {
        let database: Database<DynEnv> = cluster.compute(number as u16);
        let env = database.env().clone();
        let seed = seed * 100 + number;
        cluster.world.spawn_on(&env, session(database, twins, seed, history.clone()));
    }
    let waiting = cluster.world.run_until_idle();
    let identity = cluster.world.identity();
    assert_eq!(waiting, 0, "{identity}: tasks wait for ever");
    let history = history.take();
    for sight in &history.sights {
        judge(sight, &contents(&history.commits, &sight.snapshot), &identity);
    }
    let mut lane = cluster.lane();
    let mut txn = cluster.admin(lane.begin(Isolation::Snapshot)).expect("begins");
    let model = contents(&history.commits, txn.snapshot());
    let seen = cluster.admin(twins.read_all_in(&mut txn, ID_END));
    assert_eq!(seen.as_ref(), Ok(&model), "{identity}: at the end");
    cluster.admin(txn.abort());
    drop(lane);
    cluster.check();
    assert!(!history.commits.is_empty(), "{identity}: nothing was committed");
    history.aborts
}

fn judge(sight: &Sight, model: &Rows, identity: &str) {
    if let Some(all) = &sight.all {
        assert_eq!(all, model, "{identity}: everything");
    }
    for ranged in &sight.ranges {
        let inside = model.range(ranged.low..=ranged.high).map(|(&id, &cell)| (id, cell));
        let mut rows: Vec<(i32, Cell)> = inside.collect();
        if ranged.is_reverse {
            rows.reverse();
        }
        rows.truncate(ranged.limit);
        let Ranged { low, high, is_reverse, limit, .. } = ranged;
        let what = format!("{low} to {high}, reverse {is_reverse}, limit {limit}");
        assert_eq!(ranged.seen, rows, "{identity}: range {what}");
    }
}

fn run_all(carrier: Carrier, oracle: Oracle) {
    let offset: u64 =
        std::env::var("PROTOCOL_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let aborts: u64 = (offset..offset + SEEDS).map(|seed| run(carrier, seed, oracle)).sum();
    assert!(aborts > 0, "the transactions never met");
}

#[test]
fn tables_equal_a_sorted_map() {
    run_all(Carrier::Card, Oracle::DoubleCollect);
}

#[test]
fn tables_equal_a_sorted_map_where_memory_is_coherent() {
    run_all(Carrier::Caller, Oracle::DoubleCollect);
}

#[test]
fn tables_equal_a_sorted_map_where_servers_execute_verbs() {
    run_all(Carrier::Server, Oracle::DoubleCollect);
}

#[test]
fn tables_equal_a_sorted_map_under_frozen_vectors() {
    run_all(Carrier::Card, Oracle::Frozen);
}
