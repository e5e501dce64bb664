//! Frees the memory of dropped tables and indexes when no transaction can know them any more.
//!
//! Decisions:
//! - docs/decisions/0027-freed-memory-is-reused-for-the-same-purpose-and-shape-only.md
//! - docs/decisions/0042-tables-and-indexes-have-memory-labels-of-their-own.md
//! - docs/decisions/0043-a-drop-waits-for-upkeep.md

use crate::catalog::CatalogError;
use crate::database::Database;
use crate::step::ChangeStep;
use fabric::Env;
use layout::NodeId;
use memory::Label;

/// Memory of dropped tables and indexes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Released {
    /// The first epoch whose catalog does not have them.
    pub epoch: u64,
    pub labels: Vec<Label>,
}

/// The epoch of memory whose epoch could not be started: the next one that is started has it.
const UNSTARTED: u64 = u64::MAX;

impl<E: Env> Database<E> {
    /// Keeps memory whose epoch could not be started for the next one.
    pub(crate) fn release_later(&self, labels: Vec<Label>) {
        if !labels.is_empty() {
            self.release_at(UNSTARTED, labels);
        }
    }

    /// Takes the memory that waits for an epoch to be started.
    pub(crate) fn take_unstarted(&self) -> Vec<Label> {
        let mut released = self.shared.released.lock().expect("no holder panics");
        let unstarted = released.extract_if(.., |one| one.epoch == UNSTARTED);
        unstarted.flat_map(|one| one.labels).collect()
    }

    /// Schedules memory to be freed once every lane knows `epoch`.
    pub(crate) fn release_at(&self, epoch: u64, labels: Vec<Label>) {
        let mut released = self.shared.released.lock().expect("no holder panics");
        released.push(Released { epoch, labels });
    }

    /// Whether memory waits to be freed.
    pub(crate) fn has_released(&self) -> bool {
        !self.shared.released.lock().expect("no holder panics").is_empty()
    }

    /// The newest epoch that memory was scheduled for.
    pub(crate) fn newest_released(&self) -> Option<u64> {
        let released = self.shared.released.lock().expect("no holder panics");
        released.iter().map(|one| one.epoch).filter(|&epoch| epoch != UNSTARTED).max()
    }

    /// Frees the memory that was scheduled for epochs up to `epoch`, which every lane knows now.
    /// This includes memory of changes that had given up waiting for the lanes. A later change
    /// frees the share of a memory server that does not answer.
    ///
    /// # Errors
    ///
    /// If memory of this change was not freed. That of earlier ones is no failure of this one.
    pub(crate) async fn free_released(&self, epoch: u64) -> Result<(), CatalogError> {
        let due: Vec<Released> = {
            let mut released = self.shared.released.lock().expect("no holder panics");
            let (due, later) = released.drain(..).partition(|one| one.epoch <= epoch);
            *released = later;
            due
        };
        if due.is_empty() {
            return Ok(());
        }
        // Wait for another E, for verbs that are still in flight.
        if !E::IMMEDIATE {
            self.env.sleep_ns(self.shared.config.transaction_time_max_ns).await;
        }
        let mut ended = Ok(());
        for Released { epoch: of, labels } in due {
            let mut left = Vec::new();
            for label in labels {
                if let Err(error) = self.free_memory(label).await {
                    // Some servers have freed theirs; to free it again does no harm.
                    left.push(label);
                    ended = if of == epoch { Err(error) } else { ended };
                }
            }
            if !left.is_empty() {
                self.release_at(of, left);
            }
        }
        ended
    }

    /// Frees all memory with this label, on the servers that answer.
    ///
    /// # Errors
    ///
    /// If a server does not.
    pub(crate) async fn free_memory(&self, label: Label) -> Result<(), CatalogError> {
        let mut ended = Ok(());
        for &server in &self.shared.servers {
            match self.free_memory_of(server, label).await {
                Ok(()) => self.env.reach(ChangeStep::MemoryFreed).await,
                failed => ended = failed,
            }
        }
        ended
    }

    async fn free_memory_of(&self, server: NodeId, label: Label) -> Result<(), CatalogError> {
        memory::mover::forget(&self.env, server, label).await?;
        index::tree::forget_trees(&self.env, server, label).await?;
        memory::extent::free_label(&self.env, server, label).await?;
        Ok(())
    }
}
