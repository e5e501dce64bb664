//! The identity of a lane: its slot of the timestamp vector, and its numbers. Each number serves
//! one attempt of a commit, or one round of upkeep. It comes from the lane's own counter, or from
//! one that the lanes of a compute server share
//! ([`SharedSlot`](crate::snapshot::shared_slot::SharedSlot)).

use super::LaneInner;
use crate::abort::Abort;
use crate::commit::Decisions;
use crate::recovery::LaneJournal;
use crate::snapshot::shared_slot::SharedSlot;
use crate::snapshot::slot::LanePlace;
use fabric::{Env, Mutant};
use layout::{SlotId, VersionWord};
use std::sync::Arc;

/// A slot is given up at this number: one transaction never draws as many as remain.
pub(crate) const COUNTER_LIMIT: u64 = layout::version::COUNTER_MAX - (1 << 24);

/// The slot of a lane, its numbers, and its state as others see it.
pub(crate) struct LaneIdentity {
    pub slot: SlotId,
    /// The lane's number among the lanes that share the slot.
    pub number: u32,
    /// The source of numbers, if lanes share the slot; `counter` is then unused.
    pub shared_slot: Option<Arc<SharedSlot>>,
    /// The last number used, committed or not.
    pub counter: u64,
    /// The last number whose commit was published.
    pub committed: VersionWord,
    /// The last number drawn, if it is not finished. Only for shared slots.
    pub drawn: Option<VersionWord>,
    /// Others see the lane's announcement: horizons and catalog changes wait for it.
    pub is_announced: bool,
    /// The lane's last number has an unknown outcome: the lane runs no further transaction until it
    /// is decided.
    pub is_poisoned: bool,
    /// The decisions about its numbers with unknown outcomes, if there are any.
    pub decisions: Option<Arc<Decisions>>,
    /// A transaction has begun and not committed. If the next one begins in this state, the last
    /// one failed.
    pub is_unfinished: bool,
    /// The last transaction failed, perhaps because its snapshot was old: the next frozen vector
    /// must be newer.
    pub wants_newer: bool,
}

impl LaneIdentity {
    pub fn new(place: LanePlace) -> Self {
        let LanePlace { slot, number, counter, shared_slot } = place;
        Self {
            slot,
            number,
            shared_slot,
            counter,
            committed: VersionWord::new(slot, counter),
            drawn: None,
            is_announced: false,
            is_poisoned: false,
            decisions: None,
            is_unfinished: false,
            wants_newer: false,
        }
    }

    /// Draws a number for a single attempt of a commit with this many writes.
    #[inline]
    pub fn next_timestamp(&mut self, writes: usize) -> VersionWord {
        match &self.shared_slot {
            None => self.counter += 1,
            Some(_) => return self.draw_shared(writes),
        }
        let timestamp = VersionWord::new(self.slot, self.counter);
        debug_assert!(!timestamp.is_none(), "a number is not that of an empty place");
        timestamp
    }

    /// Draws a number for a split before a commit, or for upkeep after one. No short commit waits
    /// for it.
    pub fn upkeep_timestamp(&mut self) -> VersionWord {
        self.next_timestamp(usize::MAX)
    }

    #[inline(never)]
    fn draw_shared(&mut self, writes: usize) -> VersionWord {
        self.finish_number();
        let slot = self.shared_slot.as_ref().expect("the lane shares its numbers");
        let drawn = slot.draw(writes);
        self.drawn = Some(drawn);
        drawn
    }

    /// Finishes the last number: the commit has installed its writes or released its locks. Others
    /// may publish past it.
    pub fn finish_number(&mut self) {
        if let Some(slot) = &self.shared_slot
            && let Some(drawn) = self.drawn.take()
        {
            slot.finish(drawn);
        }
    }

    /// Records that the last number has an unknown outcome that nobody decides: the lane is
    /// poisoned for good, and no lane publishes past the number.
    pub fn poison(&mut self) {
        self.is_poisoned = true;
        self.decisions.get_or_insert_default().fail();
        if let Some(slot) = &self.shared_slot {
            slot.poison();
        }
    }

    /// Lets a poisoned lane run transactions again, if all its numbers are decided; returns whether
    /// they are. Its announcement was withdrawn then.
    #[cold]
    pub fn revive(&mut self) -> bool {
        let is_decided = self.decisions.as_ref().is_some_and(|decisions| decisions.are_made());
        if is_decided {
            (self.decisions, self.is_poisoned, self.is_announced) = (None, false, false);
        }
        is_decided
    }

    /// Whether a number of the lane is being decided.
    pub fn is_being_decided(&self) -> bool {
        self.decisions.as_ref().is_some_and(|decisions| decisions.are_pending())
    }

    /// Whether the lane, or the slot that it shares, is poisoned.
    #[inline(always)]
    pub fn is_unusable(&self) -> bool {
        self.is_poisoned || self.shared_slot.as_ref().is_some_and(|slot| slot.is_poisoned())
    }

    /// Whether the slot has too few numbers left.
    #[inline(always)]
    pub fn is_used_up(&self) -> bool {
        let has_drawn = |slot: &Arc<SharedSlot>| slot.has_drawn(COUNTER_LIMIT);
        self.counter >= COUNTER_LIMIT || self.shared_slot.as_ref().is_some_and(has_drawn)
    }
}

impl<E: Env> LaneInner<E> {
    /// Near its last number, exchanges the slot for a new one. The old slot keeps its final number
    /// in the vector for as long as versions carry it.
    #[cold]
    pub(crate) async fn take_new_slot(&mut self) -> Result<(), Abort> {
        if self.identity.shared_slot.is_some() {
            return Err(Abort::SnapshotUnavailable);
        }
        self.publish_upkeep().await?;
        self.rest().await?;
        let taken = crate::snapshot::slot::take_slot(&self.env, &self.shared).await;
        let taken = taken.map_err(|_| Abort::Unreachable)?.ok_or(Abort::SnapshotUnavailable)?;
        if self.journal.is_some() {
            let opened = LaneJournal::open(&self.env, &self.shared, taken.slot).await;
            match opened {
                Ok(journal) => self.journal = Some(Box::new(journal)),
                Err(error) => {
                    let returned =
                        crate::snapshot::slot::return_unused(&self.env, &self.shared, taken.slot);
                    returned.await.map_err(|_| Abort::Unreachable)?;
                    return Err(error.into());
                }
            }
        }
        (self.identity.slot, self.identity.counter) = (taken.slot, taken.counter);
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn needs_new_slot(&self) -> bool {
        self.identity.is_used_up() && !self.env.mutant(Mutant::LanePassLastNumber)
    }
}
