#include "server/followers/run_root/found_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "server/followers/run_root/lock_file.h"
#include "server/followers/run_root/tick_marker.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

bool is_own_marker(const EventLog& log, const FileChange& removal, const ReadFoundFile& read_file) {
  const FoundMarker marker = read_tick_marker(removal.root, log, /*wall_ns=*/0, read_file).found;
  if (marker.kind == FoundMarker::Kind::known) return true;
  if (removal.halted_at == 0 || removal.halted_at > log.tail()) return false;
  const auto records = log.read(removal.halted_at, 1);
  if (!records || records->empty()) return false;
  const auto* halt = event_as<TickIncompleteDetected>(records->front().event);
  return halt != nullptr && halt->marker == marker.text;
}

}  // namespace

FoundFile read_found_file(const std::filesystem::path& path, std::size_t bytes_max) {
  FoundFile found;
  const auto unreadable = [&found](std::string problem) {
    found.kind = FoundFile::Kind::unreadable;
    found.problem = std::move(problem);
    return found;
  };
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    // Behind a loop of links or a name that is too long nobody can have left a file.
    const bool can_be_there = errno != ENOTDIR && errno != ELOOP && errno != ENAMETOOLONG;
    if (errno == ENOENT || !can_be_there) return found;
    return unreadable(std::string("it can't be looked at: ") + strerror(errno));
  }
  found.modified_at_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (S_ISDIR(status.st_mode)) return unreadable("a directory");
  if (S_ISLNK(status.st_mode)) return unreadable("a symbolic link");
  if (!S_ISREG(status.st_mode)) return unreadable("not a regular file");
  if (status.st_size > static_cast<off_t>(bytes_max)) {
    return unreadable("too large: " + std::to_string(status.st_size) + " bytes");
  }
  auto content = read_regular_file(path, bytes_max);
  if (!content) {
    // The file may have been removed since the lstat().
    if (content.error().kind == StoreError::Kind::not_found) return {};
    return unreadable("it can't be read: " + content.error().message);
  }
  found.kind = FoundFile::Kind::content;
  found.content = std::move(*content);
  return found;
}

bool may_remove(const EventLog& log, const FileChange& removal, const FoundFile& found) {
  if (found.kind == FoundFile::Kind::none) return true;
  const ReadFoundFile read_file = [&found](const std::filesystem::path&, std::size_t) {
    return found;
  };
  if (removal.path == run_root_path::lock) {
    return read_lock_file(removal.root, log, /*wall_ns=*/0, read_file).token != 0;
  }
  return removal.path != run_root_path::tick_marker || is_own_marker(log, removal, read_file);
}

}  // namespace signalbox
