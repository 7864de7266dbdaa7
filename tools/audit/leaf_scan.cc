#include "tools/audit/leaf_scan.h"

#include <memory>

#include "tools/audit/ordered_work.h"

namespace signalbox {
namespace {

constexpr std::size_t chunk_records_max = 512;
constexpr std::size_t chunk_bytes_max = 512 * 1024;

// What one thread does with a chunk.
class LeafWorker {
 public:
  LeafWorker(Position render_from, RenderLeaf render)
      : render_from_(render_from), render_(std::move(render)) {}

  void operator()(LeafChunk& chunk) {
    chunk.leaves.clear();
    chunk.text.clear();
    chunk.text_ends.clear();
    chunk.text_digests.clear();
    chunk.error.reset();
    std::size_t begin = 0;
    for (const std::size_t end : chunk.frame_ends) {
      const auto frame = parse_frame(std::string_view(chunk.frames).substr(begin, end - begin));
      begin = end;
      if (!frame) {
        chunk.error = frame.error();
        return;
      }
      chunk.leaves.push_back(leaf_hash(*frame, *sha256_));
      if (render_ && frame->position >= render_from_) {
        if (auto done = render_(*frame, chunk.leaves.back(), chunk); !done) {
          chunk.error = done.error();
          return;
        }
      }
      chunk.text_ends.push_back(chunk.text.size());
    }
  }

 private:
  Position render_from_;
  RenderLeaf render_;
  std::shared_ptr<Sha256> sha256_ = std::make_shared<Sha256>();
};

}  // namespace

Called<void> scan_leaves(const RocksEventLog& log, const LeafScan& scan) {
  OrderedWork<LeafChunk> work([&scan]() -> OrderedWork<LeafChunk>::Worker {
    return LeafWorker(scan.render_from, scan.make_renderer ? scan.make_renderer() : RenderLeaf());
  });
  Called<void> outcome;
  const auto take_oldest = [&] {
    LeafChunk& chunk = work.oldest();
    if (outcome && chunk.error) outcome = tl::unexpected(from_store_error(*chunk.error));
    if (outcome) outcome = scan.take(chunk);
    work.drop_oldest();
    return outcome.has_value();
  };
  bool filling = false;
  const auto put = [&work, &filling] {
    if (filling) work.put();
    filling = false;
  };
  const auto scanned = log.scan_frames(1, scan.to, [&](const Frame& frame) {
    if (!filling) {
      if (work.full() && !take_oldest()) return false;
      LeafChunk& chunk = work.next();
      chunk.first = frame.position;
      chunk.frames.clear();
      chunk.frame_ends.clear();
      filling = true;
    }
    LeafChunk& chunk = work.next();
    append_frame(frame.header, frame.salted_payload, chunk.frames);
    chunk.frame_ends.push_back(chunk.frames.size());
    if (chunk.frame_ends.size() == chunk_records_max || chunk.frames.size() >= chunk_bytes_max ||
        (scan.cut_after && scan.cut_after(frame.position))) {
      put();
    }
    return true;
  });
  put();
  while (!work.empty() && take_oldest()) {
  }
  if (!scanned) return tl::unexpected(from_store_error(scanned.error()));
  return outcome;
}

}  // namespace signalbox
