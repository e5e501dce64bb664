//! Slots of the vector when lanes start at the same time.

use crate::support::cluster::Cluster;
use fabric::Env;
use sim::{AsEndpoint, SimConfig};
use std::cell::RefCell;
use std::rc::Rc;
use txn::DatabaseConfig;

const LANES: u64 = 4;
/// A compute server whose lanes share slots has two.
const SLOTS_EACH: u32 = 2;

/// A regression test: when the first lanes of a compute server started at the same time, each took
/// two slots, and all but two stayed taken for ever.
#[test]
fn first_lanes_that_start_together_take_slots_once() {
    for seed in 0..50 {
        let shares = DatabaseConfig { shares_slot: true, slots: 8, ..DatabaseConfig::default() };
        let cluster = Cluster::new(SimConfig::hostile(seed).named("first lanes"), 1, shares);
        let home = cluster.compute(1);
        let lanes = Rc::new(RefCell::new(Vec::new()));
        for number in 0..LANES {
            let lanes = lanes.clone();
            let home =
                home.with_env(cluster.world.endpoint(home.env().endpoint().node()).into_dyn());
            cluster.world.spawn_on(&home.env().clone(), async move {
                home.env().sleep_ns(number * seed * 100).await;
                let lane = home.lane().await.expect("there are slots");
                lanes.borrow_mut().push(lane);
            });
        }
        assert_eq!(cluster.world.run_until_idle(), 0, "{}", cluster.world.identity());
        assert_eq!(lanes.borrow().len() as u64, LANES);
        let supply = cluster.admin(cluster.database.slots()).expect("the server lives");
        assert_eq!(supply.free, supply.all - SLOTS_EACH, "{}", cluster.world.identity());
    }
}
