//! The checkpointer: writes all rows to the directory when the redo log has grown.

use super::Shared;
use crate::asynchronous::block_on_while;
use crate::host::{self, Moment};
use durability::{CheckpointStart, DurabilityError, Refusal, remove_obsolete, write_checkpoint};
use fabric::run_now;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The checkpointer looks at the log at this interval.
const LOOK: Duration = Duration::from_millis(500);
/// A checkpoint in the background rests this many times as long as it works, to leave the
/// processors to transactions.
const RESTS_PER_WORK: u64 = 4;
/// While it rests or waits, a checkpoint looks at this interval whether the database is closed.
const CLOSING_LOOK: Duration = Duration::from_millis(50);

/// How much of the processors a checkpoint takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// All that it can use: somebody waits for it.
    Fast,
    /// A part, until the log has grown by twice the bytes that begin a checkpoint: after that a
    /// restart would take too long.
    Background,
}

/// The checkpointer's thread.
pub(super) fn run(shared: &Shared) {
    loop {
        if shared.sleep_until_closing(LOOK) {
            return;
        }
        let log_bytes = shared.counters.log_bytes.load(Relaxed);
        // Another checkpoint may have begun between the two loads.
        let grown = log_bytes.saturating_sub(shared.counters.checkpoint_at.load(Relaxed));
        if grown < shared.checkpoint_log_bytes {
            continue;
        }
        if let Err(error) = shared.checkpoint(Pace::Background) {
            if !shared.is_closing.load(Relaxed) {
                tracing::warn!("no checkpoint could be made: {error}");
            }
            // The next one is tried when the log has grown as much again.
            shared.counters.checkpoint_at.fetch_max(log_bytes, Relaxed);
        }
    }
}

impl Shared {
    /// Rests, until the database is closed.
    fn rest(&self, mut left_ns: u64) {
        while left_ns > 0 && !self.is_closing.load(Relaxed) {
            let slice_ns = left_ns.min(CLOSING_LOOK.as_nanos() as u64);
            host::sleep_ns(slice_ns);
            left_ns -= slice_ns;
        }
    }

    /// Makes a checkpoint.
    pub(super) fn checkpoint(&self, pace: Pace) -> Result<(), DurabilityError> {
        let _one_at_a_time = self.checkpointing.lock().expect("no holder panics");
        let began_at = self.counters.log_bytes.load(Relaxed);
        let database = self.unlogged();
        let mut working_since = Moment::now();
        let note = |_| {
            if self.is_closing.load(Relaxed) {
                return Err(DurabilityError::Refused(Refusal::Closed));
            }
            let grown = self.counters.log_bytes.load(Relaxed) - began_at;
            if pace == Pace::Background && grown < 2 * self.checkpoint_log_bytes {
                self.rest(RESTS_PER_WORK * Moment::now().since_ns(working_since));
            }
            working_since = Moment::now();
            Ok(())
        };
        let made = async {
            let acknowledgements = &self.acknowledgements;
            let start = CheckpointStart::new(acknowledgements, self.incarnation).await?;
            let control = self.control().clone();
            let directory = &self.directory;
            write_checkpoint(start, &control, &database, directory, acknowledgements, note).await
        };
        // It may wait for a group, for as long as the disk is full.
        let go_on = || !self.is_closing.load(Relaxed);
        let stored = block_on_while(made, CLOSING_LOOK, go_on)
            .unwrap_or(Err(DurabilityError::Refused(Refusal::Closed)))?;
        let mut control = self.control();
        let before = control.checkpoint.replace(stored);
        if let Err(error) = run_now(control.write(&self.directory)) {
            control.checkpoint = before;
            return Err(error);
        }
        run_now(remove_obsolete(&self.directory, &control))?;
        self.counters.checkpoint_at.fetch_max(began_at, Relaxed);
        self.counters.checkpoints.fetch_add(1, Relaxed);
        *self.counters.last_checkpoint.lock().expect("no holder panics") = Some(Moment::now());
        Ok(())
    }
}
