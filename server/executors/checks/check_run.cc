#include "server/executors/checks/check_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "server/platform/child_program.h"
#include "server/platform/clock.h"
#include "server/platform/process_table.h"
#include "server/platform/spawn.h"
#include "server/text/utf8_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

// What a shell says of a program that isn't there or can't be run.
constexpr std::int32_t exit_not_executable = 126;
constexpr std::int32_t exit_not_found = 127;
// A pidfd isn't there on every kernel; so the end is looked for now and then as well.
constexpr std::int64_t look_interval_ms = 100;
constexpr int reads_at_end_max = 64;
// Of a clean-up that failed: as much of the end of its output.
constexpr std::size_t cleanup_output_bytes_max = 512;

// The first and the last bytes of a stream.
class OutputEnds {
 public:
  void add(std::string_view bytes) {
    bytes_ += bytes.size();
    const std::size_t room = half - std::min(half, head_.size());
    head_ += bytes.substr(0, room);
    tail_ += bytes.substr(std::min(room, bytes.size()));
    if (tail_.size() > 2 * half) tail_.erase(0, tail_.size() - half);
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::string text() const {
    const std::string_view tail =
        std::string_view(tail_).substr(tail_.size() - std::min(half, tail_.size()));
    if (head_.size() + tail.size() == bytes_) return with_replacements(head_ + std::string(tail));
    return with_replacements(head_) + "\n[cut: the first " + std::to_string(head_.size()) +
           " and the last " + std::to_string(tail.size()) + " of " + std::to_string(bytes_) +
           " bytes are shown]\n" + with_replacements(tail);
  }

 private:
  static constexpr std::size_t half = check_output_bytes_max / 2;
  std::string head_;
  std::string tail_;
  std::uint64_t bytes_ = 0;
};

class CheckRun {
 public:
  CheckRun(const CheckDefinition& check, const std::filesystem::path& workspace,
           std::int64_t grace_ms)
      : check_(check), workspace_(workspace), grace_ms_(grace_ms) {
    result_.name = check.name;
    result_.command = check.command;
  }

  CheckResult run() {
    const std::int64_t started_ms = now_ms();
    if (start()) {
      const std::int64_t deadline_ms = started_ms + check_.timeout_ms;
      while (!reap() && now_ms() < deadline_ms) wait(deadline_ms);
      result_.timed_out = !ended_;
      end_descendants(grace_ms_);  // the next check has to be alone in the workspace
      while (!ended_ && !reap()) ::poll(nullptr, 0, 1);
      read_output(reads_at_end_max);
    }
    result_.duration_ms = now_ms() - started_ms;
    result_.output = output_.text();
    result_.output_bytes = output_.bytes();
    const std::int32_t exit_code = result_.exit_code.value_or(-1);
    result_.ok = !result_.timed_out && exit_code == 0;
    if (!result_.timed_out && (exit_code == exit_not_executable || exit_code == exit_not_found)) {
      result_.program_missing = true;
    }
    return std::move(result_);
  }

 private:
  bool start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return not_started(errno);
    pipe_ = FileDescriptor(ends[0]);
    const FileDescriptor writer(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    Spawn what;
    what.argv = check_.command;
    what.cwd = workspace_;
    what.new_process_group = true;
    what.stdout_descriptor = writer.get();
    what.stderr_descriptor = writer.get();
    const auto pid = spawn(what);
    if (!pid) return not_started(pid.error());
    pid_ = *pid;
    return true;
  }

  bool not_started(int error) {
    result_.not_started = std::generic_category().message(error);
    result_.program_missing = error != EAGAIN && error != ENOMEM && error != EMFILE &&
                              error != ENFILE && error != ETXTBSY;
    return false;
  }

  bool reap() {
    const auto status = reap_children(pid_);
    if (!status) return ended_;
    ended_ = true;
    if (result_.timed_out) return true;  // how it ended then is our doing
    if (WIFEXITED(*status)) result_.exit_code = WEXITSTATUS(*status);
    if (WIFSIGNALED(*status)) result_.signal = WTERMSIG(*status);
    return true;
  }

  void wait(std::int64_t deadline_ms) {
    const std::int64_t left_ms =
        std::clamp<std::int64_t>(deadline_ms - now_ms(), 0, look_interval_ms);
    if (process_.get() < 0) process_ = open_process(identity());
    std::array<pollfd, 2> polled{{{process_.get(), POLLIN, 0}, {pipe_.get(), POLLIN, 0}}};
    ::poll(polled.data(), polled.size(), static_cast<int>(left_ms));
    read_output(16);
  }

  [[nodiscard]] ProcessIdentity identity() const {
    const auto process = read_process(pid_);
    return process ? process->identity : ProcessIdentity{pid_, 0};
  }

  void read_output(int reads_max) {
    read_available(pipe_, reads_max, [this](std::string_view bytes) { output_.add(bytes); });
  }

  [[nodiscard]] std::int64_t now_ms() const { return clock_.monotonic_ns() / 1'000'000; }

  const CheckDefinition& check_;
  const std::filesystem::path& workspace_;
  std::int64_t grace_ms_;
  const SystemClock clock_;
  FileDescriptor pipe_;
  FileDescriptor process_;
  pid_t pid_ = 0;
  bool ended_ = false;
  OutputEnds output_;
  CheckResult result_;
};

}  // namespace

CheckResult run_check(const CheckDefinition& check, const std::filesystem::path& workspace,
                      std::int64_t grace_ms) {
  return CheckRun(check, workspace, grace_ms).run();
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
        ": " + std::string(utf8_end(cleaned.output, cleanup_output_bytes_max));
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
