// The digest of a world: equal for two processes that evolved it from the same log, and for a
// snapshot and the world it was made of.
//
// SHA-256 over "signalbox world v10", the position, the server's state, the pipelines (by digest),
// the locks and the ticks (by name), the locks that ended (oldest first), access, what is
// decided about runners (by id), the holders of tokens (by token), and three sets: open runs, ended
// runs, command ids. A set's hash is its size and the sum, in four separate 64-bit lanes, of the
// SHA-256 of each of its members. So it doesn't depend on the order of a hash table, and unchanged
// members aren't hashed again. Ended runs and command ids include the position that added them,
// which is their order.
//
// Somebody who can choose the members could forge a sum. That doesn't matter here: the digest shows
// whether two programs evolved the same state, and both have the whole log. Evidence of tampering
// is the purpose of the log's Merkle tree.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/world.h"

namespace signalbox {

// Computes digests, and keeps the hashes of one world's members between calls: about 100 bytes for
// an open run or a card, 40 for an ended run or a command id. One thread at a time.
class WorldDigest {
 public:
  WorldDigest();
  ~WorldDigest();

  // Returns the digest of `world`. Call forget() before the first call for another world; a world
  // that was rolled back counts as another one.
  Digest of(const World& world);
  void forget();

 private:
  using Sum = std::array<std::uint64_t, 4>;

  // Hashes of members that are added at the end and removed at the front, rarely from the middle (a
  // retried run).
  struct Queue {
    std::deque<std::pair<Position, Digest>> hashes;
    Sum sum{};
  };
  // The hash of a member that may change, and what differs after each change: the position of its
  // last change, and what may change without that.
  struct Kept {
    Position changed_at = 0;
    std::int64_t rest = 0;
    Digest hash;
    std::uint64_t seen = 0;  // number of the last call that had the member
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

// Returns the digest without keeping hashes; for rare use.
Digest world_digest(const World& world);

}  // namespace signalbox
