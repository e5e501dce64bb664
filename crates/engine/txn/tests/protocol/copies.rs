//! Copied tables in hostile worlds: sessions read different copies, and all of them write.

use crate::random::{FASTEST, Mix, SNAPSHOT, TIGHT, check_all};
use crate::support::cluster::Cluster;
use crate::support::{STORAGES, VALUE, key, table};
use fabric::DynEnv;
use sim::SimConfig;
use std::cell::Cell;
use std::rc::Rc;
use txn::{Database, DatabaseConfig, Isolation, Outcome, TableId, TxnError};

const COPIED: Mix = Mix { is_copied: true, ..SNAPSHOT };
const COPIED_TIGHT: Mix = Mix { is_copied: true, ..TIGHT };

#[test]
fn each_snapshot_has_one_state_of_all_copies() {
    check_all(COPIED, 0..300);
    check_all(Mix { has_notes: true, ..COPIED }, 0..100);
}

#[test]
fn serializable_transactions_on_different_copies_have_an_order() {
    check_all(Mix { isolation: Isolation::Serializable, ..COPIED }, 0..300);
    check_all(Mix { isolation: Isolation::Serializable, ..COPIED_TIGHT }, 0..100);
}

#[test]
fn growth_and_collection_of_copies_hide_nothing() {
    check_all(COPIED_TIGHT, 0..200);
    let with_notes = Mix { keys: 3, has_notes: true, ..COPIED_TIGHT };
    check_all(with_notes, 0..100);
    check_all(Mix { notes_in_row: Some(150), ..with_notes }, 0..50);
    check_all(Mix { notes_in_row: Some(41), ..with_notes }, 50..100);
}

#[test]
fn the_fastest_configuration_shows_snapshots_of_copies() {
    check_all(Mix { is_copied: true, ..FASTEST }, 0..200);
    let tight =
        Mix { transactions: TIGHT.transactions, keys: TIGHT.keys, is_tight: true, ..FASTEST };
    check_all(Mix { is_copied: true, ..tight }, 0..100);
}

/// Number of rounds per world in which two writers meet.
const ROUNDS: i32 = 20;
/// The row that they change; in every other round they insert a row instead.
const COUNTED: i32 = 1000;

/// Adds one to a row, or inserts it.
async fn count(database: &Database<DynEnv>, table: TableId, id: i32) -> Result<Outcome, TxnError> {
    let mut lane = database.lane().await.expect("there are slots");
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    let (row, value) = match txn.read(table, &key(id)).await? {
        Some(row) => (row, txn.row(row).int(VALUE)),
        None => (txn.insert(table, &key(id)).await?, 0),
    };
    txn.update(row).set_int(VALUE, value + 1);
    Ok(txn.commit().await)
}

/// Two writers of one row, each with a different copy as its nearest, do not both abort: they would
/// do so again.
#[test]
fn of_two_writers_that_meet_one_commits() {
    let mut met = 0;
    for (seed, storage) in (0..90).zip(STORAGES.into_iter().cycle()) {
        let config = SimConfig::hostile(seed).named("two writers meet".to_owned());
        let cluster = Cluster::new(config, 2, DatabaseConfig::default());
        // Without an index: an insert with an entry locks two words of each copy.
        let table = cluster.create_copied(table("t", storage, Vec::new())).table;
        let homes = [cluster.compute(0), cluster.compute(1)];
        let first = cluster.admin(count(&homes[0], table, COUNTED));
        assert_eq!(first.expect("no other client runs"), Outcome::Committed);
        let mut counted = 1;
        for round in 0..ROUNDS {
            let id = if round % 2 == 0 { COUNTED } else { round };
            let outcomes = homes.each_ref().map(|home| {
                let (home, outcome) = (home.clone(), Rc::new(Cell::new(None)));
                let result = outcome.clone();
                cluster.world.spawn_on(&home.env().clone(), async move {
                    let ended = count(&home, table, id).await;
                    result.set(Some(matches!(ended, Ok(Outcome::Committed))));
                });
                outcome
            });
            assert_eq!(cluster.world.run_until_idle(), 0, "{}", cluster.world.identity());
            let committed = outcomes.iter().filter(|outcome| outcome.get() == Some(true)).count();
            assert!(committed > 0, "round {round}: {}", cluster.world.identity());
            met += usize::from(committed == 1);
            counted += if round % 2 == 0 { committed as i64 } else { 0 };
        }
        for home in &homes {
            let found = cluster.admin(async {
                let mut lane = home.lane().await.expect("there are slots");
                let mut txn = lane.begin(Isolation::Snapshot).await.expect("begins");
                let row = txn.read(table, &key(COUNTED)).await.expect("readable");
                txn.row(row.expect("it was created")).int(VALUE)
            });
            assert_eq!(found, counted, "{}", cluster.world.identity());
        }
        cluster.check();
    }
    assert!(met > 90, "too few writers met: {met}");
}
