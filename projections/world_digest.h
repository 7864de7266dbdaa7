// The digest of a world: equal for two folds of one log, and for a snapshot and what it was made
// of.
//
// SHA-256 over "signalbox world v5", the position, the server's state, the pipelines (by digest),
// the locks and the ticks (by name), the locks that ended (oldest first), access, and three sets:
// open runs, ended runs, command ids. A set's hash is its size and the sum, lane by lane in four
// 64-bit lanes, of the SHA-256 of each of its members. So it doesn't depend on the order of a hash
// table, and what hasn't changed isn't hashed again. Ended runs and command ids carry the position
// that put them there, which is their order.
//
// A sum can be forged by somebody who chooses the members to that end. That is no matter here: the
// digest tells whether two programs folded alike, and both have the whole log before them. Evidence
// of tampering is the business of the log's Merkle tree.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/world.h"

namespace signalbox {

// Keeps the hashes of one world's members between calls: about 100 bytes for an open run or a card,
// 40 for an ended one or a command id. One thread at a time.
class WorldDigest {
 public:
  WorldDigest();
  ~WorldDigest();

  // Call forget() before the first call for another world; a world that was rolled back is one.
  Digest of(const World& world);
  void forget();

 private:
  using Sum = std::array<std::uint64_t, 4>;

  // Members that come at the end and go from the front; seldom from between (a retried run).
  struct Queue {
    std::deque<std::pair<Position, Digest>> hashes;
    Sum sum{};
  };
  // A member that may change, and says when it did.
  struct Kept {
    Position changed_at = 0;
    Digest hash;
    std::uint64_t seen = 0;  // in which call
  };
  using KeptById = boost::unordered_flat_map<Uuid, Kept, UuidHash>;
  struct Hashing;

  template <class ById>
  Sum sum_of(KeptById& kept_by_id, const ById& members);
  template <class Remembered, class PositionOf>
  static void drop_forgotten(Queue& queue, const Remembered& remembered, PositionOf&& position_of);
  template <class Remembered, class PositionOf>
  const Sum& sum_of(Queue& queue, const Remembered& remembered, PositionOf&& position_of);

  KeptById runs_;
  KeptById cards_;
  Queue ended_runs_;
  Queue commands_;
  std::uint64_t calls_ = 0;
  std::unique_ptr<Hashing> hashing_;
};

// For rare use.
Digest world_digest(const World& world);

}  // namespace signalbox
