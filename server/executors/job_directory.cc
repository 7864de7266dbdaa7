#include "server/executors/job_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

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

// Returns whether the job, and not the disk, is why the file can't be opened. A directory above the
// job's that may not be read was never the job's.
bool is_replaced(int error, const std::filesystem::path& path) {
  struct stat status {};
  const std::filesystem::path directory = path.parent_path();
  if (error == EACCES) return ::lstat(directory.c_str(), &status) == 0;
  // A file system that the job mounted over its directory, and that nobody serves any more.
  if (error == ENOTCONN) return ::lstat(directory.parent_path().c_str(), &status) == 0;
  return error == ELOOP || error == ENXIO || error == ENODEV;
}

Stored<ShimLockState> read_shim_lock_state(const std::filesystem::path& path) {
  const auto file = open_job_file(path, std::numeric_limits<std::uint64_t>::max());
  if (!file) {
    if (file.error().kind == StoreError::Kind::not_found) return ShimLockState::absent;
    if (file.error().kind == StoreError::Kind::damaged) return ShimLockState::left;
    return tl::unexpected(file.error());
  }
  // A shared lock, so that two concurrent readers don't mistake each other for the owner.
  while (::flock(file->get(), LOCK_SH | LOCK_NB) != 0) {
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
  const auto file = TRY(open_job_file(result(), stored_json_bytes_max));
  return read_stored_json<ShimResult>(file.get(), result());
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
  const auto holder = TRY(read_shim_lock_state(lock()));
  // A result that is there by now isn't the shim's, which writes it last and replaces this one.
  if (holder == ShimLockState::held) return JobState::running;
  const auto written = read_result();
  if (written) return JobState::finished;
  switch (written.error().kind) {
    case StoreError::Kind::not_found:
      return holder == ShimLockState::absent ? JobState::absent : JobState::lost;
    case StoreError::Kind::damaged:
      return JobState::lost;
    default:
      return tl::unexpected(written.error());
  }
}

Stored<bool> JobDirectory::is_under_way(const std::string& run_id) const {
  if (TRY(state()) != JobState::running) return false;
  return !processes_with_environment("SIGNALBOX_RUN_ID=" + run_id).empty();
}

Stored<FileDescriptor> open_job_file(const std::filesystem::path& path, std::uint64_t bytes_max) {
  const auto damaged = [&path](const std::string& why) {
    return store_failure(StoreError::Kind::damaged, path.string() + " " + why, path.string());
  };
  // O_NONBLOCK: a job may have put a FIFO there, and opening that must not wait for a writer.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    const int error = errno;
    StoreError failed = system_error("open", path);
    if (error == ENOTDIR) failed.kind = StoreError::Kind::not_found;
    if (is_replaced(error, path)) failed.kind = StoreError::Kind::damaged;
    return tl::unexpected(std::move(failed));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(system_error("look at", path));
  if (!S_ISREG(status.st_mode)) return damaged("is not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > bytes_max) {
    return damaged("is longer than " + std::to_string(bytes_max) + " bytes");
  }
  return file;
}

std::function<bool(const std::string& run_id)> live_jobs(const std::filesystem::path& jobs_root) {
  return [jobs_root](const std::string& run_id) {
    std::error_code error;
    for (std::filesystem::directory_iterator each(jobs_root, error), end; !error && each != end;
         each.increment(error)) {
      if (!each->path().filename().string().starts_with(run_id + "-")) continue;
      if (JobDirectory{each->path()}.is_under_way(run_id).value_or(true)) return true;
    }
    return error && error != std::errc::no_such_file_or_directory;
  };
}

}  // namespace signalbox
