//! Metrics of the server for clients of PostgreSQL.

use super::Chapter;
use crate::definition::Definition as Metric;
use crate::definition::Unit;

pub const SQL_CONNECTIONS: Metric =
    Metric::gauge("namdb_sql_connections", Unit::None, &[], "Connections of clients.");
pub const SQL_THREADS: Metric = Metric::gauge(
    "namdb_sql_threads",
    Unit::None,
    &[],
    "Threads that serve connections or have done so within the last 10 s. Silent connections have none.",
);
pub const SQL_CONNECTIONS_ACCEPTED: Metric = Metric::counter(
    "namdb_sql_connections_accepted_total",
    Unit::None,
    &[],
    "Connections that have started a session.",
);
pub const SQL_CONNECTIONS_REFUSED: Metric = Metric::counter(
    "namdb_sql_connections_refused_total",
    Unit::None,
    &[],
    "Connections that were refused, because there were too many or they did not start in time.",
);
pub const SQL_STATEMENTS: Metric =
    Metric::counter("namdb_sql_statements_total", Unit::None, &[], "Executed statements.");
pub const SQL_ERRORS: Metric =
    Metric::counter("namdb_sql_errors_total", Unit::None, &[], "Errors reported to clients.");
pub const SQL_CANCELS: Metric = Metric::counter(
    "namdb_sql_cancels_total",
    Unit::None,
    &[],
    "Cancel requests with the key of a connection.",
);

pub(super) const SQL_SERVERS: Chapter = Chapter {
    title: "SQL servers",
    introduction: "Clients of PostgreSQL's protocol: `namdb start --metrics ADDRESS`. Uptime, processor time and memory are \
                   those of every server.",
    metrics: &[
        &SQL_CONNECTIONS,
        &SQL_THREADS,
        &SQL_CONNECTIONS_ACCEPTED,
        &SQL_CONNECTIONS_REFUSED,
        &SQL_STATEMENTS,
        &SQL_ERRORS,
        &SQL_CANCELS,
    ],
};
