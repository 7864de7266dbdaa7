// The result that a job declares about itself: the file result.json in its artifacts directory
// (JOBS.md, "How it ends").
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

// The usage that the job reports; a missing field counts as 0.
struct DeclaredUsage {
  std::optional<std::int64_t> cost_microusd;  // millionths of a US dollar
  std::optional<std::int64_t> tokens;         // input and output tokens together
  std::optional<std::int64_t> turns;
};
BOOST_DESCRIBE_STRUCT(DeclaredUsage, (), (cost_microusd, tokens, turns))

struct DeclaredResult {
  Outcome outcome = Outcome::failed;
  std::optional<std::string> summary;  // of any length; shortened where it is stored
  std::optional<ErrorClass> error_class;
  std::optional<std::string> error_code;  // upper-case letters, digits and '_'
  std::optional<std::string> error_message;
  std::optional<std::string> metadata;  // a JSON object as text
  std::optional<std::string> external_ref;
  std::optional<DeclaredUsage> usage;
  std::optional<std::string> quota_reset_at;  // RFC 3339; only meaningful with error_class quota

  // Returns the usage, with 0 for what is missing.
  [[nodiscard]] Usage used() const;
  // Returns quota_reset_at in UTC nanoseconds; empty if it is missing or no valid time.
  [[nodiscard]] std::optional<std::int64_t> quota_reset_at_ns() const;
};
BOOST_DESCRIBE_STRUCT(DeclaredResult, (),
                      (outcome, summary, error_class, error_code, error_message, external_ref,
                       usage, quota_reset_at))

// Returns whether `code` is 1 to 64 upper-case letters, digits and '_'.
bool is_error_code(const std::string& code);

// Returns a result that describes only this failure.
DeclaredResult declared_failure(Failure failure);

// Converts a JSON object to a result. Error: INVALID_PARAMS with a reason, for an unknown or a
// missing field or a value that is too long for the log.
Decided<DeclaredResult> declared_result_from(boost::json::value value);

// Reads and checks the file. Errors: `not_found`; `damaged` with a reason (not a regular file, too
// long, not strict JSON, an unknown or a missing field, a value that is too long for the log);
// other kinds for the disk.
Stored<DeclaredResult> read_declared_result(const std::filesystem::path& path);

// Writes the file atomically, for the jobs that are commands of this binary. Errors: `damaged` if
// the metadata isn't JSON; other kinds for the disk.
Stored<void> write_declared_result(const std::filesystem::path& path, const DeclaredResult& result);

}  // namespace signalbox
