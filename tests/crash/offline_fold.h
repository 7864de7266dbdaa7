// Computes the state by an independent path: opens the log of a data directory read-only in the
// test's own process, while the server runs, verifies it, and evolves the world from it.
#pragma once

#include <filesystem>
#include <optional>

#include "domain/world.h"
#include "store/merkle_tree.h"
#include "tests/crash/connection.h"

namespace signalbox::test {

class OfflineFold {
 public:
  explicit OfflineFold(std::filesystem::path data) : data_(std::move(data)) {}

  // Evolves the world to the log's tail and returns the digest of the state at `position`. The log
  // must still have the records of earlier calls; their Merkle tree is compared. Returns nullopt,
  // with a test failure, if the log can't be read, has changed, ends before `position`, or breaks
  // an invariant.
  std::optional<Digest> digest_at(Position position);

  // Requires that the digest the server reports equals the one of the state evolved from its log.
  void check_digest(Connection& server);

  [[nodiscard]] const World& world() const { return world_; }

 private:
  std::filesystem::path data_;
  World world_;
  MerkleFrontier frontier_;
};

}  // namespace signalbox::test
