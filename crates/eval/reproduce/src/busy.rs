//! The stages that a load saturates, by machine.

use layout::NodeId;
use sim::{Usage, World};
use std::fmt;

/// A machine's busiest stage: `cores of machine 0, at 97 %`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Busiest {
    pub stage: &'static str,
    /// The index of the machine.
    pub place: usize,
    /// The share of time in which it was in use; more than 1 if posted work fills it for longer.
    pub share: f64,
}

impl Default for Busiest {
    fn default() -> Self {
        Self { stage: "nothing", place: 0, share: 0.0 }
    }
}

impl fmt::Display for Busiest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of machine {}, at {:.0} %", self.stage, self.place, 100.0 * self.share)
    }
}

/// Machines, and their usage at the beginning of the window.
pub(crate) struct Busy {
    nodes: Vec<(NodeId, Usage)>,
    from_ns: u64,
}

impl Busy {
    /// Starts a window now.
    pub(crate) fn since(world: &World, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let nodes = nodes.into_iter().map(|node| (node, world.usage(node))).collect();
        Self { nodes, from_ns: world.now_ns() }
    }

    /// The busiest stage of the busiest of these machines, in words.
    pub(crate) fn most(&self, world: &World) -> String {
        self.busiest(world).to_string()
    }

    /// The busiest stage of the busiest of these machines.
    pub(crate) fn busiest(&self, world: &World) -> Busiest {
        let all = (0..self.nodes.len()).map(|place| self.busiest_of(world, place));
        all.fold(Busiest::default(), |most, next| if next.share > most.share { next } else { most })
    }

    /// The busiest stage of one of these machines.
    pub(crate) fn busiest_of(&self, world: &World, place: usize) -> Busiest {
        let window_ns = world.now_ns() - self.from_ns;
        let (node, before) = &self.nodes[place];
        let shares = world.usage(*node).shares(before, window_ns);
        let (stage, share) = shares
            .into_iter()
            .fold(("nothing", 0.0), |most, next| if next.1 > most.1 { next } else { most });
        Busiest { stage, place, share }
    }
}
