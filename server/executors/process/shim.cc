#include "server/executors/process/shim.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "server/executors/job_directory.h"
#include "server/executors/process/supervision.h"
#include "server/platform/child_process.h"
#include "server/platform/clock.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr int result_write_attempts_max = 600;  // one a second

void prepare_process() {
  for (const int ignored : {SIGTERM, SIGHUP, SIGINT, SIGPIPE}) std::signal(ignored, SIG_IGN);
  become_reaper();
}

// Returns whether the job has made a directory where its result belongs.
bool result_is_directory(const JobDirectory& job) {
  struct stat status {};
  return ::lstat(job.result().c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

ShimResult not_started(const StoreError& error) {
  ShimResult result;
  result.error_code = "JOB_STORAGE";
  result.error_message = error.message;
  result.error_is_transient = true;
  result.started_at = result.ended_at = format_time(SystemClock().wall_ns());
  return result;
}

ShimResult execute(const JobDirectory& job) {
  const auto spec = job.read_spec();
  if (!spec) return not_started(spec.error());
  auto stdout_log = BoundedLog::create(job.stdout_log());
  if (!stdout_log) return not_started(stdout_log.error());
  auto stderr_log = BoundedLog::create(job.stderr_log());
  if (!stderr_log) return not_started(stderr_log.error());
  return run_supervised(*spec, std::move(*stdout_log), std::move(*stderr_log), job);
}

// Runs in the detached process. `ready` receives one byte as soon as it is known whether the lock
// was taken. Works in the job's directory by relative paths: if the data directory is moved while
// the job runs, its end is still found there.
int supervise(const std::filesystem::path& job_directory, FileDescriptor ready) {
  prepare_process();
  if (::chdir(job_directory.c_str()) != 0) return EX_IOERR;
  const JobDirectory job{"."};
  const auto lock = job.take_lock();
  const char settled = lock ? 'y' : 'n';
  [[maybe_unused]] const ssize_t sent = ::write(ready.get(), &settled, 1);
  ready = {};
  if (!lock) return EX_IOERR;
  if (!*lock) return 0;  // another shim was first

  const ShimResult result = execute(job);
  ::chmod(".", S_IRWXU);  // which the job may have changed
  // Without a result the job would count as lost, so a full disk is waited for.
  for (int attempt = 0; attempt < result_write_attempts_max; ++attempt) {
    const auto written = job.write_result(result);
    if (written) return 0;
    if (written.error().kind == StoreError::Kind::not_found) break;  // the directory was removed
    if (result_is_directory(job)) break;                             // no file takes its place
    ::sleep(1);
  }
  return EX_IOERR;
}

}  // namespace

int run_shim(const std::filesystem::path& job_directory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return EX_IOERR;
  FileDescriptor settled(ends[0]);
  FileDescriptor ready(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return EX_IOERR;
  if (child == 0) {
    settled = {};
    return supervise(job_directory, std::move(ready));
  }
  ready = {};
  char answer = 'n';
  while (::read(settled.get(), &answer, 1) < 0 && errno == EINTR) {
  }
  return answer == 'y' ? 0 : EX_IOERR;
}

}  // namespace signalbox
