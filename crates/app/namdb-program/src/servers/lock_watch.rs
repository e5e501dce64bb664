//! Counts the locks that processes have left when they died, for the metrics of the first memory
//! server that lives.
//! Other members keep the words that they lock in many places, so a short visit to all memory
//! servers reads the tables.

use super::left_locks::LeftLocks;
use anyhow::{Context, Result};
use membership::ClusterFile;
use namdb::host::{Moment, sleep_ms, spawn};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Interval at which the thread looks for deaths.
const POLL_MS: u64 = 500;
/// Time between two counts, since a count reads the tables: after further deaths or a failure, and
/// while there are locks.
const PAUSE_S: f64 = 5.0;
const REPEAT_S: f64 = 60.0;

/// The deaths of members, and the locks that they have left.
pub struct LockWatch {
    /// Whether this server is the one that counts.
    counts: AtomicBool,
    deaths: AtomicU64,
    /// `None` if the tables are too large to count them.
    count: Mutex<Option<u64>>,
}

impl Default for LockWatch {
    fn default() -> Self {
        let counts = AtomicBool::new(false);
        Self { counts, deaths: AtomicU64::new(0), count: Mutex::new(Some(0)) }
    }
}

impl LockWatch {
    /// Members have died; their locks are counted soon.
    pub fn note_deaths(&self) {
        self.deaths.fetch_add(1, Relaxed);
    }

    /// Whether this server is the first one that lives.
    pub fn note_first(&self, is_first: bool) {
        self.counts.store(is_first, Relaxed);
    }

    /// The locks of the last count; `None` if the tables are too large, or another server counts.
    pub fn count(&self) -> Option<u64> {
        if !self.counts.load(Relaxed) {
            return None;
        }
        *self.count.lock().expect("no holder panics")
    }
}

/// Counts on a separate thread until `stop` is set.
pub fn follow(
    cluster: &ClusterFile,
    watch: Arc<LockWatch>,
    stop: &'static AtomicBool,
) -> Result<()> {
    let cluster = cluster.clone();
    let work = move || {
        let mut last = LastCount::default();
        while !stop.load(Relaxed) {
            let deaths = watch.deaths.load(Relaxed);
            if watch.counts.load(Relaxed) && last.is_outdated(deaths) {
                let found = LeftLocks::look(&cluster);
                if let Err(error) = &found {
                    tracing::debug!("locks of dead members are not counted: {error:#}");
                }
                last.end(deaths, &found);
                if let Ok(found) = found {
                    *watch.count.lock().expect("no holder panics") = found;
                }
            }
            sleep_ms(POLL_MS);
        }
    };
    spawn("locks", work).context("no thread can be started")?;
    Ok(())
}

/// The last count.
#[derive(Default)]
struct LastCount {
    end: Option<Moment>,
    /// The deaths that it covers.
    deaths: u64,
    has_found: bool,
}

impl LastCount {
    fn is_outdated(&self, deaths: u64) -> bool {
        let age_s = self.end.map_or(f64::INFINITY, |end| end.elapsed_s());
        deaths > self.deaths && age_s > PAUSE_S || self.has_found && age_s > REPEAT_S
    }

    fn end(&mut self, deaths: u64, found: &Result<Option<u64>>) {
        self.end = Some(Moment::now());
        if let Ok(found) = found {
            self.deaths = deaths;
            self.has_found = found.is_some_and(|count| count > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_server_that_lives_tells_a_count() {
        let watch = LockWatch::default();
        assert_eq!(watch.count(), None);
        watch.note_first(true);
        assert_eq!(watch.count(), Some(0));
        watch.note_first(false);
        assert_eq!(watch.count(), None);
    }

    #[test]
    fn locks_are_counted_after_deaths_only() {
        let mut last = LastCount::default();
        assert!(!last.is_outdated(0) && last.is_outdated(1));
        last.end(1, &Err(anyhow::anyhow!("no server answers")));
        assert!(!last.is_outdated(1), "not at once again");
        assert_eq!(last.deaths, 0, "but later");
        last.end(1, &Ok(Some(2)));
        assert_eq!((last.deaths, last.has_found), (1, true));
        last.end(1, &Ok(None));
        assert!(!last.has_found, "large tables are not read for it");
    }
}
