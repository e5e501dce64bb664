//! TPC-C in simulated worlds: terminals on compute servers of their own, under both isolation
//! levels.

use super::*;
use crate::simulated;
use fabric::DynEnv;
use sim::{Carrier, SimConfig, World};
use std::cell::RefCell;
use std::rc::Rc;

/// Words of each memory server.
const SERVER_WORDS: u64 = 4 << 20;
const SERVERS: u16 = 2;
/// Terminals, each on a compute server.
const TERMINALS: u32 = 3;
/// Transactions of a terminal.
const TRANSACTIONS: u32 = 60;

fn keeps_every_check(carrier: Carrier, seed: u64, isolation: Isolation) -> RunTotals {
    let config = SimConfig::hostile(seed)
        .named(format!("TPC-C, {isolation:?}"))
        .with_servers(&[SERVER_WORDS; SERVERS as usize]);
    let world = World::new(config.carried_by(carrier));
    let identity = world.identity();
    let (admin, database) = simulated::open(&world);
    let config = Config { scale: Scale::TINY, seed, isolation, ..Config::new(1) };
    let tpcc = Tpcc::new(config).expect("the configuration makes sense");
    let mut lane = world.block_on(&admin, async {
        tpcc.create_tables(&database).await.expect("the tables are new");
        let mut lane = database.lane().await.expect("lanes are free");
        let parts = Workload::<DynEnv>::load_parts(&tpcc);
        for part in 0..parts {
            tpcc.load_part(&database, &mut lane, part, parts, &|_| {}).await.expect("it fits");
        }
        lane.rest().await.expect("the oracle answers");
        lane
    });
    let totals = Rc::new(RefCell::new(RunTotals::new(TYPE_COUNT)));
    for number in 0..TERMINALS {
        let endpoint = world.endpoint(world.compute_node(number as u16));
        let database = database.elsewhere(endpoint.clone().into_dyn());
        let totals = totals.clone();
        world.spawn_on(&endpoint, async move {
            database.refresh().await.expect("the servers answer");
            let mut lane = database.lane().await.expect("lanes are free");
            let mut terminal =
                tpcc.terminal(&database, number, TERMINALS, seed).expect("the tables are there");
            for _ in 0..TRANSACTIONS {
                let finished = tpcc.run_one(&mut lane, &mut terminal).await;
                totals.borrow_mut().add(&finished.expect("nothing is wrong"));
            }
        });
    }
    assert_eq!(world.run_until_idle(), 0, "{identity}: tasks wait for ever");
    let totals = totals.replace(RunTotals::new(TYPE_COUNT));
    let results = world.block_on(&admin, tpcc.check(&database, &mut lane, &totals, false));
    assert_all_hold(&results.expect("the scan succeeds"));
    let report = world.block_on(&admin, database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()), "{identity}");
    assert!(totals.committed() > 100, "{identity}: {totals:?}");
    totals
}

fn all_kinds_of_memory(isolation: Isolation) {
    for seed in 0..3 {
        for carrier in [Carrier::Card, Carrier::Caller, Carrier::Server] {
            keeps_every_check(carrier, seed, isolation);
        }
    }
}

#[test]
fn snapshots_keep_every_check() {
    all_kinds_of_memory(Isolation::Snapshot);
}

#[test]
fn serializable_transactions_keep_every_check() {
    all_kinds_of_memory(Isolation::Serializable);
}
