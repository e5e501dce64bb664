//! Metrics of both kinds of servers.

use super::Chapter;
use crate::definition::Definition as Metric;
use crate::definition::{Label, Unit};

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
    "Always 1; the labels identify the server and its version.",
);
pub const START_TIME: Metric = Metric::gauge(
    "namdb_start_time_seconds",
    Unit::Seconds,
    &[],
    "When the server started, in seconds since 1970 in UTC by its host's clock.",
);
pub const UPTIME: Metric = Metric::gauge(
    "namdb_uptime_seconds",
    Unit::Seconds,
    &[],
    "Age of the server when its numbers were read, by a monotonic clock: a rate between two scrapes is a difference \
     divided by the difference of this metric.",
);
pub const PROCESSOR_SECONDS: Metric = Metric::counter(
    "namdb_processor_seconds_total",
    Unit::Seconds,
    &[],
    "Processor time of all threads of the process, user and kernel.",
);
pub const RESIDENT_BYTES: Metric = Metric::gauge(
    "namdb_resident_bytes",
    Unit::Bytes,
    &[],
    "Resident memory of the process, including touched pages of mapped regions.",
);
pub const CLUSTER_EPOCH: Metric = Metric::gauge(
    "namdb_cluster_epoch",
    Unit::None,
    &[],
    "The epoch of the cluster as this server knows it; each join, leave and lease expiry starts a new one.",
);
pub const LEASE_LEFT: Metric = Metric::gauge(
    "namdb_lease_left_seconds",
    Unit::Seconds,
    &[],
    "Time until the server must stop unless its lease is renewed; 0 if the lease is lost. No value if the lease lasts as \
     long as the process, as with the registry `file`.",
);

pub const DETECTOR_LEASE: Metric = Metric::gauge(
    "namdb_detector_lease_seconds",
    Unit::Seconds,
    &[],
    "How long a member whose heartbeats do not arrive counts as alive.",
);
pub const HEARTBEAT_AGE: Metric = Metric::gauge(
    "namdb_heartbeat_age_seconds",
    Unit::Seconds,
    &[
        Label::new("role", "`memory` or `compute`"),
        Label::new("member", "the member's number among those of its role"),
    ],
    "Time since this server has heard of another member. Memory servers watch all members, compute servers the memory \
     servers.",
);
pub const SUSPECTED_MEMBERS: Metric = Metric::gauge(
    "namdb_suspected_members",
    Unit::None,
    &[],
    "Members that this server suspects now: silent for a lease of heartbeats, and not evicted.",
);
pub const SUSPICIONS: Metric = Metric::counter(
    "namdb_suspicions_total",
    Unit::None,
    &[],
    "Members that were silent for a lease of heartbeats.",
);
pub const WITHDRAWN_SUSPICIONS: Metric = Metric::counter(
    "namdb_suspicions_withdrawn_total",
    Unit::None,
    &[],
    "Suspicions that ended with a sign of life. If there are many, processors are overloaded or packets are lost.",
);
pub const EVICTIONS: Metric = Metric::counter(
    "namdb_evictions_total",
    Unit::None,
    &[],
    "Members that this server has evicted: its change of the membership record came first.",
);
pub const EVICTION_TIME: Metric = Metric::gauge(
    "namdb_eviction_seconds",
    Unit::Seconds,
    &[],
    "Time of this server's last eviction to the new epoch: from the last sign of life, or from the end of the process if \
     the system reported it. No value before.",
);

pub(super) const EVERY_SERVER: Chapter = Chapter {
    title: "Every server",
    introduction: "Identity and resources of the process.",
    metrics: &[
        &BUILD_INFO,
        &START_TIME,
        &UPTIME,
        &PROCESSOR_SECONDS,
        &RESIDENT_BYTES,
        &CLUSTER_EPOCH,
        &LEASE_LEFT,
        &DETECTOR_LEASE,
        &HEARTBEAT_AGE,
        &SUSPECTED_MEMBERS,
        &SUSPICIONS,
        &WITHDRAWN_SUSPICIONS,
        &EVICTIONS,
        &EVICTION_TIME,
    ],
};
