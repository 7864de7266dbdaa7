#include "server/executors/job_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "domain/try.h"
#include "server/platform/process_table.h"
#include "server/platform/stored_json.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

enum class ShimLockState {
  absent,  // no shim has ever executed the job
  held,    // a shim is executing the job
  left,    // a shim executed the job and has ended
};

Stored<bool> path_exists(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return tl::unexpected(system_error("look at", path));
}

Stored<ShimLockState> read_shim_lock_state(const std::filesystem::path& path) {
  // O_NONBLOCK: a job may have put a FIFO there, and opening that must not wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return ShimLockState::absent;
    return tl::unexpected(system_error("open", path));
  }
  // A shared lock, so that two concurrent readers don't mistake each other for the owner.
  while (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return ShimLockState::held;
    if (errno != EINTR) return tl::unexpected(system_error("lock", path));
  }
  return ShimLockState::left;
}

}  // namespace

Stored<void> JobDirectory::write_spec(const JobSpec& content) const {
  return write_stored_json(spec(), content);
}

Stored<JobSpec> JobDirectory::read_spec() const { return read_stored_json<JobSpec>(spec()); }

Stored<void> JobDirectory::write_result(const ShimResult& content) const {
  return write_stored_json(result(), content);
}

Stored<ShimResult> JobDirectory::read_result() const {
  return read_stored_json<ShimResult>(result());
}

Stored<FileDescriptor> JobDirectory::take_lock() const {
  const std::filesystem::path path = lock();
  std::string temporary = path.string() + ".XXXXXX";
  FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return tl::unexpected(system_error("create a file beside", path));

  const auto self = read_process(::getpid());
  const std::uint64_t started = self ? self->identity.start_time_ticks : 0;
  const bool failed = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 ||
                      ::dprintf(file.get(), "{\"pid\":%d,\"start_time_ticks\":%llu}\n", ::getpid(),
                                static_cast<unsigned long long>(started)) < 0 ||
                      ::fsync(file.get()) != 0 || ::link(temporary.c_str(), path.c_str()) != 0;
  const int error = errno;
  ::unlink(temporary.c_str());
  if (failed && error == EEXIST) return FileDescriptor();
  if (failed) {
    errno = error;
    return tl::unexpected(system_error("take the lock", path));
  }
  TRY(sync_directory(path.parent_path()));
  return file;
}

Stored<JobState> JobDirectory::state() const {
  const auto finished = path_exists(result());
  if (!finished) return tl::unexpected(finished.error());
  if (*finished) return JobState::finished;

  const auto holder = TRY(read_shim_lock_state(lock()));
  switch (holder) {
    case ShimLockState::absent:
      return JobState::absent;
    case ShimLockState::held:
      return JobState::running;
    case ShimLockState::left:
      break;
  }
  // The shim may have written the result and ended since the first check.
  const auto finished_since = TRY(path_exists(result()));
  return finished_since ? JobState::finished : JobState::lost;
}

std::function<bool(const std::string& run_id)> live_jobs(const std::filesystem::path& jobs_root) {
  return [jobs_root](const std::string& run_id) {
    std::error_code error;
    for (std::filesystem::directory_iterator each(jobs_root, error), end; !error && each != end;
         each.increment(error)) {
      if (!each->path().filename().string().starts_with(run_id + "-")) continue;
      const auto state = JobDirectory{each->path()}.state();
      if (!state || *state == JobState::running) return true;
    }
    return error && error != std::errc::no_such_file_or_directory;
  };
}

}  // namespace signalbox
