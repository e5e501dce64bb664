//! What servers of both kinds tell.

use super::Chapter;
use crate::definition::Definition as Metric;
use crate::definition::{Label, Unit};

/// Which server tells the rest.
pub const BUILD_INFO: Metric = Metric::gauge(
    "namdb_build_info",
    Unit::None,
    &[
        Label::new("cluster", "id of the cluster, 16 hexadecimal digits"),
        Label::new("role", "`memory` or `compute`"),
        Label::new("number", "the server's number among those of its role"),
        Label::new("version", "version of the program"),
        Label::new("format", "format of remote memory"),
    ],
    "Always 1: its labels say which server this is and what it was built from.",
);
/// When the process began.
pub const START_TIME: Metric = Metric::gauge(
    "namdb_start_time_seconds",
    Unit::Seconds,
    &[],
    "When the server started, in seconds since 1970 in UTC by its host's clock.",
);
/// How long the process runs.
pub const UPTIME: Metric = Metric::gauge(
    "namdb_uptime_seconds",
    Unit::Seconds,
    &[],
    "How long the server has run when its numbers were read, by a clock that is never set: rates between two answers \
     are differences over the difference of this one.",
);
/// Processor time.
pub const PROCESSOR_SECONDS: Metric = Metric::counter(
    "namdb_processor_seconds_total",
    Unit::Seconds,
    &[],
    "Processor time that all threads of the process have used, in the kernel and out of it.",
);
/// Memory of the process.
pub const RESIDENT_BYTES: Metric = Metric::gauge(
    "namdb_resident_bytes",
    Unit::Bytes,
    &[],
    "Memory that the process occupies, pages of mapped regions that it has touched included.",
);
/// The epoch of the cluster.
pub const CLUSTER_EPOCH: Metric = Metric::gauge(
    "namdb_cluster_epoch",
    Unit::None,
    &[],
    "The epoch of the cluster as this server knows it; each join, leave and end of a lease makes a new one.",
);
/// Time until the server has to stop.
pub const LEASE_LEFT: Metric = Metric::gauge(
    "namdb_lease_left_seconds",
    Unit::Seconds,
    &[],
    "Time until the server has to stop unless its lease is renewed, 0 if it is lost; no value where a lease lasts as \
     long as its process, as it does with the registry `file`.",
);

pub(super) const EVERY_SERVER: Chapter = Chapter {
    title: "Every server",
    introduction: "Who tells, and how the process fares.",
    metrics: &[
        &BUILD_INFO,
        &START_TIME,
        &UPTIME,
        &PROCESSOR_SECONDS,
        &RESIDENT_BYTES,
        &CLUSTER_EPOCH,
        &LEASE_LEFT,
    ],
};
