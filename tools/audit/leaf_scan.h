// Scans a log for an audit: several threads hash every record to its leaf in the Merkle tree and
// render it; the results are consumed in the order of the positions.
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

// Consecutive records.
struct LeafChunk {
  Position first = 0;
  std::vector<Digest> leaves;
  // The renderer's output for the records, concatenated, and the end of each.
  std::string text;
  std::vector<std::size_t> text_ends;
  // A digest of each record's text, if the renderer makes them.
  std::string text_digests;
  // The frames of redacted records, and of events that record a redaction.
  std::vector<std::string> redactions;
  std::optional<StoreError> error;

  std::string frames;  // input of the scan; not for the consumer
  std::vector<std::size_t> frame_ends;

  [[nodiscard]] Position last() const { return first + leaves.size() - 1; }
};

// Appends a record's rendering, any number of bytes, to chunk.text, and digests to
// chunk.text_digests. Each thread has its own renderer.
using RenderLeaf =
    std::function<Stored<void>(const Frame& frame, const Digest& leaf, LeafChunk& chunk)>;

struct LeafScan {
  Position to = 0;
  Position render_from = 1;                   // earlier records are only hashed
  std::function<RenderLeaf()> make_renderer;  // may be empty
  // Positions at which a chunk must end; 0 is none.
  std::vector<Position> cut_at;
  // A chunk must also end after every so many records from render_from on; 0: no such bound.
  std::uint64_t cut_every = 0;
  // Called first, with the leaves or the roots that the log keeps of the records up to its horizon,
  // in order. May be empty.
  std::function<void(const LeafGroup& group)> take_group;
  // Called in order on its own thread, with the tree over the log up to the chunk's end. If records
  // were dropped, the first call is on the caller's thread, with a chunk without leaves that ends
  // at the horizon.
  std::function<Called<void>(LeafChunk& chunk, const MerkleFrontier& tree)> take;
};

// Scans from the first record after the log's horizon to scan.to, and on to the assumed checkpoint,
// log.believed. Blocks until all chunks are consumed. Returns the redacted records up to scan.to of
// whose replacement no event up to there tells: a later one does. Fails with STORAGE_DAMAGED if the
// assumption is wrong or a redaction doesn't match its event, and with HISTORY_DROPPED if scan.to
// is before the horizon.
Called<std::vector<Position>> scan_leaves(const AuditLog& log, const LeafScan& scan);

}  // namespace signalbox
