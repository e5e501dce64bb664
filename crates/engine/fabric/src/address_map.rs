//! The map from a region to the nodes that store it, in every world.

use layout::{NodeId, RegionId};

/// The nodes that store copies of one region. Verbs go to the primary.
///
/// Today there is exactly one. Replication will add backups behind the primary: a writer then posts
/// to all of them, and fail-over promotes another one. Pointers name regions and never nodes, so
/// they stay valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replicas([NodeId; 1]);

impl Replicas {
    /// A region that only one node stores.
    pub const fn only(node: NodeId) -> Self {
        Self([node])
    }

    /// The node that verbs go to.
    #[inline]
    pub const fn primary(&self) -> NodeId {
        self.0[0]
    }

    /// All nodes, the primary first.
    #[inline]
    pub const fn nodes(&self) -> &[NodeId] {
        &self.0
    }
}

/// The nodes of every region of a world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressMap {
    /// Indexed by the region's number.
    regions: Box<[Replicas]>,
}

impl AddressMap {
    /// Region n lives on node n and nowhere else.
    pub fn one_region_per_server(server_count: u16) -> Self {
        Self { regions: (0..server_count).map(|n| Replicas::only(NodeId(n))).collect() }
    }

    #[inline]
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// The nodes that store `region`.
    ///
    /// # Panics
    /// If the world has no such region.
    #[inline]
    pub fn replicas(&self, region: RegionId) -> &Replicas {
        &self.regions[usize::from(region.0)]
    }

    /// The node that verbs to `region` go to.
    ///
    /// # Panics
    /// If the world has no such region.
    #[inline]
    pub fn primary(&self, region: RegionId) -> NodeId {
        self.replicas(region).primary()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_region_has_a_primary_that_is_its_first_replica() {
        let map = AddressMap::one_region_per_server(3);
        for n in 0..3 {
            assert_eq!(map.primary(RegionId(n)), NodeId(n));
            assert_eq!(map.replicas(RegionId(n)).nodes(), [NodeId(n)]);
        }
    }
}
