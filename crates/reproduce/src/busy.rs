//! Which stage of which machine a load has filled.

use layout::NodeId;
use sim::{Usage, World};

/// Machines, and what they had been used for when the window opened.
pub(crate) struct Busy {
    nodes: Vec<(NodeId, Usage)>,
    from_ns: u64,
}

impl Busy {
    /// From now on.
    pub(crate) fn since(world: &World, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let nodes = nodes.into_iter().map(|node| (node, world.usage(node))).collect();
        Self { nodes, from_ns: world.now_ns() }
    }

    /// The busiest stage of the busiest of these machines, which is called by its place among them: `cores of
    /// machine 0, at 97 %`.
    pub(crate) fn most(&self, world: &World) -> String {
        let window_ns = world.now_ns() - self.from_ns;
        let places = 0..self.nodes.len();
        let most = places.map(|place| (self.fullest(world, window_ns, place), place));
        let none = ((0.0, "nothing"), 0);
        let ((share, stage), place) =
            most.fold(none, |most, next| if next.0.0 > most.0.0 { next } else { most });
        format!("{stage} of machine {place}, at {:.0} %", 100.0 * share)
    }

    /// The busiest stage of one of these machines: `link out, at 12 %`.
    pub(crate) fn most_of(&self, world: &World, place: usize) -> String {
        let (share, stage) = self.fullest(world, world.now_ns() - self.from_ns, place);
        format!("{stage}, at {:.0} %", 100.0 * share)
    }

    fn fullest(&self, world: &World, window_ns: u64, place: usize) -> (f64, &'static str) {
        let (node, before) = &self.nodes[place];
        let shares = world.usage(*node).shares(before, window_ns);
        let shares = shares.into_iter().map(|(stage, share)| (share, stage));
        shares.fold((0.0, "nothing"), |most, next| if next.0 > most.0 { next } else { most })
    }
}
