// The C++ wrapper, and two threads that pay into one account. Arguments: the folders of TATP, TPC-C
// and SmallBank.
#include "namdb.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace {

void ensure(bool holds, const char *what, int line) {
    if (holds) return;
    std::cerr << "line " << line << ": " << what << " does not hold: " << namdb_last_error() << '\n';
    std::exit(1);
}
#define ENSURE(condition) ensure(condition, #condition, __LINE__)

// Returns the message of the error that a piece of code throws.
template <typename Code> std::string thrown(Code code) {
    try {
        code();
    } catch (const namdb::Error &error) {
        return error.what();
    }
    return "nothing was thrown";
}

bool says(const std::string &sentence, const char *words) { return sentence.find(words) != std::string::npos; }

namdb_options few() {
    namdb_options options = namdb_default_options();
    options.sessions = 3;
    return options;
}

void subscribers(const char *folder) {
    const namdb::Database database(folder, few());
    ENSURE(database.procedures().size() == 7);
    const namdb::Session session(database);
    ENSURE(session.is_generated());
    auto call = session.call("get_subscriber_data");
    ENSURE(call.bind(0, 7).execute() == namdb::Outcome::committed);
    ENSURE(call.rows() == 1 && call.columns().size() == 34);
    ENSURE(call.get<std::int64_t>(0, "s_id") == 7 && call.get<double>(0, "s_id") == 7.0);
    ENSURE(call.get<std::string_view>(0, "sub_nbr") == "000000000000007");
    ENSURE(call.get<std::optional<std::string>>(0, 1) == std::string("000000000000007"));
    ENSURE(says(thrown([&] { call.bind("subscriber", 7); }), "no parameter subscriber"));
    ENSURE(says(thrown([&] { call.bind(0, "seven"); }), "takes no text"));
    ENSURE(says(thrown([&] { call.get<bool>(0, "s_id"); }), "cannot be read as a truth value"));
    ENSURE(says(thrown([&] { call.get<std::int64_t>(0, "s_number"); }), "no column s_number"));
    ENSURE(call.bind(std::size_t{0}, std::uint64_t{7}).execute() == namdb::Outcome::committed && call.message().empty());
    ENSURE(says(thrown([&] { call.bind(0, UINT64_C(18446744073709551615)); }), "18446744073709551615 is beyond"));
    ENSURE(says(thrown([&] { call.bind(0, std::optional<std::uint64_t>(UINT64_C(1) << 63)); }), "is beyond 9223372036854775807"));
    ENSURE(says(thrown([&] { call.bind(UINT64_C(4294967296), 7); }), "no such position"));
    ENSURE(says(thrown([&] { call.get<std::int64_t>(0, INT64_C(-4294967296)); }), "no such position"));
    ENSURE(says(thrown([&] { call.bind(0, std::vector<std::uint64_t>{UINT64_MAX}); }), "a number in the array is beyond 63 bits"));
    ENSURE(says(thrown([&] { call.bind(0, std::vector<short>{1}); }), "takes no"));
    ENSURE(call.execute() == namdb::Outcome::committed && call.get<std::int64_t>(0, "s_id") == 7 && call.message().empty());
    namdb::Call moved = std::move(call);
    ENSURE(says(thrown([&] { call.execute(); }), "the call is null"));
    call = std::move(moved);
    ENSURE(says(thrown([&] { call.unbind().execute(); }), "has no value"));
    ENSURE(says(thrown([&] { session.call("nothing"); }), "no procedure nothing"));
    ENSURE(says(thrown([] { namdb::Database("/nonexistent/folder"); }), "/nonexistent/folder"));
}

void orders(const char *folder) {
    const namdb::Database database(folder, few());
    const namdb::Session session(database);
    auto call = session.call("new_order");
    call.bind("home_warehouse", 1).bind("home_district", 3).bind("customer_number", 17);
    call.bind("items", std::vector<std::int64_t>{5, 6, 7}).bind("supply_warehouses", std::vector<int>{1, 1, 1});
    call.bind("quantities", std::vector<std::uint16_t>{2, 3, 4});
    ENSURE(call.within_ms(5000).execute() == namdb::Outcome::committed && call.rows() == 4);
    ENSURE(call.get<namdb::Decimal>(0, "line_amount").scale == 2);
    ENSURE(!call.get<std::optional<namdb::Decimal>>(0, "total_amount") && call.is_null(0, "order_number"));
    ENSURE(says(thrown([&] { call.get<std::int64_t>(0, "order_number"); }), "std::optional"));
    ENSURE(call.get<namdb::Timestamp>(3, "entry_date").microseconds > 0);
    ENSURE(call.bind("items", std::vector<std::int64_t>{5, 1001, 7}).execute() == namdb::Outcome::refused);
    ENSURE(call.sqlstate() == "P0001" && says(call.message(), "Item number is not valid"));

    auto payment = session.call("payment");
    payment.bind(0, INT64_C(140737488355328));
    for (int at = 1; at < 5; ++at) payment.bind(at, 1);
    payment.bind("by_name", false).bind("customer_number", std::optional<int>(17)).bind("customer_last", nullptr);
    payment.bind("amount", namdb::Decimal{12345, 2});
    ENSURE(payment.execute() == namdb::Outcome::committed);
    ENSURE(payment.execute() == namdb::Outcome::refused && payment.sqlstate() == "23505");
}

// Pays until both threads have conflicted often enough, or time is up; returns the number of payments.
std::int64_t pay(const namdb::Database &database, std::uint32_t retries, std::atomic<std::int64_t> &met) {
    const namdb::Session session(database);
    auto call = session.call("deposit_checking");
    call.bind(0, 7).bind("amount", 1).retry(retries).within_ms(20000);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::int64_t paid = 0;
    while (met < 20 && std::chrono::steady_clock::now() < end) {
        switch (call.execute()) {
        case namdb::Outcome::committed:
            ++paid;
            met += call.retries();
            break;
        case namdb::Outcome::aborted:
            ENSURE(retries == 0 && call.is_contention() && !call.abort_reason().empty() && call.retries() == 0);
            ++met;
            break;
        default:
            ENSURE(false);
        }
    }
    return paid;
}

void contention(const char *folder) {
    const namdb::Database database(folder, few());
    const namdb::Session session(database);
    auto balance = session.call("balance");
    balance.bind(0, 7);
    for (const std::uint32_t retries : {200u, 0u}) {
        ENSURE(balance.execute() == namdb::Outcome::committed);
        const auto before = balance.get<std::int64_t>(0, "balance");
        std::atomic<std::int64_t> met{0}, paid{0};
        std::thread other([&] { paid += pay(database, retries, met); });
        paid += pay(database, retries, met);
        other.join();
        ENSURE(met >= 20);
        ENSURE(balance.execute() == namdb::Outcome::committed);
        ENSURE(balance.get<std::int64_t>(0, 0) == before + paid);
    }
}

} // namespace

int main(int count, char **arguments) {
    ENSURE(count == 4);
    subscribers(arguments[1]);
    orders(arguments[2]);
    contention(arguments[3]);
    std::cout << "the wrapper of namdb: all well\n";
}
