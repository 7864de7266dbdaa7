#include "server/followers/run_root/found_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "server/followers/run_root/lock_file.h"
#include "server/followers/run_root/run_root_disk.h"
#include "server/followers/run_root/tick_marker.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

bool is_own_marker(const EventLog& log, const FileChange& removal, const ReadFoundFile& read_file) {
  const FoundMarker marker = read_tick_marker(removal.root, log, /*wall_ns=*/0, read_file).found;
  if (marker.kind == FoundMarker::Kind::known) return true;
  if (removal.halted_at == 0 || removal.halted_at > log.tail()) return false;
  const auto records = log.read(removal.halted_at, 1);
  if (!records || records->empty()) return false;
  const auto* halt = event_as<TickIncompleteDetected>(records->front().event);
  return halt != nullptr && halt->marker == marker.text;
}

// Returns the root and the file's path in it.
std::pair<std::string, std::string> split_at_root(const fs::path& path) {
  const std::string text = path.string();
  const std::string marker = std::string("/") + run_root_path::tick_marker;
  if (text.ends_with(marker)) {
    return {text.substr(0, text.size() - marker.size()), run_root_path::tick_marker};
  }
  return {path.parent_path().string(), path.filename().string()};
}

// Returns whether there is no file, also by way of links. Behind a loop of them, or a name that is
// too long, nobody can have left one.
bool nobody_left_a_file(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return false;
  return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG;
}

}  // namespace

FoundFile read_found_file_below(const RunRootRule* rule, const fs::path& path,
                                std::size_t bytes_max) {
  FoundFile found;
  const auto unreadable = [&found](std::string problem) {
    found.kind = FoundFile::Kind::unreadable;
    found.problem = std::move(problem);
    return found;
  };
  const auto [root, name] = split_at_root(path);
  const auto file = find_root_file(root, name, rule);
  if (!file) {
    if (file.error().kind == StoreError::Kind::not_found || nobody_left_a_file(path)) return found;
    return unreadable("it can't be read: " + file.error().message);
  }
  struct stat status {};
  if (::fstatat(file->directory.get(), file->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENAMETOOLONG) return found;
    return unreadable(std::string("it can't be read: ") + strerror(errno));
  }
  found.modified_at_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (S_ISDIR(status.st_mode)) return unreadable("a directory");
  if (S_ISLNK(status.st_mode)) return unreadable("a symbolic link");
  if (!S_ISREG(status.st_mode)) return unreadable("not a regular file");
  if (status.st_size > static_cast<off_t>(bytes_max)) {
    return unreadable("too large: " + std::to_string(status.st_size) + " bytes");
  }
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const FileDescriptor open_file(::openat(file->directory.get(), file->name.c_str(), flags));
  if (!open_file) {
    if (errno == ENOENT) return {};  // it was removed meanwhile
    return unreadable("it can't be read: " + system_error("open", path).message);
  }
  auto content = read_regular_file(open_file.get(), path, bytes_max);
  if (!content) return unreadable("it can't be read: " + content.error().message);
  found.kind = FoundFile::Kind::content;
  found.content = std::move(*content);
  return found;
}

FoundFile read_found_file(const fs::path& path, std::size_t bytes_max) {
  return read_found_file_below(nullptr, path, bytes_max);
}

ReadFoundFile found_file_reader(std::shared_ptr<const RunRootRule> rule) {
  return [rule = std::move(rule)](const fs::path& path, std::size_t bytes_max) {
    return read_found_file_below(rule.get(), path, bytes_max);
  };
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
