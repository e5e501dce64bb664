//! Deaths: compute servers die while sessions run, are fenced, and a survivor recovers them.
//!
//! A compute server is a node here: all of its sessions die together, each in the middle of
//! something. The others run on, and meet the locks of the dead before, during and after the
//! recovery.

use crate::dice::Dice;
use crate::run::Scene;
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
