/*
 * namdb.h: stored procedures, called by name with bound arguments [SPADE 3.1, listing 3]. For C11
 * and C++.
 *
 *     namdb_database *database;
 *     namdb_session *session;
 *     namdb_call *call;
 *     int64_t location;
 *     namdb_open("workloads/tatp", NULL, &database);
 *     namdb_session_open(database, &session);
 *     namdb_call_open(session, "get_subscriber_data", &call);
 *     namdb_bind_int64(call, 0, 7);
 *     if (namdb_execute(call) == NAMDB_COMMITTED)
 *         namdb_get_int64(call, 0, namdb_column(call, "vlr_location"), &location);
 *
 * Link with libnamdb_c.so, or with libnamdb_c.a and -lpthread -ldl -lm -lgcc_s.
 *
 * Threads. All threads may use a database at the same time. A session and its calls belong to the
 * thread that opened the session: other threads open their own, and get NAMDB_ERROR if they use or
 * close it. A thread must close its sessions before it ends.
 *
 * Handles. Close each handle once, in any order: a handle keeps what it needs of others alive. Do
 * not use a closed handle. Every function accepts null and reports an error, except the functions
 * that close: they do nothing and return NAMDB_OK. A function that returns a handle sets it to
 * null first.
 *
 * Errors. Functions that return a namdb_status return NAMDB_ERROR if a request is invalid, and
 * then change nothing. The error message, an English sentence, is stored per handle
 * (namdb_call_error, namdb_session_error) and per thread (namdb_last_error). A message is valid
 * until the next error; a call's message is also cleared when the call is executed again, and is
 * empty if that commits. No function throws or terminates the process because of an error:
 * internal errors are reported, too.
 *
 * Clusters. A process that has joined a cluster (namdb_options.cluster) holds a lease, which the
 * library renews in the background. If the renewal fails, because the process was stopped for too
 * long or the registry is unreachable, other servers consider the process dead and may undo its
 * unfinished work. The library therefore TERMINATES THE PROCESS at once, with exit code 4 and a
 * line in its log, so that none of its writes can reach the cluster's memory any more. A program
 * that cannot accept this makes its database calls in a separate process. Without a cluster
 * nothing terminates the process.
 *
 * Texts are UTF-8 and end with a NUL. Positions count from 0.
 */
#ifndef NAMDB_H
#define NAMDB_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A workload's tables and procedures. */
typedef struct namdb_database namdb_database;
/* Executes calls one after another. */
typedef struct namdb_session namdb_session;
/* A procedure, its arguments, and its rows. */
typedef struct namdb_call namdb_call;

/* The result of a function. */
typedef int32_t namdb_status;
enum {
    /* Success. */
    NAMDB_OK = 0,
    /* The value is null; nothing was written. */
    NAMDB_NULL = 1,
    /* The request is invalid; see the error message. */
    NAMDB_ERROR = 2
};

/* The outcome of a call. */
typedef int32_t namdb_outcome;
enum {
    /*
     * The call was not executed: an argument is missing, or another thread owns the handle. See
     * the error message.
     */
    NAMDB_NOT_MADE = 0,
    /* The transaction committed: all its changes are visible. */
    NAMDB_COMMITTED = 1,
    /*
     * The transaction had no effect: it conflicted with others too often (namdb_is_contention),
     * memory is full, or a memory server is unreachable.
     */
    NAMDB_ABORTED = 2,
    /*
     * The transaction had no effect: it ended with an SQL error, as in PostgreSQL
     * (namdb_sqlstate).
     */
    NAMDB_REFUSED = 3,
    /*
     * It is unknown whether the transaction took effect: a memory server was lost during the
     * commit.
     */
    NAMDB_UNKNOWN = 4
};

/* What to do with the tables when a database is opened. */
enum {
    /* Create them, and load the rows described in workload.toml. */
    NAMDB_TABLES_LOADED = 0,
    /* Create them, and leave them empty. */
    NAMDB_TABLES_EMPTY = 1,
    /*
     * Use the cluster's existing tables unchanged: another program has opened the same folder with
     * one of the above, or `namdb spade apply` has created them. Requires `cluster`.
     */
    NAMDB_TABLES_PRESENT = 2
};

/* Isolation levels. */
enum {
    /*
     * Snapshot isolation: each transaction reads a snapshot; of two that write the same row, the
     * first to commit wins.
     */
    NAMDB_ISOLATION_SNAPSHOT = 0,
    /* Serializable: as if transactions ran one after the other. */
    NAMDB_ISOLATION_SERIALIZABLE = 1
};

/*
 * Dates and timestamps count from 2000-01-01 00:00 UTC, which is this many seconds after
 * 1970-01-01.
 */
#define NAMDB_EPOCH_UNIX_SECONDS INT64_C(946684800)

/*
 * How to open a database: initialise it with namdb_default_options(), then change what should
 * differ. 0 selects the default in every field.
 */
typedef struct namdb_options {
    /*
     * Size of this structure in bytes, by which the library detects a program built with another
     * version of this header.
     */
    size_t struct_bytes;
    /* NAMDB_TABLES_...; default NAMDB_TABLES_LOADED. */
    int32_t tables;
    /* NAMDB_ISOLATION_...; default NAMDB_ISOLATION_SNAPSHOT. */
    int32_t isolation;
    /* 1: execute all calls with the executor of plans, even if there is generated code. */
    int32_t plans_only;
    /*
     * Maximum number of this process's sessions that run transactions at the same time, 1 to 64;
     * others wait. Default 16.
     */
    uint32_t sessions;
    /* Scale in units, such as warehouses; default as in workload.toml. */
    uint64_t units;
    /*
     * Memory for the tables in this process, in bytes; default: their size, with room for what a
     * run inserts.
     */
    uint64_t memory_bytes;
    /* Seed of the loaded rows; default 1. */
    uint64_t seed;
    /*
     * Path of a cluster file; the cluster's memory servers then hold the tables. Null: this
     * process holds them.
     */
    const char *cluster;
} namdb_options;

/* Returns the default options. */
static inline namdb_options namdb_default_options(void) {
    namdb_options options;
    memset(&options, 0, sizeof options);
    options.struct_bytes = sizeof options;
    return options;
}

/* The library's version, such as "0.1.0". */
const char *namdb_version(void);

/* The last error message of this thread; empty if there was none. */
const char *namdb_last_error(void);

/* ---- Databases ------------------------------------------------------------------------------- */

/*
 * Opens the workload in a folder, which has schema.sql, procedures.sql, workload.toml and plans;
 * null options select the defaults. Loading takes about a second per 500,000 rows on two
 * processors. Errors: an invalid folder, with file and line; too little memory; a cluster that
 * cannot be joined.
 */
namdb_status namdb_open(const char *folder, const namdb_options *options, namdb_database **database);

/* The number of procedures. */
size_t namdb_procedure_count(const namdb_database *database);

/*
 * The name of a procedure, in the order of procedures.sql, valid until the database is closed;
 * null if there is no procedure at this position.
 */
const char *namdb_procedure_name(const namdb_database *database, size_t procedure);

/*
 * Closes a database; null is allowed. Open sessions continue; tables in this process are freed
 * with the last session.
 */
namdb_status namdb_close(namdb_database *database);

/* ---- Sessions -------------------------------------------------------------------------------- */

/*
 * Opens a session of this thread. Errors: tables are missing, or differ from those of the folder.
 */
namdb_status namdb_session_open(const namdb_database *database, namdb_session **session);

/*
 * 1 if generated code executes the calls, and leaves unsupported cases to the executor of plans; 0
 * if the executor executes all calls.
 */
int32_t namdb_session_is_generated(const namdb_session *session);

/* The last error message of this session. */
const char *namdb_session_error(const namdb_session *session);

/* Closes a session; null is allowed. */
namdb_status namdb_session_close(namdb_session *session);

/* ---- Calls ----------------------------------------------------------------------------------- */

/*
 * Opens a call of the procedure with this name, which can be executed any number of times. Errors:
 * the procedure does not exist.
 */
namdb_status namdb_call_open(const namdb_session *session, const char *procedure, namdb_call **call);

/*
 * The last error message of this call, which also says why it did not commit. Empty if there was
 * no error since the last execution.
 */
const char *namdb_call_error(const namdb_call *call);

/* Closes a call; null is allowed. */
namdb_status namdb_call_close(namdb_call *call);

/* The number of parameters. */
int32_t namdb_parameter_count(const namdb_call *call);

/*
 * The position of a parameter; -1 if there is no such parameter, with an error message that lists
 * the existing ones.
 */
int32_t namdb_parameter(const namdb_call *call, const char *name);

/*
 * Bind a value to the parameter at a position. Values are copied, and stay bound until they are
 * replaced, or until namdb_unbind. Errors: there is no such parameter, or its type does not accept
 * the value; a number out of range for its type is an error of the call, as in PostgreSQL.
 */

/* Null, of any type. */
namdb_status namdb_bind_null(namdb_call *call, int32_t position);
/* A smallint, integer or bigint; also accepted for numeric and double precision. */
namdb_status namdb_bind_int64(namdb_call *call, int32_t position, int64_t value);
/*
 * The same for an unsigned number; a value above INT64_MAX is refused, whereas namdb_bind_int64
 * would take it as negative.
 */
namdb_status namdb_bind_uint64(namdb_call *call, int32_t position, uint64_t value);
/* A boolean: 0 is false. */
namdb_status namdb_bind_bool(namdb_call *call, int32_t position, int32_t value);
/* A double precision. */
namdb_status namdb_bind_double(namdb_call *call, int32_t position, double value);
/*
 * A numeric: units and scale (digits after the decimal point), 0 to 18; 12.34 is 1234 with scale
 * 2. Generated code accepts it if the scale is that of workload.toml's draws; otherwise the
 * executor of plans runs the call.
 */
namdb_status namdb_bind_decimal(namdb_call *call, int32_t position, int64_t units, uint8_t scale);
/* A date, in days since 2000-01-01. */
namdb_status namdb_bind_date(namdb_call *call, int32_t position, int32_t days);
/* A timestamp, with or without time zone, in microseconds since 2000-01-01 00:00 UTC. */
namdb_status namdb_bind_timestamp(namdb_call *call, int32_t position, int64_t microseconds);
/* A text, varchar or char. */
namdb_status namdb_bind_text(namdb_call *call, int32_t position, const char *value);
/* The same for a text of this many bytes, without a NUL at its end. */
namdb_status namdb_bind_text_bytes(namdb_call *call, int32_t position, const char *value, size_t bytes);
/* An array of smallint, integer or bigint. */
namdb_status namdb_bind_int64_array(namdb_call *call, int32_t position, const int64_t *values, size_t count);
/* An array of boolean. */
namdb_status namdb_bind_bool_array(namdb_call *call, int32_t position, const int32_t *values, size_t count);
/* An array of text, varchar or char. */
namdb_status namdb_bind_text_array(namdb_call *call, int32_t position, const char *const *values, size_t count);
/* Removes all bound values. */
namdb_status namdb_unbind(namdb_call *call);

/*
 * Makes no further attempt this many milliseconds after the call began; a running attempt is not
 * interrupted. Without a deadline, a conflicting call is retried for about a second.
 */
namdb_status namdb_set_deadline_ms(namdb_call *call, uint64_t milliseconds);

/* Sets the maximum number of retries after conflicts; default 200. */
namdb_status namdb_set_retries(namdb_call *call, uint32_t retries);

/*
 * Executes the call as one transaction, which is retried after conflicts. Discards the rows of the
 * previous execution.
 */
namdb_outcome namdb_execute(namdb_call *call);

/* The outcome of the last execution; NAMDB_NOT_MADE before the first. */
namdb_outcome namdb_call_outcome(const namdb_call *call);

/*
 * The SQLSTATE if the outcome is NAMDB_REFUSED, five characters; else empty. Valid until the call
 * is executed again.
 */
const char *namdb_sqlstate(const namdb_call *call);

/*
 * The name of the reason, such as "write_conflict", if the outcome is NAMDB_ABORTED; else empty.
 * Valid until the call is executed again.
 */
const char *namdb_abort_reason(const namdb_call *call);

/*
 * 1 if the call was aborted because of conflicts, so that it may well commit when it is executed
 * again.
 */
int32_t namdb_is_contention(const namdb_call *call);

/* The number of retries of the last execution. */
uint32_t namdb_retries(const namdb_call *call);

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The number of rows in the result; 0 if the call did not commit. */
size_t namdb_row_count(const namdb_call *call);

/*
 * The number of columns; a procedure that returns a value has one row of one column, which has the
 * name of the procedure.
 */
int32_t namdb_column_count(const namdb_call *call);

/*
 * The position of a column; -1 if there is no such column, with an error message that lists the
 * existing ones.
 */
int32_t namdb_column(const namdb_call *call, const char *name);

/*
 * The name of a column, and its PostgreSQL type, valid until the call is closed; null if there is
 * no column at this position.
 */
const char *namdb_column_name(const namdb_call *call, int32_t column);
const char *namdb_column_type(const namdb_call *call, int32_t column);

/* 1 if the value is null, 0 if not, -1 if there is no such value. */
int32_t namdb_is_null(const namdb_call *call, size_t row, int32_t column);

/*
 * Read a value. Return NAMDB_NULL if it is null, and then write nothing. Errors: there is no such
 * value, or its type cannot be read this way.
 */

/*
 * A smallint, integer or bigint; a date in days, a timestamp in microseconds, both since 2000-01-01
 * 00:00 UTC.
 */
namdb_status namdb_get_int64(const namdb_call *call, size_t row, int32_t column, int64_t *value);
/* A boolean, as 0 or 1. */
namdb_status namdb_get_bool(const namdb_call *call, size_t row, int32_t column, int32_t *value);
/* A double precision; an integer or numeric is rounded to the nearest one. */
namdb_status namdb_get_double(const namdb_call *call, size_t row, int32_t column, double *value);
/* A numeric of at most 18 digits, or an integer: units and scale. */
namdb_status namdb_get_decimal(const namdb_call *call, size_t row, int32_t column, int64_t *units, uint8_t *scale);
/*
 * Any value, printed as in PostgreSQL. The text is valid until the call is executed again or
 * closed.
 */
namdb_status namdb_get_text(const namdb_call *call, size_t row, int32_t column, const char **value);

#ifdef __cplusplus
}
#endif

#endif
