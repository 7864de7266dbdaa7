#include "server/platform/owned_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "domain/try.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Directories that are open at a time. A deeper one is moved up before it is removed: a job decides
// how deep its directories are, and the whole service shares one limit of descriptors.
constexpr int owned_tree_depth_max = 64;
constexpr int open_directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::uint64_t stat_block_bytes = 512;

struct CloseTreeDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using OpenTreeDirectory = std::unique_ptr<DIR, CloseTreeDirectory>;

tl::unexpected<StoreError> tree_failure(std::string_view verb, const fs::path& path) {
  return tl::unexpected(system_error(verb, path));
}

tl::unexpected<StoreError> tree_refusal(const fs::path& path, const char* why) {
  return store_failure(StoreError::Kind::io, path.string() + " " + why, path.string());
}

// What all steps in one tree have in common.
struct TreeWalk {
  dev_t device = 0;  // of the tree
  const std::atomic<bool>& stopped;
  TreeSize size = {};
  int top = -1;             // descriptor of the tree's own directory
  std::uint64_t moved = 0;  // directories that were moved up to `top`
};

// Returns an open directory of a tree. A build may have taken the owner's rights from it.
FileDescriptor open_in_tree(int parent, const std::string& name) {
  FileDescriptor opened(::openat(parent, name.c_str(), open_directory_flags));
  if (opened || errno != EACCES) return opened;
  const FileDescriptor place(
      ::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place) return {};
  // chmod() by this name changes the directory that is open, whatever has its name now.
  const std::string itself = "/proc/self/fd/" + std::to_string(place.get());
  if (::chmod(itself.c_str(), S_IRWXU) != 0) return {};
  return FileDescriptor(::openat(parent, name.c_str(), open_directory_flags));
}

// Returns a stream of the directory's entries, which is the only descriptor of the directory.
OpenTreeDirectory list_directory(FileDescriptor directory) {
  OpenTreeDirectory stream(directory ? ::fdopendir(directory.get()) : nullptr);
  if (stream) static_cast<void>(directory.release());
  return stream;
}

bool is_dot_entry(const char* name) {
  return std::string_view(name) == "." || std::string_view(name) == "..";
}

void measure_directory(FileDescriptor opened, int depth, TreeWalk& walk) {
  const OpenTreeDirectory entries = list_directory(std::move(opened));
  if (!entries) return;
  const int directory = ::dirfd(entries.get());
  while (const dirent* entry = walk.stopped ? nullptr : ::readdir(entries.get())) {
    struct stat status {};
    if (is_dot_entry(entry->d_name) ||
        ::fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    walk.size += {static_cast<std::uint64_t>(status.st_blocks) * stat_block_bytes, 1};
    if (!S_ISDIR(status.st_mode) || status.st_dev != walk.device) continue;
    if (depth >= owned_tree_depth_max) continue;
    measure_directory(FileDescriptor(::openat(directory, entry->d_name, open_directory_flags)),
                      depth + 1, walk);
  }
}

Stored<void> empty_tree(DIR* entries, const fs::path& shown, int depth, TreeWalk& walk);

// Removes the directory `name`, or moves it up if it lies too deep.
Stored<void> remove_directory(int parent, const std::string& name, const fs::path& shown, int depth,
                              TreeWalk& walk) {
  FileDescriptor below = open_in_tree(parent, name);
  if (!below && errno == ENOENT) return {};
  if (!below) return tree_failure("open the directory", shown);
  struct stat status {};
  if (::fstat(below.get(), &status) != 0) return tree_failure("look at", shown);
  if (status.st_dev != walk.device) return tree_refusal(shown, "is on another file system");
  static_cast<void>(::fchmod(below.get(), S_IRWXU));  // its entries can be removed, and it moved
  if (depth >= owned_tree_depth_max) {
    // An interrupted removal has left some of these names, and others can make them.
    do {
      const std::string moved = "signalbox-deep-" + std::to_string(++walk.moved);
      if (::renameat(parent, name.c_str(), walk.top, moved.c_str()) == 0) return {};
    } while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
    return tree_failure("move up", shown);
  }
  const OpenTreeDirectory entries = list_directory(std::move(below));
  if (!entries) return tree_failure("list", shown);
  TRY(empty_tree(entries.get(), shown, depth + 1, walk));
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return tree_failure("remove", shown);
}

// Removes all entries. Lists them again until there are none, since removing them, and moving
// others up, may change what a listing has.
Stored<void> empty_tree(DIR* entries, const fs::path& shown, int depth, TreeWalk& walk) {
  const int directory = ::dirfd(entries);
  for (bool found = true; found; ::rewinddir(entries)) {
    found = false;
    while (const dirent* entry = ::readdir(entries)) {
      if (is_dot_entry(entry->d_name)) continue;
      if (walk.stopped) return tree_refusal(shown, "isn't removed yet: the service stops");
      const std::string name = entry->d_name;
      struct stat status {};
      if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;
        return tree_failure("look at", shown / name);
      }
      found = true;
      if (S_ISDIR(status.st_mode)) {
        TRY(remove_directory(directory, name, shown / name, depth, walk));
      } else if (::unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT) {
        return tree_failure("remove", shown / name);
      }
      walk.size += {static_cast<std::uint64_t>(status.st_blocks) * stat_block_bytes, 1};
    }
  }
  return {};
}

Stored<FileDescriptor> open_parent(const fs::path& parent) {
  FileDescriptor opened(::open(parent.c_str(), open_directory_flags));
  if (!opened) return tree_failure("open the directory", parent);
  return opened;
}

// Returns the device of the directory `name`, which must be one of this user on the file system of
// its parent, and no link.
Stored<dev_t> check_owned(int parent, const std::string& name, const fs::path& shown) {
  struct stat status {};
  struct stat around {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::fstat(parent, &around) != 0) {
    return tree_failure("look at", shown);
  }
  if (S_ISLNK(status.st_mode)) return tree_refusal(shown, "is a symbolic link");
  if (!S_ISDIR(status.st_mode)) return tree_refusal(shown, "is not a directory");
  if (status.st_uid != ::geteuid()) return tree_refusal(shown, "belongs to another user");
  if (status.st_dev != around.st_dev) return tree_refusal(shown, "is on another file system");
  return status.st_dev;
}

// Removes the directory `name` with all that it holds.
Stored<void> remove_top(int parent, const std::string& name, const fs::path& shown,
                        TreeWalk& walk) {
  FileDescriptor opened = open_in_tree(parent, name);
  if (!opened) return tree_failure("open the directory", shown);
  static_cast<void>(::fchmod(opened.get(), S_IRWXU));
  const OpenTreeDirectory entries = list_directory(std::move(opened));
  if (!entries) return tree_failure("list", shown);
  walk.top = ::dirfd(entries.get());
  TRY(empty_tree(entries.get(), shown, 1, walk));
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return tree_failure("remove", shown);
}

// Removes the directory of this name with all that it holds; succeeds if it isn't there.
Stored<void> remove_renamed(int parent, const std::string& name, const fs::path& shown,
                            TreeWalk& walk) {
  const auto device = check_owned(parent, name, shown);
  if (!device) {
    if (device.error().kind == StoreError::Kind::not_found) return {};
    return tl::unexpected(device.error());
  }
  walk.device = *device;
  return remove_top(parent, name, shown, walk);
}

}  // namespace

Stored<TreeSize> measure_owned_tree(const fs::path& parent, const std::string& name,
                                    const std::atomic<bool>& stopped) {
  const FileDescriptor around = TRY(open_parent(parent));
  const dev_t device = TRY(check_owned(around.get(), name, parent / name));
  TreeWalk walk{.device = device, .stopped = stopped};
  FileDescriptor top(::openat(around.get(), name.c_str(), open_directory_flags));
  if (!top) return tree_failure("open the directory", parent / name);
  measure_directory(std::move(top), 1, walk);
  return walk.size;
}

Stored<TreeSize> remove_owned_tree(const fs::path& parent, const std::string& name,
                                   const std::atomic<bool>& stopped,
                                   const ReasonToKeepTree& reason_to_keep) {
  const FileDescriptor around = TRY(open_parent(parent));
  const std::string removing = name + removing_suffix;
  // The name isn't taken away from what others have made there since: a rename replaces nothing but
  // an empty directory.
  const auto check_again = [&]() -> Stored<void> {
    const std::string reason = reason_to_keep ? reason_to_keep(parent / removing) : std::string();
    if (reason.empty()) return {};
    static_cast<void>(::renameat(around.get(), removing.c_str(), around.get(), name.c_str()));
    return store_failure(StoreError::Kind::io, reason, (parent / name).string());
  };
  TreeWalk walk{.stopped = stopped};
  if (check_owned(around.get(), removing, parent / removing)) TRY(check_again());
  TRY(remove_renamed(around.get(), removing, parent / removing, walk));
  const auto owned = check_owned(around.get(), name, parent / name);
  if (!owned) {
    if (owned.error().kind == StoreError::Kind::not_found) return walk.size;
    return tl::unexpected(owned.error());
  }
  if (::renameat(around.get(), name.c_str(), around.get(), removing.c_str()) != 0) {
    return tree_failure("rename", parent / name);
  }
  TRY(check_again());
  TRY(remove_renamed(around.get(), removing, parent / removing, walk));
  return walk.size;
}

Stored<void> remove_with_content(const fs::path& path) {
  const fs::path written = path.has_filename() ? path : path.parent_path();
  const std::string name = written.filename();
  const fs::path place = written.has_parent_path() ? written.parent_path() : fs::path(".");
  // Of the directory around it only the name may be known, as of one that is held open.
  const FileDescriptor around(::open(place.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!around || ::fstatat(around.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return tree_failure("look at", written);
  }
  if (S_ISDIR(status.st_mode)) {
    const std::atomic<bool> never = false;
    TreeWalk walk{.device = status.st_dev, .stopped = never};
    return remove_top(around.get(), name, written, walk);
  }
  if (::unlinkat(around.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return tree_failure("remove", written);
}

bool is_owned_tree_there(const fs::path& parent, const std::string& name) {
  struct stat status {};
  const std::string path = (parent / name).string();
  return ::lstat(path.c_str(), &status) == 0 ||
         ::lstat((path + removing_suffix).c_str(), &status) == 0;
}

}  // namespace signalbox
