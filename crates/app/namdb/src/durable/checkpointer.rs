//! The checkpointer: writes all rows to the directory when the redo log has grown.

use super::{Counters, Shared};
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
const RESTS_PER_WORK: u64 = 9;
/// A checkpoint hurries when the log has grown by this many times the configured bytes more than
/// when one begins.
const HURRY_FACTOR: u64 = 7;
/// The log grows by at least the size of the newest checkpoint, divided by this, before the next
/// one begins: large databases would write all rows again and again for few changes.
const BEGIN_PART: u64 = 4;
/// The same, more than when one begins, before it hurries: a restart has the log in memory.
const HURRY_PART: u64 = 2;
/// While it rests or waits, a checkpoint looks at this interval whether the database is closed.
const CLOSING_LOOK: Duration = Duration::from_millis(50);

/// How much of the processors a checkpoint takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// All that it can use: somebody waits for it.
    Fast,
    /// A tenth of a processor, until the log has grown so far that a restart would take too long.
    Background,
}

/// The growth of the log, in bytes since the newest checkpoint began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Growth {
    /// Begins a checkpoint.
    begin: u64,
    /// Lets it hurry.
    hurry: u64,
}

impl Growth {
    /// The limits where a checkpoint begins after `log_bytes` as configured, and the newest one has
    /// `checkpoint_bytes`.
    fn new(log_bytes: u64, checkpoint_bytes: u64) -> Self {
        let begin = log_bytes.max(checkpoint_bytes / BEGIN_PART);
        let slack = (log_bytes * HURRY_FACTOR).max(checkpoint_bytes / HURRY_PART);
        Self { begin, hurry: begin + slack }
    }

    /// How long a checkpoint rests after it has worked.
    fn rest_ns(self, grown: u64, worked_ns: u64) -> u64 {
        if grown < self.hurry { RESTS_PER_WORK * worked_ns } else { 0 }
    }
}

/// The checkpointer's thread.
pub(super) fn run(shared: &Shared) {
    loop {
        if shared.sleep_until_closing(LOOK) {
            return;
        }
        let log_bytes = shared.counters.log_bytes.load(Relaxed);
        if shared.counters.grown() < shared.growth().begin {
            continue;
        }
        if let Err(error) = shared.checkpoint(Pace::Background) {
            if !shared.is_closing.load(Relaxed) {
                tracing::warn!("no checkpoint could be made: {error}");
            }
            // The next one is tried when the log has grown as much again.
            shared.counters.began_checkpoint(log_bytes);
        }
    }
}

impl Counters {
    /// Bytes by which the log has grown since the last checkpoint began, in earlier starts too: a
    /// restart reads them all.
    fn grown(&self) -> u64 {
        // Another checkpoint may have begun between the loads.
        let log_bytes = self.earlier_log_bytes.load(Relaxed) + self.log_bytes.load(Relaxed);
        log_bytes.saturating_sub(self.checkpoint_at.load(Relaxed))
    }

    /// Notes that a checkpoint, which is complete or was given up, began when this start had
    /// written `log_bytes` of the log.
    fn began_checkpoint(&self, log_bytes: u64) {
        self.earlier_log_bytes.store(0, Relaxed);
        self.checkpoint_at.fetch_max(log_bytes, Relaxed);
    }
}

impl Shared {
    fn growth(&self) -> Growth {
        let control = self.control();
        let files = control.checkpoint.iter().flat_map(|checkpoint| &checkpoint.files);
        Growth::new(self.checkpoint_log_bytes, files.map(|file| file.bytes).sum())
    }

    /// Makes a checkpoint at full speed. One that is under way hurries.
    pub(super) fn checkpoint_now(&self) -> Result<(), DurabilityError> {
        self.checkpoints_wanted.fetch_add(1, Relaxed);
        let made = self.checkpoint(Pace::Fast);
        self.checkpoints_wanted.fetch_sub(1, Relaxed);
        made
    }

    /// Rests, until the database is closed or somebody waits for a checkpoint.
    fn rest(&self, mut left_ns: u64) {
        let may_rest =
            || !self.is_closing.load(Relaxed) && self.checkpoints_wanted.load(Relaxed) == 0;
        while left_ns > 0 && may_rest() {
            let slice_ns = left_ns.min(CLOSING_LOOK.as_nanos() as u64);
            host::sleep_ns(slice_ns);
            left_ns -= slice_ns;
        }
    }

    /// Makes a checkpoint.
    fn checkpoint(&self, pace: Pace) -> Result<(), DurabilityError> {
        let _one_at_a_time = self.checkpointing.lock().expect("no holder panics");
        let (began_at, growth) = (self.counters.log_bytes.load(Relaxed), self.growth());
        let database = self.unlogged();
        let mut working_since = Moment::now();
        let note = |_| {
            if self.is_closing.load(Relaxed) {
                return Err(DurabilityError::Refused(Refusal::Closed));
            }
            if pace == Pace::Background {
                let grown = self.counters.grown();
                self.rest(growth.rest_ns(grown, Moment::now().since_ns(working_since)));
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
        self.counters.began_checkpoint(began_at);
        self.counters.checkpoints.fetch_add(1, Relaxed);
        *self.counters.last_checkpoint.lock().expect("no holder panics") = Some(Moment::now());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn a_checkpoint_begins_when_the_log_is_long_beside_the_rows() {
        assert_eq!(Growth::new(100, 0), Growth { begin: 100, hurry: 800 });
        assert_eq!(Growth::new(100, 399), Growth { begin: 100, hurry: 800 });
        assert_eq!(Growth::new(100, 4_000), Growth { begin: 1_000, hurry: 3_000 });
        assert_eq!(Growth::new(1 << 40, u64::MAX).begin, u64::MAX / 4);
    }

    #[test]
    fn a_checkpoint_takes_a_tenth_of_a_processor_until_it_hurries() {
        let growth = Growth::new(100, 0);
        assert_eq!([0, 799].map(|grown| growth.rest_ns(grown, 10)), [90, 90]);
        assert_eq!([800, 9_000].map(|grown| growth.rest_ns(grown, 10)), [0, 0]);
    }

    #[test]
    fn a_checkpoint_does_not_rest_while_somebody_waits_for_it() {
        let folder = format!("namdb-rest-{}", std::process::id());
        let directory = std::env::temp_dir().join(folder);
        let config = Config {
            directory: Some(directory.clone()),
            server_bytes: 64 << 20,
            ..Config::default()
        };
        let db = crate::open(config).expect("the folder is new");
        let shared = &db.durable().expect("it has a directory").shared;
        let rested_s = |wanted, ns| {
            shared.checkpoints_wanted.store(wanted, Relaxed);
            let begin = Moment::now();
            shared.rest(ns);
            begin.elapsed_s()
        };
        assert!(rested_s(0, 20_000_000) >= 0.02);
        assert!(rested_s(1, 60_000_000_000) < 30.0);
        shared.checkpoints_wanted.store(0, Relaxed);
        drop(db);
        std::fs::remove_dir_all(directory).expect("the folder is ours");
    }
}
