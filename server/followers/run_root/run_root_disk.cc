#include "server/followers/run_root/run_root_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "server/platform/host_name.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Size of the end of a ledger that is searched for rows that may be there already. It is more than
// a second's worth of rows, which is how far the files can be ahead of the saved progress.
constexpr std::size_t ledger_end_bytes = 256 * 1024;
// A ledger up to this size is rewritten where rows might be cut short. Others write in run roots as
// well: what is larger is never read as a whole.
constexpr std::size_t ledger_rewritten_bytes_max = 16UL * 1024 * 1024;
// A write within one page is complete or absent when its process is killed.
constexpr std::size_t page_bytes = 4096;

tl::unexpected<StoreError> failed(std::string_view verb, const fs::path& path) {
  return tl::unexpected(system_error(verb, path));
}

Stored<void> sync(int descriptor, const fs::path& path) {
  if (::fsync(descriptor) != 0) return failed("sync", path);
  return {};
}

Stored<FileDescriptor> open_below(const FileDescriptor& parent, const std::string& name,
                                  const fs::path& shown, bool create) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor opened(::openat(parent.get(), name.c_str(), flags));
  if (!opened && errno == ENOENT && create) {
    if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
      return failed("create the directory", shown);
    }
    TRY(sync(parent.get(), shown));
    opened = FileDescriptor(::openat(parent.get(), name.c_str(), flags));
  }
  if (!opened) {
    const int error = errno;
    struct stat status {};
    if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode)) {
      return store_failure(
          StoreError::Kind::io,
          shown.string() + " is a symbolic link, which isn't followed in a run root", shown);
    }
    errno = error;
    return failed("open the directory", shown);
  }
  return opened;
}

Stored<void> go_below(RootFile& place, const std::string& name, bool create) {
  place.shown /= name;
  auto below = TRY(open_below(place.directory, name, place.shown, create));
  place.directory = std::move(below);
  return {};
}

// Opens the directory of the changed file. Whoever named the root was permitted to name it with the
// links that lead there, except below a guarded directory: there each name is opened in the
// directory before it, so that a link that somebody puts there meanwhile is never followed.
Stored<RootFile> find_place(const FileChange& change, bool create, const RunRootRule* rule) {
  const auto inside =
      rule == nullptr ? std::optional<RunRootRule::Inside>() : rule->guarded(change.root);
  RootFile place;
  place.shown = inside ? inside->directory : fs::path(change.root);
  if (create) {
    TRY(make_directories(place.shown));
  }
  place.directory = FileDescriptor(::open(place.shown.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.directory) return failed("open the directory", place.shown);
  if (inside) {
    for (const std::string& name : inside->names) TRY(go_below(place, name, create));
  }
  const fs::path path(change.path);
  for (const fs::path& part : path.parent_path()) TRY(go_below(place, part.string(), create));
  place.name = path.filename().string();
  place.shown /= place.name;
  return place;
}

// Returns the content; nullopt if the file is absent, not a regular file, too large, or can't be
// read.
std::optional<std::string> content_of(const RootFile& place, std::size_t bytes_max) {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const FileDescriptor file(::openat(place.directory.get(), place.name.c_str(), flags));
  if (!file) return std::nullopt;
  auto content = read_regular_file(file.get(), place.shown, bytes_max);
  if (!content) return std::nullopt;
  return std::move(*content);
}

// Removes the directory in the place of a file if it is empty, else renames it, contents and all.
Stored<void> move_aside(const RootFile& place, Position position) {
  const int directory = place.directory.get();
  if (::unlinkat(directory, place.name.c_str(), AT_REMOVEDIR) == 0) return {};
  const std::string aside = place.name + ".replaced-" + std::to_string(position);
  if (::renameat(directory, place.name.c_str(), directory, aside.c_str()) == 0) return {};
  return failed("move out of the way", place.shown);
}

bool is_directory(const RootFile& place) {
  struct stat status {};
  return ::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

bool is_regular_file(const RootFile& place) {
  struct stat status {};
  return ::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode);
}

// Writes the whole file. The temporary file always has the same name: only one thread of one server
// writes it, and it overwrites what a crash left.
Stored<void> replace(const RootFile& place, std::string_view content, const FileChange& change,
                     const std::string& tag) {
  const int directory = place.directory.get();
  const std::string temporary = "." + place.name + "." + tag + ".signalbox-tmp";
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  ::unlinkat(directory, temporary.c_str(), 0);
  const FileDescriptor file(::openat(directory, temporary.c_str(), flags, 0600));
  if (!file) return failed("create a file beside", place.shown);
  const auto give_up = [&](std::string_view verb) {
    const int error = errno;
    ::unlinkat(directory, temporary.c_str(), 0);
    errno = error;
    return failed(verb, place.shown);
  };
  if (!write_all(file, content)) return give_up("write");
  if (::fsync(file.get()) != 0) return give_up("sync");
  if (is_directory(place)) {
    if (auto ok = move_aside(place, change.position); !ok) {
      ::unlinkat(directory, temporary.c_str(), 0);
      return ok;
    }
  }
  if (::renameat(directory, temporary.c_str(), directory, place.name.c_str()) != 0) {
    return give_up("rename a file to");
  }
  return sync(directory, place.shown);
}

Stored<void> write(const FileChange& change, const std::string& tag, const RunRootRule* rule) {
  const auto place = TRY(find_place(change, /*create=*/true, rule));
  if (content_of(place, change.bytes.size()) == change.bytes) return {};
  return replace(place, change.bytes, change, tag);
}

Stored<void> remove(const FileChange& change, const RunRootRule* rule) {
  const auto place = find_place(change, /*create=*/false, rule);
  if (!place) {
    if (place.error().kind == StoreError::Kind::not_found) return {};
    return tl::unexpected(place.error());
  }
  if (::unlinkat(place->directory.get(), place->name.c_str(), 0) != 0) {
    if (errno == ENOENT) return {};
    if (!is_directory(*place)) return failed("remove", place->shown);
    TRY(move_aside(*place, change.position));
  }
  return sync(place->directory.get(), place->shown);
}

// Returns those of `rows` that `text` (the ledger or its end) doesn't have yet: after a crash some
// rows are appended again.
std::string rows_not_in(std::string_view text, std::string_view rows) {
  std::string fresh;
  while (!rows.empty()) {
    const std::string_view row = rows.substr(0, rows.find('\n') + 1);
    if (text.find(row) == std::string_view::npos) fresh += row;
    rows.remove_prefix(row.size());
  }
  return fresh;
}

// Rewrites the whole ledger, without a last row that a crash of the machine cut short. One that
// can't be read now, or is large and can't be written, is renamed, and the ledger begins anew.
Stored<void> rewrite(const RootFile& place, const FileChange& change, const std::string& tag) {
  auto read = content_of(place, ledger_rewritten_bytes_max);
  if (!read && is_regular_file(place)) TRY(move_aside(place, change.position));
  std::string content = std::move(read).value_or("");
  content.resize(content.rfind('\n') + 1);  // npos + 1 is 0
  content += rows_not_in(content, change.bytes);
  return replace(place, content, change, tag);
}

// Appends to a large ledger in place, after its last whole row. `end` is its end. If that has no
// row, somebody else made the file: then it is renamed, and the ledger begins anew.
Stored<void> append_to_large(const RootFile& place, const FileDescriptor& file, std::size_t size,
                             std::string_view end, const FileChange& change,
                             const std::string& tag) {
  const std::size_t rows_end = end.rfind('\n') + 1;  // npos + 1 is 0
  if (rows_end == 0) {
    TRY(move_aside(place, change.position));
    return replace(place, change.bytes, change, tag);
  }
  const std::string rows = rows_not_in(end.substr(0, rows_end), change.bytes);
  if (rows.empty()) return {};
  const auto whole_rows = static_cast<off_t>(size - end.size() + rows_end);
  if (rows_end < end.size() && ::ftruncate(file.get(), whole_rows) != 0) {
    return failed("truncate", place.shown);
  }
  if (!write_all(file, rows)) return failed("write", place.shown);
  return sync(file.get(), place.shown);
}

Stored<void> append(const FileChange& change, const std::string& tag, const RunRootRule* rule) {
  const auto place = TRY(find_place(change, /*create=*/true, rule));
  constexpr int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const FileDescriptor file(::openat(place.directory.get(), place.name.c_str(), flags));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return rewrite(place, change, tag);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::size_t end_bytes = std::min(size, ledger_end_bytes);
  const std::string end = read_bytes_at(file, size - end_bytes, end_bytes);
  const bool is_read = end.size() == end_bytes;
  if (is_read && size > ledger_rewritten_bytes_max) {
    return append_to_large(place, file, size, end, change, tag);
  }
  if (!is_read || end.empty() || end.back() != '\n') return rewrite(place, change, tag);
  const std::string rows = rows_not_in(end, change.bytes);
  if (rows.empty()) return {};
  if (size / page_bytes != (size + rows.size() - 1) / page_bytes)
    return rewrite(place, change, tag);
  if (!write_all(file, rows)) return failed("write", place.shown);
  return sync(file.get(), place.shown);
}

}  // namespace

std::string temporary_tag(const std::filesystem::path& runs) {
  return to_hex(sha256(host_name() + ":" + runs.string())).substr(0, 8);
}

Stored<void> apply_change(const FileChange& change, const std::string& tag,
                          const RunRootRule* rule) {
  switch (change.kind) {
    case FileChange::Kind::write:
      return write(change, tag, rule);
    case FileChange::Kind::remove:
      return remove(change, rule);
    case FileChange::Kind::append:
      return append(change, tag, rule);
  }
  return {};
}

Stored<RootFile> find_root_file(const std::string& root, const std::string& path,
                                const RunRootRule* rule) {
  FileChange inside;
  inside.root = root;
  inside.path = path;
  return find_place(inside, /*create=*/false, rule);
}

Stored<void> make_run_directory(const fs::path& directory, const RunRootRule* rule) {
  FileChange inside;
  inside.root = directory.string();
  inside.path = "file";  // isn't looked at
  TRY(find_place(inside, /*create=*/true, rule));
  return {};
}

Stored<FileDescriptor> open_run_root(const std::string& root, const RunRootRule* rule) {
  auto place = TRY(find_root_file(root, run_root_path::manifest, rule));
  return std::move(place.directory);
}

Stored<WrittenFile> remove_written_file(const FileChange& change, const RunRootRule* rule,
                                        bool is_dry) {
  const auto place = find_place(change, /*create=*/false, rule);
  if (!place && place.error().kind == StoreError::Kind::not_found) return WrittenFile::missing;
  if (!place) return tl::unexpected(place.error());
  const int directory = place->directory.get();
  struct stat status {};
  if (::fstatat(directory, place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return WrittenFile::missing;
    return failed("look at", place->shown);
  }
  // A file of another size was changed, and may be too large to be read.
  if (!S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) != change.bytes.size() ||
      content_of(*place, change.bytes.size()) != change.bytes) {
    return WrittenFile::changed;
  }
  if (is_dry) return WrittenFile::same;
  if (::unlinkat(directory, place->name.c_str(), 0) != 0) {
    if (errno == ENOENT) return WrittenFile::missing;
    return failed("remove", place->shown);
  }
  TRY(sync(directory, place->shown));
  return WrittenFile::same;
}

void remove_empty_directories(const std::string& root, fs::path directory,
                              const RunRootRule* rule) {
  for (; !directory.empty(); directory = directory.parent_path()) {
    FileChange change;
    change.root = root;
    change.path = directory.string();
    const auto place = find_place(change, /*create=*/false, rule);
    if (!place) return;
    if (::unlinkat(place->directory.get(), place->name.c_str(), AT_REMOVEDIR) != 0) return;
  }
}

}  // namespace signalbox
