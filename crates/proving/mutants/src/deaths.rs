//! Deaths: compute servers die while sessions run, are fenced, and a survivor recovers them.
//!
//! A compute server is a node here: all of its sessions die together, each in the middle of
//! something. The others run on, and meet the locks of the dead before, during and after the
//! recovery.

use crate::dice::Dice;
use crate::run::Scene;
use fabric::{DynEnv, Env};
use layout::{NodeId, RegionId};
use sim::{Endpoint, Fault};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use txn::server::returned_services;
use txn::{CopyCounts, Database, Pace};

/// Nodes with sessions, where some die. Node 0 has the survivor.
const NODES: u64 = 3;
/// Shortest time between two deaths, and how often it may be doubled.
const LIFE_NS: u64 = 1 << 10;
const LIFE_DOUBLINGS: u64 = 12;
/// Longest time from a death to its fence.
const UNFENCED_NS_MAX: u64 = 200_000;
/// Longest time from the death of a compute server to that of a memory server beside it.
const BETWEEN_NS_MAX: u64 = 50_000;
/// Longest time until no lock of a closed region is held.
const DRAIN_NS_MAX: u64 = 10_000_000_000;
/// Pause before the trees of a promoted region are completed again.
const FINISH_AGAIN_NS: u64 = 1_000_000;
/// The random stream of deaths.
const STREAM: u64 = 2000;
/// The identities of sessions, and of survivors.
const MEMBERS: u64 = 100;
const SURVIVORS: u64 = 200;

/// A session that may die.
pub(crate) struct Mortal {
    number: u64,
    node: u16,
    env: Endpoint,
    pub has_ended: Rc<Cell<bool>>,
}

impl Mortal {
    pub fn new(number: u64, node: u16, env: Endpoint) -> Self {
        Self { number, node, env, has_ended: Rc::default() }
    }
}

/// The recovery of dead compute servers by a survivor.
#[derive(Clone)]
pub(crate) struct Recovery {
    survivor: Database<DynEnv>,
    dead: BTreeSet<u64>,
    has_ended: Rc<Cell<bool>>,
}

/// The identity of a session's compute server.
pub(crate) fn member(session: u64) -> u64 {
    MEMBERS + session
}

impl Scene {
    /// The node of a session.
    pub(crate) fn node_of(&self, session: u64) -> u16 {
        match self.kind.deaths {
            0 => session as u16 % 4,
            _ => 1 + (session % NODES) as u16,
        }
    }

    /// Lets compute servers die, one after another, and be recovered. A memory server may die
    /// shortly after the last of them, before anybody notices.
    pub(crate) fn kill_some(
        &self,
        mortal: &mut Vec<Mortal>,
        running: &Rc<Cell<u64>>,
    ) -> (Vec<Recovery>, Option<NodeId>) {
        let mut recoveries = Vec::new();
        let mut crashed = None;
        let mut dice = Dice::new(self.seed, STREAM);
        let first = dice.below(NODES);
        let count = self.kind.deaths.min(NODES - 1);
        for death in 0..count {
            self.world.run_for(LIFE_NS << dice.below(LIFE_DOUBLINGS));
            let node = 1 + ((first + death) % NODES) as u16;
            let dying: Vec<Mortal> = mortal.extract_if(.., |one| one.node == node).collect();
            for one in &dying {
                self.world.kill(&one.env);
                if !one.has_ended.get() {
                    running.set(running.get() - 1);
                }
            }
            if death + 1 == count && self.kind.server_deaths > 0 && dice.percent(50) {
                self.world.run_for(1 + dice.below(BETWEEN_NS_MAX));
                let node = NodeId(dice.below(u64::from(self.world.server_count())) as u16);
                self.world.inject(&Fault::Crash { node });
                crashed = Some(node);
            }
            self.world.run_for(1 + dice.below(UNFENCED_NS_MAX));
            self.world.inject(&Fault::Fence { node: self.world.compute_node(node) });
            let dead: BTreeSet<u64> = dying.iter().map(|one| member(one.number)).collect();
            let survivor = self.database.elsewhere(self.admin.clone().into_dyn());
            let survivor = survivor.as_member(SURVIVORS + death);
            recoveries.push(self.start_recovery(survivor, dead));
        }
        (recoveries, crashed)
    }

    fn start_recovery(&self, survivor: Database<DynEnv>, dead: BTreeSet<u64>) -> Recovery {
        let recovery = Recovery { survivor, dead, has_ended: Rc::default() };
        let Recovery { survivor, dead, has_ended } = recovery.clone();
        self.world.spawn_on(&self.admin, async move {
            let recovered = survivor.recover(&dead).await;
            recovered.expect("the data of dead memory servers has replicas");
            has_ended.set(true);
        });
        recovery
    }

    /// Lets memory servers die, one after another; the first may have crashed already. Each time
    /// all compute servers drain, and then a replica is promoted.
    pub(crate) fn lose_servers(
        &self,
        used: &[Database<DynEnv>],
        recoveries: &[Recovery],
        crashed: Option<NodeId>,
    ) {
        let mut dice = Dice::new(self.seed, STREAM + 1);
        let mut returning = Dice::new(self.seed, STREAM + 2);
        let count = u64::from(self.world.server_count());
        let first = dice.below(count);
        for death in 0..self.kind.server_deaths {
            let node = match crashed {
                Some(node) if death == 0 => node,
                _ => {
                    self.world.run_for(LIFE_NS << dice.below(LIFE_DOUBLINGS));
                    let node = NodeId(((first + death) % count) as u16);
                    self.world.inject(&Fault::Crash { node });
                    node
                }
            };
            self.world.run_for(1 + dice.below(UNFENCED_NS_MAX));
            self.world.inject(&Fault::Fence { node });
            let closed = self.world.close_regions_of(node);
            self.await_drained(used, recoveries, closed.contains(&self.oracle_region()));
            for region in closed {
                let prepared = self.database.elsewhere(self.admin.clone().into_dyn());
                let prepared = async move { prepared.prepare_promotion(region).await };
                self.world.block_on(&self.admin, prepared).expect("a replica lives");
                assert!(self.world.promote(region), "a replica lives");
                let survivor = self.database.elsewhere(self.admin.clone().into_dyn());
                self.world.spawn_on(&self.admin, async move {
                    // The next death may interrupt it.
                    while survivor.finish_promotion(region).await.is_err() {
                        survivor.env().sleep_ns(FINISH_AGAIN_NS).await;
                    }
                });
            }
            if self.kind.returns {
                self.return_server(node, used, recoveries, &mut returning);
            }
        }
    }

    /// Lets a server that has died return and be filled. It may die again in the middle of it.
    fn return_server(
        &self,
        node: NodeId,
        used: &[Database<DynEnv>],
        recoveries: &[Recovery],
        dice: &mut Dice,
    ) {
        let mut dies_again = dice.percent(25);
        loop {
            self.world.run_for(LIFE_NS << dice.below(LIFE_DOUBLINGS));
            assert!(self.world.take_back(node), "its regions have other places");
            let region = RegionId(node.0);
            for (id, service) in returned_services(region, self.world.region_bytes(region)) {
                self.world.register(node, id, service);
            }
            let (words, pause_ns) = (64 << dice.below(8), 1 << dice.below(12));
            let pace = Pace { words, pieces: 1, pause_ns, deadline_ns: u64::MAX };
            let filler = self.database.elsewhere(self.admin.clone().into_dyn());
            let copied = self
                .world
                .block_on(&self.admin, filler.copy_to(node, pace, &CopyCounts::default()));
            copied.expect("the servers live");
            self.world.run_for(LIFE_NS << dice.below(LIFE_DOUBLINGS));
            self.await_changes(node, used);
            assert!(self.world.begin_filling(node), "no region is closed");
            if std::mem::take(&mut dies_again) {
                self.world.run_for(1 + dice.below(UNFENCED_NS_MAX));
                self.world.inject(&Fault::Crash { node });
                self.world.run_for(1 + dice.below(UNFENCED_NS_MAX));
                self.world.inject(&Fault::Fence { node });
                assert!(self.world.close_regions_of(node).is_empty(), "it is no primary");
                continue;
            }
            self.await_drained(used, recoveries, true);
            let copied = self.world.block_on(&self.admin, filler.finish_copy(node, u64::MAX));
            copied.expect("the world stands still");
            assert!(self.world.end_filling(node), "the servers live");
            return;
        }
    }

    /// Waits until no change of the catalog is under way.
    fn await_changes(&self, node: NodeId, used: &[Database<DynEnv>]) {
        assert!(self.world.defer_changes(node), "no region is closed");
        for database in used {
            let ended = self.world.block_on(&self.admin, database.await_changes(u64::MAX));
            assert!(ended, "there is no deadline");
        }
    }

    fn oracle_region(&self) -> RegionId {
        self.database.root().oracle.region()
    }

    /// Waits until nothing holds a lock of a closed region. The dead are recovered by then; if the
    /// world stands still, when all others have drained.
    fn await_drained(&self, used: &[Database<DynEnv>], recoveries: &[Recovery], is_still: bool) {
        let survivors = recoveries.iter().map(|recovery| &recovery.survivor);
        let drained = Rc::new(Cell::new(0));
        let mut drains = 0;
        for database in used.iter().chain(survivors) {
            let (database, drained) = (database.clone(), drained.clone());
            drains += 1;
            self.world.spawn_on(&self.admin, async move {
                assert!(database.drain(u64::MAX).await, "there is no deadline");
                drained.set(drained.get() + 1);
            });
        }
        let begun_ns = self.world.now_ns();
        let are_recovered =
            || is_still || recoveries.iter().all(|recovery| recovery.has_ended.get());
        while drained.get() < drains || !are_recovered() {
            self.world.run_for(UNFENCED_NS_MAX);
            let is_late = self.world.now_ns() > begun_ns + DRAIN_NS_MAX;
            assert!(!is_late, "a lock of a closed region is held for ever");
        }
        for Recovery { survivor, dead, .. } in
            recoveries.iter().filter(|recovery| !recovery.has_ended.get())
        {
            let recovered = self.world.block_on(&self.admin, survivor.recover_at_rest(dead));
            recovered.expect("the data of dead memory servers has replicas");
        }
    }

    /// Releases the locks that no journal names, before the last reader meets one.
    pub(crate) fn release_stray_locks(&self) {
        let released = self.world.block_on(&self.admin, self.database.release_stray_locks());
        released.expect("all memory servers are alive");
    }

    /// The defects of a database whose dead compute servers were recovered. Memory of their pools,
    /// and garbage that they have not collected, stay.
    pub(crate) fn check_after_deaths(&self) -> Vec<String> {
        let checked = self.world.block_on(&self.admin, self.database.check());
        checked.expect("all memory servers are alive").defects()
    }
}
