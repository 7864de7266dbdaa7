// The tiles of the tree over a log that is open: the hashes and entries from which others compute
// proofs (c2sp.org/tlog-tiles), as an export in that format has them. They disclose no payload.
//
// In memory are the roots of each 256 records, 32 bytes; the rest is read from the log when it is
// asked for.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/rocks_event_log.h"
#include "store/tile_path.h"

namespace signalbox {

class LogTiles {
 public:
  // A call reads no more records of the log than this, so that it takes about a second at most.
  static constexpr std::uint64_t records_read_max = 256 * 1024;

  // References to `log` are held; it may be appended to meanwhile.
  explicit LogTiles(const RocksEventLog& log) : log_(log) {}

  // Returns the tree over all records up to the tail as it is now; nullopt if there are more left
  // than one call reads: ask again. Fails with `damaged`, and with `dropped` if records were
  // dropped at this moment. Blocks; any thread.
  Stored<std::optional<MerkleFrontier>> tree();

  // Returns the bytes of a tile. Fails with `not_found` if the log has no such tile, or it hasn't
  // been read so far by tree(), and with `dropped` if a retention dropped what it is made of.
  // Blocks; any thread.
  Stored<std::string> read(const TilePath& tile);

 private:
  [[nodiscard]] std::uint64_t leaves() const { return roots_.size() * tile_width + last_.size(); }
  void add(const Digest& leaf);
  // Adds a group of dropped records, as far as it isn't there yet.
  void add_group(const LeafGroup& group);
  Stored<void> read_more();
  Stored<std::string> read_entries(Position first, std::uint64_t count);
  Stored<std::string> read_leaves(const TilePath& tile);
  // Returns the leaves of a group that the log keeps of dropped records.
  Stored<std::vector<Digest>> kept_leaves(std::uint64_t number) const;
  std::string hashes_above(const TilePath& tile);

  const RocksEventLog& log_;
  std::mutex mutex_;
  std::vector<Digest> roots_;  // of the groups of 256 leaves
  MerkleFrontier groups_;      // the tree over roots_
  std::vector<Digest> last_;   // leaves of the incomplete last group
  Sha256 sha256_;
};

}  // namespace signalbox
