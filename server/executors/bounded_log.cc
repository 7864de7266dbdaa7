#include "server/executors/bounded_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "server/executors/job_directory.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

// O_NONBLOCK: a FIFO in the file's place is an error at once, and not a wait for its reader.
constexpr int log_file_flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

constexpr std::uint64_t bounded_log_bytes_max = log_head_bytes + log_ring_bytes;

// The file offset of a byte of the stream, and how many bytes of the stream lie contiguously from
// there.
struct Extent {
  std::uint64_t offset;
  std::uint64_t contiguous_bytes;
};

Extent extent_at(std::uint64_t stream_offset) {
  if (stream_offset < log_head_bytes) return {stream_offset, log_head_bytes - stream_offset};
  const std::uint64_t in_ring = (stream_offset - log_head_bytes) % log_ring_bytes;
  return {log_head_bytes + in_ring, log_ring_bytes - in_ring};
}

// Returns the bytes [from, to) of the stream, all of which must be kept.
std::string read_range(std::string_view file, std::uint64_t from, std::uint64_t to) {
  std::string bytes;
  while (from < to) {
    const Extent extent = extent_at(from);
    if (extent.offset >= file.size()) break;
    const std::uint64_t length = std::min(extent.contiguous_bytes, to - from);
    bytes += file.substr(extent.offset, length);
    from += length;
  }
  return bytes;
}

// Writers append at most this many bytes between two updates of the length file.
constexpr std::uint64_t log_append_bytes_max = 64 * 1024;
static_assert(log_append_bytes_max < log_ring_bytes / 2);

// Returns the current length of a stream whose file has this size.
std::uint64_t current_length(const std::filesystem::path& path, std::uint64_t file_bytes) {
  if (file_bytes < log_head_bytes + log_ring_bytes) return file_bytes;
  const auto digits = read_regular_file(length_file_of(path), 32);
  std::uint64_t length = 0;
  if (digits) std::from_chars(digits->data(), digits->data() + digits->size(), length);
  return std::max(length, file_bytes);
}

tl::unexpected<StoreError> not_regular(const std::filesystem::path& path) {
  return store_failure(StoreError::Kind::io, path.string() + " is not a regular file",
                       path.string());
}

tl::unexpected<StoreError> longer_than_a_log(const std::filesystem::path& path) {
  return store_failure(StoreError::Kind::damaged, path.string() + " is longer than a log",
                       path.string());
}

}  // namespace

std::filesystem::path length_file_of(const std::filesystem::path& log) {
  return log.string() + ".length";
}

Stored<LogPart> read_log_after(const std::filesystem::path& path, std::uint64_t from,
                               std::size_t bytes_max) {
  LogPart part{from, from, {}};
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return part;
    return tl::unexpected(system_error("look at", path));
  }
  if (!S_ISREG(status.st_mode)) return not_regular(path);
  // A job may have made it longer: its end would be anywhere.
  if (static_cast<std::uint64_t>(status.st_size) > bounded_log_bytes_max)
    return longer_than_a_log(path);
  // Returns early without opening the file: most polled logs have not grown.
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t end = current_length(path, file_bytes);
  if (end <= from) return part;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return tl::unexpected(system_error("open", path));
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(system_error("look at", path));
  if (!S_ISREG(status.st_mode)) return not_regular(path);
  part.offset = std::max(from, end - std::min<std::uint64_t>(end, bytes_max));
  for (std::uint64_t next = part.offset; next < end;) {
    const Extent extent = extent_at(next);
    const std::uint64_t length = std::min(extent.contiguous_bytes, end - next);
    part.bytes += read_bytes_at(file, extent.offset, length);
    next += length;
  }
  part.end = part.offset + part.bytes.size();
  if (end < log_head_bytes + log_ring_bytes) return part;
  // The writer may have overwritten the part meanwhile.
  if (current_length(path, file_bytes) + log_append_bytes_max > part.offset + log_ring_bytes) {
    return LogPart{from, from, {}};
  }
  return part;
}

namespace {

// Returns the first offset of the ring that isn't overwritten by what the writer appends before it
// notes a length greater than `end`, the stream's current one.
std::uint64_t ring_begin(const std::filesystem::path& log, std::uint64_t end) {
  constexpr std::uint64_t full = log_head_bytes + log_ring_bytes;
  std::error_code error;
  const bool may_be_overwritten =
      end > full || (end == full && std::filesystem::exists(length_file_of(log), error));
  return may_be_overwritten ? end - log_ring_bytes + log_append_bytes_max : log_head_bytes;
}

}  // namespace

Stored<LogPart> read_log_range(const std::filesystem::path& path, std::uint64_t from,
                               std::size_t bytes_max) {
  LogPart part{from, 0, {}};
  const auto opened = open_job_file(path, bounded_log_bytes_max);
  if (!opened) {
    if (opened.error().kind == StoreError::Kind::not_found) return part;
    return tl::unexpected(opened.error());
  }
  const FileDescriptor& file = *opened;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(system_error("look at", path));
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  part.end = current_length(path, file_bytes);
  const bool is_in_head = from < log_head_bytes;
  if (!is_in_head) part.offset = std::max(from, ring_begin(path, part.end));
  const std::uint64_t region_end =
      is_in_head ? std::min<std::uint64_t>(part.end, log_head_bytes) : part.end;
  const std::uint64_t to = std::min<std::uint64_t>(region_end, part.offset + bytes_max);
  for (std::uint64_t next = part.offset; next < to;) {
    const Extent extent = extent_at(next);
    const std::uint64_t length = std::min(extent.contiguous_bytes, to - next);
    part.bytes += read_bytes_at(file, extent.offset, length);
    next += length;
  }
  if (is_in_head) return part;
  // The writer may have overwritten the beginning of the part meanwhile, also of a file that wasn't
  // full before.
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(system_error("look at", path));
  const std::uint64_t kept_from =
      ring_begin(path, current_length(path, static_cast<std::uint64_t>(status.st_size)));
  if (part.offset < kept_from) {
    part.bytes.erase(0, kept_from - part.offset);
    part.offset = kept_from;
  }
  return part;
}

Stored<std::uint64_t> add_log_part(const std::filesystem::path& path, std::uint64_t offset,
                                   std::string_view bytes) {
  BoundedLog log;
  log.path_ = path;
  log.file_ = FileDescriptor(::open(path.c_str(), log_file_flags & ~O_TRUNC, 0600));
  if (!log.file_) return tl::unexpected(system_error("create", path));
  struct stat status {};
  if (::fstat(log.file_.get(), &status) != 0) return tl::unexpected(system_error("look at", path));
  if (!S_ISREG(status.st_mode)) return not_regular(path);
  log.stream_bytes_ = current_length(path, static_cast<std::uint64_t>(status.st_size));
  constexpr std::uint64_t full = log_head_bytes + log_ring_bytes;
  const bool leaves_out = offset > log.stream_bytes_ && log.stream_bytes_ >= log_head_bytes &&
                          offset + bytes.size() > full;
  if (offset != log.stream_bytes_ && !leaves_out) return log.stream_bytes_;
  if (leaves_out) {  // nothing of the ring is read as what was left out
    if (::ftruncate(log.file_.get(), log_head_bytes) != 0 ||
        ::ftruncate(log.file_.get(), full) != 0) {
      return tl::unexpected(system_error("empty", path));
    }
    log.stream_bytes_ = offset;
  }
  log.append(bytes);
  if (!log.error_.empty()) return store_failure(StoreError::Kind::io, log.error_, path.string());
  return log.stream_bytes_;
}

Stored<BoundedLog> BoundedLog::create(const std::filesystem::path& path) {
  BoundedLog log;
  log.path_ = path;
  log.file_ = FileDescriptor(::open(path.c_str(), log_file_flags, 0600));
  if (!log.file_) return tl::unexpected(system_error("create", path));
  return log;
}

void BoundedLog::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const Extent extent = extent_at(stream_bytes_);
    const std::string_view part = bytes.substr(0, extent.contiguous_bytes);
    // Before anything is overwritten: a full file without a length is the stream itself.
    if (stream_bytes_ >= log_head_bytes + log_ring_bytes && !length_file_) write_length();
    write_at(extent.offset, part);
    stream_bytes_ += part.size();
    bytes.remove_prefix(part.size());
  }
  if (stream_bytes_ > log_head_bytes + log_ring_bytes) write_length();
}

// For readers of a running job's log. If the length is missing or late, they only see less.
void BoundedLog::write_length() {
  if (!length_file_) {
    const std::string path = length_file_of(path_).string();
    length_file_ = FileDescriptor(::open(path.c_str(), log_file_flags, 0600));
  }
  const std::string digits = std::to_string(stream_bytes_);
  [[maybe_unused]] const ssize_t written =
      ::pwrite(length_file_.get(), digits.data(), digits.size(), 0);
}

void BoundedLog::write_at(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      if (error_.empty()) error_ = system_error("write", path_).message;
      return;
    }
    offset += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void BoundedLog::sync() {
  if (::fdatasync(file_.get()) != 0 && error_.empty()) {
    error_ = system_error("sync", path_).message;
  }
}

Stored<KeptLog> read_bounded_log(const std::filesystem::path& path, std::uint64_t stream_bytes,
                                 std::size_t bytes_max) {
  KeptLog kept;
  kept.stream_bytes = stream_bytes;
  const auto opened = open_job_file(path, bounded_log_bytes_max);
  if (!opened) {
    if (opened.error().kind == StoreError::Kind::not_found) return kept;
    return tl::unexpected(opened.error());
  }
  const auto file = read_regular_file(opened->get(), path, bounded_log_bytes_max);
  if (!file) return tl::unexpected(file.error());
  if (stream_bytes <= std::min<std::uint64_t>(log_head_bytes + log_ring_bytes, 2 * bytes_max)) {
    kept.head = read_range(*file, 0, stream_bytes);
    return kept;
  }
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(bytes_max, log_ring_bytes);
  kept.head = read_range(*file, 0, std::min<std::uint64_t>(bytes_max, log_head_bytes));
  kept.tail = read_range(*file, stream_bytes - tail_bytes, stream_bytes);
  return kept;
}

}  // namespace signalbox
