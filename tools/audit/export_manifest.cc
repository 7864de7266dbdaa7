#include "tools/audit/export_manifest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>

#include "store/base64.h"
#include "store/signed_note.h"

namespace signalbox {
namespace {

constexpr std::string_view manifest_title = "signalbox audit export 1";

std::string digest_base64(const Digest& digest) { return to_base64(raw_bytes(digest)); }

std::string segment_name(Position first, const char* suffix) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "events-%012llu.%s",
                static_cast<unsigned long long>(first), suffix);
  return name.data();
}

// Parses lines `KEY VALUE` one after another.
class ManifestLines {
 public:
  explicit ManifestLines(std::string_view text) : left_(text) {}

  // Consumes the next line and returns its value, if it has this key; else returns nothing.
  std::optional<std::string_view> take(std::string_view key) {
    if (!left_.starts_with(key) || left_.size() <= key.size() || left_[key.size()] != ' ') {
      return std::nullopt;
    }
    const std::size_t end = left_.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = left_.substr(key.size() + 1, end - key.size() - 1);
    left_.remove_prefix(end + 1);
    return value;
  }

 private:
  std::string_view left_;
};

void read_number(std::string_view text, std::uint64_t& number) {
  std::from_chars(text.data(), text.data() + text.size(), number);
}

bool read_digest(std::string_view text, Digest& digest) {
  const auto bytes = from_base64(text);
  if (!bytes || bytes->size() != digest.bytes.size()) return false;
  std::copy(bytes->begin(), bytes->end(), digest.bytes.begin());
  return true;
}

// Parses "FIRST LAST DIGEST".
bool read_segment(std::string_view text, ExportSegment& segment) {
  const std::size_t first_end = text.find(' ');
  const std::size_t last_end = text.find(' ', first_end + 1);
  if (first_end == std::string_view::npos || last_end == std::string_view::npos) return false;
  read_number(text.substr(0, first_end), segment.first);
  read_number(text.substr(first_end + 1, last_end - first_end - 1), segment.last);
  return read_digest(text.substr(last_end + 1), segment.digests_sha256);
}

bool is_consistent(const ExportManifest& manifest) {
  if (manifest.from == 0 || manifest.from > manifest.to || !valid_note_name(manifest.origin) ||
      manifest.before.subtrees.size() !=
          static_cast<std::size_t>(std::popcount(manifest.before.leaves))) {
    return false;
  }
  if (manifest.format == ExportFormat::tlog) {
    return manifest.segments.empty() && manifest.redacted_here.empty();
  }
  Position next = manifest.from;
  for (const ExportSegment& segment : manifest.segments) {
    if (segment.first != next || segment.last < segment.first ||
        segment.last - segment.first >= segment_records_max) {
      return false;
    }
    next = segment.last + 1;
  }
  if (next != manifest.to + 1) return false;
  Position last = manifest.from - 1;
  for (const Position position : manifest.redacted_here) {
    if (position <= last || position > manifest.to) return false;
    last = position;
  }
  return true;
}

}  // namespace

std::string_view name_of(ExportFormat format) {
  return format == ExportFormat::tlog ? "tlog" : "cloudevents";
}

std::string ExportSegment::lines_name() const { return segment_name(first, "jsonl"); }
std::string ExportSegment::digests_name() const { return segment_name(first, "digests"); }

std::string manifest_text(const ExportManifest& manifest) {
  std::string text(manifest_title);
  text.append("\nformat ").append(name_of(manifest.format));
  text += "\norigin " + manifest.origin + "\nfrom " + std::to_string(manifest.from) + "\nto " +
          std::to_string(manifest.to) + "\nroot " + digest_base64(manifest.root) + "\n";
  for (const Digest& subtree : manifest.before.subtrees) {
    text += "before " + digest_base64(subtree) + "\n";
  }
  for (const ExportSegment& segment : manifest.segments) {
    text += "segment " + std::to_string(segment.first) + " " + std::to_string(segment.last) + " " +
            digest_base64(segment.digests_sha256) + "\n";
  }
  for (const Position position : manifest.redacted_here) {
    text += "redacted " + std::to_string(position) + "\n";
  }
  return text;
}

std::optional<ExportManifest> parse_manifest(std::string_view text) {
  if (!text.starts_with(manifest_title) || text.size() <= manifest_title.size()) return {};
  ManifestLines lines(text.substr(manifest_title.size() + 1));
  ExportManifest manifest;
  const auto format = lines.take("format");
  const auto origin = lines.take("origin");
  const auto from = lines.take("from");
  const auto to = lines.take("to");
  const auto root = lines.take("root");
  if (!format || !origin || !from || !to || !root || !read_digest(*root, manifest.root)) return {};
  manifest.format =
      *format == name_of(ExportFormat::tlog) ? ExportFormat::tlog : ExportFormat::cloudevents;
  manifest.origin = *origin;
  read_number(*from, manifest.from);
  read_number(*to, manifest.to);
  manifest.before.leaves = manifest.from - 1;
  while (const auto subtree = lines.take("before")) {
    if (!read_digest(*subtree, manifest.before.subtrees.emplace_back())) return {};
  }
  while (const auto segment = lines.take("segment")) {
    if (!read_segment(*segment, manifest.segments.emplace_back())) return {};
  }
  while (const auto redacted = lines.take("redacted")) {
    read_number(*redacted, manifest.redacted_here.emplace_back());
  }
  // The encoding is unique: any other text is rejected.
  if (!is_consistent(manifest) || manifest_text(manifest) != text) return {};
  return manifest;
}

}  // namespace signalbox
