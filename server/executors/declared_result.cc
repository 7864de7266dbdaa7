#include "server/executors/declared_result.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/station_turn.h"
#include "domain/try.h"
#include "server/executors/job_directory.h"
#include "server/platform/atomic_file.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace json = boost::json;

tl::unexpected<StoreError> invalid(const std::filesystem::path& path, const std::string& why) {
  return store_failure(StoreError::Kind::damaged, why, path.string());
}

// Returns why the file can't be a result, judged by its status alone; empty if it can.
std::string file_error(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (static_cast<std::uint64_t>(status.st_size) > declared_result_bytes_max) {
    return "it is longer than " + std::to_string(declared_result_bytes_max) + " bytes";
  }
  return {};
}

// Returns the first invalid field's error; empty if all are valid.
std::string field_error(const DeclaredResult& result) {
  if (result.error_code && !is_error_code(*result.error_code)) {
    return "error_code must be 1 to 64 upper-case letters, digits and '_'";
  }
  if (result.metadata && result.metadata->size() > limits::metadata_bytes_max) {
    return "metadata takes more than " + std::to_string(limits::metadata_bytes_max) + " bytes";
  }
  if (result.external_ref && result.external_ref->size() > limits::path_bytes_max) {
    return "external_ref takes more than " + std::to_string(limits::path_bytes_max) + " bytes";
  }
  if (!validate(result.used())) {
    return "usage must be figures from 0 to " + std::to_string(limits::usage_max);
  }
  if (result.quota_reset_at && !result.quota_reset_at_ns()) {
    return "quota_reset_at must be a time such as 2026-01-31T23:59:59Z";
  }
  return {};
}

}  // namespace

bool is_error_code(const std::string& code) {
  return !code.empty() && code.size() <= 64 &&
         std::all_of(code.begin(), code.end(), [](char character) {
           return (character >= 'A' && character <= 'Z') ||
                  (character >= '0' && character <= '9') || character == '_';
         });
}

DeclaredResult declared_failure(Failure failure) {
  DeclaredResult result;
  result.outcome = failure.outcome;
  result.error_class = failure.error_class;
  result.error_code = std::move(failure.code);
  result.error_message = std::move(failure.message);
  return result;
}

Decided<DeclaredResult> declared_result_from(json::value value) {
  const auto wrong = [](const std::string& why) {
    return reject(ErrorCode::INVALID_PARAMS, why.starts_with(' ') ? "it" + why : why);
  };
  std::optional<std::string> metadata;
  if (json::object* object = value.if_object()) {
    if (const json::value* given = object->if_contains("metadata"); given && !given->is_null()) {
      if (!given->is_object()) return wrong("metadata must be an object");
      metadata = json::serialize(*given);
    }
    object->erase("metadata");
  }
  auto result = from_json<DeclaredResult>(value);
  if (!result) return wrong(result.error().message);
  result->metadata = std::move(metadata);
  if (const std::string field = field_error(*result); !field.empty()) return wrong(field);
  return result;
}

Usage DeclaredResult::used() const {
  if (!usage) return {};
  return {usage->cost_microusd.value_or(0), usage->tokens.value_or(0), usage->turns.value_or(0)};
}

std::optional<std::int64_t> DeclaredResult::quota_reset_at_ns() const {
  return quota_reset_at ? parse_time(*quota_reset_at) : std::nullopt;
}

Stored<DeclaredResult> read_declared_result(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    StoreError error = system_error("look at", path);
    if (errno == ENOTDIR) error.kind = StoreError::Kind::not_found;
    // ENOTCONN: a file system that the job mounted there, and that nobody serves any more.
    const bool is_replaced = errno == EACCES || errno == ELOOP || errno == ENOTCONN;
    if (is_replaced) error.kind = StoreError::Kind::damaged;
    return tl::unexpected(std::move(error));
  }
  if (const std::string wrong = file_error(status); !wrong.empty()) return invalid(path, wrong);
  const auto file = TRY(open_job_file(path, declared_result_bytes_max));
  const auto text = TRY(read_regular_file(file.get(), path, declared_result_bytes_max));

  auto result = parse_json(text).and_then(declared_result_from);
  if (!result) return invalid(path, result.error().message);
  return std::move(*result);
}

Stored<void> write_declared_result(const std::filesystem::path& path,
                                   const DeclaredResult& result) {
  // Names of files, which messages and notes have, are any bytes.
  json::value value = to_json(result);
  if (result.metadata) {
    auto metadata = parse_json(with_replacements(*result.metadata));
    if (!metadata) return invalid(path, metadata.error().message);
    value.as_object()["metadata"] = std::move(*metadata);
  }
  return write_file_atomically(path, with_replacements(json::serialize(value)) + "\n");
}

}  // namespace signalbox
