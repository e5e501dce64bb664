//! TATP in simulated worlds: terminals on compute servers of their own, recorded and judged, under
//! both isolation levels.

use super::*;
use crate::driver::RunTotals;
use crate::simulated;
use sim::{Carrier, SimConfig, World};
use std::cell::RefCell;
use std::rc::Rc;

/// Words of each memory server.
const SERVER_WORDS: u64 = 4 << 20;
const SERVERS: u16 = 2;
/// Terminals, each on a compute server.
const TERMINALS: u32 = 3;
/// Transactions of a terminal.
const TRANSACTIONS: u32 = 200;
/// So few that transactions conflict.
const SUBSCRIBERS: u32 = 12;

fn keeps_every_check(carrier: Carrier, seed: u64, isolation: Isolation) -> RunTotals {
    let config = SimConfig::hostile(seed)
        .named(format!("TATP, {isolation:?}"))
        .with_servers(&[SERVER_WORDS; SERVERS as usize]);
    let world = World::new(config.carried_by(carrier));
    let identity = world.identity();
    let (admin, database) = simulated::open(&world);
    let config = TatpConfig { isolation, recorded: true, seed, ..TatpConfig::new(SUBSCRIBERS) };
    let tatp = Tatp::new(config).expect("the configuration makes sense");
    let mut lane = world.block_on(&admin, async {
        tatp.create_tables(&database).await.expect("the tables are new");
        let mut lane = database.lane().await.expect("lanes are free");
        tatp.load_part(&database, &mut lane, 0, 1, &|_| {}).await.expect("it fits");
        lane.rest().await.expect("the oracle answers");
        lane
    });
    let totals = Rc::new(RefCell::new(RunTotals::new(TYPES.len())));
    for number in 0..TERMINALS {
        let endpoint = world.endpoint(world.compute_node(number as u16));
        let database = database.elsewhere(endpoint.clone().into_dyn());
        let (totals, tatp) = (totals.clone(), tatp.clone());
        world.spawn_on(&endpoint, async move {
            database.refresh().await.expect("the servers answer");
            let mut lane = database.lane().await.expect("lanes are free");
            let mut terminal =
                tatp.terminal(&database, number, TERMINALS, seed).expect("the tables are there");
            for _ in 0..TRANSACTIONS {
                let finished = tatp.run_one(&mut lane, &mut terminal).await;
                totals.borrow_mut().add(&finished.expect("nothing is wrong"));
            }
        });
    }
    assert_eq!(world.run_until_idle(), 0, "{identity}: tasks wait for ever");
    let totals = totals.replace(RunTotals::new(TYPES.len()));
    let results = world.block_on(&admin, tatp.check(&database, &mut lane, &totals, false));
    let results = results.expect("the scan succeeds");
    let failed: Vec<_> = results.iter().filter(|result| !result.ok).collect();
    assert!(failed.is_empty(), "{identity}: {failed:#?}");
    let report = world.block_on(&admin, database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()), "{identity}");
    assert!(totals.committed() > 300, "{identity}: {totals:?}");
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
