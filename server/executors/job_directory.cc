#include "server/executors/job_directory.h"

#include <sys/stat.h>

#include <cerrno>

#include "server/executors/shim_lock.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

Stored<bool> is_there(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return tl::unexpected(system_error("look at", path));
}

}  // namespace

Stored<JobState> JobDirectory::state() const {
  const auto finished = is_there(result());
  if (!finished) return tl::unexpected(finished.error());
  if (*finished) return JobState::finished;

  const auto holder = look_at_shim_lock(lock());
  if (!holder) return tl::unexpected(holder.error());
  switch (*holder) {
    case ShimLockState::absent:
      return JobState::absent;
    case ShimLockState::held:
      return JobState::running;
    case ShimLockState::left:
      break;
  }
  // The shim may have written the result and gone since the first look.
  const auto finished_since = is_there(result());
  if (!finished_since) return tl::unexpected(finished_since.error());
  return *finished_since ? JobState::finished : JobState::lost;
}

}  // namespace signalbox
