// One check from its start until nothing of it is left, within its own timeout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/pipeline.h"

namespace signalbox {

// Of a check's output, both streams together: as much of its beginning and of its end.
inline constexpr std::size_t check_output_bytes_max = 8 * 1024;

// A check, and what is run after it whatever its result: only the repository's own TOML file can
// name that.
struct PlannedCheck : CheckDefinition {
  std::vector<std::string> cleanup;  // argv, or empty

  PlannedCheck() = default;
  PlannedCheck(CheckDefinition check)  // NOLINT(google-explicit-constructor)
      : CheckDefinition(std::move(check)) {}
};

struct CheckResult {
  std::string name;
  std::vector<std::string> command;
  bool ok = false;
  bool timed_out = false;  // it was ended for its time: says nothing about the code
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;  // that ended it, if we didn't
  std::int64_t duration_ms = 0;
  std::string output;              // UTF-8; a cut one says so
  std::uint64_t output_bytes = 0;  // in all
  // It never ran: why not. Its program isn't there, or the machine has no room.
  std::optional<std::string> not_started;
  bool program_missing = false;
  // What went wrong with its clean-up, which decides nothing about the check; null: nothing did.
  std::optional<std::string> cleanup_failure;
};
BOOST_DESCRIBE_STRUCT(CheckResult, (),
                      (name, command, ok, timed_out, exit_code, signal, duration_ms, output,
                       output_bytes, not_started, program_missing, cleanup_failure))

// Runs it in `workspace`, in a process group of its own. On timeout, and for what it leaves behind
// at its end: TERM, after `grace_ms` KILL, of all its descendants. For single-threaded callers
// without other children that have called become_reaper().
CheckResult run_check(const CheckDefinition& check, const std::filesystem::path& workspace,
                      std::int64_t grace_ms);

// The check, then its clean-up, if it has one, with the check's timeout.
CheckResult run_check_and_clean_up(const PlannedCheck& check,
                                   const std::filesystem::path& workspace, std::int64_t grace_ms);

// "failed: exit code 2", "TIMEOUT after 500ms", "ok".
std::string outcome_text(const CheckResult& result);

}  // namespace signalbox
