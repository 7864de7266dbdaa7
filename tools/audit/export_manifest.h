// What an export is: a signed note beside its files that names them and what they begin with.
// tools/AUDIT.md has its lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/ids.h"
#include "store/merkle_tree.h"

namespace signalbox {

enum class ExportFormat : std::uint8_t { cloudevents, tlog };
std::string_view name_of(ExportFormat format);

// Records first … last: their lines, and their digests in a file beside.
struct ExportSegment {
  Position first = 0;
  Position last = 0;
  Digest digests_sha256;  // of the file of digests

  [[nodiscard]] std::string lines_name() const;
  [[nodiscard]] std::string digests_name() const;
  friend bool operator==(const ExportSegment&, const ExportSegment&) = default;
};

struct ExportManifest {
  ExportFormat format = ExportFormat::cloudevents;
  std::string origin;
  Position from = 1;
  Position to = 0;
  Digest root;                          // of the tree over the records 1 … to
  MerkleFrontier before;                // the tree over the records 1 … from - 1
  std::vector<ExportSegment> segments;  // cloudevents only

  friend bool operator==(const ExportManifest&, const ExportManifest&) = default;
};

std::string manifest_text(const ExportManifest& manifest);
// Nothing unless it is exactly such a text, in which from, to and the segments fit together.
std::optional<ExportManifest> parse_manifest(std::string_view text);

// In a segment, and of a record in its file of digests: its leaf and its line's SHA-256.
inline constexpr std::uint64_t segment_records_max = 65'536;
inline constexpr std::size_t record_digests_bytes = 64;

// Names in an export's directory.
inline constexpr std::string_view checkpoint_name = "checkpoint";
inline constexpr std::string_view manifest_name = "manifest";
inline constexpr std::string_view incomplete_name = "incomplete";
inline constexpr std::size_t manifest_bytes_max = 64 * 1024 * 1024;
inline constexpr std::size_t checkpoint_bytes_max = 64 * 1024;

}  // namespace signalbox
