#include "tools/commands/copy_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "domain/try.h"
#include "server/platform/owned_tree.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = "server.lock";

// What an attempt leaves that was killed.
constexpr std::array<std::string_view, 17> remains = {
    lock_name,       "log",          "loading",        "anchor",
    "anchor.tmp",    "cell",         "cell.tmp",       "cell_seen",
    "cell_seen.tmp", "artifacts",    "signalbox.toml", "signalbox.toml.tmp",
    "jobs.key",      "jobs.key.tmp", "runners.json",   "runners.json.tmp",
    "removed"};

tl::unexpected<CallError> refused(const fs::path& path, const std::string& why) {
  return tl::unexpected(usage_error(path.string() + " " + why));
}

tl::unexpected<CallError> exists_already(const fs::path& target) {
  return refused(target, "is there already: name a directory that isn't there yet");
}

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::symlink_status(path, failed).type() != fs::file_type::not_found;
}

// Returns whether `path` is `directory` or lies below it; both without links.
bool is_within(const fs::path& path, const fs::path& directory) {
  return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first ==
         directory.end();
}

// Returns the path with its parent's links resolved.
Called<fs::path> resolved(const fs::path& target, const fs::path& data) {
  const fs::path named = target.has_filename() ? target : target.parent_path();
  if (!named.has_filename()) return exists_already(target);
  std::error_code failed;
  const fs::path parent = fs::canonical(named.parent_path(), failed);
  if (failed || !fs::is_directory(parent, failed)) {
    return refused(named.parent_path(),
                   "isn't a directory that can be reached: make it first, or name another");
  }
  const fs::path whole_data = fs::canonical(data, failed);
  if (!failed && is_within(parent, whole_data)) {
    return refused(named, "lies in the data directory that it is made from: name one elsewhere");
  }
  return parent / named.filename();
}

// Checks that `directory` has nothing but what an attempt leaves, and is this user's, so that
// nobody else has put anything there.
Called<void> require_remains(const fs::path& directory) {
  const FileDescriptor held(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!held || ::fstat(held.get(), &status) != 0 || status.st_uid != ::geteuid()) {
    return refused(directory,
                   "isn't what an interrupted attempt of this user left: remove it, or "
                   "name another directory");
  }
  if (::fchmod(held.get(), 0700) != 0) {
    return tl::unexpected(from_store_error(system_error("close to others", directory)));
  }
  std::error_code failed;
  for (const auto& file : fs::directory_iterator(directory, failed)) {
    const std::string name = file.path().filename().string();
    const bool is_known = std::ranges::find(remains, name) != remains.end();
    if (is_known && (name != lock_name || file.is_regular_file(failed)) &&
        !file.is_symlink(failed)) {
      continue;
    }
    return refused(file.path(),
                   "isn't what an interrupted attempt leaves: remove it, or name "
                   "another directory");
  }
  if (failed) return tl::unexpected(io_error("can't read " + directory.string()));
  return {};
}

Called<void> remove_remains(const fs::path& directory) {
  for (const std::string_view name : remains) {
    if (name == lock_name) continue;
    TRY(called(remove_with_content(directory / name)));
  }
  return {};
}

// Renames, unless something is at `to`. Returns false with errno set on failure.
bool rename_to_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // The file system can't (NFS): rename(2) replaces an empty directory at most.
  if (is_there(to)) {
    errno = EEXIST;
    return false;
  }
  return std::rename(from.c_str(), to.c_str()) == 0;
}

}  // namespace

ProgressLine::Part part_of(const LogCopyProgress& progress) {
  if (progress.part == LogCopyProgress::Part::checking) return {"checking the copy"};
  return {"copying", progress.done, progress.of, progress.bytes};
}

CopyDirectory::CopyDirectory(fs::path target, fs::path incomplete, DirectoryLock lock)
    : target_(std::move(target)), incomplete_(std::move(incomplete)), lock_(std::move(lock)) {}

CopyDirectory::CopyDirectory(CopyDirectory&& other) noexcept
    : target_(std::move(other.target_)),
      incomplete_(std::exchange(other.incomplete_, {})),
      lock_(std::move(other.lock_)) {}

CopyDirectory::~CopyDirectory() {
  if (incomplete_.empty()) return;
  (void)remove_with_content(incomplete_);
}

Called<CopyDirectory> CopyDirectory::begin(const fs::path& target, const fs::path& data,
                                           const std::string& command) {
  const fs::path place = TRY(resolved(target, data));
  if (is_there(place)) return exists_already(place);
  const fs::path incomplete = place.string() + ".incomplete";
  if (::mkdir(incomplete.c_str(), 0700) != 0) {
    if (errno != EEXIST) {
      return tl::unexpected(from_store_error(system_error("create the directory", incomplete)));
    }
    TRY(require_remains(incomplete));
  }
  auto lock = TRY(called(DirectoryLock::take(incomplete / lock_name, command)));
  CopyDirectory directory(place, incomplete, std::move(lock));
  TRY(remove_remains(incomplete));
  return directory;
}

Called<void> CopyDirectory::finish() {
  TRY(called(sync_directory(incomplete_)));
  if (!rename_to_new(incomplete_, target_)) {
    if (errno == EEXIST) return exists_already(target_);
    return tl::unexpected(from_store_error(system_error("rename to its name", incomplete_)));
  }
  incomplete_.clear();
  TRY(called(sync_parent_directories(target_)));
  // It is of no use there, and its lock was for the time until now.
  ::unlink((target_ / lock_name).c_str());
  lock_ = DirectoryLock();
  return {};
}

}  // namespace signalbox
