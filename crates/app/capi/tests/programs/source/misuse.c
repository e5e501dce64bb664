/*
 * Makes every mistake that a program can make without violating the header's rules. Argument: the
 * folder of TATP.
 */
#include "namdb.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENSURE(condition)                                                                            \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            fprintf(stderr, "%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, #condition,         \
                    namdb_last_error());                                                             \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

static int says(const char *sentence, const char *words) { return strstr(sentence, words) != NULL; }

static void nulls(void) {
    int64_t number = 5;
    namdb_database *database = (namdb_database *)&number;
    namdb_session *session;
    namdb_call *call;
    int32_t flag;
    double value;
    uint8_t scale;
    const char *text;
    ENSURE(namdb_open(NULL, NULL, &database) == NAMDB_ERROR && database == NULL);
    ENSURE(says(namdb_last_error(), "the folder is null"));
    ENSURE(namdb_open("here", NULL, NULL) == NAMDB_ERROR);
    ENSURE(namdb_session_open(NULL, &session) == NAMDB_ERROR && session == NULL);
    ENSURE(says(namdb_last_error(), "the database is null"));
    ENSURE(namdb_procedure_count(NULL) == 0 && namdb_procedure_name(NULL, 0) == NULL);
    ENSURE(namdb_session_is_generated(NULL) == 0);
    ENSURE(namdb_call_open(NULL, "x", &call) == NAMDB_ERROR);
    ENSURE(says(namdb_session_error(NULL), "the session is null"));
    ENSURE(namdb_parameter_count(NULL) == 0 && namdb_parameter(NULL, "x") == -1);
    ENSURE(namdb_bind_null(NULL, 0) == NAMDB_ERROR && namdb_bind_int64(NULL, 0, 1) == NAMDB_ERROR);
    ENSURE(namdb_bind_uint64(NULL, 0, 1) == NAMDB_ERROR);
    ENSURE(namdb_bind_bool(NULL, 0, 1) == NAMDB_ERROR && namdb_bind_double(NULL, 0, 1) == NAMDB_ERROR);
    ENSURE(namdb_bind_decimal(NULL, 0, 1, 2) == NAMDB_ERROR && namdb_bind_date(NULL, 0, 1) == NAMDB_ERROR);
    ENSURE(namdb_bind_timestamp(NULL, 0, 1) == NAMDB_ERROR && namdb_bind_text(NULL, 0, "x") == NAMDB_ERROR);
    ENSURE(namdb_bind_text_bytes(NULL, 0, "x", 1) == NAMDB_ERROR);
    ENSURE(namdb_bind_int64_array(NULL, 0, &number, 1) == NAMDB_ERROR);
    ENSURE(namdb_bind_bool_array(NULL, 0, NULL, 0) == NAMDB_ERROR);
    ENSURE(namdb_bind_text_array(NULL, 0, NULL, 0) == NAMDB_ERROR && namdb_unbind(NULL) == NAMDB_ERROR);
    ENSURE(namdb_set_deadline_ms(NULL, 1) == NAMDB_ERROR && namdb_set_retries(NULL, 1) == NAMDB_ERROR);
    ENSURE(namdb_execute(NULL) == NAMDB_NOT_MADE && namdb_call_outcome(NULL) == NAMDB_NOT_MADE);
    ENSURE(says(namdb_call_error(NULL), "the call is null"));
    ENSURE(*namdb_sqlstate(NULL) == 0 && *namdb_abort_reason(NULL) == 0);
    ENSURE(namdb_is_contention(NULL) == 0 && namdb_retries(NULL) == 0);
    ENSURE(namdb_row_count(NULL) == 0 && namdb_column_count(NULL) == 0 && namdb_column(NULL, "x") == -1);
    ENSURE(namdb_column_name(NULL, 0) == NULL && namdb_column_type(NULL, 0) == NULL);
    ENSURE(namdb_is_null(NULL, 0, 0) == -1 && namdb_get_int64(NULL, 0, 0, &number) == NAMDB_ERROR);
    ENSURE(namdb_get_bool(NULL, 0, 0, &flag) == NAMDB_ERROR && namdb_get_double(NULL, 0, 0, &value) == NAMDB_ERROR);
    ENSURE(namdb_get_decimal(NULL, 0, 0, &number, &scale) == NAMDB_ERROR);
    ENSURE(namdb_get_text(NULL, 0, 0, &text) == NAMDB_ERROR);
    ENSURE(namdb_call_close(NULL) == NAMDB_OK && namdb_session_close(NULL) == NAMDB_OK && namdb_close(NULL) == NAMDB_OK);
    ENSURE(number == 5);
}

static void options(const char *folder) {
    namdb_options options = namdb_default_options();
    namdb_database *database;
    ENSURE(namdb_open("/nonexistent/folder", NULL, &database) == NAMDB_ERROR && database == NULL);
    ENSURE(says(namdb_last_error(), "/nonexistent/folder"));
    ENSURE(namdb_open("\xff\xfe", NULL, &database) == NAMDB_ERROR && says(namdb_last_error(), "UTF-8"));
    options.tables = 7;
    ENSURE(namdb_open(folder, &options, &database) == NAMDB_ERROR && says(namdb_last_error(), "`tables` is 7"));
    options.tables = NAMDB_TABLES_PRESENT;
    ENSURE(namdb_open(folder, &options, &database) == NAMDB_ERROR && says(namdb_last_error(), "tables that exist already need a cluster"));
    options.tables = NAMDB_TABLES_EMPTY;
    options.sessions = 1000;
    ENSURE(namdb_open(folder, &options, &database) == NAMDB_ERROR && says(namdb_last_error(), "1 to 64"));
    options.sessions = 0;
    options.struct_bytes = 3;
    ENSURE(namdb_open(folder, &options, &database) == NAMDB_ERROR);
    ENSURE(says(namdb_last_error(), "namdb_default_options"));
    options = namdb_default_options();
    options.memory_bytes = UINT64_C(1) << 60;
    ENSURE(namdb_open(folder, &options, &database) == NAMDB_ERROR && says(namdb_last_error(), "MiB"));
}

static void *elsewhere(void *call) {
    ENSURE(namdb_execute(call) == NAMDB_NOT_MADE);
    ENSURE(says(namdb_call_error(call), "belongs to the thread"));
    ENSURE(namdb_bind_int64(call, 0, 1) == NAMDB_ERROR && namdb_call_close(call) == NAMDB_ERROR);
    return NULL;
}

static void calls(const char *folder) {
    static const char *const texts[] = {"a", "b"}, *const holes[] = {"a", NULL};
    namdb_options options = namdb_default_options();
    namdb_database *database;
    namdb_session *session;
    namdb_call *call;
    pthread_t thread;
    int64_t number = 5;
    int32_t flag;
    options.tables = NAMDB_TABLES_LOADED;
    ENSURE(namdb_open(folder, &options, &database) == NAMDB_OK);
    ENSURE(namdb_session_open(database, &session) == NAMDB_OK);
    ENSURE(namdb_call_open(session, "get_data", &call) == NAMDB_ERROR && call == NULL);
    ENSURE(says(namdb_session_error(session), "no procedure get_data; the workload has get_subscriber_data"));
    ENSURE(namdb_call_open(session, NULL, &call) == NAMDB_ERROR);
    ENSURE(namdb_call_open(session, "get_access_data", NULL) == NAMDB_ERROR);
    ENSURE(namdb_call_open(session, "get_subscriber_data", &call) == NAMDB_OK);

    ENSURE(namdb_execute(call) == NAMDB_NOT_MADE && says(namdb_call_error(call), "subscriber_id of get_subscriber_data has no value"));
    ENSURE(namdb_parameter(call, "sub") == -1 && says(namdb_call_error(call), "no parameter sub; it has subscriber_id"));
    ENSURE(namdb_bind_int64(call, namdb_parameter(call, "sub"), 7) == NAMDB_ERROR);
    ENSURE(namdb_bind_int64(call, 1, 7) == NAMDB_ERROR && says(namdb_call_error(call), "position 1: it has 1"));
    ENSURE(namdb_bind_text(call, 0, "7") == NAMDB_ERROR && says(namdb_call_error(call), "is integer, and takes no text"));
    ENSURE(namdb_bind_double(call, 0, 7) == NAMDB_ERROR && namdb_bind_bool(call, 0, 1) == NAMDB_ERROR);
    ENSURE(namdb_bind_decimal(call, 0, 7, 0) == NAMDB_ERROR && namdb_bind_date(call, 0, 7) == NAMDB_ERROR);
    ENSURE(namdb_bind_timestamp(call, 0, 7) == NAMDB_ERROR && namdb_bind_int64_array(call, 0, &number, 1) == NAMDB_ERROR);
    ENSURE(namdb_bind_text(call, 0, NULL) == NAMDB_ERROR && namdb_bind_text(call, 0, "\xff") == NAMDB_ERROR);
    ENSURE(namdb_bind_text_array(call, 0, texts, 2) == NAMDB_ERROR && says(namdb_call_error(call), "takes no text[]"));
    ENSURE(namdb_bind_text_array(call, 0, holes, 2) == NAMDB_ERROR && says(namdb_call_error(call), "text in the array is null"));
    ENSURE(namdb_bind_int64_array(call, 0, NULL, 3) == NAMDB_ERROR && says(namdb_call_error(call), "should have 3 elements"));
    ENSURE(namdb_bind_int64_array(call, 0, &number, SIZE_MAX) == NAMDB_ERROR);
    ENSURE(namdb_execute(call) == NAMDB_NOT_MADE);

    ENSURE(namdb_bind_uint64(call, 0, UINT64_MAX) == NAMDB_ERROR && says(namdb_call_error(call), "18446744073709551615 is beyond"));
    ENSURE(namdb_bind_uint64(call, 0, 7) == NAMDB_OK && namdb_execute(call) == NAMDB_COMMITTED && *namdb_call_error(call) == 0);
    ENSURE(namdb_bind_int64(call, 0, 7) == NAMDB_OK && namdb_execute(call) == NAMDB_COMMITTED);
    ENSURE(namdb_get_int64(call, 1, 0, &number) == NAMDB_ERROR && says(namdb_call_error(call), "1 rows of 34 columns"));
    ENSURE(namdb_get_int64(call, 0, 34, &number) == NAMDB_ERROR && namdb_get_int64(call, 0, -1, &number) == NAMDB_ERROR);
    ENSURE(namdb_get_int64(call, 0, 1, &number) == NAMDB_ERROR && says(namdb_call_error(call), "as text it can"));
    ENSURE(namdb_get_bool(call, 0, 0, &flag) == NAMDB_ERROR && namdb_get_int64(call, 0, 0, NULL) == NAMDB_ERROR);
    ENSURE(namdb_column(call, "nothing") == -1 && namdb_column_name(call, 99) == NULL && number == 5);

    ENSURE(pthread_create(&thread, NULL, elsewhere, call) == 0 && pthread_join(thread, NULL) == 0);
    ENSURE(namdb_execute(call) == NAMDB_COMMITTED);
    ENSURE(namdb_call_close(call) == NAMDB_OK && namdb_session_close(session) == NAMDB_OK);
    ENSURE(namdb_close(database) == NAMDB_OK);
}

int main(int count, char **arguments) {
    ENSURE(count == 2);
    nulls();
    options(arguments[1]);
    calls(arguments[1]);
    printf("misuse of namdb: all refused\n");
    return 0;
}
