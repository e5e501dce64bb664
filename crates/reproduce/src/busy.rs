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
        let shares = self.nodes.iter().enumerate().flat_map(|(place, (node, before))| {
            let shares = world.usage(*node).shares(before, window_ns);
            shares.into_iter().map(move |(stage, share)| (share, stage, place))
        });
        let most = shares
            .fold((0.0, "nothing", 0), |most, next| if next.0 > most.0 { next } else { most });
        format!("{} of machine {}, at {:.0} %", most.1, most.2, 100.0 * most.0)
    }
}
