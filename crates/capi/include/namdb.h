/*
 * namdb.h: stored procedures, called by name with bound arguments [SPADE 3.1, listing 3]. C11, and C++.
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
 * Threads. A database may be used by all threads at once. A session, and its calls, belong to the thread that opened the session: other
 * threads open their own, and are refused (NAMDB_ERROR) if they use or close it. A thread closes its sessions before it ends.
 *
 * Handles are closed once, in any order: what a handle needs of others lives as long as it does. A handle that is closed may not be used any
 * more; null may be given to every function, which refuses it, but for those that close: there is nothing to close, and they say NAMDB_OK. A
 * function that gives a handle sets it to null first.
 *
 * Errors. Functions that return a namdb_status say NAMDB_ERROR for what cannot be, and then change nothing. Why, a sentence in English
 * says: namdb_call_error and namdb_session_error the last one of a handle, namdb_last_error the last one of the calling thread. Sentences
 * stay until the next one; that of a call ends when the call is made again, and is empty if it then commits. No function ends the process or
 * throws: faults inside are errors, too.
 *
 * Clusters. A process that has joined a cluster (namdb_options.cluster) holds a lease, which the library renews in the background. If it
 * cannot renew it, since the process was stopped for too long or the registry is out of reach, others take the process for dead and may undo
 * what it holds. So the library ENDS THE PROCESS at once, with exit code 4 and a line to its log: nothing of it may reach the memory of the
 * cluster any more. Who cannot have that keeps database calls in a process of their own. Without a cluster nothing ends the process.
 *
 * Texts are UTF-8 and end with a zero. Positions are counted from 0.
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
/* Makes calls one after another. */
typedef struct namdb_session namdb_session;
/* A procedure, its arguments, and its rows. */
typedef struct namdb_call namdb_call;

/* What a function says. */
typedef int32_t namdb_status;
enum {
    /* It did what it should. */
    NAMDB_OK = 0,
    /* The value is null; nothing was written. */
    NAMDB_NULL = 1,
    /* It cannot be; there is a sentence. */
    NAMDB_ERROR = 2
};

/* How a call ended. */
typedef int32_t namdb_outcome;
enum {
    /* It was not made: an argument is missing, or the handle is not this thread's. There is a sentence. */
    NAMDB_NOT_MADE = 0,
    /* Everything that it did is visible to all. */
    NAMDB_COMMITTED = 1,
    /* Nothing of it took effect: it met others too often (namdb_is_contention), or memory or a memory server is missing. */
    NAMDB_ABORTED = 2,
    /* Nothing of it took effect: its data was refused, with an error as PostgreSQL has it (namdb_sqlstate). */
    NAMDB_REFUSED = 3,
    /* Nobody knows whether it took effect: a memory server was lost while it committed. */
    NAMDB_UNKNOWN = 4
};

/* What becomes of the tables when a database is opened. */
enum {
    /* They are made, and filled as workload.toml says. */
    NAMDB_TABLES_LOADED = 0,
    /* They are made, and stay empty. */
    NAMDB_TABLES_EMPTY = 1,
    /* They are in the cluster already, and stay as they are: another program has opened the same folder with one of the above, or
     * `namdb spade apply` has made them. Needs `cluster`. */
    NAMDB_TABLES_PRESENT = 2
};

/* How transactions are kept apart. */
enum {
    /* Each sees a snapshot; of two that write the same row the first to commit wins. */
    NAMDB_ISOLATION_SNAPSHOT = 0,
    /* As if one ran after the other. */
    NAMDB_ISOLATION_SERIALIZABLE = 1
};

/* Dates and timestamps count from 2000-01-01 00:00 UTC, which is this many seconds after 1970-01-01. */
#define NAMDB_EPOCH_UNIX_SECONDS INT64_C(946684800)

/* How a database is opened: fill it by namdb_default_options(), then change what should differ. 0 is what is usual everywhere. */
typedef struct namdb_options {
    /* Bytes of this structure, by which library and program know that they mean the same one. */
    size_t struct_bytes;
    /* NAMDB_TABLES_...; usually made and loaded. */
    int32_t tables;
    /* NAMDB_ISOLATION_...; usually snapshots. */
    int32_t isolation;
    /* 1: leave all calls to the executor of plans, even where there is generated code. */
    int32_t plans_only;
    /* Sessions of this process that may run transactions at the same time, 1 to 64; others wait. Usually 16. */
    uint32_t sessions;
    /* Units of scale, such as warehouses; usually as workload.toml says. */
    uint64_t units;
    /* Bytes of memory for the tables in this process; usually what they take, with room for what a run inserts. */
    uint64_t memory_bytes;
    /* Seed of the rows that are loaded; usually 1. */
    uint64_t seed;
    /* The file of a cluster, whose memory servers have the tables; null: they are in this process. */
    const char *cluster;
} namdb_options;

/* Options that ask for what is usual. */
static inline namdb_options namdb_default_options(void) {
    namdb_options options;
    memset(&options, 0, sizeof options);
    options.struct_bytes = sizeof options;
    return options;
}

/* The library's version, such as "0.1.0". */
const char *namdb_version(void);

/* The last sentence of an error on this thread; empty if there was none. */
const char *namdb_last_error(void);

/* ---- Databases ---------------------------------------------------------------------------------------------------------------- */

/*
 * Opens the workload of a folder, which has schema.sql, procedures.sql, workload.toml and plans, as options say; null asks for what is
 * usual. Loading takes about a second for each 500,000 rows on two processors. Errors: a folder that is not in order, with file and
 * line; too little memory; a cluster that cannot be joined.
 */
namdb_status namdb_open(const char *folder, const namdb_options *options, namdb_database **database);

/* How many procedures there are. */
size_t namdb_procedure_count(const namdb_database *database);

/* The name of a procedure, in the order of procedures.sql, until the database is closed; null if there is none at this position. */
const char *namdb_procedure_name(const namdb_database *database, size_t procedure);

/* Closes a database, or null. Sessions that are open go on; tables of this process end with the last of them. */
namdb_status namdb_close(namdb_database *database);

/* ---- Sessions ----------------------------------------------------------------------------------------------------------------- */

/* Opens a session of this thread. Errors: tables that are missing, or are not those of the folder. */
namdb_status namdb_session_open(const namdb_database *database, namdb_session **session);

/* 1 if generated code carries out its calls and leaves to the executor of plans what it does not do; 0 if the executor does all. */
int32_t namdb_session_is_generated(const namdb_session *session);

/* The last sentence of an error of this session. */
const char *namdb_session_error(const namdb_session *session);

/* Closes a session, or null. */
namdb_status namdb_session_close(namdb_session *session);

/* ---- Calls -------------------------------------------------------------------------------------------------------------------- */

/* A call of the procedure with this name, which can be made any number of times. Errors: there is no such procedure. */
namdb_status namdb_call_open(const namdb_session *session, const char *procedure, namdb_call **call);

/* The last sentence of an error of this call: also why it did not commit. Empty if nothing went wrong since it was made last. */
const char *namdb_call_error(const namdb_call *call);

/* Closes a call, or null. */
namdb_status namdb_call_close(namdb_call *call);

/* How many values the procedure is given. */
int32_t namdb_parameter_count(const namdb_call *call);

/* The position of a parameter; -1 if there is none of this name, with a sentence that names those that there are. */
int32_t namdb_parameter(const namdb_call *call, const char *name);

/*
 * Bind a value to the parameter at a position. Values are copied, and stay bound until others are, or namdb_unbind. Errors: there is no such
 * parameter, or its type takes no such value; a number out of the range of its type is an error of the call, as in PostgreSQL.
 */

/* Null, of any type. */
namdb_status namdb_bind_null(namdb_call *call, int32_t position);
/* A smallint, integer or bigint; numeric and double precision take it, too. */
namdb_status namdb_bind_int64(namdb_call *call, int32_t position, int64_t value);
/* The same of a number without sign; beyond INT64_MAX it is refused, where namdb_bind_int64 would be given a negative one. */
namdb_status namdb_bind_uint64(namdb_call *call, int32_t position, uint64_t value);
/* A boolean: 0 is false. */
namdb_status namdb_bind_bool(namdb_call *call, int32_t position, int32_t value);
/* A double precision. */
namdb_status namdb_bind_double(namdb_call *call, int32_t position, double value);
/*
 * A numeric: so many units with `scale` digits behind the point, 0 to 18; 12.34 is 1234 with scale 2. With as many digits as workload.toml
 * draws, generated code takes it; with others the executor of plans.
 */
namdb_status namdb_bind_decimal(namdb_call *call, int32_t position, int64_t units, uint8_t scale);
/* A date, in days since 2000-01-01. */
namdb_status namdb_bind_date(namdb_call *call, int32_t position, int32_t days);
/* A timestamp, with or without time zone, in microseconds since 2000-01-01 00:00 UTC. */
namdb_status namdb_bind_timestamp(namdb_call *call, int32_t position, int64_t microseconds);
/* A text, varchar or char. */
namdb_status namdb_bind_text(namdb_call *call, int32_t position, const char *value);
/* The same of so many bytes, without a zero at their end. */
namdb_status namdb_bind_text_bytes(namdb_call *call, int32_t position, const char *value, size_t bytes);
/* An array of smallint, integer or bigint. */
namdb_status namdb_bind_int64_array(namdb_call *call, int32_t position, const int64_t *values, size_t count);
/* An array of boolean. */
namdb_status namdb_bind_bool_array(namdb_call *call, int32_t position, const int32_t *values, size_t count);
/* An array of text, varchar or char. */
namdb_status namdb_bind_text_array(namdb_call *call, int32_t position, const char *const *values, size_t count);
/* Forgets all values. */
namdb_status namdb_unbind(namdb_call *call);

/*
 * Makes no further attempt so many milliseconds after the call began; an attempt that is under way is not cut short. Without it, a call that
 * meets others is tried again for about a second.
 */
namdb_status namdb_set_deadline_ms(namdb_call *call, uint64_t milliseconds);

/* Makes so many further attempts at most while the call meets others; usually 200. */
namdb_status namdb_set_retries(namdb_call *call, uint32_t retries);

/* Makes the call, as one transaction that is tried again while it meets others. Rows of the last time are gone. */
namdb_outcome namdb_execute(namdb_call *call);

/* How the call ended the last time; NAMDB_NOT_MADE before the first. */
namdb_outcome namdb_call_outcome(const namdb_call *call);

/* The code of the error that the call was refused with, five characters; empty if it was not. It stays until the call is made again. */
const char *namdb_sqlstate(const namdb_call *call);

/* The name of the reason that the call was aborted for, such as "write_conflict"; empty if it was not. It stays as the code does. */
const char *namdb_abort_reason(const namdb_call *call);

/* 1 if the call was aborted since it met others, so that it may well commit when it is made again. */
int32_t namdb_is_contention(const namdb_call *call);

/* Attempts beyond the first that the call took the last time. */
uint32_t namdb_retries(const namdb_call *call);

/* ---- Rows --------------------------------------------------------------------------------------------------------------------- */

/* How many rows the call has given; 0 if it did not commit. */
size_t namdb_row_count(const namdb_call *call);

/* How many columns its rows have; a procedure that returns a value gives one row of one column, which is called as the procedure is. */
int32_t namdb_column_count(const namdb_call *call);

/* The position of a column; -1 if there is none of this name, with a sentence that names those that there are. */
int32_t namdb_column(const namdb_call *call, const char *name);

/* The name of a column, and its type in PostgreSQL's words, until the call is closed; null if there is none at this position. */
const char *namdb_column_name(const namdb_call *call, int32_t column);
const char *namdb_column_type(const namdb_call *call, int32_t column);

/* 1 if the value is null, 0 if not, -1 if there is no such value. */
int32_t namdb_is_null(const namdb_call *call, size_t row, int32_t column);

/* Read a value. NAMDB_NULL for null, with nothing written. Errors: there is no such value, or its type cannot be read like this. */

/* A smallint, integer or bigint; a date as days, a timestamp as microseconds since 2000-01-01 UTC. */
namdb_status namdb_get_int64(const namdb_call *call, size_t row, int32_t column, int64_t *value);
/* A boolean, as 0 or 1. */
namdb_status namdb_get_bool(const namdb_call *call, size_t row, int32_t column, int32_t *value);
/* A double precision; of a whole number or a numeric the nearest. */
namdb_status namdb_get_double(const namdb_call *call, size_t row, int32_t column, double *value);
/* A numeric of at most 18 digits, or a whole number: units, and digits behind the point. */
namdb_status namdb_get_decimal(const namdb_call *call, size_t row, int32_t column, int64_t *units, uint8_t *scale);
/* Any value, as PostgreSQL prints it. The text stays until the call is made again or closed. */
namdb_status namdb_get_text(const namdb_call *call, size_t row, int32_t column, const char **value);

#ifdef __cplusplus
}
#endif

#endif
