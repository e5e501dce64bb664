//! Metrics of memory servers.

use super::Chapter;
use crate::definition::Definition as Metric;
use crate::definition::{Label, Unit};

const FABRIC: Label = Label::new("fabric", "`shm`, `tcp` or `verbs`");

pub const SERVED_VERBS: Metric = Metric::counter(
    "namdb_served_verbs_total",
    Unit::None,
    &[FABRIC],
    "Verbs executed by the server's processor: all of them on tcp; none on shm and verbs, where the caller's processor \
     or network card executes them.",
);
pub const SERVED_BYTES: Metric = Metric::counter(
    "namdb_served_bytes_total",
    Unit::Bytes,
    &[FABRIC],
    "Bytes of messages received and sent by the server's processor, including calls and headers.",
);
pub const SERVED_REQUESTS: Metric = Metric::counter(
    "namdb_served_requests_total",
    Unit::None,
    &[],
    "Requests executed by the polling thread: batches and calls, over all fabrics.",
);
pub const SERVED_CALLS: Metric = Metric::counter(
    "namdb_served_calls_total",
    Unit::None,
    &[Label::new("service", "`extents`, `catalog`, `mover`, `tree` or `fence`")],
    "Calls handled by services, including one of `extents` per scrape; a repeated call counts once.",
);
pub const CONNECTIONS: Metric = Metric::gauge(
    "namdb_connections",
    Unit::None,
    &[FABRIC],
    "Connected callers: processes on shm, connections on tcp, queue pairs on verbs.",
);
pub const REGION_BYTES: Metric =
    Metric::gauge("namdb_region_bytes", Unit::Bytes, &[], "Size of the server's region.");
pub const REGION_USED_BYTES: Metric = Metric::gauge(
    "namdb_region_used_bytes",
    Unit::Bytes,
    &[
        Label::new(
            "label",
            "purpose of the memory: `system`, or `table` or `index` with its number",
        ),
        Label::new("table", "the table's name; empty for `system`, and until the server knows it"),
        Label::new("index", "the index's name; empty for a table's rows"),
    ],
    "Bytes of the region in allocated extents.",
);
pub const MOVED_VERSIONS: Metric = Metric::counter(
    "namdb_overflow_versions_moved_total",
    Unit::None,
    &[],
    "Old versions moved to this server's overflow lists.",
);
pub const DROPPED_VERSIONS: Metric = Metric::counter(
    "namdb_overflow_versions_collected_total",
    Unit::None,
    &[],
    "Old versions removed from this server's overflow lists because no snapshot needs them.",
);
pub const LEFT_LOCKS: Metric = Metric::gauge(
    "namdb_left_locks",
    Unit::None,
    &[],
    "Rows, buckets and leaves whose lock nobody releases. The first memory server that lives counts them after \
     a member has died, and every minute while there are some; `namdb doctor` names the remedy. No value on other \
     servers, and if the tables are larger than 256 MiB.",
);
pub const RECOVERED_COMMITS: Metric = Metric::counter(
    "namdb_recovered_commits_total",
    Unit::None,
    &[Label::new("by", "`completed` or `released`: whether the commit took effect")],
    "Unfinished commits of dead compute servers that this memory server has decided: the first one that lives does.",
);
pub const RECOVERED_SLOTS: Metric = Metric::counter(
    "namdb_recovered_slots_total",
    Unit::None,
    &[],
    "Slots of dead compute servers that this memory server has freed: the first one that lives does.",
);
pub const LOST_SLOTS: Metric = Metric::gauge(
    "namdb_lost_slots",
    Unit::None,
    &[],
    "Slots of dead compute servers that this memory server could not recover at the last recovery: the rows of their \
     last commits stay locked, and the log names them. Load the data again.",
);
pub const PROMOTIONS: Metric = Metric::counter(
    "namdb_promotions_total",
    Unit::None,
    &[],
    "Replicas that this memory server has promoted after the death of another one: the first one that lives does.",
);
pub const PROMOTION_TIME: Metric = Metric::gauge(
    "namdb_promotion_seconds",
    Unit::Seconds,
    &[],
    "Time of this server's last promotion: from when it noticed the death until all replicas were promoted. No value before.",
);
pub const CLOSED_REGIONS: Metric = Metric::gauge(
    "namdb_closed_regions",
    Unit::None,
    &[],
    "Regions of dead memory servers that wait for the promotion of a replica: transactions that need them fail \
     meanwhile.",
);
pub const FILLS: Metric = Metric::counter(
    "namdb_fills_total",
    Unit::None,
    &[],
    "Memory servers that have returned after their death and that this memory server has filled: the first one that \
     lives does.",
);
pub const FILL_COMPARED: Metric = Metric::gauge(
    "namdb_fill_compared_bytes",
    Unit::Bytes,
    &[Label::new("server", "number of the memory server that is being filled")],
    "Bytes that were compared, and copied where they differed, to a memory server that is being filled. No value \
     otherwise.",
);
pub const FILL_TOTAL: Metric = Metric::gauge(
    "namdb_fill_total_bytes",
    Unit::Bytes,
    &[Label::new("server", "number of the memory server that is being filled")],
    "Bytes to be compared for a memory server that is being filled. No value otherwise.",
);
pub const FILL_STANDSTILL: Metric = Metric::gauge(
    "namdb_fill_standstill_seconds",
    Unit::Seconds,
    &[],
    "Time for which the database stood still at the end of the last fill. No value before.",
);
pub const POLLING_ROUNDS: Metric = Metric::counter(
    "namdb_polling_rounds_total",
    Unit::None,
    &[],
    "Polls of the connections by the polling thread.",
);
pub const POLLING_BUSY_ROUNDS: Metric = Metric::counter(
    "namdb_polling_busy_rounds_total",
    Unit::None,
    &[],
    "Polls that found requests. Requests per such poll show how many share a system call.",
);
pub const POLLING_YIELDS: Metric = Metric::counter(
    "namdb_polling_yields_total",
    Unit::None,
    &[],
    "Yields of the polling thread's processor because no request had arrived.",
);
pub const POLLING_SLEEPS: Metric = Metric::counter(
    "namdb_polling_sleeps_total",
    Unit::None,
    &[],
    "Sleeps of the polling thread; the next caller must wake it.",
);

pub(super) const MEMORY_SERVERS: Chapter = Chapter {
    title: "Memory servers",
    introduction: "The work of the server's processor, and the contents of its region. One-sided verbs bypass the \
                   processor, so only compute servers can count them.",
    metrics: &[
        &SERVED_VERBS,
        &SERVED_BYTES,
        &SERVED_REQUESTS,
        &SERVED_CALLS,
        &CONNECTIONS,
        &REGION_BYTES,
        &REGION_USED_BYTES,
        &MOVED_VERSIONS,
        &DROPPED_VERSIONS,
        &LEFT_LOCKS,
        &RECOVERED_COMMITS,
        &RECOVERED_SLOTS,
        &LOST_SLOTS,
        &PROMOTIONS,
        &PROMOTION_TIME,
        &CLOSED_REGIONS,
        &FILLS,
        &FILL_COMPARED,
        &FILL_TOTAL,
        &FILL_STANDSTILL,
        &POLLING_ROUNDS,
        &POLLING_BUSY_ROUNDS,
        &POLLING_YIELDS,
        &POLLING_SLEEPS,
    ],
};
