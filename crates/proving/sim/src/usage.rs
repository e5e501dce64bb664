//! The usage of the stages of machines: shows which stage a load saturates first.

use crate::network::NANOSECOND_PS;
use crate::world::World;
use layout::NodeId;

/// How long a machine's stages have been taken since its hardware was installed, in picoseconds of
/// virtual time. A post counts at once, even if it takes a stage later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// The card's engine, for what it issued and served.
    pub engine_ps: u64,
    /// The outgoing link.
    pub link_out_ps: u64,
    /// The incoming link.
    pub link_in_ps: u64,
    /// PCIe, from memory to the card.
    pub from_memory_ps: u64,
    /// PCIe, from the card to memory.
    pub to_memory_ps: u64,
    /// The card's unit for atomics.
    pub atomics_ps: u64,
    /// All cores together, where the world has machines.
    pub cores_ps: u64,
    /// Number of cores without communicators; 0: as many as tasks.
    pub cores: u64,
    /// The sum over all communicators.
    pub communicators_ps: u64,
    pub communicators: u64,
}

impl Usage {
    /// The stages with the share of `window_ns` in which each was used, since the snapshot
    /// `before`. The cores' share is relative to all of them together, or 0 where they are not
    /// counted.
    pub fn shares(&self, before: &Self, window_ns: u64) -> [(&'static str, f64); 8] {
        let share = |now_ps: u64, before_ps: u64, count: u64| {
            let most_ps = window_ns * NANOSECOND_PS * count;
            if most_ps == 0 { 0.0 } else { (now_ps - before_ps) as f64 / most_ps as f64 }
        };
        [
            ("engine", share(self.engine_ps, before.engine_ps, 1)),
            ("link out", share(self.link_out_ps, before.link_out_ps, 1)),
            ("link in", share(self.link_in_ps, before.link_in_ps, 1)),
            ("PCIe from memory", share(self.from_memory_ps, before.from_memory_ps, 1)),
            ("PCIe to memory", share(self.to_memory_ps, before.to_memory_ps, 1)),
            ("atomics", share(self.atomics_ps, before.atomics_ps, 1)),
            ("cores", share(self.cores_ps, before.cores_ps, self.cores)),
            (
                "communicators",
                share(self.communicators_ps, before.communicators_ps, self.communicators),
            ),
        ]
    }
}

impl World {
    /// The usage of the machine of `node`.
    pub fn usage(&self, node: NodeId) -> Usage {
        self.core(|core| {
            let machine = core.machine_of(node);
            let card = core.cards.get(machine).map(|card| card.usage()).unwrap_or_default();
            let (cores_ps, cores) = core.turns.usage(machine);
            let (communicators_ps, communicators) = core.turns.usage_of_communicators(machine);
            Usage { cores_ps, cores, communicators_ps, communicators, ..card }
        })
    }
}
