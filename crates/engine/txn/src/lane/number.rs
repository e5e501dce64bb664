//! Numbers: each serves one attempt of a commit, or one round of upkeep. They come from the lane's own counter, or from one
//! that the lanes of a compute server share ([`SharedSlot`](crate::shared_slot::SharedSlot)).

use super::LaneInner;
use crate::abort::Abort;
use fabric::Env;
use layout::VersionWord;

/// Number at which a slot is given up: one transaction never draws as many as are left.
pub(crate) const COUNTER_LIMIT: u64 = layout::version::COUNTER_MAX - (1 << 24);

impl<E: Env> LaneInner<E> {
    /// Near its last number a slot is given up for a new one. The old one keeps its final number in the
    /// vector for as long as versions carry it.
    #[cold]
    pub(super) async fn take_new_slot(&mut self) -> Result<(), Abort> {
        if self.shared_slot.is_some() {
            return Err(Abort::SnapshotUnavailable);
        }
        self.rest().await?;
        let taken = crate::slot::take_slot(&self.env, &self.shared).await;
        let taken = taken.map_err(|_| Abort::Unreachable)?.ok_or(Abort::SnapshotUnavailable)?;
        (self.slot, self.counter) = (taken.slot, taken.counter);
        Ok(())
    }

    /// A number that serves one attempt only.
    #[inline]
    pub fn next_timestamp(&mut self) -> VersionWord {
        match &self.shared_slot {
            None => self.counter += 1,
            Some(_) => return self.draw_shared(self.written.len()),
        }
        VersionWord::new(self.slot, self.counter)
    }

    /// A number for a split before a commit, or for what is done after one. No short commit waits for it.
    pub fn upkeep_timestamp(&mut self) -> VersionWord {
        match &self.shared_slot {
            None => self.next_timestamp(),
            Some(_) => self.draw_shared(usize::MAX),
        }
    }

    #[inline(never)]
    fn draw_shared(&mut self, writes: usize) -> VersionWord {
        self.end_number();
        let slot = self.shared_slot.as_ref().expect("the lane shares its numbers");
        let drawn = slot.draw(writes);
        self.drawn = Some(drawn);
        drawn
    }

    /// The last number is over: nothing that is visible has it, unless it was installed to the last word.
    pub fn end_number(&mut self) {
        if let Some(slot) = &self.shared_slot
            && let Some(drawn) = self.drawn.take()
        {
            slot.end(drawn);
        }
    }

    /// What became of the last number is not known: the lane takes no transaction any more, and nobody passes it.
    pub fn lose_number(&mut self) {
        self.is_lost = true;
        if let Some(slot) = &self.shared_slot {
            slot.lose();
        }
    }
}
