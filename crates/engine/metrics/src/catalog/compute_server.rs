//! Metrics of compute servers.

use super::Chapter;
use crate::definition::Definition as Metric;
use crate::definition::{Label, Unit};

const WORK: Label = Label::new(
    "work",
    "`transactions`, or `upkeep`: collection and growth, which belong to no transaction",
);

pub const POSTED_VERBS: Metric = Metric::counter(
    "namdb_posted_verbs_total",
    Unit::None,
    &[WORK],
    "Verbs that lanes have posted, calls included.",
);
pub const POSTED_BYTES: Metric = Metric::counter(
    "namdb_posted_bytes_total",
    Unit::Bytes,
    &[WORK],
    "Bytes that these verbs moved, without headers of the network.",
);
pub const ROUND_TRIPS: Metric = Metric::counter(
    "namdb_round_trips_total",
    Unit::None,
    &[WORK],
    "Round trips that lanes have waited for: a batch to any number of servers counts as one.",
);
pub const POSTED_CALLS: Metric = Metric::counter(
    "namdb_posted_calls_total",
    Unit::None,
    &[],
    "Calls of services of memory servers among the verbs.",
);
pub const COMMITS: Metric =
    Metric::counter("namdb_commits_total", Unit::None, &[], "Committed transactions.");
pub const ABORTS: Metric = Metric::counter(
    "namdb_aborts_total",
    Unit::None,
    &[Label::new("reason", "a name of `txn::Abort`, such as `write_conflict`")],
    "Aborted attempts, by reason; each attempt of a transaction counts.",
);
pub const UNKNOWN_OUTCOMES: Metric = Metric::counter(
    "namdb_unknown_outcomes_total",
    Unit::None,
    &[],
    "Transactions of unknown outcome, because a server was lost after the point of no return; the lane rests until it has decided them.",
);
pub const TRANSACTION_SECONDS: Metric = Metric::latency(
    "namdb_transaction_seconds",
    &[Label::new("type", "transaction type of its workload, such as `new_order`")],
    "Time from the first begin of a transaction to its commit, including retries.",
);
pub const LANES: Metric = Metric::gauge(
    "namdb_lanes",
    Unit::None,
    &[],
    "Lanes that run transactions: the maximal number of concurrent transactions.",
);
pub const SNAPSHOTS: Metric =
    Metric::counter("namdb_snapshots_total", Unit::None, &[], "Snapshots taken.");
pub const SNAPSHOT_ROUND_TRIPS: Metric = Metric::counter(
    "namdb_snapshot_round_trips_total",
    Unit::None,
    &[],
    "Round trips for snapshots, which are also in `namdb_round_trips_total`.",
);
pub const SNAPSHOT_AGE: Metric = Metric::gauge(
    "namdb_snapshot_age_seconds",
    Unit::Seconds,
    &[],
    "Age of the longest-running transaction, including retries; 0 if none runs. No snapshot in use is older, and the \
     versions that it needs are kept.",
);
pub const SNAPSHOT_LAG: Metric = Metric::gauge(
    "namdb_snapshot_lag_commits",
    Unit::None,
    &[],
    "Staleness of reads: an upper bound on the commits of all compute servers that were published before the last read of \
     the oracle and that the oldest snapshot does not cover. Counted in numbers of the vector; aborted transactions use \
     some, too.",
);
pub const OLD_VERSION_READS: Metric = Metric::counter(
    "namdb_old_version_reads_total",
    Unit::None,
    &[],
    "Reads that needed an older version than the row holds.",
);
pub const MOVES: Metric = Metric::counter(
    "namdb_versions_moved_total",
    Unit::None,
    &[],
    "Versions that memory servers have moved to overflow lists for this server's lanes.",
);
pub const BUFFERS_GIVEN: Metric = Metric::counter(
    "namdb_version_buffers_given_total",
    Unit::None,
    &[],
    "Version buffers given to rows. Minus those collected, over all compute servers, this is the number in use.",
);
pub const BUFFERS_COLLECTED: Metric = Metric::counter(
    "namdb_version_buffers_collected_total",
    Unit::None,
    &[],
    "Version buffers freed by garbage collection.",
);
pub const VALUES_COLLECTED: Metric = Metric::counter(
    "namdb_values_collected_total",
    Unit::None,
    &[],
    "Long values freed by garbage collection.",
);
pub const ENTRIES_COLLECTED: Metric = Metric::counter(
    "namdb_entries_collected_total",
    Unit::None,
    &[],
    "Deleted rows and index entries removed by garbage collection.",
);
pub const BUCKETS_SPLIT: Metric = Metric::counter(
    "namdb_buckets_split_total",
    Unit::None,
    &[],
    "Hash buckets split by this server's lanes.",
);

const SERVICE: Label = Label::new(
    "service",
    "`call`: a procedure whose rows the server owns; `open`: the folder of such procedures; `shipped`: an operation on \
     rows that it owns; `own`: the table of such operations",
);

pub const CALL_SECONDS: Metric = Metric::latency(
    "namdb_call_seconds",
    &[SERVICE],
    "Time from the start of a call's handler to its answer, including waits for a \
     free lane. No other metric here includes the work of these calls' lanes.",
);
pub const REFUSED_CALLS: Metric = Metric::counter(
    "namdb_refused_calls_total",
    Unit::None,
    &[SERVICE],
    "Calls that returned an error, for example because no lane became free.",
);
pub const CALLS_UNDER_WAY: Metric =
    Metric::gauge("namdb_calls_under_way", Unit::None, &[], "Calls in progress.");
pub const CALLERS: Metric = Metric::gauge(
    "namdb_callers",
    Unit::None,
    &[],
    "Connected callers of this server: processes on shm, connections on tcp, queue pairs on verbs.",
);

pub(super) const COMPUTE_SERVERS: Chapter = Chapter {
    title: "Compute servers",
    introduction: "The work of its lanes, and the calls that it accepts. Workers report their lanes' counts about \
                   once a second, so numbers may be that old.",
    metrics: &[
        &COMMITS,
        &ABORTS,
        &UNKNOWN_OUTCOMES,
        &TRANSACTION_SECONDS,
        &LANES,
        &POSTED_VERBS,
        &POSTED_BYTES,
        &ROUND_TRIPS,
        &POSTED_CALLS,
        &SNAPSHOTS,
        &SNAPSHOT_ROUND_TRIPS,
        &SNAPSHOT_AGE,
        &SNAPSHOT_LAG,
        &OLD_VERSION_READS,
        &MOVES,
        &BUFFERS_GIVEN,
        &BUFFERS_COLLECTED,
        &VALUES_COLLECTED,
        &ENTRIES_COLLECTED,
        &BUCKETS_SPLIT,
        &CALL_SECONDS,
        &REFUSED_CALLS,
        &CALLS_UNDER_WAY,
        &CALLERS,
    ],
};
