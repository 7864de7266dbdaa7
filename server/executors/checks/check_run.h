// Runs one check, within its own timeout, until none of its processes is left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/pipeline.h"

namespace signalbox {

// Kept bytes of a check's output, both streams together: half from its beginning, half from its
// end.
inline constexpr std::size_t check_output_bytes_max = 8 * 1024;

// A check with the clean-up that runs after it, whatever its result. Only the repository's own TOML
// file can name a clean-up.
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
  bool timed_out = false;  // it was ended at its timeout, which says nothing about the code
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;  // the signal that ended it, unless the runner sent it
  std::int64_t duration_ms = 0;
  std::string output;              // UTF-8; contains a note if it was cut
  std::uint64_t output_bytes = 0;  // before cutting
  // Why it couldn't be started, if so: the program is missing, or the machine had no room.
  std::optional<std::string> not_started;
  bool program_missing = false;
  // Why its clean-up failed; empty if it didn't. The check's own result doesn't depend on it.
  std::optional<std::string> cleanup_failure;
};
BOOST_DESCRIBE_STRUCT(CheckResult, (),
                      (name, command, ok, timed_out, exit_code, signal, duration_ms, output,
                       output_bytes, not_started, program_missing, cleanup_failure))

// Runs the check in `workspace`, in a process group of its own, and blocks until none of its
// processes is left. On timeout, and for processes left at its end, all its descendants get TERM
// and, after `grace_ms`, KILL. The caller must be single-threaded, without other children, and have
// called become_reaper().
CheckResult run_check(const CheckDefinition& check, const std::filesystem::path& workspace,
                      std::int64_t grace_ms);

// Runs the check, then its clean-up if there is one, with the check's timeout. As run_check().
CheckResult run_check_and_clean_up(const PlannedCheck& check,
                                   const std::filesystem::path& workspace, std::int64_t grace_ms);

// Returns how a check ended, such as "ok", "exit code 2" or "killed by signal 9 (Killed)".
std::string outcome_text(const CheckResult& result);

}  // namespace signalbox
