//! Publishing: the commit's number becomes the slot's counter in the vector [ZB17 §4.1].
//!
//! Decisions:
//! - docs/decisions/0014-publish-waits-for-all-installs.md
//! - docs/decisions/0136-lanes-of-a-compute-server-may-share-a-slot.md

use crate::abort::Abort;
use crate::lane::LaneInner;
use crate::snapshot::shared_slot::{LONG, PublishStep, SharedSlot};
use fabric::{Batch, Env, FabricError, Mutant};
use layout::oracle::{LANE_ACTIVE, LANE_WORKING};
use layout::{GlobalPtr, NodeId, VersionWord};
use std::future::poll_fn;
use std::task::{Context, Poll};

impl<E: Env> LaneInner<E> {
    /// Writes the slot. Only this lane writes it, with rising numbers, so a plain write suffices.
    /// It is posted after every install has completed on all servers.
    #[inline]
    pub(crate) async fn publish(&mut self, timestamp: VersionWord) -> Result<(), FabricError> {
        let slot = self.shared.oracle_layout.slot(self.shared.oracle, timestamp.slot());
        if let Some(shared_slot) = self.identity.shared_slot.clone() {
            self.decide_upkeep();
            self.publish_shared(&shared_slot, slot, timestamp).await?;
            self.identity.committed = timestamp;
            return Ok(());
        }
        if self.env.mutant(Mutant::CommitAnswerBeforePublish) {
            self.publish_later(slot, timestamp);
            return Ok(());
        }
        debug_assert!(
            self.shared.published(self.identity.slot) < timestamp.counter(),
            "a number is published once"
        );
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        batch.write_word(slot, timestamp.counter());
        let (working, active) = (self.lane_word(LANE_WORKING), self.lane_word(LANE_ACTIVE));
        if self.decide_upkeep() {
            self.txn.batch.write_word(working, 1);
        }
        // The same batch puts the lane to rest, so that no one waits for its snapshot any more.
        // Upkeep may follow, and still uses tables and indexes, whose memory must not be freed
        // before it has ended: the working word says so.
        self.txn.batch.write_word(active, 0);
        self.execute().await?;
        self.identity.is_announced = false;
        self.identity.committed = timestamp;
        self.shared.note_published(self.identity.slot, timestamp.counter());
        Ok(())
    }

    /// Publishes a number in a shared slot: the first lane that finds no other lane writing it
    /// writes it, for all finished numbers. The lane stays announced until it begins again or
    /// rests, so that catalog changes wait for it.
    #[inline(never)]
    async fn publish_shared(
        &mut self,
        shared_slot: &SharedSlot,
        slot: GlobalPtr,
        number: VersionWord,
    ) -> Result<(), FabricError> {
        self.identity.finish_number();
        if self.env.mutant(Mutant::CommitPublishPastGap) {
            return self.publish_past_gap(slot, number).await;
        }
        loop {
            let publish_step = match E::IMMEDIATE {
                true => shared_slot.publish_step(number),
                false => poll_fn(|context| poll_publish_step(shared_slot, number, context)).await,
            };
            match publish_step {
                PublishStep::Published => return Ok(()),
                PublishStep::Poisoned => {
                    return Err(FabricError::Unreachable(NodeId(slot.region().0)));
                }
                // Another lane on another thread is publishing, and does not wait for this one.
                PublishStep::Wait => std::hint::spin_loop(),
                PublishStep::Publish(all) => {
                    let batch = &mut *self.txn.batch;
                    batch.clear_verbs();
                    batch.write_word(slot, all);
                    if let Err(error) = self.execute().await {
                        shared_slot.poison();
                        return Err(error);
                    }
                    self.shared.note_published(number.slot(), all);
                    shared_slot.note_published(number.slot(), all);
                }
            }
        }
    }

    /// Publishes its own number even if earlier ones are not finished. For a mutant.
    #[cold]
    async fn publish_past_gap(
        &mut self,
        slot: GlobalPtr,
        number: VersionWord,
    ) -> Result<(), FabricError> {
        let all = number.counter().max(self.shared.published(number.slot()));
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        batch.write_word(slot, all);
        self.execute().await?;
        self.shared.note_published(number.slot(), all);
        Ok(())
    }

    /// Publishes the newest number with which upkeep has made garbage, as the next commit would:
    /// no horizon covers that garbage before, and this lane may commit nothing more.
    pub(crate) async fn publish_upkeep(&mut self) -> Result<(), Abort> {
        let shared_slot = self.identity.shared_slot.clone();
        let upkeep_slot = match &shared_slot {
            Some(shared_slot) => shared_slot.slots()[LONG],
            None => self.identity.slot,
        };
        let numbers = self.garbage.retired.iter().map(|retired| retired.successor);
        let numbers = numbers.filter(|number| number.slot() == upkeep_slot);
        let Some(number) = numbers.max_by_key(|number| number.counter()) else { return Ok(()) };
        if number.counter() <= self.shared.published(upkeep_slot)
            || self.env.mutant(Mutant::CollectHideUpkeepNumber)
        {
            return Ok(());
        }
        let slot = self.shared.oracle_layout.slot(self.shared.oracle, upkeep_slot);
        if let Some(shared_slot) = shared_slot {
            let published = self.publish_shared(&shared_slot, slot, number).await;
            return published.map_err(|_| Abort::Unreachable);
        }
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        batch.write_word(slot, number.counter());
        let Ok(batch) = self.env.execute(batch).await else {
            // The write may still arrive, after that of a later number.
            self.identity.poison();
            return Err(Abort::Unreachable);
        };
        self.scratch.batch = Some(batch);
        self.shared.note_published(upkeep_slot, number.counter());
        Ok(())
    }

    /// Publishes some time after the commit has returned. For a mutant.
    #[cold]
    fn publish_later(&mut self, slot: GlobalPtr, timestamp: VersionWord) {
        let counter = timestamp.counter();
        let env = self.env.clone();
        let publish = async move {
            let mut batch = Batch::new();
            batch.write_word(slot, counter);
            // The commit has already returned, so no one handles an error.
            let _ = env.execute(batch).await;
        };
        self.env.spawn(publish);
        self.identity.committed = timestamp;
        self.shared.note_published(self.identity.slot, counter);
    }
}

fn poll_publish_step(
    slot: &SharedSlot,
    number: VersionWord,
    context: &mut Context<'_>,
) -> Poll<PublishStep> {
    match slot.publish_step_or_wait(number, Some(context.waker())) {
        PublishStep::Wait => Poll::Pending,
        publish_step => Poll::Ready(publish_step),
    }
}
