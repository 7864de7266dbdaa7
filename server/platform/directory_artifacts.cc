#include "server/platform/directory_artifacts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/platform/atomic_file.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t scanned_bytes = 64 * 1024;  // at once

std::int64_t stored_ns_of(const struct stat& status) {
  return status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec;
}

// Opens the file for reading if its size is one that it may have.
template <class IsSize>
Stored<OpenedBlob> open_file(const fs::path& path, IsSize is_size) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ELOOP) {
    return store_failure(StoreError::Kind::damaged, path.string() + " is a symbolic link",
                         path.string());
  }
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return tl::unexpected(system_error("open", path));
  }
  if (!S_ISREG(status.st_mode) || !is_size(static_cast<std::uint64_t>(status.st_size))) {
    return store_failure(StoreError::Kind::damaged,
                         path.string() + " is of another size than what was stored", path.string());
  }
  return OpenedBlob{std::move(file), nullptr};
}

std::string first_digits(std::uint8_t first) {
  constexpr const char* digits = "0123456789abcdef";
  return {digits[first / 16], digits[first % 16]};
}

// Returns the size on the disk of what was removed; 0: it stays or isn't there.
Stored<std::uint64_t> remove_file_older(const fs::path& path, std::int64_t before_ns) {
  constexpr std::uint64_t block_bytes = 512;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return 0;
  if (!S_ISREG(status.st_mode) || stored_ns_of(status) >= before_ns) return 0;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return tl::unexpected(system_error("remove", path));
  }
  return static_cast<std::uint64_t>(status.st_blocks) * block_bytes;
}

}  // namespace

DirectoryArtifacts::DirectoryArtifacts(fs::path root) : root_(std::move(root)) {}

fs::path DirectoryArtifacts::path_of(const Digest& sha256) const {
  const std::string hex = to_hex(sha256);
  return root_ / "sha256" / hex.substr(0, 2) / hex.substr(2);
}

std::string DirectoryArtifacts::location_of(const Digest& sha256) const {
  return path_of(sha256).string();
}

Stored<void> DirectoryArtifacts::put_content(const Digest& sha256, std::string_view content) {
  const fs::path path = path_of(sha256);
  const std::shared_lock<std::shared_mutex> not_removing(removal_);
  // An existing blob is compared with the content, so that storing it again repairs a damaged one.
  // Its time is that of its latest use, see remove_older(); one that can't be set is written anew.
  const auto present = get(sha256);
  if (present && *present == content && ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0) {
    return {};
  }

  TRY(make_directories(path.parent_path()));
  return write_file_atomically(path, content);
}

// Reads the content once; its time is set without writing it again, unless that fails.
Stored<bool> DirectoryArtifacts::confirm(const Digest& sha256, std::uint64_t bytes) {
  const fs::path path = path_of(sha256);
  const std::shared_lock<std::shared_mutex> not_removing(removal_);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return tl::unexpected(system_error("look at", path));
  }
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) != bytes) return false;
  const auto scanned = scan(sha256, [](std::string_view) {});
  if (!scanned && scanned.error().kind == StoreError::Kind::damaged) return false;
  if (!scanned && scanned.error().kind == StoreError::Kind::not_found) return false;
  if (!scanned) return tl::unexpected(scanned.error());
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) != 0) {
    TRY(write_file_atomically(path, TRY(get(sha256))));
  }
  return true;
}

Stored<std::string> DirectoryArtifacts::get(const Digest& sha256) const {
  const fs::path path = path_of(sha256);
  const auto opened =
      TRY(open_file(path, [](std::uint64_t size) { return size <= limits::artifact_bytes_max; }));
  auto content = read_regular_file(opened.file.get(), path, limits::artifact_bytes_max);
  if (!content) return content;
  if (signalbox::sha256(*content) != sha256) {
    return store_failure(StoreError::Kind::damaged,
                         "the content of " + path.string() + " is not what was stored",
                         path.string());
  }
  return content;
}

Stored<void> DirectoryArtifacts::scan(
    const Digest& sha256, const std::function<void(std::string_view part)>& take) const {
  const fs::path path = path_of(sha256);
  const auto opened =
      TRY(open_file(path, [](std::uint64_t size) { return size <= limits::artifact_bytes_max; }));
  Sha256 hash;
  std::string buffer(scanned_bytes, '\0');
  for (;;) {
    const ssize_t got = ::read(opened.file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(system_error("read", path));
    if (got == 0) break;
    const std::string_view part(buffer.data(), static_cast<std::size_t>(got));
    hash.update(part);
    take(part);
  }
  if (hash.finish() == sha256) return {};
  return store_failure(StoreError::Kind::damaged,
                       "the content of " + path.string() + " is not what was stored",
                       path.string());
}

Stored<OpenedBlob> DirectoryArtifacts::open(const Digest& sha256, std::uint64_t bytes) const {
  return open_file(path_of(sha256), [bytes](std::uint64_t size) { return size == bytes; });
}

Stored<OpenedBlob> DirectoryArtifacts::open_part(const Digest& sha256, std::uint64_t offset,
                                                 std::uint64_t bytes) const {
  auto opened = TRY(open_file(path_of(sha256), [offset, bytes](std::uint64_t size) {
    return offset <= size && bytes <= size - offset;
  }));
  opened.begins = offset;
  return opened;
}

Stored<std::optional<std::uint64_t>> DirectoryArtifacts::size_of(const Digest& sha256) const {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path_of(sha256), error);
  if (!error) return std::optional(bytes);
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  return store_failure(StoreError::Kind::io,
                       "can't look at " + location_of(sha256) + ": " + error.message());
}

fs::path DirectoryArtifacts::directory_of(std::uint8_t first) const {
  return root_ / "sha256" / first_digits(first);
}

// What can't be read is left out: it isn't removed.
Stored<void> DirectoryArtifacts::list(std::uint8_t first,
                                      const std::function<bool(const KeptBlob&)>& visit) const {
  const fs::path directory = directory_of(first);
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(directory, error))) return {};
  for (fs::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    const auto digest = parse_digest(first_digits(first) + each->path().filename().string());
    struct stat status {};
    if (!digest || ::lstat(each->path().c_str(), &status) != 0) continue;
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    if (!visit({*digest, stored_ns_of(status), bytes})) return {};
  }
  return {};
}

Stored<std::uint64_t> DirectoryArtifacts::remove_older(const Digest& sha256,
                                                       std::int64_t before_ns) {
  const std::unique_lock<std::shared_mutex> removing(removal_);
  return remove_file_older(path_of(sha256), before_ns);
}

Stored<std::uint64_t> DirectoryArtifacts::remove_unfinished(std::uint8_t first,
                                                            std::int64_t before_ns) {
  const fs::path directory = directory_of(first);
  std::uint64_t bytes = 0;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(directory, error))) return bytes;
  for (fs::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    const std::size_t digits = name.find(temporary_mark);
    if (digits == std::string::npos) continue;
    if (!parse_digest(first_digits(first) + name.substr(0, digits))) continue;
    bytes += TRY(remove_file_older(each->path(), before_ns));
  }
  return bytes;
}

}  // namespace signalbox
