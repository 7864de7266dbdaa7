// A log file of bounded size that keeps the beginning and the newest part of a stream.
//
// Layout: the first `head_bytes` of the stream, then a ring of `ring_bytes`: byte number n of the
// stream (n ≥ head_bytes) lies at head_bytes + (n - head_bytes) % ring_bytes. With the stream's
// length, which the writer's result tells, the file can be read; up to head + ring it is the
// stream. While a longer stream is being written, its length stands in a file beside the log
// (length_file_of()), in decimal digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

inline constexpr std::size_t log_head_bytes = 512 * 1024;
inline constexpr std::size_t log_ring_bytes = 512 * 1024;

class BoundedLog {
 public:
  static Stored<BoundedLog> create(const std::filesystem::path& path);

  // Never blocks the stream's writer: what the disk refuses is counted and lost, and `error` says
  // so.
  void append(std::string_view bytes);
  void sync();

  [[nodiscard]] std::uint64_t stream_bytes() const { return stream_bytes_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void write_at(std::uint64_t offset, std::string_view bytes);

  void note_length();

  std::filesystem::path path_;
  FileDescriptor file_;
  FileDescriptor length_file_;  // once the ring has been filled
  std::uint64_t stream_bytes_ = 0;
  std::string error_;
};

std::filesystem::path length_file_of(const std::filesystem::path& log);

// Bytes of a stream that may still be written.
struct LogPart {
  std::uint64_t offset = 0;  // of the first of them
  std::uint64_t end = 0;     // of the stream, at the moment
  std::string bytes;         // up to `end`, or empty
};

// What came after `from`; of that the newest `bytes_max` (far less than log_ring_bytes). Empty if
// nothing did, and where it is being written over this very moment. A file that isn't there is an
// empty stream.
Stored<LogPart> read_log_after(const std::filesystem::path& path, std::uint64_t from,
                               std::size_t bytes_max);

// What is kept of a stream: `head`, then a gap of stream_bytes - head - tail bytes, then `tail`.
struct KeptLog {
  std::uint64_t stream_bytes = 0;
  std::string head;
  std::string tail;  // empty if there is no gap

  [[nodiscard]] bool whole() const { return head.size() + tail.size() >= stream_bytes; }
};

// At most `bytes_max` of each end. A file that isn't there is an empty stream.
Stored<KeptLog> read_bounded_log(const std::filesystem::path& path, std::uint64_t stream_bytes,
                                 std::size_t bytes_max);

}  // namespace signalbox
