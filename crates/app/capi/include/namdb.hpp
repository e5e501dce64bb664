// namdb.hpp: namdb.h for C++17. Handles close themselves, calls read as in listing 3 of the paper
// [SPADE 3.1], and invalid requests throw. The outcome of a transaction is not thrown but
// returned, and the program must check it.
//
//     namdb::Database database("workloads/tatp");
//     namdb::Session session(database);
//     auto call = session.call("get_subscriber_data");
//     call.bind(0, 7);
//     if (call.execute() == namdb::Outcome::committed) {
//         std::int64_t location = call.get<std::int64_t>(0, "vlr_location");
//     }
//
// Threads are as in namdb.h: all threads share a database, a session and its calls belong to the
// thread that opened it. As in namdb.h, a process that has joined a cluster and lost its lease
// terminates with exit code 4; no destructor runs.
#ifndef NAMDB_HPP
#define NAMDB_HPP

#include "namdb.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace namdb {

// An invalid request: a folder with errors, an unknown name, a value of another type.
class Error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The outcome of a call, see namdb_outcome.
enum class Outcome : std::int32_t {
    not_made = NAMDB_NOT_MADE,
    committed = NAMDB_COMMITTED,
    aborted = NAMDB_ABORTED,
    refused = NAMDB_REFUSED,
    unknown = NAMDB_UNKNOWN,
};

// A decimal number: 12.34 is {1234, 2}.
struct Decimal {
    std::int64_t units = 0;
    std::uint8_t scale = 0;
};

// A date, in days since 2000-01-01.
struct Date {
    std::int32_t days = 0;
};

// A timestamp, in microseconds since 2000-01-01 00:00 UTC.
struct Timestamp {
    std::int64_t microseconds = 0;
};

namespace detail {

template <typename> inline constexpr bool never = false;

template <auto close> struct Closer {
    template <typename Handle> void operator()(Handle *handle) const noexcept { close(handle); }
};

// Whether converting an integer to another type preserves its value.
template <typename To, typename From> constexpr bool is_kept(From value) noexcept {
    const auto other = static_cast<To>(value);
    return static_cast<From>(other) == value && (other < To{}) == (value < From{});
}

inline void ensure(bool is_well, const char *sentence) {
    if (!is_well) throw Error(sentence);
}

} // namespace detail

// A workload's tables and procedures, see namdb_open.
class Database {
public:
    explicit Database(const std::string &folder, const namdb_options &options = namdb_default_options()) {
        namdb_database *opened = nullptr;
        const namdb_status status = namdb_open(folder.c_str(), &options, &opened);
        detail::ensure(status == NAMDB_OK, namdb_last_error());
        handle_.reset(opened);
    }

    // Returns the names of the procedures.
    std::vector<std::string> procedures() const {
        std::vector<std::string> names;
        for (std::size_t at = 0; at < namdb_procedure_count(handle_.get()); ++at)
            names.emplace_back(namdb_procedure_name(handle_.get(), at));
        return names;
    }

    const namdb_database *get() const noexcept { return handle_.get(); }

private:
    std::unique_ptr<namdb_database, detail::Closer<namdb_close>> handle_;
};

// A call of a procedure: bound, executed and read any number of times. Parameters and columns are
// given by position or by name.
class Call {
public:
    explicit Call(namdb_call *opened) noexcept : handle_(opened) {}

    // A parameter or a column: its position, of any integer type, or its name. Throws if a position
    // does not fit in 32 bits.
    class At {
    public:
        template <typename Int, std::enable_if_t<std::is_integral_v<Int> && !std::is_same_v<Int, bool>, int> = 0>
        At(Int position) : position_(static_cast<std::int32_t>(position)) {
            detail::ensure(detail::is_kept<std::int32_t>(position), "there is no such position: they are counted from 0, and are 32 bits wide");
        }
        At(const char *name) : name_(name) {}
        At(const std::string &name) : name_(name.c_str()) {}

    private:
        friend class Call;
        std::int32_t position_ = -1;
        const char *name_ = nullptr;
    };

    // Binds a value: an integer, bool, double, Decimal, Date, Timestamp, text, vector of integers,
    // of bool or of std::string, nullptr or std::nullopt for null, or a std::optional of these.
    // Throws if an unsigned integer exceeds 63 bits.
    template <typename T> Call &bind(At parameter, const T &value) {
        const std::int32_t at = this->parameter(parameter);
        check(put(at, value));
        return *this;
    }

    // Removes all bound values.
    Call &unbind() {
        check(namdb_unbind(get()));
        return *this;
    }

    // See namdb_set_deadline_ms.
    Call &within_ms(std::uint64_t milliseconds) {
        check(namdb_set_deadline_ms(get(), milliseconds));
        return *this;
    }

    // See namdb_set_retries.
    Call &retry(std::uint32_t retries) {
        check(namdb_set_retries(get(), retries));
        return *this;
    }

    // Executes the call, see namdb_execute. Throws if it cannot be executed, for example because a
    // parameter has no value.
    Outcome execute() {
        const auto outcome = static_cast<Outcome>(namdb_execute(get()));
        if (outcome == Outcome::not_made) throw Error(namdb_call_error(get()));
        return outcome;
    }

    // The outcome of the last execution, and the details: error message (empty if it committed and
    // no error followed), SQLSTATE of a refusal, reason of an abort, whether that was contention,
    // number of retries.
    Outcome outcome() const { return static_cast<Outcome>(namdb_call_outcome(get())); }
    std::string message() const { return namdb_call_error(get()); }
    std::string sqlstate() const { return namdb_sqlstate(get()); }
    std::string abort_reason() const { return namdb_abort_reason(get()); }
    bool is_contention() const { return namdb_is_contention(get()) != 0; }
    std::uint32_t retries() const { return namdb_retries(get()); }

    // The number of rows, and the names of the columns.
    std::size_t rows() const { return namdb_row_count(get()); }
    std::vector<std::string> columns() const {
        std::vector<std::string> names;
        for (std::int32_t at = 0; at < namdb_column_count(get()); ++at)
            names.emplace_back(namdb_column_name(get(), at));
        return names;
    }

    // Reads a value as std::int64_t, bool, double, Decimal, Date, Timestamp, std::string or, until
    // the call is executed again, std::string_view; or as a std::optional of these, which is empty
    // for null. Throws if there is no such value, it has another type, or it is null without
    // optional.
    template <typename T> T get(std::size_t row, At column) const {
        const std::int32_t at = this->column(column);
        if constexpr (is_optional<T>::value) {
            return read<typename T::value_type>(row, at);
        } else {
            auto value = read<T>(row, at);
            if (!value) throw Error("the value is null; read it as std::optional");
            return *std::move(value);
        }
    }

    // Whether a value is null.
    bool is_null(std::size_t row, At column) const {
        const std::int32_t null = namdb_is_null(get(), row, this->column(column));
        detail::ensure(null >= 0, namdb_call_error(get()));
        return null != 0;
    }

    namdb_call *get() const noexcept { return handle_.get(); }

private:
    template <typename> struct is_optional : std::false_type {};
    template <typename T> struct is_optional<std::optional<T>> : std::true_type {};
    template <typename> struct is_integers : std::false_type {};
    template <typename T> struct is_integers<std::vector<T>> : std::is_integral<T> {};

    // Throws if the status is NAMDB_ERROR; else returns whether there is a value.
    bool check(namdb_status status) const {
        detail::ensure(status != NAMDB_ERROR, namdb_call_error(get()));
        return status == NAMDB_OK;
    }

    std::int32_t parameter(At at) const {
        if (at.name_ == nullptr) return at.position_;
        const std::int32_t found = namdb_parameter(get(), at.name_);
        detail::ensure(found >= 0, namdb_call_error(get()));
        return found;
    }

    std::int32_t column(At at) const {
        if (at.name_ == nullptr) return at.position_;
        const std::int32_t found = namdb_column(get(), at.name_);
        detail::ensure(found >= 0, namdb_call_error(get()));
        return found;
    }

    template <typename T> namdb_status put(std::int32_t at, const T &value) {
        if constexpr (std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, std::nullopt_t>) {
            return namdb_bind_null(get(), at);
        } else if constexpr (is_optional<T>::value) {
            return value ? put(at, *value) : namdb_bind_null(get(), at);
        } else if constexpr (std::is_same_v<T, bool>) {
            return namdb_bind_bool(get(), at, value ? 1 : 0);
        } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
            static_assert(sizeof(T) <= sizeof(std::uint64_t), "no parameter takes so wide an integer");
            return namdb_bind_uint64(get(), at, static_cast<std::uint64_t>(value));
        } else if constexpr (std::is_integral_v<T>) {
            static_assert(sizeof(T) <= sizeof(std::int64_t), "no parameter takes so wide an integer");
            return namdb_bind_int64(get(), at, static_cast<std::int64_t>(value));
        } else if constexpr (std::is_floating_point_v<T>) {
            return namdb_bind_double(get(), at, static_cast<double>(value));
        } else if constexpr (std::is_same_v<T, Decimal>) {
            return namdb_bind_decimal(get(), at, value.units, value.scale);
        } else if constexpr (std::is_same_v<T, Date>) {
            return namdb_bind_date(get(), at, value.days);
        } else if constexpr (std::is_same_v<T, Timestamp>) {
            return namdb_bind_timestamp(get(), at, value.microseconds);
        } else if constexpr (std::is_convertible_v<const T &, std::string_view>) {
            const std::string_view text = value;
            return namdb_bind_text_bytes(get(), at, text.data(), text.size());
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
            return namdb_bind_int64_array(get(), at, value.data(), value.size());
        } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
            const std::vector<std::int32_t> flags(value.begin(), value.end());
            return namdb_bind_bool_array(get(), at, flags.data(), flags.size());
        } else if constexpr (is_integers<T>::value) {
            std::vector<std::int64_t> wide;
            wide.reserve(value.size());
            for (const auto number : value) {
                detail::ensure(detail::is_kept<std::int64_t>(number), "a number in the array is beyond 63 bits, which a bigint takes");
                wide.push_back(static_cast<std::int64_t>(number));
            }
            return namdb_bind_int64_array(get(), at, wide.data(), wide.size());
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            std::vector<const char *> texts;
            for (const std::string &text : value) texts.push_back(text.c_str());
            return namdb_bind_text_array(get(), at, texts.data(), texts.size());
        } else {
            static_assert(detail::never<T>, "no parameter takes a value of this type");
        }
    }

    template <typename T> std::optional<T> read(std::size_t row, std::int32_t at) const {
        if constexpr (std::is_same_v<T, std::int64_t>) {
            std::int64_t value = 0;
            return check(namdb_get_int64(get(), row, at, &value)) ? std::optional(value) : std::nullopt;
        } else if constexpr (std::is_same_v<T, bool>) {
            std::int32_t value = 0;
            return check(namdb_get_bool(get(), row, at, &value)) ? std::optional(value != 0) : std::nullopt;
        } else if constexpr (std::is_same_v<T, double>) {
            double value = 0;
            return check(namdb_get_double(get(), row, at, &value)) ? std::optional(value) : std::nullopt;
        } else if constexpr (std::is_same_v<T, Decimal>) {
            Decimal value;
            const bool is_there = check(namdb_get_decimal(get(), row, at, &value.units, &value.scale));
            return is_there ? std::optional(value) : std::nullopt;
        } else if constexpr (std::is_same_v<T, Date>) {
            const auto days = read<std::int64_t>(row, at);
            return days ? std::optional(Date{static_cast<std::int32_t>(*days)}) : std::nullopt;
        } else if constexpr (std::is_same_v<T, Timestamp>) {
            const auto time = read<std::int64_t>(row, at);
            return time ? std::optional(Timestamp{*time}) : std::nullopt;
        } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
            const char *value = nullptr;
            return check(namdb_get_text(get(), row, at, &value)) ? std::optional<T>(value) : std::nullopt;
        } else {
            static_assert(detail::never<T>, "no value is read as this type");
        }
    }

    std::unique_ptr<namdb_call, detail::Closer<namdb_call_close>> handle_;
};

// A session of one thread, see namdb_session_open.
class Session {
public:
    explicit Session(const Database &database) {
        namdb_session *opened = nullptr;
        const namdb_status status = namdb_session_open(database.get(), &opened);
        detail::ensure(status == NAMDB_OK, namdb_last_error());
        handle_.reset(opened);
    }

    // Opens a call of the procedure with this name.
    Call call(const std::string &procedure) const {
        namdb_call *opened = nullptr;
        const namdb_status status = namdb_call_open(get(), procedure.c_str(), &opened);
        detail::ensure(status == NAMDB_OK, namdb_session_error(get()));
        return Call(opened);
    }

    // Whether generated code executes the calls.
    bool is_generated() const { return namdb_session_is_generated(get()) != 0; }

    namdb_session *get() const noexcept { return handle_.get(); }

private:
    std::unique_ptr<namdb_session, detail::Closer<namdb_session_close>> handle_;
};

} // namespace namdb

#endif
