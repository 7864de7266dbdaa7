// What a shim saw of its job, as it leaves it in result.json: facts, no judgement. What they mean
// for the station is decided by job_verdict.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "store/store_error.h"

namespace signalbox {

struct ShimResult {
  std::string schema = "job_result.v1";
  std::optional<std::int32_t> exit_code;  // the command's, if it exited
  std::optional<std::int32_t> signal;     // that killed it, if one did
  bool timed_out = false;                 // it was ended because its time was over
  bool canceled = false;                  // it was ended, or never started, because of `cancel`
  std::string started_at;                 // RFC 3339, UTC
  std::string ended_at;
  std::int64_t duration_ms = 0;    // on the boot clock
  std::uint64_t stdout_bytes = 0;  // written by the job, not kept
  std::uint64_t stderr_bytes = 0;
  std::uint64_t descendants_killed = 0;    // processes other than the command that were signaled
  std::vector<std::int32_t> escaped_pids;  // that outlived KILL
  std::string error_code;                  // why the command was never started, or empty
  std::string error_message;
  bool error_is_transient = false;
  std::string log_error;  // the disk refused part of the logs, or empty
};
BOOST_DESCRIBE_STRUCT(ShimResult, (),
                      (schema, exit_code, signal, timed_out, canceled, started_at, ended_at,
                       duration_ms, stdout_bytes, stderr_bytes, descendants_killed, escaped_pids,
                       error_code, error_message, error_is_transient, log_error))

Stored<void> write_shim_result(const std::filesystem::path& path, const ShimResult& result);
Stored<ShimResult> read_shim_result(const std::filesystem::path& path);

}  // namespace signalbox
