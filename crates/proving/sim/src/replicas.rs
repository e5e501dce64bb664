//! Replicas of regions: deaths of memory servers, promotions, and whether replicas are equal.

use crate::world::World;
use layout::{GlobalPtr, NodeId, RegionId, WORD_BYTES};

/// A word of a region that a replica has another value of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Differing {
    pub word: GlobalPtr,
    /// Value on the primary.
    pub value: u64,
    pub replica: RegionId,
    /// Value on the replica.
    pub other: u64,
}

impl World {
    /// All compute servers learn that a memory server has died: its regions are closed. Returns
    /// them.
    pub fn close_regions_of(&self, node: NodeId) -> Vec<RegionId> {
        self.core(|core| core.addresses.lose(node))
    }

    /// Makes a replica of a closed region its primary; `false` if none is left.
    pub fn promote(&self, region: RegionId) -> bool {
        self.core(|core| core.addresses.promote(region))
    }

    /// A memory server that has died is back with empty memory, and everybody has connected to it;
    /// `false` if one of its regions is still closed. Its services are those that are registered
    /// from now on.
    pub fn take_back(&self, node: NodeId) -> bool {
        self.core(|core| {
            let is_back = core.addresses.take_back(node);
            if is_back {
                core.replace_node(node);
            }
            is_back
        })
    }

    /// A server is about to be filled: no change of the catalog begins. `false` if a region is
    /// closed.
    pub fn defer_changes(&self, node: NodeId) -> bool {
        self.core(|core| core.addresses.defer_changes(node))
    }

    /// A fill is given up: the world goes on, and the server stays empty.
    pub fn give_up_filling(&self) {
        self.core(|core| core.addresses.give_up_filling());
    }

    /// The last part of filling a server begins: the world stands still. `false` if a region is
    /// closed, or changes of the catalog were not deferred.
    pub fn begin_filling(&self, node: NodeId) -> bool {
        self.core(|core| core.addresses.begin_filling(node))
    }

    /// A server has all of its regions; `false` if another server has died since
    /// [`Self::begin_filling`].
    pub fn end_filling(&self, node: NodeId) -> bool {
        self.core(|core| core.addresses.end_filling(node))
    }

    /// The words in which a replica of an open region differs from it. No batch may be under way.
    pub fn differing_replicas(&self) -> Vec<Differing> {
        self.core(|core| {
            let mut differing = Vec::new();
            for region in (0..core.addresses.server_count()).map(RegionId) {
                let Some(place) = core.addresses.place(region) else { continue };
                let words = core.memory.region_words(usize::from(region.0));
                let of = |region| core.memory.span(GlobalPtr::new(region, 0), words as u32);
                for replica in core.addresses.replicas(region) {
                    let replica = core.addresses.located(replica);
                    let pairs = (0..).zip(of(place).iter().zip(of(replica)));
                    let different = pairs.filter(|(_, (value, other))| value != other);
                    differing.extend(different.map(|(number, (&value, &other))| {
                        let word = GlobalPtr::new(region, number * WORD_BYTES);
                        Differing { word, value, replica, other }
                    }));
                }
            }
            differing
        })
    }
}
