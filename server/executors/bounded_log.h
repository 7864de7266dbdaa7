// A log file of bounded size that keeps the beginning and the newest part of a stream.
//
// Layout: the first `head_bytes` of the stream, then a ring of `ring_bytes`. Byte number n of the
// stream (n ≥ head_bytes) lies at head_bytes + (n - head_bytes) % ring_bytes. Reading needs the
// stream's length, which is in the shim's result; up to head + ring bytes the file is the stream
// itself. While a longer stream is being written, its length is in a file beside the log
// (length_file_of()), in decimal digits. It is there before the first byte is overwritten.
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

// The writer of a log. Not thread-safe.
class BoundedLog {
 public:
  // Creates the log or empties an existing one. Errors: as system_error() classifies them.
  static Stored<BoundedLog> create(const std::filesystem::path& path);

  // Appends to the stream. A failed write doesn't stop the stream: the bytes are counted and lost,
  // and error() describes the first failure.
  void append(std::string_view bytes);
  // Makes what was written durable (fdatasync); a failure is in error().
  void sync();

  [[nodiscard]] std::uint64_t stream_bytes() const { return stream_bytes_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  friend Stored<std::uint64_t> add_log_part(const std::filesystem::path& path, std::uint64_t offset,
                                            std::string_view bytes);

  void write_at(std::uint64_t offset, std::string_view bytes);
  void write_length();

  std::filesystem::path path_;
  FileDescriptor file_;
  FileDescriptor length_file_;  // opened once the stream is longer than head and ring
  std::uint64_t stream_bytes_ = 0;
  std::string error_;
};

// Returns the path of the file that holds a long stream's length.
std::filesystem::path length_file_of(const std::filesystem::path& log);

// A part of a stream that may still be being written.
struct LogPart {
  std::uint64_t offset = 0;  // of the first byte in the stream
  std::uint64_t end = 0;     // the stream's length when it was read
  std::string bytes;         // the bytes [offset, end), or empty
};

// Returns what follows offset `from`, of that the newest `bytes_max` bytes (far fewer than
// log_ring_bytes). The part is empty if nothing follows, or if the writer overwrote it during the
// read. A missing file counts as an empty stream. Any thread or process.
Stored<LogPart> read_log_after(const std::filesystem::path& path, std::uint64_t from,
                               std::size_t bytes_max);

// Returns at most `bytes_max` bytes from offset `from` on; `end` is the stream's present length.
// Bytes that aren't kept any more are skipped: `offset` is then greater than `from`. The part may
// be empty although something follows, if the writer overwrote it during the read: then ask again
// from `offset`. A missing file counts as an empty stream. Any thread or process.
Stored<LogPart> read_log_range(const std::filesystem::path& path, std::uint64_t from,
                               std::size_t bytes_max);

// Adds a part of a stream that is kept elsewhere to the copy of it at `path`, which is made if it
// isn't there. Bytes between the copy's end and `offset` count as not kept; the head has to be
// whole. Returns the length of the copy afterwards: another one than the end of the part means that
// nothing was added, and that the part is to begin there. Not for a log that a BoundedLog writes.
Stored<std::uint64_t> add_log_part(const std::filesystem::path& path, std::uint64_t offset,
                                   std::string_view bytes);

// The kept parts of a finished stream: `head`, then a gap of stream_bytes - head - tail bytes, then
// `tail`.
struct KeptLog {
  std::uint64_t stream_bytes = 0;
  std::string head;
  std::string tail;  // empty if there is no gap

  [[nodiscard]] bool whole() const { return head.size() + tail.size() >= stream_bytes; }
};

// Reads a finished log, at most `bytes_max` bytes of each end. A missing file counts as an empty
// stream. Something else than a log in its place is `damaged`, here and for read_log_range().
Stored<KeptLog> read_bounded_log(const std::filesystem::path& path, std::uint64_t stream_bytes,
                                 std::size_t bytes_max);

}  // namespace signalbox
