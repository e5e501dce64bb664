//! Machines: which nodes are on the same one and share its cores and its card, and how a node reaches memory
//! that is on its own.

use crate::network::Network;
use crate::world::World;
use hardware::Memory;

/// How a compute node reaches memory of its own machine. What runs in a memory server, its mover and the handlers of its
/// calls, has that memory in its own process: its core reads and writes, whichever of these it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reach {
    /// Through the card, as memory of any other machine.
    #[default]
    Card,
    /// Its core reads and writes; atomics go through the card's loopback, because they
    /// are not atomic with what a processor does [ZB17 7.3].
    CoreButAtomics,
    /// Its core does all of it: for cards whose atomics are atomic with those of processors.
    Core,
}

/// Machines that several nodes may share. Each has one card and as many cores as
/// [`hardware::Core::cores`] of the world's [`crate::Network`]; with 0 cores each task has one of its own.
///
/// Tasks take turns on the cores of their machine, first come first served. A turn lasts as long as what the
/// task posts, polls for, serves and executes in it: reads, searches and writes of rows take
/// [`hardware::Core::execute_row_ps`] each, besides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machines {
    /// The machine of each node, by the numbers of both. Machines are counted from 0.
    pub of_nodes: Vec<u16>,
    /// How nodes reach memory of their own machine.
    pub reach: Reach,
}

impl Machines {
    /// Each of so many nodes has a machine of its own.
    pub fn apart(nodes: u16) -> Self {
        Self { of_nodes: (0..nodes).collect(), reach: Reach::default() }
    }

    /// Compute node i is on the machine of memory server i; nodes without a partner are alone.
    pub fn paired(servers: u16, compute_nodes: u16, reach: Reach) -> Self {
        Self { of_nodes: (0..servers).chain(0..compute_nodes).collect(), reach }
    }

    /// Number of machines.
    pub(crate) fn count(&self) -> usize {
        self.of_nodes.iter().max().map_or(0, |&machine| usize::from(machine) + 1)
    }
}

impl World {
    /// The world has this network and these machines from now on, all of them idle: a world that was loaded once
    /// is measured on several.
    ///
    /// # Panics
    /// When batches or calls are under way or tasks wait for a core, and when the machines do not fit.
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

/// Picoseconds of a core that reads or writes `bytes` of its own machine's memory. Little takes as long as a
/// kilobyte does: most of that is the time until the first of it is there.
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
