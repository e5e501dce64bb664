/* Calls procedures of TATP and TPC-C like the paper's listing 3. Arguments: the two folders. */
#include "namdb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENSURE(condition, call)                                                                      \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            fprintf(stderr, "%s:%d: %s does not hold: %s / %s\n", __FILE__, __LINE__, #condition,    \
                    namdb_call_error(call), namdb_last_error());                                     \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

static namdb_call *call_of(namdb_session *session, const char *procedure) {
    namdb_call *call;
    ENSURE(namdb_call_open(session, procedure, &call) == NAMDB_OK, NULL);
    return call;
}

static namdb_database *opened(const char *folder) {
    namdb_options options = namdb_default_options();
    namdb_database *database;
    options.sessions = 2;
    ENSURE(namdb_open(folder, &options, &database) == NAMDB_OK, NULL);
    return database;
}

/* Listing 3, and an update of its subscriber's location. */
static void subscribers(const char *folder) {
    namdb_database *database = opened(folder);
    namdb_session *session;
    namdb_call *data, *moved, *forwarded;
    const char *text;
    int64_t number;
    ENSURE(namdb_session_open(database, &session) == NAMDB_OK, NULL);
    ENSURE(namdb_session_is_generated(session) == 1, NULL);
    ENSURE(namdb_procedure_count(database) == 7, NULL);
    ENSURE(strcmp(namdb_procedure_name(database, 0), "get_subscriber_data") == 0, NULL);
    ENSURE(namdb_procedure_name(database, 7) == NULL, NULL);
    data = call_of(session, "get_subscriber_data");
    ENSURE(namdb_parameter_count(data) == 1, data);
    ENSURE(namdb_call_outcome(data) == NAMDB_NOT_MADE, data);
    ENSURE(namdb_bind_int64(data, 0, 7) == NAMDB_OK, data);
    ENSURE(namdb_execute(data) == NAMDB_COMMITTED, data);
    ENSURE(namdb_row_count(data) == 1 && namdb_column_count(data) == 34, data);
    ENSURE(namdb_get_int64(data, 0, namdb_column(data, "s_id"), &number) == NAMDB_OK && number == 7, data);
    ENSURE(namdb_get_text(data, 0, namdb_column(data, "sub_nbr"), &text) == NAMDB_OK, data);
    ENSURE(strcmp(text, "000000000000007") == 0, data);
    ENSURE(strcmp(namdb_column_name(data, 1), "sub_nbr") == 0, data);
    ENSURE(strcmp(namdb_column_type(data, 0), "integer") == 0, data);

    moved = call_of(session, "update_location");
    ENSURE(namdb_bind_text(moved, namdb_parameter(moved, "subscriber_number"), "000000000000007") == NAMDB_OK, moved);
    ENSURE(namdb_bind_int64(moved, namdb_parameter(moved, "new_location"), 4711) == NAMDB_OK, moved);
    ENSURE(namdb_execute(moved) == NAMDB_COMMITTED && namdb_row_count(moved) == 0, moved);
    ENSURE(namdb_execute(data) == NAMDB_COMMITTED, data);
    ENSURE(namdb_get_int64(data, 0, namdb_column(data, "vlr_location"), &number) == NAMDB_OK && number == 4711, data);
    ENSURE(namdb_get_text(data, 0, namdb_column(data, "vlr_location"), &text) == NAMDB_OK, data);
    ENSURE(strcmp(text, "4711") == 0, data);

    /* An error that the procedure raises. */
    ENSURE(namdb_bind_text_bytes(moved, 0, "000000099999999?", 15) == NAMDB_OK, moved);
    ENSURE(namdb_execute(moved) == NAMDB_REFUSED && namdb_call_outcome(moved) == NAMDB_REFUSED, moved);
    ENSURE(strcmp(namdb_sqlstate(moved), "P0001") == 0, moved);
    ENSURE(strstr(namdb_call_error(moved), "There is no such subscriber") != NULL, moved);
    ENSURE(namdb_row_count(moved) == 0 && namdb_is_contention(moved) == 0, moved);
    /* An SQL error: the number is out of range for smallint. */
    forwarded = call_of(session, "get_access_data");
    ENSURE(namdb_bind_int64(forwarded, 0, 7) == NAMDB_OK, forwarded);
    ENSURE(namdb_bind_int64(forwarded, 1, 70000) == NAMDB_OK, forwarded);
    ENSURE(namdb_execute(forwarded) == NAMDB_REFUSED, forwarded);
    ENSURE(strcmp(namdb_sqlstate(forwarded), "22003") == 0, forwarded);

    /* Closed in any order: the call keeps what it needs. */
    ENSURE(namdb_close(database) == NAMDB_OK, NULL);
    ENSURE(namdb_session_close(session) == NAMDB_OK, NULL);
    ENSURE(namdb_execute(data) == NAMDB_COMMITTED, data);
    ENSURE(namdb_call_close(data) == NAMDB_OK, NULL);
    ENSURE(namdb_call_close(moved) == NAMDB_OK, NULL);
    ENSURE(namdb_call_close(forwarded) == NAMDB_OK, NULL);
}

/* Arrays, decimals, dates and nulls of TPC-C. */
static void orders(const char *folder) {
    static const int64_t items[] = {5, 6, 7}, suppliers[] = {1, 1, 1}, quantities[] = {2, 3, 4};
    static const int64_t wrong[] = {5, 1001, 7};
    namdb_database *database = opened(folder);
    namdb_session *session;
    namdb_call *order, *paid;
    int64_t units, time, sum = 0;
    uint8_t scale;
    double total;
    const char *text;
    size_t row;
    ENSURE(namdb_session_open(database, &session) == NAMDB_OK, NULL);
    order = call_of(session, "new_order");
    ENSURE(namdb_bind_int64(order, 0, 1) == NAMDB_OK && namdb_bind_int64(order, 1, 3) == NAMDB_OK, order);
    ENSURE(namdb_bind_int64(order, 2, 17) == NAMDB_OK, order);
    ENSURE(namdb_bind_int64_array(order, 3, items, 3) == NAMDB_OK, order);
    ENSURE(namdb_bind_int64_array(order, 4, suppliers, 3) == NAMDB_OK, order);
    ENSURE(namdb_bind_int64_array(order, namdb_parameter(order, "quantities"), quantities, 3) == NAMDB_OK, order);
    ENSURE(namdb_execute(order) == NAMDB_COMMITTED && namdb_row_count(order) == 4, order);
    for (row = 0; row < 3; ++row) {
        ENSURE(namdb_get_decimal(order, row, namdb_column(order, "line_amount"), &units, &scale) == NAMDB_OK, order);
        ENSURE(scale == 2 && units > 0, order);
        sum += units;
        ENSURE(namdb_is_null(order, row, namdb_column(order, "total_amount")) == 1, order);
    }
    ENSURE(namdb_get_double(order, 3, namdb_column(order, "total_amount"), &total) == NAMDB_OK, order);
    ENSURE(total * 200 > (double)sum && total * 50 < (double)sum, order);
    ENSURE(namdb_get_int64(order, 0, namdb_column(order, "order_number"), &units) == NAMDB_NULL, order);
    ENSURE(namdb_get_int64(order, 3, namdb_column(order, "order_number"), &units) == NAMDB_OK && units == 121, order);
    ENSURE(namdb_get_int64(order, 3, namdb_column(order, "entry_date"), &time) == NAMDB_OK, order);
    /* Orders have the current time: after 2024, which began 757,382,400 seconds after 2000. */
    ENSURE(time > INT64_C(757382400) * 1000000, order);
    ENSURE(namdb_get_text(order, 3, namdb_column(order, "entry_date"), &text) == NAMDB_OK && text[0] == '2', order);

    ENSURE(namdb_bind_int64_array(order, 3, wrong, 3) == NAMDB_OK, order);
    ENSURE(namdb_execute(order) == NAMDB_REFUSED, order);
    ENSURE(strcmp(namdb_call_error(order), "Item number is not valid (SQLSTATE P0001)") == 0, order);

    paid = call_of(session, "payment");
    ENSURE(namdb_bind_int64(paid, 0, INT64_C(140737488355328)) == NAMDB_OK, paid);
    for (row = 1; row < 5; ++row) {
        ENSURE(namdb_bind_int64(paid, (int32_t)row, 1) == NAMDB_OK, paid);
    }
    ENSURE(namdb_bind_bool(paid, namdb_parameter(paid, "by_name"), 0) == NAMDB_OK, paid);
    ENSURE(namdb_bind_int64(paid, namdb_parameter(paid, "customer_number"), 17) == NAMDB_OK, paid);
    ENSURE(namdb_bind_null(paid, namdb_parameter(paid, "customer_last")) == NAMDB_OK, paid);
    ENSURE(namdb_bind_decimal(paid, namdb_parameter(paid, "amount"), 12345, 2) == NAMDB_OK, paid);
    ENSURE(namdb_set_deadline_ms(paid, 5000) == NAMDB_OK && namdb_set_retries(paid, 3) == NAMDB_OK, paid);
    ENSURE(namdb_execute(paid) == NAMDB_COMMITTED && namdb_row_count(paid) == 1, paid);
    /* The same payment again: its row exists. */
    ENSURE(namdb_execute(paid) == NAMDB_REFUSED && strcmp(namdb_sqlstate(paid), "23505") == 0, paid);
    namdb_call_close(paid);
    namdb_call_close(order);
    namdb_session_close(session);
    namdb_close(database);
}

int main(int count, char **arguments) {
    ENSURE(count == 3, NULL);
    subscribers(arguments[1]);
    orders(arguments[2]);
    printf("calls of namdb %s: all well\n", namdb_version());
    return 0;
}
