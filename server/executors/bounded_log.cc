#include "server/executors/bounded_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "server/artifacts/atomic_file.h"

namespace signalbox {
namespace {

// Where byte number `stream_offset` lies, and how many of the next bytes lie beside it.
struct Place {
  std::uint64_t offset;
  std::uint64_t run_bytes;
};

Place place_of(std::uint64_t stream_offset) {
  if (stream_offset < log_head_bytes) return {stream_offset, log_head_bytes - stream_offset};
  const std::uint64_t in_ring = (stream_offset - log_head_bytes) % log_ring_bytes;
  return {log_head_bytes + in_ring, log_ring_bytes - in_ring};
}

// Bytes [from, to) of the stream, all of which are kept.
std::string read_range(std::string_view file, std::uint64_t from, std::uint64_t to) {
  std::string bytes;
  while (from < to) {
    const Place place = place_of(from);
    if (place.offset >= file.size()) break;
    const std::uint64_t length = std::min(place.run_bytes, to - from);
    bytes += file.substr(place.offset, length);
    from += length;
  }
  return bytes;
}

}  // namespace

Stored<BoundedLog> BoundedLog::create(const std::filesystem::path& path) {
  BoundedLog log;
  log.path_ = path;
  log.file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!log.file_) return tl::unexpected(system_error("create", path));
  return log;
}

void BoundedLog::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const Place place = place_of(stream_bytes_);
    const std::string_view part = bytes.substr(0, place.run_bytes);
    write_at(place.offset, part);
    stream_bytes_ += part.size();
    bytes.remove_prefix(part.size());
  }
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
  const auto file = read_regular_file(path, log_head_bytes + log_ring_bytes);
  if (!file) {
    if (file.error().kind == StoreError::Kind::not_found) return kept;
    return tl::unexpected(file.error());
  }
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
