//! What memory servers tell.

use super::Chapter;
use crate::definition::Definition as Metric;
use crate::definition::{Label, Unit};

const FABRIC: Label = Label::new("fabric", "`shm`, `tcp` or `verbs`");

/// Verbs that the server carried out.
pub const SERVED_VERBS: Metric = Metric::counter(
    "namdb_served_verbs_total",
    Unit::None,
    &[FABRIC],
    "Verbs that the server's processor carried out: all of them on tcp, none on shm and verbs, where the processor or \
     the network card of whoever posts them does it.",
);
/// Their bytes.
pub const SERVED_BYTES: Metric = Metric::counter(
    "namdb_served_bytes_total",
    Unit::Bytes,
    &[FABRIC],
    "Bytes of messages taken and sent by the server's processor, calls and headers included.",
);
/// Requests of the polling thread.
pub const SERVED_REQUESTS: Metric = Metric::counter(
    "namdb_served_requests_total",
    Unit::None,
    &[],
    "Requests that the polling thread carried out: batches and calls, over all fabrics.",
);
/// Calls by service.
pub const SERVED_CALLS: Metric = Metric::counter(
    "namdb_served_calls_total",
    Unit::None,
    &[Label::new("service", "`extents`, `catalog`, `mover` or `tree`")],
    "Calls that services have handled, one of `extents` for each scrape among them; a repeated call counts once.",
);
/// Connections by fabric.
pub const CONNECTIONS: Metric = Metric::gauge(
    "namdb_connections",
    Unit::None,
    &[FABRIC],
    "Callers that are connected: processes on shm, connections on tcp, queue pairs on verbs.",
);
/// Size of the region.
pub const REGION_BYTES: Metric =
    Metric::gauge("namdb_region_bytes", Unit::Bytes, &[], "Size of the server's region.");
/// Memory handed out.
pub const REGION_USED_BYTES: Metric = Metric::gauge(
    "namdb_region_used_bytes",
    Unit::Bytes,
    &[
        Label::new(
            "label",
            "what the memory is for: `system`, or `table` or `index` with its number",
        ),
        Label::new(
            "table",
            "the table's name, empty for `system` and until the server has learned it",
        ),
        Label::new("index", "the index's name, empty for a table's own rows"),
    ],
    "Bytes of the region in extents that were handed out and not given back.",
);
/// Versions the mover moved.
pub const MOVED_VERSIONS: Metric = Metric::counter(
    "namdb_overflow_versions_moved_total",
    Unit::None,
    &[],
    "Old versions that the mover has put into the overflow lists of this server.",
);
/// Versions the mover collected.
pub const DROPPED_VERSIONS: Metric = Metric::counter(
    "namdb_overflow_versions_collected_total",
    Unit::None,
    &[],
    "Old versions that have left the overflow lists of this server because no snapshot needs them.",
);
/// Looks at the ports.
pub const POLLING_ROUNDS: Metric = Metric::counter(
    "namdb_polling_rounds_total",
    Unit::None,
    &[],
    "Looks of the polling thread at its connections.",
);
/// Looks that found something.
pub const POLLING_BUSY_ROUNDS: Metric = Metric::counter(
    "namdb_polling_busy_rounds_total",
    Unit::None,
    &[],
    "Looks that found requests; requests per such look tell how many share a system call.",
);
/// Yields.
pub const POLLING_YIELDS: Metric = Metric::counter(
    "namdb_polling_yields_total",
    Unit::None,
    &[],
    "Times that the polling thread let others run because there was nothing to do.",
);
/// Sleeps.
pub const POLLING_SLEEPS: Metric = Metric::counter(
    "namdb_polling_sleeps_total",
    Unit::None,
    &[],
    "Times that the polling thread went to sleep; whoever posts then has to wake it.",
);

pub(super) const MEMORY_SERVERS: Chapter = Chapter {
    title: "Memory servers",
    introduction: "What was asked of the server's processor, and what its region holds. One-sided verbs never pass \
                   the processor, so only who posts them can count them: see the compute servers.",
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
        &POLLING_ROUNDS,
        &POLLING_BUSY_ROUNDS,
        &POLLING_YIELDS,
        &POLLING_SLEEPS,
    ],
};
