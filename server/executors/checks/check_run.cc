#include "server/executors/checks/check_run.h"

#include <cstring>
#include <system_error>

#include "server/platform/child_process.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

// Bytes shown of the end of a failed clean-up's output.
constexpr std::size_t cleanup_output_bytes_max = 512;

std::string output_text(const BoundedOutput& output) {
  const std::string& head = output.head();
  const std::string_view tail = output.tail();
  if (head.size() + tail.size() == output.stream_bytes()) {
    return with_replacements(head + std::string(tail));
  }
  return with_replacements(head) + "\n[cut: the first " + std::to_string(head.size()) +
         " and the last " + std::to_string(tail.size()) + " of " +
         std::to_string(output.stream_bytes()) + " bytes are shown]\n" + with_replacements(tail);
}

// Runs the check to its end and fills the result, except for its output and duration.
void run_to_end(const CheckDefinition& check, const std::filesystem::path& workspace,
                std::int64_t grace_ms, BoundedOutput& output, CheckResult& result) {
  const std::int64_t deadline_ms = ChildProcess::now_ms() + check.timeout_ms;
  auto child = ChildProcess::start({.argv = check.command,
                                    .cwd = workspace,
                                    .stdout_sink = output.sink(),
                                    .stderr_as_stdout = true,
                                    .reach = ChildProcess::Reach::descendants});
  if (!child) {
    result.not_started = std::generic_category().message(child.error());
    result.program_missing = !is_transient_start_error(child.error());
    return;
  }
  result.timed_out = !child->await_end(deadline_ms);
  child->end(grace_ms);  // the next check must be alone in the workspace
  child->await_end();
  if (result.timed_out) return;  // the runner caused this end, so the exit code means nothing
  result.exit_code = child->exit_code();
  result.signal = child->signal();
  result.ok = result.exit_code == 0;
  result.program_missing =
      result.exit_code == exit_not_executable || result.exit_code == exit_not_found;
}

}  // namespace

CheckResult run_check(const CheckDefinition& check, const std::filesystem::path& workspace,
                      std::int64_t grace_ms) {
  CheckResult result;
  result.name = check.name;
  result.command = check.command;
  BoundedOutput output(check_output_bytes_max / 2, check_output_bytes_max / 2);
  const std::int64_t started_ms = ChildProcess::now_ms();
  run_to_end(check, workspace, grace_ms, output, result);
  result.duration_ms = ChildProcess::now_ms() - started_ms;
  result.output = output_text(output);
  result.output_bytes = output.stream_bytes();
  return result;
}

CheckResult run_check_and_clean_up(const PlannedCheck& check,
                                   const std::filesystem::path& workspace, std::int64_t grace_ms) {
  CheckResult result = run_check(check, workspace, grace_ms);
  if (check.cleanup.empty()) return result;
  const CheckDefinition cleanup{check.name, check.cleanup, check.timeout_ms};
  const CheckResult cleaned = run_check(cleanup, workspace, grace_ms);
  if (cleaned.ok) return result;
  result.cleanup_failure = cleaned.timed_out
                               ? "TIMEOUT after " + std::to_string(check.timeout_ms) + "ms"
                               : outcome_text(cleaned);
  if (!cleaned.output.empty()) {
    *result.cleanup_failure +=
        ": " + std::string(utf8_suffix(cleaned.output, cleanup_output_bytes_max));
  }
  return result;
}

std::string outcome_text(const CheckResult& result) {
  if (result.ok) return "ok";
  if (result.not_started) return "can't be run: " + *result.not_started;
  if (result.signal) {
    return "killed by signal " + std::to_string(*result.signal) + " (" + strsignal(*result.signal) +
           ")";
  }
  return "exit code " + std::to_string(result.exit_code.value_or(-1));
}

}  // namespace signalbox
