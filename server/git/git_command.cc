#include "server/git/git_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "server/platform/clock.h"
#include "server/platform/process_table.h"
#include "server/platform/service_manager.h"
#include "server/platform/spawn.h"
#include "server/text/utf8_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

// Of the caller's own these would lead git elsewhere, or are set here.
bool is_ours(std::string_view entry) {
  static constexpr std::array<std::string_view, 9> names{
      "GIT_DIR=",        "GIT_WORK_TREE=",        "GIT_INDEX_FILE=",
      "GIT_COMMON_DIR=", "GIT_OBJECT_DIRECTORY=", "GIT_PREFIX=",
      "GIT_NAMESPACE=",  "GIT_TERMINAL_PROMPT=",  "LC_ALL="};
  return std::any_of(names.begin(), names.end(),
                     [entry](std::string_view name) { return entry.starts_with(name); });
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> entries{"GIT_TERMINAL_PROMPT=0", "LC_ALL=C"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_ours(*entry) && !is_service_manager_variable(*entry)) entries.emplace_back(*entry);
  }
  entries.insert(entries.end(), more.begin(), more.end());
  return entries;
}

// The read end of a pipe and what came out of it.
struct PipeReader {
  FileDescriptor pipe;
  std::string text;

  // Reads what there is; false if that was nothing. What exceeds the bound is dropped.
  bool read_some() {
    std::array<char, 16 * 1024> buffer;
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return true;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      pipe = {};
      return false;
    }
    const std::size_t room = git_output_bytes_max - std::min(git_output_bytes_max, text.size());
    text.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
    return true;
  }
};

// Gives a stream whose writer is in `writer`; false: errno says why.
bool open_pipe(PipeReader& stream, FileDescriptor& writer) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  stream.pipe = FileDescriptor(ends[0]);
  writer = FileDescriptor(ends[1]);
  return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

// A child that is the leader of a process group, until it has ended.
class GitProcess {
 public:
  GitProcess(pid_t pid, PipeReader& out, PipeReader& err) : pid_(pid), out_(out), err_(err) {
    const auto process = read_process(pid);
    if (process) ended_ = open_process(process->identity);
  }

  // False if it had to be ended for its time.
  bool wait(std::int64_t timeout_ms) {
    if (wait_until(now_ms() + timeout_ms)) return true;
    ::kill(-pid_, SIGTERM);
    // Also where git itself has gone by then: what it started is still there, and so is its group.
    const bool gone = wait_until(now_ms() + limits::git_grace_ms_max);
    ::kill(-pid_, SIGKILL);
    if (!gone) wait_until(now_ms() + limits::git_ms_max);
    return false;
  }
  [[nodiscard]] int status() const { return status_; }

 private:
  // True once it has ended. What it left running may still have the pipes: that isn't waited for.
  bool wait_until(std::int64_t deadline_ms) {
    while (::waitpid(pid_, &status_, WNOHANG) == 0) {
      const std::int64_t left_ms = deadline_ms - now_ms();
      if (left_ms <= 0) return false;
      std::array<pollfd, 3> polled{
          {{out_.pipe.get(), POLLIN, 0}, {err_.pipe.get(), POLLIN, 0}, {ended_.get(), POLLIN, 0}}};
      // A pidfd isn't there on every kernel; so the end is looked for now and then as well.
      ::poll(polled.data(), polled.size(),
             static_cast<int>(std::min<std::int64_t>(left_ms, ended_ ? 60'000 : 20)));
      if (out_.pipe && polled[0].revents != 0) out_.read_some();
      if (err_.pipe && polled[1].revents != 0) err_.read_some();
    }
    for (PipeReader* stream : {&out_, &err_}) {
      for (int reads = 0; stream->pipe && reads < reads_at_end_max && stream->read_some();) ++reads;
    }
    return true;
  }
  [[nodiscard]] std::int64_t now_ms() const { return clock_.monotonic_ns() / 1'000'000; }

  static constexpr int reads_at_end_max = 256;

  pid_t pid_;
  PipeReader& out_;
  PipeReader& err_;
  FileDescriptor ended_;
  const SystemClock clock_;
  int status_ = -1;  // of one that nobody saw end: neither exited nor ok
};

GitOutcome not_started(int error) {
  GitOutcome outcome;
  outcome.message = "cannot run git: " + std::generic_category().message(error);
  return outcome;
}

}  // namespace

std::string GitOutcome::line() const { return output.substr(0, output.find('\n')); }

GitOutcome git(const std::filesystem::path& directory, std::vector<std::string> arguments,
               const GitOptions& options) {
  PipeReader out;
  PipeReader err;
  FileDescriptor out_writer;
  FileDescriptor err_writer;
  if (!open_pipe(out, out_writer) || !open_pipe(err, err_writer)) return not_started(errno);
  if (!options.output_file.empty()) {
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    out_writer = FileDescriptor(::open(options.output_file.c_str(), flags, 0600));
    if (!out_writer) return not_started(errno);
  }

  const std::vector<std::string> environment = environment_with(options.environment);
  Spawn what;
  what.argv = std::move(arguments);
  what.argv.insert(what.argv.begin(), "git");
  what.cwd = directory;
  what.environment = &environment;
  what.new_process_group = true;
  what.stdout_descriptor = out_writer.get();
  what.stderr_descriptor = err_writer.get();
  const auto pid = spawn(what);
  out_writer = {};
  err_writer = {};
  if (!pid) return not_started(pid.error());

  GitProcess process(*pid, out, err);
  GitOutcome outcome;
  outcome.timed_out = !process.wait(options.timeout_ms);
  if (WIFEXITED(process.status())) outcome.exit_code = WEXITSTATUS(process.status());
  outcome.ok = outcome.exit_code == 0 && !outcome.timed_out;
  outcome.output = std::move(out.text);
  outcome.message = std::move(err.text);
  if (outcome.timed_out) {
    outcome.message += "git was ended after " + std::to_string(options.timeout_ms) + " ms";
  }
  while (outcome.message.ends_with('\n')) outcome.message.pop_back();
  outcome.message =
      shortened(with_replacements(without_credentials(outcome.message)), git_message_bytes_max);
  return outcome;
}

std::string without_credentials(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at)) {
    at += 3;
    const std::size_t end = text.find_first_of("/ \t\n'\"", at);
    const std::size_t last = end == std::string::npos ? text.size() : end;
    const std::size_t sign = text.substr(0, last).rfind('@');
    if (sign != std::string::npos && sign >= at) text.erase(at, sign + 1 - at);
  }
  return text;
}

}  // namespace signalbox
