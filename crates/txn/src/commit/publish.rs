//! Publishing: the lane's slot counts the number [ZB17 §4.1].

use crate::lane::LaneInner;
use fabric::{Batch, Env, FabricError};
use layout::oracle::{LANE_ACTIVE, LANE_WORKING};
use layout::{GlobalPtr, VersionWord};

impl<E: Env> LaneInner<E> {
    /// Writes the slot. Only the lane writes it and its numbers rise, so a plain write does; it goes out
    /// after every install has completed, on all servers.
    #[inline]
    pub(super) async fn publish(&mut self, timestamp: VersionWord) -> Result<(), FabricError> {
        let slot = self.shared.oracle_layout.slot(self.shared.oracle, self.slot);
        let lane = self.shared.oracle_layout.lane(self.shared.oracle, self.slot);
        if self.env.mutant("commit::answer_before_publish") {
            self.publish_later(slot, timestamp.counter());
            return Ok(());
        }
        let batch = self.batch();
        batch.clear_verbs();
        batch.write_word(slot, timestamp.counter());
        if self.decide_upkeep() {
            self.batch().write_word(lane.add_words(u64::from(LANE_WORKING)), 1);
        }
        // With the same message the lane is at rest: nobody waits for its snapshot any more. The upkeep that may
        // follow still works on tables and indexes, whose memory must not go before that is over.
        self.batch().write_word(lane.add_words(u64::from(LANE_ACTIVE)), 0);
        self.execute().await?;
        self.is_announced = false;
        self.shared.note_published(self.slot, timestamp.counter());
        Ok(())
    }

    /// Writes the slot some time after the client was answered. For a mutant.
    #[cold]
    fn publish_later(&mut self, slot: GlobalPtr, counter: u64) {
        let env = self.env.clone();
        let publish = async move {
            let mut batch = Batch::new();
            batch.write_word(slot, counter);
            // Whoever waits for it has long been answered.
            let _ = env.execute(batch).await;
        };
        self.env.spawn(publish);
        self.shared.note_published(self.slot, counter);
    }
}
