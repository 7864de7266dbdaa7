// What is kept of a job's output, as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// A part of a stream that may still be being written.
struct OutputPart {
  std::uint64_t offset = 0;  // of the first byte in the stream
  std::uint64_t end = 0;     // the stream's length when it was read
  bool is_whole = false;     // all of the stream up to there is kept
  std::string bytes;
};

// Reads at most `bytes` of the stream ("stdout" or "stderr") of a job from the offset `from` on.
// `offset` is greater than `from` if bytes in between aren't kept, and there may be no bytes then
// although some follow: ask again from there. nullopt if it can't be read. Blocks on the disk; any
// thread.
using OutputReader = std::function<std::optional<OutputPart>(
    const std::string& job_id, std::string_view stream, std::uint64_t from, std::size_t bytes)>;

// Returns the reader of a service with this data directory.
OutputReader output_reader(const std::filesystem::path& data);

}  // namespace signalbox
