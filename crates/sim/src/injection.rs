//! What can be done to a world from outside: faults, planned or at once, and what they came to.

use crate::coverage::Coverage;
use crate::env::Endpoint;
use crate::fault::{Fault, FaultKind, FaultRate, Memory, PlannedFault};
use crate::state::Core;
use crate::world::World;
use fabric::Mutant;
use layout::NodeId;
use std::collections::BTreeMap;

impl World {
    /// Kills the group of whoever arrives at `point` as the `nth`, counted from 1. In a service's handler
    /// that is all services of its node, whose memory still answers verbs.
    pub fn kill_at(&self, point: &str, nth: u64) {
        self.core(|core| core.points.plan(point, nth, Fault::KillArriving));
    }

    /// Kills the node of whoever arrives at `point` as the `nth`, with its memory.
    pub fn kill_node_at(&self, point: &str, nth: u64) {
        self.core(|core| core.points.plan(point, nth, Fault::CrashArriving));
    }

    /// Holds whoever arrives at `point` as the `nth` for a while.
    pub fn hold_at(&self, point: &str, nth: u64, duration_ns: u64) {
        self.core(|core| {
            core.points.plan(point, nth, Fault::HoldArriving { lasts_ns: duration_ns })
        });
    }

    /// Pauses the process of whoever arrives at `point` as the `nth`.
    pub fn pause_at(&self, point: &str, nth: u64, duration_ns: u64) {
        self.core(|core| {
            core.points.plan(point, nth, Fault::PauseArriving { lasts_ns: duration_ns });
        });
    }

    /// Does what `fault` says, now.
    ///
    /// # Panics
    /// If the fault happens to a batch or to whoever arrives at a failure point: see [`World::plan`].
    pub fn inject(&self, fault: &Fault) {
        self.core(|core| core.inject(fault));
        self.bury_unless_driven();
    }

    /// Enters a fault for its moment; one in the past happens next.
    ///
    /// # Panics
    /// If [`PlannedFault::check`] refuses it.
    pub fn plan(&self, planned: &PlannedFault) {
        self.core(|core| core.plan_fault(planned));
    }

    /// Stops the process of `env` until it is resumed. What it has posted still happens.
    pub fn pause(&self, env: &Endpoint) {
        self.core(|core| core.pause_group(env.group(), u64::MAX));
    }

    /// Lets a paused process go on: it does now what it would have done meanwhile.
    pub fn resume(&self, env: &Endpoint) {
        self.core(|core| core.resume_group(env.group()));
    }

    /// Opens the link from one node to another again.
    pub fn heal(&self, from: NodeId, to: NodeId) {
        self.core(|core| core.links.heal(from, to));
    }

    /// From now on faults happen by chance at these rates, in place of those of [`crate::SimConfig::faults`]:
    /// for runs that begin when everything has been set up.
    ///
    /// # Panics
    /// If faults of a kind do not happen by chance, see [`FaultKind::has_rate`].
    pub fn start_faults(&self, rates: &BTreeMap<FaultKind, FaultRate>) {
        self.core(|core| core.injector.start(rates, core.now_ns));
    }

    /// From now on nothing goes wrong: neither by chance nor by plan; links heal, cards are quick, the
    /// paused go on, clocks run true, memory is handed out. Who was killed stays dead, but for crashed
    /// nodes whose restart is planned. Then whoever is alive must come to an end.
    pub fn stop_faults(&self) {
        self.core(Core::stop_faults);
    }

    /// How often each kind of fault had an effect, and each failure point was reached.
    pub fn coverage(&self) -> Coverage {
        self.core(|core| Coverage {
            faults: core.injector.counts(),
            reached: core.points.reached().clone(),
            killed: core.points.killed().clone(),
        })
    }

    /// The faults that have happened by chance so far, as a plan: a world with the same seed, this plan and
    /// no [`crate::SimConfig::faults`] runs alike, and one with parts of it is a smaller run.
    pub fn faults_by_chance(&self) -> Vec<PlannedFault> {
        self.core(|core| core.injector.happened().to_vec())
    }

    /// Kills the group of `env`: its tasks never run again. What it has posted may still happen.
    pub fn kill(&self, env: &Endpoint) {
        self.core(|core| core.kill_group(env.group()));
        self.bury_unless_driven();
    }

    /// Kills the services of `node`; its memory still answers verbs.
    pub fn kill_services(&self, node: NodeId) {
        self.core(|core| {
            let group = core.nodes[usize::from(node.0)].services;
            core.kill_group(group);
        });
        self.bury_unless_driven();
    }

    /// Kills `node` with all its endpoints, its services, and its memory, which keeps its words but
    /// answers no verbs.
    pub fn kill_node(&self, node: NodeId) {
        self.core(|core| core.kill_node(node));
        self.bury_unless_driven();
    }

    /// Lets a node whose services were killed answer calls, and verbs, again.
    pub fn revive_node(&self, node: NodeId) {
        self.core(|core| core.revive_node(node));
    }

    /// Begins the next life of `node`, after a crash if it is alive. Its endpoints are dead, so make new
    /// ones; verbs and keys of its earlier life are refused once to each process. With [`Memory::Lost`] its
    /// services are forgotten, too: register them again.
    pub fn restart_node(&self, node: NodeId, memory: Memory) {
        self.core(|core| core.restart_node(node, memory));
        self.bury_unless_driven();
    }

    fn bury_unless_driven(&self) {
        if !self.shared.is_driven.get() {
            self.bury();
        }
    }

    /// How often each failure point was reached.
    pub fn reached(&self) -> BTreeMap<&'static str, u64> {
        self.core(|core| core.points.reached().clone())
    }

    /// How often somebody asked whether the guard of this mutant is removed.
    pub fn mutant_asked(&self, mutant: Mutant) -> u64 {
        self.core(|core| core.points.asked(mutant))
    }
}
