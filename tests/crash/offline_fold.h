// The state by an independent path: the log of a data directory, opened read-only in the test's
// own process beside the server, verified and folded event by event.
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

  // Folds on to the log's tail, and gives the digest of the state on the way at `position`. The
  // part folded before is held against the log by its Merkle tree. nullopt, and a test failure, if
  // the log can't be read, isn't the one of before, or breaks an invariant.
  std::optional<Digest> digest_at(Position position);

  // Whether the digest that the server tells is the one of its log, folded here; a test failure if
  // it isn't.
  void check_digest(Connection& server);

  [[nodiscard]] const World& world() const { return world_; }

 private:
  std::filesystem::path data_;
  World world_;
  MerkleFrontier frontier_;
};

}  // namespace signalbox::test
