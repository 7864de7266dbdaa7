#include "server/executors/process/supervision.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "server/platform/child_program.h"
#include "server/platform/spawn.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

// poll() runs on a clock that stops while the machine sleeps, and a notice of inotify can be lost;
// so nothing is waited for longer than this without another look.
constexpr std::int64_t look_interval_ms = 1000;
constexpr std::int64_t terminating_interval_ms = 100;
constexpr std::int64_t killing_interval_ms = 20;
constexpr int reads_per_round_max = 16;
constexpr int reads_at_end_max = 64;

FileDescriptor child_signals() {
  sigset_t only_child;
  sigemptyset(&only_child);
  sigaddset(&only_child, SIGCHLD);
  return FileDescriptor(::signalfd(-1, &only_child, SFD_NONBLOCK | SFD_CLOEXEC));
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void describe_failed_start(const JobSpec& spec, int error, ShimResult& result) {
  const std::string why = std::generic_category().message(error);
  result.error_is_transient =
      error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == ETXTBSY;
  if (!is_directory(spec.cwd)) {
    result.error_code = "WORKSPACE_MISSING";
    result.error_message = "the workspace " + spec.cwd + " is not there";
  } else if (result.error_is_transient || error == E2BIG) {
    result.error_code = "COMMAND_NOT_STARTED";
    result.error_message = "cannot start " + spec.argv.front() + ": " + why;
  } else {
    result.error_code = "COMMAND_NOT_FOUND";
    result.error_message = "cannot run the program " + spec.argv.front() + ": " + why;
  }
}

}  // namespace

Supervision::Supervision(const JobSpec& spec, BoundedLog stdout_log, BoundedLog stderr_log,
                         CancelWatch cancel_watch, std::filesystem::path paused_file,
                         const Clock& clock)
    : spec_(spec),
      clock_(clock),
      cancel_watch_(std::move(cancel_watch)),
      paused_file_(std::move(paused_file)),
      stdout_{std::move(stdout_log), {}},
      stderr_{std::move(stderr_log), {}},
      child_signals_(child_signals()) {}

ShimResult Supervision::run() {
  const std::int64_t started_ms = now_ms();
  deadline_ms_ = started_ms + spec_.timeout_ms;
  result_.started_at = format_time(clock_.wall_ns());

  // The watch is older than this look, so a request that comes later is noticed by it.
  if (cancel_watch_.requested()) {
    result_.canceled = true;
  } else if (start()) {
    while (true) {
      reap();
      advance();
      if (phase_ == Phase::done) break;
      wait();
    }
  }
  // What is still in the pipes. Bounded, and without waiting: a survivor may hold them open.
  for (Stream* stream : {&stdout_, &stderr_}) {
    read_stream(*stream, reads_at_end_max);
    stream->log.sync();
    if (result_.log_error.empty()) result_.log_error = stream->log.error();
  }
  result_.stdout_bytes = stdout_.log.stream_bytes();
  result_.stderr_bytes = stderr_.log.stream_bytes();
  result_.ended_at = format_time(clock_.wall_ns());
  result_.duration_ms = now_ms() - started_ms;
  return result_;
}

bool Supervision::start() {
  std::array<FileDescriptor, 2> writers;
  std::size_t next = 0;
  for (Stream* stream : {&stdout_, &stderr_}) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      describe_failed_start(spec_, errno, result_);
      return false;
    }
    stream->pipe = FileDescriptor(ends[0]);
    writers[next++] = FileDescriptor(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  Spawn what;
  what.argv = spec_.argv;
  what.cwd = spec_.cwd;
  what.new_process_group = true;
  what.stdout_descriptor = writers[0].get();
  what.stderr_descriptor = writers[1].get();
  const auto pid = spawn(what);
  if (!pid) {
    describe_failed_start(spec_, pid.error(), result_);
    return false;
  }
  command_.pid = *pid;
  if (const auto process = read_process(*pid)) command_ = process->identity;
  return true;
}

void Supervision::reap() {
  signalfd_siginfo notice{};
  while (::read(child_signals_.get(), &notice, sizeof notice) > 0) {
  }
  while (true) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    childless_ = pid < 0;
    if (pid <= 0) return;
    if (pid != command_.pid || command_ended_) continue;
    command_ended_ = true;
    if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  }
}

void Supervision::advance() {
  if (childless_) {
    phase_ = Phase::done;
    return;
  }
  const bool over = now_ms() >= deadline_ms_;
  const bool look = now_ms() >= next_look_ms_;
  switch (phase_) {
    case Phase::running:
      if (command_ended_) {
        begin_ending();  // what it left behind
      } else if (cancel_watch_.requested()) {
        result_.canceled = true;
        begin_ending();
      } else if (over && ::access(paused_file_.c_str(), F_OK) == 0) {
        was_paused_ = true;
        deadline_ms_ = now_ms() + look_interval_ms;
      } else if (over && was_paused_) {
        was_paused_ = false;
        deadline_ms_ = now_ms() + spec_.timeout_ms;  // its time starts anew
      } else if (over) {
        result_.timed_out = true;
        begin_ending();
      }
      return;
    case Phase::terminating:
      if (!over) {
        if (look) signal_descendants(SIGTERM, true);
        return;
      }
      phase_ = Phase::killing;
      deadline_ms_ = now_ms() + kill_patience_ms;
      signal_descendants(SIGKILL, false);
      return;
    case Phase::killing:
      if (look) signal_descendants(SIGKILL, false);
      if (!over) return;
      for (const ProcessIdentity& survivor : descendants_of(::getpid())) {
        result_.escaped_pids.push_back(survivor.pid);
      }
      phase_ = Phase::done;
      return;
    case Phase::done:
      return;
  }
}

void Supervision::begin_ending() {
  phase_ = Phase::terminating;
  deadline_ms_ = now_ms() + spec_.cancel_grace_ms;
  signal_descendants(SIGTERM, false);
}

void Supervision::signal_descendants(int signal, bool only_new) {
  for (const ProcessIdentity& descendant : descendants_of(::getpid())) {
    const bool is_new = signaled_.insert(descendant).second;
    if (is_new && descendant != command_) ++result_.descendants_killed;
    if (is_new || !only_new) send_signal(descendant, signal);
  }
  next_look_ms_ =
      now_ms() + (phase_ == Phase::killing ? killing_interval_ms : terminating_interval_ms);
}

void Supervision::wait() {
  std::int64_t interval_ms = look_interval_ms;
  if (phase_ == Phase::terminating) interval_ms = terminating_interval_ms;
  if (phase_ == Phase::killing) interval_ms = killing_interval_ms;
  interval_ms = std::clamp<std::int64_t>(deadline_ms_ - now_ms(), 0, interval_ms);

  std::array<pollfd, 4> polled{{{child_signals_.get(), POLLIN, 0},
                                {cancel_watch_.descriptor(), POLLIN, 0},
                                {stdout_.pipe.get(), POLLIN, 0},
                                {stderr_.pipe.get(), POLLIN, 0}}};
  // While ending, an unread notice of inotify must not turn this into a busy loop.
  if (phase_ != Phase::running) polled[1].fd = -1;
  ::poll(polled.data(), polled.size(), static_cast<int>(interval_ms));
  read_stream(stdout_, reads_per_round_max);
  read_stream(stderr_, reads_per_round_max);
}

void Supervision::read_stream(Stream& stream, int reads_max) {
  read_available(stream.pipe, reads_max,
                 [&stream](std::string_view bytes) { stream.log.append(bytes); });
}

}  // namespace signalbox
