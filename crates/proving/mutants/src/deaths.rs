//! Deaths: compute servers die while sessions run, are fenced, and a survivor recovers them.
//!
//! A compute server is a node here: all of its sessions die together, each in the middle of
//! something. The others run on, and meet the locks of the dead before, during and after the
//! recovery.

use crate::dice::Dice;
use crate::run::Scene;
use fabric::{Batch, Fabric};
use layout::VersionWord;
use sim::{Endpoint, Fault};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Nodes with sessions, where some die. Node 0 has the survivor.
const NODES: u64 = 3;
/// Shortest time between two deaths, and how often it may be doubled.
const LIFE_NS: u64 = 1 << 10;
const LIFE_DOUBLINGS: u64 = 12;
/// Longest time from a death to its fence.
const UNFENCED_NS_MAX: u64 = 200_000;
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

    /// Lets compute servers die, one after another, and be recovered.
    pub(crate) fn kill_some(&self, mortal: &mut Vec<Mortal>, running: &Rc<Cell<u64>>) {
        let mut dice = Dice::new(self.seed, STREAM);
        let first = dice.below(NODES);
        for death in 0..self.kind.deaths.min(NODES - 1) {
            self.world.run_for(LIFE_NS << dice.below(LIFE_DOUBLINGS));
            let node = 1 + ((first + death) % NODES) as u16;
            let dying: Vec<Mortal> = mortal.extract_if(.., |one| one.node == node).collect();
            for one in &dying {
                self.world.kill(&one.env);
                if !one.has_ended.get() {
                    running.set(running.get() - 1);
                }
            }
            self.world.run_for(1 + dice.below(UNFENCED_NS_MAX));
            self.world.inject(&Fault::Fence { node: self.world.compute_node(node) });
            let dead: BTreeSet<u64> = dying.iter().map(|one| member(one.number)).collect();
            let survivor = self.database.elsewhere(self.admin.clone().into_dyn());
            let survivor = survivor.as_member(SURVIVORS + death);
            self.world.spawn_on(&self.admin, async move {
                survivor.recover(&dead).await.expect("the memory servers live");
            });
        }
    }

    /// The defects of a database whose dead compute servers were recovered. Beyond their
    /// commits everything stays: locks of upkeep, garbage, and memory of pools.
    pub(crate) fn check_after_deaths(&self) -> Vec<String> {
        self.world.block_on(&self.admin, async {
            // A leaf that a dead split has left half written cannot be read, and only that.
            let report = match self.database.release_stray_locks().await {
                Ok(_) => self.database.check().await,
                Err(error) => Err(error),
            };
            let report = match report {
                Err(error) if error.to_string().contains("too contended") => return Vec::new(),
                read => read.expect("all memory servers are alive"),
            };
            let mut batch = Batch::new();
            let reads: Vec<_> = report.locks.iter().map(|lock| batch.read(lock.word, 1)).collect();
            let batch = self.database.env().execute(batch).await.expect("they answer");
            let is_of_commit = |at: u32| VersionWord::from_word(batch.word(at)).is_lock_of_commit();
            let locks = reads.iter().zip(&report.locks);
            let left = locks.filter(|(read, _)| is_of_commit(read.at));
            let left: Vec<String> = left.map(|(_, lock)| lock.to_string()).collect();
            report.errors.into_iter().chain(left).collect()
        })
    }
}
