//! The timestamp vector [ZB17 4.1]: a word for each slot, perhaps over several servers [ZB17 4.2].

use fabric::{Batch, Env, FabricError};
use layout::region::HEADER_BYTES;
use layout::{GlobalPtr, RegionId};
use std::sync::Arc;

/// Where the vector is: slot s on server s modulo their number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vector {
    regions: Vec<RegionId>,
    slots: u32,
}

/// Who reads the vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fetch {
    /// Each transaction, when it begins [ZB17 4.1].
    EachTransaction,
    /// One thread of each compute server, all the time; transactions take what it has fetched last [ZB17 4.2].
    Background,
}

/// Who has a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slots {
    /// Each thread [ZB17 4.1].
    Threads,
    /// Each compute server, whose threads draw numbers from a counter in its memory; each writes its own number into
    /// the slot when it has committed. That is the second printed alternative to the letter [ZB17 4.2].
    ServersAsDrawn,
    /// As before, but the slot gets a number only when all those before it have committed, too.
    ServersInOrder,
}

impl Vector {
    /// So many slots over these servers.
    pub fn new(regions: Vec<RegionId>, slots: u32) -> Self {
        Self { regions, slots }
    }

    /// Words that each of the servers has for it behind the header of its region.
    pub fn words_each(&self) -> u64 {
        u64::from(self.slots).div_ceil(self.regions.len() as u64)
    }

    /// The word of a slot.
    pub fn slot(&self, slot: u32) -> GlobalPtr {
        let count = self.regions.len() as u32;
        let first = GlobalPtr::new(self.regions[(slot % count) as usize], HEADER_BYTES);
        first.add_words(u64::from(slot / count))
    }

    /// Reads it, by one verb for each server [ZB17 4.1]: where words are not read at one moment it may be one
    /// that has never been.
    ///
    /// # Errors
    /// The fabric's.
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
    /// The fabric's.
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
