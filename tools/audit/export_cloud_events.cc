// Writes an export as lines of CloudEvents, in segments, each with a file of digests.
#include <optional>

#include "domain/try.h"
#include "server/text/cloud_event.h"
#include "store/merkle_tree.h"
#include "tools/audit/audit_export.h"
#include "tools/audit/export_directory.h"
#include "tools/audit/leaf_scan.h"

namespace signalbox {
namespace {

RenderLeaf cloud_event_renderer(const std::string& origin) {
  return [origin, record = Record(), sha256 = std::make_shared<Sha256>()](
             const Frame& frame, const Digest& leaf, LeafChunk& chunk) mutable -> Stored<void> {
    TRY(decode_frame(frame, record));
    const std::size_t begin = chunk.text.size();
    append_cloud_event(frame, record, leaf, origin, chunk.text);
    const Digest line = sha256->update(std::string_view(chunk.text).substr(begin)).finish();
    chunk.text_digests.append(raw_bytes(leaf)).append(raw_bytes(line));
    return {};
  };
}

// Writes segments one after another.
class SegmentWriter {
 public:
  SegmentWriter(std::filesystem::path directory, ExportManifest& manifest, Position write_from)
      : directory_(std::move(directory)), manifest_(manifest), write_from_(write_from) {}

  Called<void> take(const LeafChunk& chunk) {
    if (chunk.first < write_from_ || chunk.leaves.empty()) return {};
    if (!lines_) {
      segment_.first = chunk.first;
      auto lines = TRY(ExportFile::create(directory_ / segment_.lines_name()));
      auto digests = TRY(ExportFile::create(directory_ / segment_.digests_name()));
      lines_ = std::move(lines);
      digests_ = std::move(digests);
    }
    TRY(lines_->write(chunk.text));
    TRY(digests_->write(chunk.text_digests));
    sha256_.update(chunk.text_digests);
    segment_.last = chunk.last();
    if (segment_.last + 1 - segment_.first == segment_records_max) end();
    return {};
  }

  void end() {
    if (!lines_) return;
    segment_.digests_sha256 = sha256_.finish();
    manifest_.segments.push_back(segment_);
    lines_->flush();
    digests_->flush();
    lines_.reset();
    digests_.reset();
  }

 private:
  std::filesystem::path directory_;
  ExportManifest& manifest_;
  Position write_from_;
  ExportSegment segment_;
  std::optional<ExportFile> lines_, digests_;
  Sha256 sha256_;
};

}  // namespace

Called<void> export_cloud_events(const AuditLog& log, const std::filesystem::path& directory,
                                 ExportManifest& manifest, Position write_from,
                                 const std::optional<ExportManifest>& present) {
  if (present) {
    manifest.segments = present->segments;
    manifest.redacted_here = present->redacted_here;
  }
  SegmentWriter writer(directory, manifest, write_from);
  if (present) manifest.before = present->before;  // its first records may have been dropped
  Sha256 sha256;
  LeafScan scan;
  scan.to = manifest.to;
  scan.render_from = write_from;
  scan.make_renderer = [&manifest] { return cloud_event_renderer(manifest.origin); };
  scan.cut_at = {manifest.from - 1, write_from - 1};
  scan.cut_every = segment_records_max;
  scan.take = [&](LeafChunk& chunk, const MerkleFrontier& tree) -> Called<void> {
    if (tree.leaves == manifest.from - 1) manifest.before = tree;
    if (tree.leaves == manifest.to) manifest.root = merkle_root(tree, sha256);
    if (present && tree.leaves == present->to && merkle_root(tree, sha256) != present->root) {
      return tl::unexpected(other_log(directory, *present));
    }
    return writer.take(chunk);
  };
  for (const Position position : TRY(scan_leaves(log, scan))) {
    if (position >= write_from) manifest.redacted_here.push_back(position);
  }
  writer.end();
  return {};
}

}  // namespace signalbox
