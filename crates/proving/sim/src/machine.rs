//! Machines: the nodes that share cores and a card, and how a node accesses memory of its own
//! machine.
//!
//! Decision: docs/decisions/0168-a-memory-server-reaches-its-own-memory-by-its-core.md

use crate::network::Network;
use crate::world::World;
use hardware::Memory;

/// How a compute node accesses memory of its own machine. The mover and the call handlers of a
/// memory server have that memory in their own process: their core reads and writes, whatever this
/// setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reach {
    /// Through the card, as memory of any other machine.
    #[default]
    Card,
    /// Its core reads and writes; atomics go through the card's loopback, because they are not
    /// atomic with the accesses of a processor [ZB17 7.3].
    CoreButAtomics,
    /// Its core does everything: for cards whose atomics are atomic with those of processors.
    Core,
}

/// Machines that several nodes may share. Each has one card and as many cores as
/// [`hardware::Core::cores`] of the world's [`crate::Network`]; with 0 cores each task has a core
/// of its own.
///
/// Tasks take turns on the cores of their machine, first come first served. A turn lasts as long as
/// the task's posting, polling, serving and executing in it: reads, searches and writes of rows
/// take an additional [`hardware::Core::execute_row_ps`] each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machines {
    /// The machine of each node, by node number. Machines are numbered from 0.
    pub of_nodes: Vec<u16>,
    /// How nodes access memory of their own machine.
    pub reach: Reach,
}

impl Machines {
    /// Gives each of `nodes` nodes a machine of its own.
    pub fn apart(nodes: u16) -> Self {
        Self { of_nodes: (0..nodes).collect(), reach: Reach::default() }
    }

    /// Puts compute node i on the machine of memory server i; nodes without a partner are alone.
    pub fn paired(servers: u16, compute_nodes: u16, reach: Reach) -> Self {
        Self { of_nodes: (0..servers).chain(0..compute_nodes).collect(), reach }
    }

    pub(crate) fn count(&self) -> usize {
        self.of_nodes.iter().max().map_or(0, |&machine| usize::from(machine) + 1)
    }
}

impl World {
    /// Installs this network and these machines, all of them idle: one loaded world can be measured
    /// on several.
    ///
    /// # Panics
    /// If batches or calls are under way, if tasks wait for a core, or if the machines do not match
    /// the nodes.
    pub fn set_hardware(&self, network: Option<Network>, machines: Option<Machines>) {
        self.core(|core| {
            core.end_turn();
            let is_idle = core.flights.count() == 0 && core.calls.count() == 0;
            assert!(is_idle && core.turns.are_idle(), "hardware is changed while nobody uses it");
            (core.config.network, core.config.machines) = (network, machines);
            core.install_hardware();
        });
    }
}

/// Picoseconds in which a core reads or writes `bytes` of its own machine's memory. A few bytes
/// take as long as a kilobyte: most of that is latency.
pub(crate) fn local_ps(memory: &Memory, bytes: u64) -> u64 {
    const KILOBYTE: u64 = 1024;
    memory.read_ps(bytes.max(KILOBYTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_share_a_machine_and_the_rest_is_alone() {
        assert_eq!(Machines::paired(3, 2, Reach::Card).of_nodes, [0, 1, 2, 0, 1]);
        assert_eq!(Machines::paired(2, 3, Reach::Card).of_nodes, [0, 1, 0, 1, 2]);
        assert_eq!(
            (Machines::apart(4).count(), Machines::paired(2, 3, Reach::Core).count()),
            (4, 3)
        );
    }
}
