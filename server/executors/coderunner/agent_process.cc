#include "server/executors/coderunner/agent_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "server/executors/coderunner/line_splitter.h"
#include "server/platform/child_program.h"
#include "server/platform/clock.h"
#include "server/platform/spawn.h"
#include "server/text/utf8_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

constexpr std::int64_t look_interval_ms = 1000;
constexpr int reads_per_round_max = 16;
// After its end: what it left in the pipes, and no more, as a survivor may still write.
constexpr int reads_at_end_max = 64;

sigset_t noticed_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  return signals;
}

void pass_on(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody keeps it; the transcript is read all the same
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Memory as a file: read by the agent at its own pace, and nobody has to write while it does.
FileDescriptor file_of(const std::string& text) {
  FileDescriptor file(::memfd_create("prompt", MFD_CLOEXEC));
  if (!file) return file;
  pass_on(file.get(), text);
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

class Call {
 public:
  Call(const AgentCall& call, AgentTranscript& transcript)
      : call_(call), transcript_(transcript), lines_([this](std::string_view line) {
          last_line_was_valid_ = transcript_.line(line);
          if (call_.on_event) call_.on_event(transcript_.report());
        }) {}

  AgentEnd run() {
    const sigset_t signals = noticed_signals();
    signals_ = FileDescriptor(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!start()) return end_;
    while (!reap() && !end_.interrupted && !result_is_overdue()) wait();
    // Also after an orderly exit: the next attempt has to be alone in its workspace. Whoever told
    // us to stop has the same patience with us, and a result is still to be written.
    end_descendants(end_.interrupted ? call_.grace_ms / 2 : call_.grace_ms);
    while (!reaped_ && !reap()) ::poll(nullptr, 0, 1);
    read_rest();
    return end_;
  }

 private:
  struct Stream {
    FileDescriptor pipe;
    int passed_on_to = -1;
  };

  bool start() {
    std::array<FileDescriptor, 2> writers;
    std::size_t next = 0;
    for (Stream* stream : {&stdout_, &stderr_}) {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) return not_started(errno);
      stream->pipe = FileDescriptor(ends[0]);
      writers[next++] = FileDescriptor(ends[1]);
      ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
    const FileDescriptor prompt = file_of(call_.prompt);
    if (!prompt) return not_started(errno);
    Spawn what;
    what.argv = call_.argv;
    what.new_process_group = true;
    what.stdin_descriptor = prompt.get();
    what.stdout_descriptor = writers[0].get();
    what.stderr_descriptor = writers[1].get();
    const auto pid = spawn(what);
    if (!pid) return not_started(pid.error());
    pid_ = *pid;
    return true;
  }

  bool not_started(int error) {
    end_.start_error = error;
    return false;
  }

  // True once the program itself has ended.
  bool reap() {
    const auto status = reap_children(pid_);
    if (!status) return reaped_;
    reaped_ = true;
    if (WIFEXITED(*status)) end_.exit_code = WEXITSTATUS(*status);
    const bool by_us = end_.interrupted || end_.ended_after_result;
    if (WIFSIGNALED(*status) && !by_us) end_.signal = WTERMSIG(*status);
    return true;
  }

  bool result_is_overdue() {
    if (!transcript_.report().has_result) return false;
    if (!exit_by_ms_) exit_by_ms_ = now_ms() + call_.grace_ms;
    end_.ended_after_result = now_ms() >= *exit_by_ms_;
    return end_.ended_after_result;
  }

  void wait() {
    std::int64_t interval_ms = look_interval_ms;
    if (exit_by_ms_)
      interval_ms = std::clamp<std::int64_t>(*exit_by_ms_ - now_ms(), 0, interval_ms);
    std::array<pollfd, 3> polled{{{signals_.get(), POLLIN, 0},
                                  {stdout_.pipe.get(), POLLIN, 0},
                                  {stderr_.pipe.get(), POLLIN, 0}}};
    ::poll(polled.data(), polled.size(), static_cast<int>(interval_ms));
    signalfd_siginfo notice{};
    while (::read(signals_.get(), &notice, sizeof notice) == sizeof notice) {
      if (notice.ssi_signo == SIGTERM) end_.interrupted = true;
    }
    read_stream(stdout_, reads_per_round_max);
    read_stream(stderr_, reads_per_round_max);
  }

  void read_stream(Stream& stream, int reads_max) {
    read_available(stream.pipe, reads_max, [&](std::string_view bytes) {
      pass_on(stream.passed_on_to, bytes);
      if (&stream == &stdout_) return lines_.add(bytes);
      stderr_end_ += bytes;
      if (stderr_end_.size() > 2 * stderr_end_bytes_max) {
        stderr_end_.erase(0, stderr_end_.size() - stderr_end_bytes_max);
      }
    });
  }

  void read_rest() {
    read_stream(stdout_, reads_at_end_max);
    read_stream(stderr_, reads_at_end_max);
    last_line_was_valid_ = true;
    if (lines_.finish_rest()) end_.cut_off = !last_line_was_valid_;
    end_.dropped_lines = lines_.dropped_lines();
    const std::string text = with_replacements(stderr_end_);
    end_.stderr_end = std::string(utf8_end(text, stderr_end_bytes_max));
  }

  [[nodiscard]] std::int64_t now_ms() const { return clock_.monotonic_ns() / 1'000'000; }

  const AgentCall& call_;
  AgentTranscript& transcript_;
  const SystemClock clock_;
  LineSplitter lines_;
  bool last_line_was_valid_ = true;
  FileDescriptor signals_;
  Stream stdout_{{}, STDOUT_FILENO};
  Stream stderr_{{}, STDERR_FILENO};
  std::string stderr_end_;
  pid_t pid_ = 0;
  bool reaped_ = false;
  std::optional<std::int64_t> exit_by_ms_;
  AgentEnd end_;
};

}  // namespace

AgentEnd call_agent(const AgentCall& call, AgentTranscript& transcript) {
  return Call(call, transcript).run();
}

void become_agent_supervisor() {
  const sigset_t signals = noticed_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

}  // namespace signalbox
