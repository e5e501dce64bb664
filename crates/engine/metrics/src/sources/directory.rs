//! The numbers of a database's directory.

use crate::catalog;
use crate::registry::Registry;

/// The counters of a directory since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirectoryReading {
    /// Groups of commits, each with one sync.
    pub groups: u64,
    /// Bytes of the log that they took.
    pub log_bytes: u64,
    /// Seconds of writing and syncing them.
    pub group_s: f64,
    /// Complete checkpoints.
    pub checkpoints: u64,
    /// Seconds since the last of them.
    pub checkpoint_age_s: Option<f64>,
}

/// Registers the counters of a directory, which `read` reads without waiting.
pub fn enter_directory(
    registry: &Registry,
    read: impl Fn() -> DirectoryReading + Clone + Send + 'static,
) {
    let of = read.clone();
    registry.add(&catalog::LOG_GROUPS, &[], move || of().groups);
    let of = read.clone();
    registry.add(&catalog::LOG_BYTES, &[], move || of().log_bytes);
    let of = read.clone();
    registry.add(&catalog::LOG_SECONDS, &[], move || of().group_s);
    let of = read.clone();
    registry.add(&catalog::CHECKPOINTS, &[], move || of().checkpoints);
    registry.add_many(&catalog::CHECKPOINT_AGE, move |samples| {
        if let Some(age_s) = read().checkpoint_age_s {
            samples.put(&[], age_s);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn a_directory_tells_its_writes_and_the_age_of_a_checkpoint_that_there_is() {
        let (registry, checkpoints) = (Registry::new(), Arc::<AtomicU64>::default());
        let counted = checkpoints.clone();
        enter_directory(&registry, move || {
            let checkpoints = counted.load(Relaxed);
            let checkpoint_age_s = (checkpoints > 0).then_some(2.5);
            DirectoryReading {
                groups: 3,
                log_bytes: 4096,
                group_s: 0.5,
                checkpoints,
                checkpoint_age_s,
            }
        });
        let page = registry.text();
        for line in [
            "namdb_log_groups_total 3\n",
            "namdb_log_bytes_total 4096\n",
            "namdb_log_seconds_total 0.5\n",
            "namdb_checkpoints_total 0\n",
        ] {
            assert!(page.contains(line), "{line} is missing in\n{page}");
        }
        assert!(!page.contains("\nnamdb_checkpoint_age_seconds "), "{page}");
        checkpoints.store(1, Relaxed);
        assert!(registry.text().contains("namdb_checkpoint_age_seconds 2.5\n"));
    }
}
