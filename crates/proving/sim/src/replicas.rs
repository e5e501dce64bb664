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

    /// The words in which a replica of an open region differs from it. No batch may be under way.
    pub fn differing_replicas(&self) -> Vec<Differing> {
        self.core(|core| {
            let mut differing = Vec::new();
            for region in (0..core.addresses.server_count()).map(RegionId) {
                let Some(place) = core.addresses.place(region) else { continue };
                let words = core.memory.region_words(usize::from(region.0));
                let of = |region| core.memory.span(GlobalPtr::new(region, 0), words as u32);
                for replica in core.addresses.replicas(region) {
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
