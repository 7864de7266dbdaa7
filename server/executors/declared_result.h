// What a job says of itself: the file result.json in its artifacts directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>
#include <boost/json/value.hpp>

#include "domain/error.h"
#include "domain/station_events.h"
#include "store/store_error.h"

namespace signalbox {

inline constexpr std::size_t declared_result_bytes_max = 256 * 1024;

// What the job used up; what it leaves out is 0.
struct DeclaredUsage {
  std::optional<std::int64_t> cost_microusd;  // millionths of a US dollar
  std::optional<std::int64_t> tokens;         // read and written
  std::optional<std::int64_t> turns;
};
BOOST_DESCRIBE_STRUCT(DeclaredUsage, (), (cost_microusd, tokens, turns))

struct DeclaredResult {
  Outcome outcome = Outcome::failed;
  std::optional<std::string> summary;  // as long as it likes; it is shortened where it is stored
  std::optional<ErrorClass> error_class;
  std::optional<std::string> error_code;  // upper-case letters, digits and '_'
  std::optional<std::string> error_message;
  std::optional<std::string> metadata;  // a JSON object as text
  std::optional<std::string> external_ref;
  std::optional<DeclaredUsage> usage;
  std::optional<std::string> quota_reset_at;  // RFC 3339; with error_class quota

  [[nodiscard]] Usage used() const;
  [[nodiscard]] std::optional<std::int64_t> quota_reset_at_ns() const;
};
BOOST_DESCRIBE_STRUCT(DeclaredResult, (),
                      (outcome, summary, error_class, error_code, error_message, external_ref,
                       usage, quota_reset_at))

// Returns the result that says only how the job failed.
DeclaredResult declared_failure(Failure failure);

// INVALID_PARAMS with what is wrong: an unknown or a missing field, a value that is too long for
// the log.
Decided<DeclaredResult> declared_result_from(boost::json::value value);

// `not_found`, or `damaged` with what is wrong: not a regular file, too long, not strict JSON, an
// unknown or a missing field, a value that is too long for the log. Other kinds: the disk.
Stored<DeclaredResult> read_declared_result(const std::filesystem::path& path);

// As strict, for those who write one: the built-in stations.
Stored<void> write_declared_result(const std::filesystem::path& path, const DeclaredResult& result);

}  // namespace signalbox
