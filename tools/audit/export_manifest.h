// The manifest of an export: the text of a signed note that lists its files and the tree before its
// first record. tools/AUDIT.md describes the lines.
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

// A file with the lines of the records first … last, and a file with their digests.
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
  // Records of which texts were erased and no event in this export tells what is in their payloads'
  // places now, only its signature: ascending. They were erased in this export alone, or the log
  // tells of it behind the export's end.
  std::vector<Position> redacted_here;

  friend bool operator==(const ExportManifest&, const ExportManifest&) = default;
};

// Returns the text of the manifest.
std::string manifest_text(const ExportManifest& manifest);
// Parses the text. Returns nothing unless it is exactly what manifest_text() writes, and from, to
// and the segments are consistent.
std::optional<ExportManifest> parse_manifest(std::string_view text);

inline constexpr std::uint64_t segment_records_max = 65'536;
// A record's entry in the file of digests: its leaf and the SHA-256 of its line.
inline constexpr std::size_t record_digests_bytes = 64;

// Names in an export's directory.
inline constexpr std::string_view checkpoint_name = "checkpoint";
inline constexpr std::string_view manifest_name = "manifest";
inline constexpr std::string_view incomplete_name = "incomplete";
inline constexpr std::size_t manifest_bytes_max = 64 * 1024 * 1024;
inline constexpr std::size_t checkpoint_bytes_max = 64 * 1024;

}  // namespace signalbox
