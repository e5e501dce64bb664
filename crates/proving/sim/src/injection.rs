//! The interface for injecting faults into a world, planned or at once, and for reading their
//! counters.

use crate::coverage::Coverage;
use crate::env::AsEndpoint;
use crate::fault::{Fault, FaultKind, FaultRate, Memory, PlannedFault};
use crate::state::Core;
use crate::world::World;
use fabric::Mutant;
use layout::NodeId;
use std::collections::BTreeMap;

impl World {
    /// Kills the group of the `nth` arrival at `point`, counted from 1. In a service's handler that
    /// is all services of its node; the node's memory still answers verbs.
    pub fn kill_at(&self, point: &str, nth: u64) {
        self.core(|core| core.points.plan(point, nth, Fault::KillArriving));
    }

    /// Kills the node of the `nth` arrival at `point`, with its memory.
    pub fn kill_node_at(&self, point: &str, nth: u64) {
        self.core(|core| core.points.plan(point, nth, Fault::CrashArriving));
    }

    /// Holds the `nth` arrival at `point` for a while.
    pub fn hold_at(&self, point: &str, nth: u64, duration_ns: u64) {
        self.core(|core| {
            core.points.plan(point, nth, Fault::HoldArriving { lasts_ns: duration_ns })
        });
    }

    /// Pauses the process of the `nth` arrival at `point`.
    pub fn pause_at(&self, point: &str, nth: u64, duration_ns: u64) {
        self.core(|core| {
            core.points.plan(point, nth, Fault::PauseArriving { lasts_ns: duration_ns });
        });
    }

    /// Injects `fault` now.
    ///
    /// # Panics
    /// If the fault affects a batch or an arrival at a failure point: see [`World::plan`].
    pub fn inject(&self, fault: &Fault) {
        self.core(|core| core.inject(fault));
        self.bury_unless_driven();
    }

    /// Adds a fault to the plan; a fault in the past happens next.
    ///
    /// # Panics
    /// If [`PlannedFault::check`] refuses it.
    pub fn plan(&self, planned: &PlannedFault) {
        self.core(|core| core.plan_fault(planned));
    }

    /// Stops the process of `env` until it is resumed. Its posted verbs still take effect.
    pub fn pause(&self, env: &impl AsEndpoint) {
        self.core(|core| core.pause_group(env.endpoint().group(), u64::MAX));
    }

    /// Resumes a paused process: it now does everything that was delayed.
    pub fn resume(&self, env: &impl AsEndpoint) {
        self.core(|core| core.resume_group(env.endpoint().group()));
    }

    /// Opens the link from one node to another again.
    pub fn heal(&self, from: NodeId, to: NodeId) {
        self.core(|core| core.links.heal(from, to));
    }

    /// From now on random faults happen at these rates, which replace those of
    /// [`crate::SimConfig::faults`]: for runs whose faults begin after the set-up.
    ///
    /// # Panics
    /// If faults of a kind are never random, see [`FaultKind::has_rate`].
    pub fn start_faults(&self, rates: &BTreeMap<FaultKind, FaultRate>) {
        self.core(|core| core.injector.start(rates, core.now_ns));
    }

    /// From now on no fault happens, neither random nor planned; links heal, cards are fast, paused
    /// processes continue, clocks run true, and memory is available. Killed processes stay dead,
    /// except that crashed nodes whose restart is planned still restart. After that every live
    /// process must terminate.
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

    /// The random faults so far, as a plan: a world with the same seed, this plan and no
    /// [`crate::SimConfig::faults`] runs alike, and a subset of the plan gives a smaller run.
    pub fn faults_by_chance(&self) -> Vec<PlannedFault> {
        self.core(|core| core.injector.happened().to_vec())
    }

    /// Kills the group of `env`: its tasks never run again. Its posted verbs may still take effect.
    pub fn kill(&self, env: &impl AsEndpoint) {
        self.core(|core| core.kill_group(env.endpoint().group()));
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

    /// Lets a node whose services were killed answer calls and verbs again.
    pub fn revive_node(&self, node: NodeId) {
        self.core(|core| core.revive_node(node));
    }

    /// Restarts `node`, after a crash if it is alive. Its endpoints are dead, so make new ones;
    /// verbs and keys of its earlier incarnation are refused once to each process. With
    /// [`Memory::Lost`] its services are forgotten, too: register them again.
    pub fn restart_node(&self, node: NodeId, memory: Memory) {
        self.core(|core| core.restart_node(node, memory));
        self.bury_unless_driven();
    }

    fn bury_unless_driven(&self) {
        if !self.shared.is_driven.get() {
            self.drop_killed_tasks();
        }
    }

    /// How often each failure point was reached.
    pub fn reached(&self) -> BTreeMap<&'static str, u64> {
        self.core(|core| core.points.reached().clone())
    }

    /// Reads that differ from the shadow history, and misuse of memory, not taken yet.
    pub fn shadow_errors(&self) -> Vec<String> {
        self.core(|core| core.shadow.take_errors())
    }

    /// Pieces of memory in use to which the structural check since the last call has found no way;
    /// in a database at rest, without garbage, there are none.
    pub fn unreached_pieces(&self) -> Vec<String> {
        self.core(|core| core.shadow.take_unreached())
    }

    /// Reads that were compared with the shadow history.
    pub fn checked_reads(&self) -> u64 {
        self.core(|core| core.shadow.checked())
    }

    /// How often the code asked whether the guard of this mutant is removed.
    pub fn mutant_asked(&self, mutant: Mutant) -> u64 {
        self.core(|core| core.points.asked(mutant))
    }
}
