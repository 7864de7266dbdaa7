#include "tools/audit/leaf_scan.h"

#include <algorithm>
#include <memory>
#include <set>
#include <thread>

#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "store/merkle_tree.h"
#include "store/redaction.h"
#include "tools/audit/ordered_work.h"

namespace signalbox {
namespace {

constexpr std::size_t chunk_records_max = 512;
constexpr std::size_t chunk_bytes_max = 512 * 1024;

// Hashes and renders a chunk; each thread has one.
class LeafWorker {
 public:
  explicit LeafWorker(const LeafScan& scan)
      : render_from_(scan.render_from),
        render_to_(scan.to),
        render_(scan.make_renderer ? scan.make_renderer() : RenderLeaf()) {}

  void operator()(LeafChunk& chunk) {
    chunk.leaves.clear();
    chunk.text.clear();
    chunk.text_ends.clear();
    chunk.text_digests.clear();
    chunk.redactions.clear();
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
      if (RedactionLedger::concerns(*frame)) append_frame(*frame, chunk.redactions.emplace_back());
      if (render_ && frame->position >= render_from_ && frame->position <= render_to_) {
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
  Position render_to_;
  RenderLeaf render_;
  std::shared_ptr<Sha256> sha256_ = std::make_shared<Sha256>();
};

// Consumes the chunks on its own thread, since writing the files takes as long as reading the log.
class LeafConsumer {
 public:
  // `tree` is the tree over the records up to the horizon, which the scan skips.
  LeafConsumer(const AuditLog& log, const LeafScan& scan, MerkleFrontier tree)
      : log_(log), scan_(scan), tree_(std::move(tree)) {}

  void run(OrderedWork<LeafChunk>& work) {
    while (LeafChunk* chunk = work.wait_for_oldest()) {
      outcome = take(*chunk);
      if (!outcome) return work.give_up();
      work.drop_oldest();
    }
  }

  // Compares redacted records with the events that record the redactions, which may come after the
  // scanned records.
  Called<void> check_redactions() {
    Stored<void> noted;
    if (redactions_.lacks_event()) {
      const auto rest =
          log_.log->scan_frames(tree_.leaves + 1, log_.tail(), [&](const Frame& each) {
            noted = redactions_.note(each);
            return noted.has_value();
          });
      if (!rest) return tl::unexpected(from_store_error(rest.error()));
    }
    // Events may refer to records up to the horizon, of which some were kept and others dropped.
    const Horizon horizon = log_.log->horizon();
    // What is read may be the event about another record: one whose reason was redacted in turn.
    std::set<Position> read;
    for (bool has_more = true; has_more;) {
      has_more = false;
      for (const Position position : redactions_.missing_before(horizon.position + 1)) {
        if (!read.insert(position).second) continue;
        has_more = true;
        if (horizon.first_dropped(position, position)) {
          redactions_.forget(position);
          continue;
        }
        const auto kept = log_.log->scan_frames(position, position, [&](const Frame& each) {
          noted = redactions_.note(each);
          return noted.has_value();
        });
        if (!kept) return tl::unexpected(from_store_error(kept.error()));
      }
    }
    if (noted) noted = redactions_.check_log();
    if (!noted) return tl::unexpected(from_store_error(noted.error()));
    return {};
  }

  // Returns the redacted records up to scan.to of whose replacement no event up to there tells.
  [[nodiscard]] std::vector<Position> untold() const { return wanted_.untold(); }

  Called<void> outcome;

 private:
  Called<void> take(LeafChunk& chunk) {
    if (chunk.error) return tl::unexpected(from_store_error(*chunk.error));
    for (const Digest& leaf : chunk.leaves) append_leaf(tree_, leaf, sha256_);
    for (const std::string& each : chunk.redactions) {
      const auto frame = parse_frame(each);
      const Stored<void> noted = frame ? redactions_.note(*frame) : tl::unexpected(frame.error());
      if (!noted) return tl::unexpected(from_store_error(noted.error()));
      if (frame->position <= scan_.to) TRY(called(wanted_.note(*frame)));
    }
    if (log_.believed && log_.believed->position == tree_.leaves &&
        log_.believed->frontier != tree_) {
      StoreError error;
      error.kind = StoreError::Kind::damaged;
      error.message = "the records up to " + std::to_string(tree_.leaves) +
                      " are not those that the snapshot there vouches for";
      error.position = tree_.leaves;
      return tl::unexpected(from_store_error(error));
    }
    return chunk.first > scan_.to ? Called<void>() : scan_.take(chunk, tree_);
  }

  const AuditLog& log_;
  const LeafScan& scan_;
  MerkleFrontier tree_;
  Sha256 sha256_;
  RedactionLedger redactions_;
  RedactionLedger wanted_;  // the same up to scan_.to
};

// Consumes what the log keeps of the tree over the records up to the horizon.
Called<void> consume_dropped(const AuditLog& log, const LeafScan& scan, const Horizon& horizon) {
  if (horizon.position == 0) return {};
  if (scan.take_group) {
    auto read = log.log->scan_groups([&scan](LeafGroup&& group) { scan.take_group(group); });
    if (!read) return tl::unexpected(from_store_error(read.error()));
  }
  LeafChunk none;
  none.first = horizon.position + 1;
  return scan.take(none, horizon.frontier);
}

bool has_to_end(const LeafScan& scan, Position position) {
  return std::find(scan.cut_at.begin(), scan.cut_at.end(), position) != scan.cut_at.end() ||
         (scan.cut_every != 0 && position >= scan.render_from &&
          (position + 1 - scan.render_from) % scan.cut_every == 0);
}

}  // namespace

Called<std::vector<Position>> scan_leaves(const AuditLog& log, const LeafScan& requested_scan) {
  LeafScan scan = requested_scan;
  const Horizon horizon = log.log->horizon();
  if (scan.to < horizon.position) {
    return tl::unexpected(from_rejection(history_dropped(*log.log, scan.to)));
  }
  TRY(consume_dropped(log, scan, horizon));
  scan.cut_at.push_back(scan.to);
  const Position believed = log.believed ? log.believed->position : 0;
  scan.cut_at.push_back(believed);
  OrderedWork<LeafChunk> work(
      [&scan]() -> OrderedWork<LeafChunk>::Worker { return LeafWorker(scan); });
  LeafConsumer consumer(log, scan, horizon.frontier);
  std::thread consumer_thread([&] { consumer.run(work); });
  bool filling = false;
  const auto put_chunk = [&work, &filling] {
    if (filling) work.put();
    filling = false;
  };
  const auto scanned = log.log->scan_frames(
      horizon.position + 1, std::max(scan.to, believed), [&](const Frame& frame) {
        if (!filling) {
          if (!work.wait_for_room()) return false;
          LeafChunk& chunk = work.next();
          chunk.first = frame.position;
          chunk.frames.clear();
          chunk.frame_ends.clear();
          filling = true;
        }
        LeafChunk& chunk = work.next();
        append_frame(frame, chunk.frames);
        chunk.frame_ends.push_back(chunk.frames.size());
        if (chunk.frame_ends.size() == chunk_records_max ||
            chunk.frames.size() >= chunk_bytes_max || has_to_end(scan, frame.position)) {
          put_chunk();
        }
        return true;
      });
  put_chunk();
  work.end();
  consumer_thread.join();
  if (!scanned) return tl::unexpected(from_store_error(scanned.error()));
  TRY(consumer.outcome);
  TRY(consumer.check_redactions());
  return consumer.untold();
}

}  // namespace signalbox
