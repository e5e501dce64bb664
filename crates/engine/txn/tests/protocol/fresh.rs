//! Frozen vectors are no older than the engine promises: a compute server that has just joined, or
//! only reads, sees the commits of another that is now idle.

use crate::catalog::write_into;
use crate::support::cluster::Cluster;
use crate::support::{STORAGES, VALUE, key, table};
use fabric::{DynEnv, Env};
use layout::Storage;
use sim::{Carrier, SimConfig};
use txn::{DatabaseConfig, Isolation, Lane, Oracle, Outcome, TableId};

const ROWS: i32 = 20;
/// Every snapshot covers commits that are older than this.
const STALE_NS: u64 = 1_000_000;

/// The value of a row, and the time at which its transaction began.
async fn value(lane: &mut Lane<DynEnv>, table: TableId, id: i32) -> (Option<i64>, u64) {
    let began_ns = lane.env().now_ns();
    let mut txn = lane.begin(Isolation::Snapshot).await.expect("the oracle answers");
    let row = txn.read(table, &key(id)).await.expect("readable");
    let value = row.map(|row| txn.row(row).int(VALUE));
    // Commit: after a transaction that did not, the lane takes a newer snapshot.
    assert_eq!(txn.commit().await, Outcome::Committed);
    (value, began_ns)
}

fn look(carrier: Carrier, seed: u64, storage: Storage, shares_slot: bool) {
    let config = SimConfig::hostile(seed).named(format!("fresh snapshots of a {storage:?}"));
    let settings = DatabaseConfig { oracle: Oracle::Frozen, shares_slot, ..Default::default() };
    let cluster = Cluster::new(config.carried_by(carrier), 2, settings);
    let identity = cluster.world.identity();
    let created = cluster.admin(cluster.database.create_table(table("t", storage, Vec::new())));
    let table = created.expect("no other client runs");
    let mut writer = cluster.lane();
    for id in 0..ROWS {
        assert!(cluster.admin(write_into(&mut writer, table, id, 1, 0)), "{identity}");
    }
    // A new compute server sees all rows at once, the last one first.
    let home = cluster.compute(1);
    let env = home.env().clone();
    let mut reader = cluster.world.block_on(&env, async {
        home.refresh().await.expect("the servers answer");
        home.lane().await.expect("a lane")
    });
    for id in (0..ROWS).rev() {
        let (seen, _) = cluster.world.block_on(&env, value(&mut reader, table, id));
        assert_eq!(seen, Some(1), "{identity}: row {id}");
    }
    // A reader sees later commits soon, although the writer is idle again.
    for version in 2..6 {
        assert!(cluster.admin(write_into(&mut writer, table, 0, version, 0)), "{identity}");
        let written_ns = cluster.world.now_ns();
        loop {
            let (seen, began_ns) = cluster.world.block_on(&env, value(&mut reader, table, 0));
            if seen == Some(version) {
                break;
            }
            assert_eq!(seen, Some(version - 1), "{identity}");
            assert!(began_ns <= written_ns + STALE_NS, "{identity}: version {version}");
        }
    }
}

#[test]
fn commits_of_an_idle_compute_server_are_seen() {
    for seed in 0..60 {
        let storage = STORAGES[seed as usize % STORAGES.len()];
        look(Carrier::Card, seed, storage, seed % 2 == 0);
        look(Carrier::Caller, seed, storage, seed % 2 == 1);
    }
}
