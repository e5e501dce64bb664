//! A memory server restarts with empty memory. A statement that needs the lost memory reports the
//! damage and its address, or its transaction aborts; nothing panics.

use crate::support::cluster::Cluster;
use crate::support::{GROUP, STORAGES, VALUE, group_key, index, key, table};
use fabric::{DynEnv, Env};
use layout::{IndexKind, Key, NodeId, PartRule, RegionId, Storage};
use sim::{Carrier, Fault, Memory, SimConfig};
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use txn::server::services;
use txn::{
    Abort, CatalogError, Damage, Database, IndexId, Isolation, Lane, Outcome, Scan, ScanSource,
    TableId, Transaction, TxnError,
};

/// Number of worlds for each kind of table and memory.
const SEEDS: u64 = 6;
/// Number of tables of a world, so that some have their root on the lost server.
const TABLES: usize = 4;
/// Number of rows of each table.
const ROWS: i32 = 60;
/// Number of groups of its rows.
const GROUPS: i64 = 5;
/// The lost server; the oracle and the names of tables are on the other one.
const LOST: u16 = 1;

/// A table with its index.
type Place = (TableId, IndexId);

/// The errors that clients received.
#[derive(Debug, Default)]
struct Received {
    damage: Vec<Damage>,
    aborts: Vec<Abort>,
    unexpected: Vec<TxnError>,
}

impl Received {
    fn note<T>(&mut self, result: Result<T, TxnError>) {
        match result {
            Err(error @ TxnError::Damaged(damage)) => {
                assert_eq!(error.abort(), Some(Abort::Damaged));
                self.damage.push(damage);
            }
            Err(TxnError::Abort(abort)) => self.aborts.push(abort),
            // The catalog shard on the lost server is empty again.
            Err(TxnError::Catalog(error))
                if matches!(*error, CatalogError::NoTable(_) | CatalogError::NoIndex(_)) => {}
            // The second client finds the rows that the first has inserted.
            Ok(_) | Err(TxnError::DuplicateKey { .. }) => {}
            Err(other) => self.unexpected.push(other),
        }
    }
}

async fn fill<E: Env>(lane: &mut Lane<E>, (table, _): Place) {
    let mut transaction = lane.begin(Isolation::Snapshot).await.expect("no other client runs");
    for id in 0..ROWS {
        let row = transaction.insert(table, &key(id)).await.expect("there is room");
        let mut record = transaction.update(row);
        record.set_int(VALUE, i64::from(id));
        record.set_int(GROUP, i64::from(id) % GROUPS);
    }
    assert_eq!(transaction.commit().await, Outcome::Committed);
}

/// Reads in every way, each in a transaction of its own, and inserts.
async fn use_table<E: Env>(
    lane: &mut Lane<E>,
    (table, by_group): Place,
    kind: IndexKind,
    received: &mut Received,
) -> Result<(), Abort> {
    let mut rows = Vec::new();
    for id in 0..ROWS {
        let mut transaction = lane.begin(Isolation::Serializable).await?;
        received.note(transaction.read(table, &key(id)).await);
    }
    for group in 0..GROUPS {
        let mut transaction = lane.begin(Isolation::Snapshot).await?;
        received.note(transaction.lookup(by_group, &group_key(group), &mut rows).await);
    }
    if kind == IndexKind::Tree {
        let (low, high) = (Key::lowest(2), Key::highest(2));
        let source = ScanSource::Index(by_group);
        let mut transaction = lane.begin(Isolation::Snapshot).await?;
        let scan = Scan { source, low, high, reverse: false, limit: usize::MAX };
        received.note(transaction.scan(&scan, &mut rows).await);
    }
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    received.note(transaction.for_each(table, &mut |_| {}).await);
    for id in ROWS..2 * ROWS {
        let mut transaction = lane.begin(Isolation::Snapshot).await?;
        match transaction.insert(table, &key(id)).await {
            Ok(row) => {
                transaction.update(row).set_int(GROUP, i64::from(id) % GROUPS);
                if let Outcome::Aborted(abort) = transaction.commit().await {
                    received.aborts.push(abort);
                }
            }
            Err(error) => received.note::<()>(Err(error)),
        }
    }
    Ok(())
}

/// A client that knew the database before the loss, and a new one, use all tables.
fn run(carrier: Carrier, seed: u64, storage: Storage, kind: IndexKind) -> Received {
    let name = format!("memory is lost, {storage:?} {kind:?}");
    let config = SimConfig::hostile(seed).named(name).carried_by(carrier);
    let cluster = Cluster::new(config, 2, Default::default());
    let places: Vec<Place> = (0..TABLES)
        .map(|number| {
            let spec = table(&format!("t{number}"), storage, vec![index(kind, false)]);
            let tables = cluster.create(spec);
            (tables.table, tables.by_group.expect("it was created"))
        })
        .collect();
    let old = cluster.compute(1);
    let use_all = async |database: &Database<DynEnv>, received: &mut Received| {
        if let Err(error) = database.refresh().await {
            received.note::<()>(Err(error.into()));
        }
        for &place in &places {
            let Ok(mut lane) = database.lane().await else { return };
            if let Err(abort) = use_table(&mut lane, place, kind, received).await {
                received.aborts.push(abort);
            }
        }
    };
    let mut received = Received::default();
    cluster.admin(async {
        let mut lane = cluster.database.lane().await.expect("there are slots");
        for &place in &places {
            fill(&mut lane, place).await;
        }
    });
    cluster.world.block_on(&old.env().clone(), async {
        let mut before = Received::default();
        use_all(&old, &mut before).await;
        assert!(before.damage.is_empty() && before.unexpected.is_empty(), "{before:?}");
    });
    cluster.world.restart_node(NodeId(LOST), Memory::Lost);
    let region = RegionId(LOST);
    for (id, service) in services(region, cluster.world.region_bytes(region)) {
        cluster.world.register(NodeId(LOST), id, service);
    }
    for database in [old, cluster.compute(2)] {
        cluster.world.block_on(&database.env().clone(), use_all(&database, &mut received));
    }
    received
}

#[test]
fn lost_memory_is_reported_without_a_panic() {
    for storage in STORAGES {
        for kind in [IndexKind::Hash, IndexKind::Tree] {
            let mut damage = Vec::new();
            for seed in 0..SEEDS {
                for carrier in [Carrier::Card, Carrier::Caller] {
                    let received = run(carrier, seed, storage, kind);
                    assert_eq!(received.unexpected, [], "seed {seed}, {storage:?} with {kind:?}");
                    damage.extend(received.damage);
                }
            }
            assert!(!damage.is_empty(), "no damage is reported for {storage:?} with {kind:?}");
            for damage in damage {
                assert_eq!(damage.at.region(), RegionId(LOST), "{damage}");
            }
        }
    }
}

/// If a part is unreachable at the first use of a table, the lane does not count the table as open.
#[test]
fn an_unreachable_part_is_reported_at_every_read() {
    for storage in STORAGES {
        let config = SimConfig::new(1).named("a part out of reach");
        let cluster = Cluster::new(config, 2, txn::DatabaseConfig::default());
        let spec = table("t", storage, vec![index(IndexKind::Hash, false)]);
        let rule = PartRule::Ranges { smallest: 0, values: ROWS as u64 };
        let made = cluster.admin(cluster.database.create_in_parts(spec, &[0, LOST], rule));
        let table = made.expect("the name is free");
        let mut lane = cluster.lane();
        cluster.world.inject(&Fault::Crash { node: NodeId(LOST) });
        for id in [0, ROWS - 1, ROWS - 1, 0] {
            let read = cluster.admin(async {
                let mut transaction = lane.begin(Isolation::Snapshot).await?;
                transaction.read(table, &key(id)).await
            });
            let is_reported = matches!(read, Err(TxnError::Abort(Abort::Unreachable)));
            assert!(is_reported, "{storage:?} {id}: {read:?}");
        }
    }
}

/// A call without an answer ends its transaction: every later statement reports that, and the
/// commit aborts.
#[test]
fn a_failed_read_ends_its_transaction() {
    for storage in STORAGES {
        let config = SimConfig::new(1).named("on with a transaction that is over");
        let cluster = Cluster::new(config, 2, txn::DatabaseConfig::default());
        let spec = table("t", storage, Vec::new());
        let rule = PartRule::Ranges { smallest: 0, values: ROWS as u64 };
        let made = cluster.admin(cluster.database.create_in_parts(spec, &[0, LOST], rule));
        let table = made.expect("the name is free");
        let mut lane = cluster.lane();
        cluster.admin(async {
            for id in [0, ROWS - 1] {
                let mut transaction = lane.begin(Isolation::Snapshot).await.expect("begins");
                transaction.insert(table, &key(id)).await.expect("is free");
                assert_eq!(transaction.commit().await, Outcome::Committed);
            }
        });
        cluster.world.inject(&Fault::Crash { node: NodeId(LOST) });
        for goes_on in 0..4 {
            let outcome = cluster.admin(async {
                let mut transaction = lane.begin(Isolation::Snapshot).await.expect("begins");
                transaction.insert(table, &key(goes_on + 1)).await.expect("its server is there");
                let row = transaction.read(table, &key(0)).await.expect("its server is there");
                transaction.update(row.expect("it was inserted")).set_int(VALUE, 7);
                let read = transaction.read(table, &key(ROWS - 1)).await;
                assert_eq!(read, Err(TxnError::Abort(Abort::Unreachable)));
                if goes_on % 2 == 1 {
                    for id in [ROWS - 1, 0, ROWS - 1] {
                        let again = transaction.read(table, &key(id)).await;
                        assert_eq!(again, Err(TxnError::Abort(Abort::Unreachable)), "{id}");
                    }
                }
                if goes_on >= 2 {
                    return transaction.commit().await;
                }
                transaction.abort().await;
                Outcome::Aborted(Abort::Unreachable)
            });
            assert_eq!(outcome, Outcome::Aborted(Abort::Unreachable), "{storage:?} {goes_on}");
        }
    }
}

/// A read whose future is dropped may be incomplete, and its batch may have held the rows that the
/// transaction has read. So the transaction has ended, however far the read had come.
#[test]
fn a_dropped_read_ends_its_transaction() {
    for storage in STORAGES {
        let dropped = [false, true].map(|knows_leaves| {
            let was_dropped = |polls: &u32| drops_a_read(storage, knows_leaves, *polls);
            (1..).take_while(was_dropped).count()
        });
        assert!(dropped[0] >= dropped[1] && dropped[1] > 0, "{storage:?}: {dropped:?}");
    }
}

/// Drops a read after this number of polls; returns whether it was still pending.
fn drops_a_read(storage: Storage, knows_leaves: bool, mut polls: u32) -> bool {
    let config = SimConfig::new(1).named(format!("a read that is looked at {polls} times"));
    let cluster = Cluster::new(config, 2, txn::DatabaseConfig::default());
    let table = cluster.create(table("t", storage, Vec::new())).table;
    let mut lane = cluster.lane();
    let mut other = cluster.lane();
    cluster.admin(async {
        let mut transaction = other.begin(Isolation::Snapshot).await.expect("begins");
        transaction.insert(table, &key(2)).await.expect("is free");
        assert_eq!(transaction.commit().await, Outcome::Committed);
        if knows_leaves {
            let mut transaction = lane.begin(Isolation::Snapshot).await.expect("begins");
            assert_eq!(transaction.read(table, &key(1)).await, Ok(None));
            assert_eq!(transaction.commit().await, Outcome::Committed);
        }
        let mut transaction = lane.begin(Isolation::Snapshot).await.expect("begins");
        transaction.insert(table, &key(1)).await.expect("is free");
        let has_ended = {
            let wanted = key(2);
            let mut read = pin!(transaction.read(table, &wanted));
            let look = |context: &mut Context<'_>| {
                if read.as_mut().poll(context).is_ready() {
                    return Poll::Ready(true);
                }
                polls -= 1;
                if polls == 0 { Poll::Ready(false) } else { Poll::Pending }
            };
            poll_fn(look).await
        };
        if has_ended {
            assert_eq!(transaction.commit().await, Outcome::Committed);
            return false;
        }
        let over = Abort::Unreachable;
        let again = transaction.read(table, &key(2)).await;
        assert_eq!(again, Err(TxnError::Abort(over)), "{storage:?} {knows_leaves}");
        assert_eq!(transaction.commit().await, Outcome::Aborted(over));
        let mut transaction = lane.begin(Isolation::Snapshot).await.expect("begins");
        assert_eq!(transaction.read(table, &key(1)).await, Ok(None), "{storage:?}");
        true
    })
}

/// Number of kinds of statements.
const KINDS: u32 = 11;

/// A statement of this kind.
async fn run_statement<E: Env>(
    transaction: &mut Transaction<'_, E>,
    (table, by_group): Place,
    kind: u32,
) -> Result<(), TxnError> {
    let reads = [(table, key(0)), (table, key(1))];
    let keys = [(table, key(2)), (table, key(3))];
    let (low, high) = (key(0), key(1));
    let source = ScanSource::Table(table);
    let scan = Scan { source, low, high, reverse: false, limit: 1 };
    match kind {
        0 => transaction.read(table, &key(0)).await.map(drop),
        1 => transaction.read_many(&reads, &mut Vec::new()).await,
        2 => transaction.insert(table, &key(2)).await.map(drop),
        3 => transaction.insert_many(&keys, &mut Vec::new()).await,
        4 => transaction.scan(&scan, &mut Vec::new()).await,
        5 => transaction.scan_many(&[scan, scan], &mut Vec::new()).await,
        6 => transaction.lookup(by_group, &group_key(0), &mut Vec::new()).await,
        7 => transaction.for_each(table, &mut |_| ()).await,
        8 => transaction.for_each_long(table, &mut |_| ()).await,
        9 => transaction.for_each_long_in_part(table, None, &mut |_| ()).await.map(drop),
        _ => transaction.read_long_many(&[], &mut Default::default()).await,
    }
}

/// A statement that went on would end without an error, and the transaction would commit what its
/// failed statement has left.
#[test]
fn no_kind_of_statement_goes_on_with_a_transaction_that_is_over() {
    let config = SimConfig::new(1).named("every statement after a lost one");
    let cluster = Cluster::new(config, 2, txn::DatabaseConfig::default());
    let create = |name, server| {
        let mut spec = table(name, Storage::Tree, vec![index(IndexKind::Hash, false)]);
        spec.design.server = Some(server);
        let tables = cluster.create(spec);
        (tables.table, tables.by_group.expect("it was created"))
    };
    let (near, (far, _)) = (create("near", 0), create("far", LOST));
    let mut lane = cluster.lane();
    cluster.admin(async {
        let mut transaction = lane.begin(Isolation::Snapshot).await.expect("begins");
        for table in [near.0, far] {
            transaction.insert(table, &key(0)).await.expect("is free");
        }
        assert_eq!(transaction.commit().await, Outcome::Committed);
    });
    cluster.world.inject(&Fault::Crash { node: NodeId(LOST) });
    for kind in 0..KINDS {
        cluster.admin(async {
            let mut transaction = lane.begin(Isolation::Snapshot).await.expect("begins");
            let alone = run_statement(&mut transaction, near, kind).await;
            assert_eq!(alone, Ok(()), "statement {kind}: its server is there");
            transaction.abort().await;

            let over = Abort::Unreachable;
            let mut transaction = lane.begin(Isolation::Snapshot).await.expect("begins");
            let row = transaction.read(near.0, &key(0)).await.expect("its server is there");
            transaction.update(row.expect("it was inserted")).set_int(VALUE, 7);
            let read = transaction.read(far, &key(0)).await;
            assert_eq!(read, Err(TxnError::Abort(over)));
            let next = run_statement(&mut transaction, near, kind).await;
            assert_eq!(next, Err(TxnError::Abort(over)), "statement {kind}");
            assert_eq!(transaction.commit().await, Outcome::Aborted(over), "statement {kind}");
        });
    }
}
