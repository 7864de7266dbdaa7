// A walk over a log for an audit: every record's leaf in the Merkle tree, and what else is made of
// the records, hashed and rendered by several threads and taken in the order of the positions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/merkle_tree.h"
#include "tools/audit/audit_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Some records in a row.
struct LeafChunk {
  Position first = 0;
  std::vector<Digest> leaves;
  // What the renderer made of them, one behind the other, and where each ends.
  std::string text;
  std::vector<std::size_t> text_ends;
  // A digest of each one's text, where the renderer makes them.
  std::string text_digests;
  // The frames of those that were redacted, and of events that tell of it.
  std::vector<std::string> redactions;
  std::optional<StoreError> error;

  std::string frames;  // of the scan itself
  std::vector<std::size_t> frame_ends;

  [[nodiscard]] Position last() const { return first + leaves.size() - 1; }
};

// Appends what is made of a record, any number of bytes, to chunk.text; and to chunk.text_digests.
// Called by one thread; each has its own.
using RenderLeaf =
    std::function<Stored<void>(const Frame& frame, const Digest& leaf, LeafChunk& chunk)>;

struct LeafScan {
  Position to = 0;
  Position render_from = 1;                   // those before it are hashed only
  std::function<RenderLeaf()> make_renderer;  // may be empty
  // Positions at which a chunk has to end; 0 is none. And every so many from render_from on.
  std::vector<Position> cut_at;
  std::uint64_t cut_every = 0;
  // What the tree has of the records up to the log's horizon, in order, before the rest. May be
  // empty.
  std::function<void(const LeafGroup& group)> take_group;
  // With the tree over the log up to the chunk's end. Where records were dropped the first chunk
  // has no leaves and ends at the horizon. By a thread of its own.
  std::function<Called<void>(LeafChunk& chunk, const MerkleFrontier& tree)> take;
};

// From the log's first record, or the first after its horizon, to scan.to; and on to what of the
// log is believed, which is found to be right, or `damaged`. HISTORY_DROPPED where scan.to is
// before the horizon.
Called<void> scan_leaves(const AuditLog& log, const LeafScan& scan);

}  // namespace signalbox
