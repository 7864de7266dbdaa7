#include "server/executors/coderunner/agent_process.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "server/executors/coderunner/line_splitter.h"
#include "server/platform/child_process.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  return signals;
}

void forward(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reader is gone; the transcript is read all the same
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

class Call {
 public:
  Call(const AgentCall& call, AgentTranscript& transcript)
      : call_(call), transcript_(transcript), lines_([this](std::string_view line) {
          last_line_was_valid_ = transcript_.line(line);
          last_line_ms_ = ChildProcess::now_ms();
          if (call_.on_event) call_.on_event(transcript_.report());
        }) {}

  AgentEnd run() {
    const sigset_t signals = handled_signals();
    signals_ = FileDescriptor(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
    auto agent = start();
    while (!agent && agent.error() == ENOENT && call_.look_again && call_.look_again()) {
      agent = start();
    }
    if (!agent) {
      end_.start_error = agent.error();
      return end_;
    }
    while (!agent->has_ended() && !end_.interrupted && !result_is_overdue()) {
      const std::int64_t stopped_ms =
          agent->wait(exit_by_ms_.value_or(ChildProcess::never_ms), signals_.get());
      last_line_ms_ += stopped_ms;
      if (exit_by_ms_) *exit_by_ms_ += stopped_ms;
      read_signals();
    }
    // Also after an orderly exit, because the next attempt must be alone in its workspace. After
    // SIGTERM the shim grants this process the same grace; half of it leaves time to write a
    // result.
    agent->end(end_.interrupted ? call_.grace_ms / 2 : call_.grace_ms);
    agent->await_end();
    describe_end(*agent);
    return end_;
  }

 private:
  tl::expected<ChildProcess, int> start() {
    return ChildProcess::start({.argv = call_.argv,
                                .input = call_.prompt,
                                .stdout_sink =
                                    [this](std::string_view bytes) {
                                      forward(STDOUT_FILENO, bytes);
                                      lines_.add(bytes);
                                    },
                                .stderr_sink =
                                    [this](std::string_view bytes) {
                                      forward(STDERR_FILENO, bytes);
                                      stderr_.add(bytes);
                                    },
                                .reach = ChildProcess::Reach::descendants});
  }

  bool result_is_overdue() {
    const AgentReport& report = transcript_.report();
    if (!report.has_result) {
      exit_by_ms_.reset();
      return false;
    }
    if (report.has_open_tasks) {
      exit_by_ms_ = last_line_ms_ + call_.silence_ms;
    } else if (!exit_by_ms_ || had_open_tasks_) {
      exit_by_ms_ = ChildProcess::now_ms() + call_.grace_ms;
    }
    had_open_tasks_ = report.has_open_tasks;
    end_.ended_after_result = ChildProcess::now_ms() >= *exit_by_ms_;
    return end_.ended_after_result;
  }

  void read_signals() {
    signalfd_siginfo notice{};
    while (::read(signals_.get(), &notice, sizeof notice) == sizeof notice) end_.interrupted = true;
  }

  void describe_end(const ChildProcess& agent) {
    end_.exit_code = agent.exit_code();
    if (!end_.interrupted && !end_.ended_after_result) end_.signal = agent.signal();
    last_line_was_valid_ = true;
    if (lines_.finish_rest()) end_.cut_off = !last_line_was_valid_;
    end_.dropped_lines = lines_.dropped_lines();
    end_.cut_strings = lines_.cut_strings();
    const std::string text = with_replacements(stderr_.tail());
    end_.stderr_end = std::string(utf8_suffix(text, stderr_end_bytes_max));
  }

  const AgentCall& call_;
  AgentTranscript& transcript_;
  LineSplitter lines_;
  bool last_line_was_valid_ = true;
  FileDescriptor signals_;
  // twice the size: a character may be cut at its beginning
  BoundedOutput stderr_{0, 2 * stderr_end_bytes_max};
  std::int64_t last_line_ms_ = 0;
  std::optional<std::int64_t> exit_by_ms_;
  bool had_open_tasks_ = false;  // when exit_by_ms_ was set
  AgentEnd end_;
};

}  // namespace

AgentEnd call_agent(const AgentCall& call, AgentTranscript& transcript) {
  return Call(call, transcript).run();
}

void become_agent_supervisor() {
  const sigset_t signals = handled_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  become_reaper();
}

}  // namespace signalbox
