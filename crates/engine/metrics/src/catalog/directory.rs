//! Metrics of a database whose data is in a directory.

use super::Chapter;
use crate::definition::Definition as Metric;
use crate::definition::Unit;

pub const LOG_GROUPS: Metric = Metric::counter(
    "namdb_log_groups_total",
    Unit::None,
    &[],
    "Groups of commits written to the redo log, each with one sync. Committed transactions divided by it are the \
     transactions per group.",
);
pub const LOG_BYTES: Metric = Metric::counter(
    "namdb_log_bytes_total",
    Unit::Bytes,
    &[],
    "Bytes written to the redo log. Divided by committed transactions they are the bytes per transaction.",
);
pub const LOG_SECONDS: Metric = Metric::counter(
    "namdb_log_seconds_total",
    Unit::Seconds,
    &[],
    "Time of writing and syncing groups. Divided by groups it is the time of a sync.",
);
pub const CHECKPOINTS: Metric =
    Metric::counter("namdb_checkpoints_total", Unit::None, &[], "Complete checkpoints.");
pub const CHECKPOINT_AGE: Metric = Metric::gauge(
    "namdb_checkpoint_age_seconds",
    Unit::Seconds,
    &[],
    "Time since the last checkpoint was complete. No value before the first one since the database was opened.",
);

pub(super) const DIRECTORIES: Chapter = Chapter {
    title: "Directories",
    introduction: "Writes of a process to the directory that keeps its data, since it was opened: `namdb bench --data \
                   DIR --metrics ADDRESS`.",
    metrics: &[&LOG_GROUPS, &LOG_BYTES, &LOG_SECONDS, &CHECKPOINTS, &CHECKPOINT_AGE],
};
