#include "server/followers/traces/trace_cursor.h"

#include <charconv>
#include <string>

#include "server/platform/atomic_file.h"

namespace signalbox {

std::optional<Position> read_trace_cursor(const std::filesystem::path& file) {
  constexpr std::size_t cursor_bytes_max = 64;
  const auto text = read_regular_file(file, cursor_bytes_max);
  if (!text || !text->ends_with('\n')) return std::nullopt;
  Position position = 0;
  const char* const end = text->data() + text->size() - 1;
  const auto read = std::from_chars(text->data(), end, position);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return position;
}

Stored<void> write_trace_cursor(const std::filesystem::path& file, Position position) {
  if (auto made = make_directories(file.parent_path()); !made) return made;
  return write_file_atomically(file, std::to_string(position) + "\n");
}

}  // namespace signalbox
