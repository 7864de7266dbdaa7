// A file of a run root as it is found: a run root belongs to its user, so anything may lie there,
// and looking never fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace signalbox {

struct FoundFile {
  enum class Kind : std::uint8_t { none, content, unreadable };

  Kind kind = Kind::none;
  std::string content;
  std::string problem;              // unreadable: "a directory", "too large: …", …
  std::int64_t modified_at_ns = 0;  // UTC; 0: unknown
};

using ReadFoundFile =
    std::function<FoundFile(const std::filesystem::path& path, std::size_t bytes_max)>;

// Looks at `path` (absolute) on the disk. Follows no symbolic link, waits for no pipe, and reads at
// most `bytes_max`. Blocks. Any thread.
FoundFile read_found_file(const std::filesystem::path& path, std::size_t bytes_max);

}  // namespace signalbox
