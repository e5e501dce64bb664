//! The timestamp vector [ZB17 4.1]: one word per slot, possibly distributed over several servers
//! [ZB17 4.2].

use fabric::{Batch, Env, FabricError};
use layout::region::HEADER_BYTES;
use layout::{GlobalPtr, RegionId};
use std::sync::Arc;

/// The location of the vector: slot s is on server s modulo their number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vector {
    regions: Vec<RegionId>,
    slots: u32,
}

/// How transactions get the vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fetch {
    /// Each transaction reads it when it begins [ZB17 4.1].
    EachTransaction,
    /// One thread of each compute server reads it continuously; transactions use the last copy
    /// [ZB17 4.2].
    Background,
}

/// The owners of slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slots {
    /// Each thread [ZB17 4.1].
    Threads,
    /// Each compute server: its threads draw numbers from a counter in its memory, and each thread
    /// writes its own number into the slot when it has committed. That is the second printed
    /// alternative, taken literally [ZB17 4.2].
    ServersAsDrawn,
    /// As before, but a number is written into the slot only when all smaller ones have committed,
    /// too.
    ServersInOrder,
}

impl Vector {
    /// A vector of `slots` slots over these servers.
    pub fn new(regions: Vec<RegionId>, slots: u32) -> Self {
        Self { regions, slots }
    }

    /// Number of its words on each of the servers, behind the header of the region.
    pub fn words_each(&self) -> u64 {
        u64::from(self.slots).div_ceil(self.regions.len() as u64)
    }

    /// The word of a slot.
    pub fn slot(&self, slot: u32) -> GlobalPtr {
        let count = self.regions.len() as u32;
        let first = GlobalPtr::new(self.regions[(slot % count) as usize], HEADER_BYTES);
        first.add_words(u64::from(slot / count))
    }

    /// Reads it, by one verb per server [ZB17 4.1]: if words are not read at one moment, the result
    /// may be a vector that never existed.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn read<E: Env>(&self, env: &E) -> Result<Arc<[u64]>, FabricError> {
        let words = self.words_each() as u32;
        let mut batch = Batch::new();
        let read = |server| batch.read(self.slot(server as u32), words);
        let spans: Vec<_> = (0..self.regions.len()).map(read).collect();
        let batch = env.execute(batch).await?;
        let count = self.regions.len();
        let slot = |slot: usize| batch.words(spans[slot % count])[slot / count];
        Ok((0..self.slots as usize).map(slot).collect())
    }

    /// Makes a slot's commits up to `timestamp` visible.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn publish<E: Env>(
        &self,
        env: &E,
        slot: u32,
        timestamp: u64,
    ) -> Result<(), FabricError> {
        let mut batch = Batch::new();
        batch.write_word(self.slot(slot), timestamp);
        env.execute(batch).await.map(drop)
    }
}
