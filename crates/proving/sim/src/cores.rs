//! The cores of nodes in virtual time: the core time of a task between two awaits, and its waiting
//! for a core.
//!
//! A woken task takes the core of its node that is free first, in the order of waking, for a time
//! drawn from [`crate::SimConfig::core_cost_ns`]; its actions take effect at the end of that time.
//! Without a configured number of cores there are as many as tasks.

use crate::config::SimConfig;
use crate::scheduler::{Happening, TaskId};
use crate::state::Core;

/// The time at which each core of each node is free again.
pub(crate) struct Cores {
    free_ns: Vec<Vec<u64>>,
    /// Whether running takes time.
    pub(crate) take_time: bool,
}

impl Cores {
    pub(crate) fn new(config: &SimConfig, node_count: u16) -> Self {
        let cores = vec![0; usize::from(config.cores)];
        Self {
            free_ns: vec![cores; usize::from(node_count)],
            take_time: config.core_cost_ns.max_ns > 0,
        }
    }

    /// Takes the core of `node` that is free first for `cost_ns`; returns the end.
    fn take(&mut self, node: usize, now_ns: u64, cost_ns: u64) -> u64 {
        let Some(free_ns) = self.free_ns[node].iter_mut().min() else {
            return now_ns + cost_ns;
        };
        *free_ns = now_ns.max(*free_ns) + cost_ns;
        *free_ns
    }
}

impl Core {
    /// A woken task waits for a core and runs on it.
    pub(crate) fn wait_for_core(&mut self, task: TaskId) {
        let Some(group) = self.tasks.group_of(task) else {
            return;
        };
        let node = usize::from(self.groups[group as usize].node.0);
        let cost_ns = self.config.core_cost_ns.draw(&mut self.random);
        let time_ns = self.cores.take(node, self.now_ns, cost_ns);
        self.queue.push(time_ns, Happening::OnCore { task });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Interval;

    #[test]
    fn tasks_queue_for_the_core_that_is_free_first() {
        let cost = Interval::new(1, 10);
        let config = SimConfig { cores: 2, core_cost_ns: cost, ..SimConfig::new(1) };
        let mut cores = Cores::new(&config, 2);
        let ends: Vec<u64> = [10, 4, 4, 4].map(|cost_ns| cores.take(1, 100, cost_ns)).to_vec();
        assert_eq!(ends, [110, 104, 108, 112]);
        assert_eq!(cores.take(0, 100, 5), 105, "another node has its own");
        let mut cores = Cores::new(&SimConfig { cores: 0, ..config }, 1);
        assert_eq!((cores.take(0, 100, 5), cores.take(0, 100, 5)), (105, 105));
    }
}
