#include "server/executors/process/supervision.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "server/platform/child_process.h"
#include "server/platform/clock.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::int64_t pause_poll_interval_ms = 1000;  // between two checks of the file `paused`

// Returns whether there is anything with this name, such as a link to nothing that the job has
// made.
bool name_exists(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// Detects the file `cancel` in a job's directory: by inotify, and by polling in case a notification
// was lost or inotify is unavailable.
class CancelWatch {
 public:
  explicit CancelWatch(std::filesystem::path cancel_file)
      : cancel_file_(std::move(cancel_file)), inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    const std::filesystem::path directory = cancel_file_.parent_path();
    if (inotify_ &&
        ::inotify_add_watch(inotify_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO) < 0) {
      inotify_ = {};
    }
  }

  // Readable when the directory has changed; -1 where inotify is unavailable.
  [[nodiscard]] int descriptor() const { return inotify_.get(); }

  // Returns whether it exists, as whatever kind of file, and consumes pending notifications.
  [[nodiscard]] bool requested() const {
    char notices[4096];
    while (inotify_ && ::read(inotify_.get(), notices, sizeof notices) > 0) {
    }
    return name_exists(cancel_file_);
  }

 private:
  std::filesystem::path cancel_file_;
  FileDescriptor inotify_;
};

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void describe_failed_start(const JobSpec& spec, int error, ShimResult& result) {
  const std::string why = std::generic_category().message(error);
  result.error_is_transient = is_transient_start_error(error);
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

// Blocks until the command has ended or must be ended, for its timeout or for a cancel.
void await_command(ChildProcess& command, const JobSpec& spec, const JobDirectory& job,
                   const CancelWatch& cancel, std::int64_t deadline_ms, ShimResult& result) {
  bool was_paused = false;  // the run was paused at the last deadline
  while (!command.has_ended()) {
    result.canceled = cancel.requested();
    if (result.canceled) return;
    if (const std::int64_t now_ms = ChildProcess::now_ms(); now_ms >= deadline_ms) {
      const bool paused = name_exists(job.paused());
      result.timed_out = !paused && !was_paused;
      if (result.timed_out) return;
      // After a pause the timeout starts anew.
      deadline_ms = now_ms + (paused ? pause_poll_interval_ms : spec.timeout_ms);
      was_paused = paused;
    }
    deadline_ms += command.wait(deadline_ms, cancel.descriptor());
  }
}

}  // namespace

ShimResult run_supervised(const JobSpec& spec, BoundedLog stdout_log, BoundedLog stderr_log,
                          const JobDirectory& job) {
  const SystemClock clock;
  const std::int64_t started_ms = ChildProcess::now_ms();
  ShimResult result;
  result.started_at = format_time(clock.wall_ns());

  // The watch was created before this check, so it notices every later request.
  const CancelWatch cancel(job.cancel());
  result.canceled = cancel.requested();
  if (!result.canceled) {
    auto command = ChildProcess::start(
        {.argv = spec.argv,
         .cwd = spec.cwd,
         .stdout_sink = [&stdout_log](std::string_view bytes) { stdout_log.append(bytes); },
         .stderr_sink = [&stderr_log](std::string_view bytes) { stderr_log.append(bytes); },
         .reach = ChildProcess::Reach::descendants});
    if (command) {
      await_command(*command, spec, job, cancel, started_ms + spec.timeout_ms, result);
      // also ends the command's leftover processes
      auto ending = command->end(spec.cancel_grace_ms);
      result.exit_code = command->exit_code();
      result.signal = command->signal();
      result.descendants_killed = ending.others_signaled;
      result.escaped_pids = std::move(ending.survivors);
    } else {
      describe_failed_start(spec, command.error(), result);
    }
  }
  for (BoundedLog* log : {&stdout_log, &stderr_log}) {
    log->sync();
    if (result.log_error.empty()) result.log_error = log->error();
  }
  result.stdout_bytes = stdout_log.stream_bytes();
  result.stderr_bytes = stderr_log.stream_bytes();
  result.ended_at = format_time(clock.wall_ns());
  result.duration_ms = ChildProcess::now_ms() - started_ms;
  return result;
}

}  // namespace signalbox
