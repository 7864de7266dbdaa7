// The upgrade of a cell: its feature level is raised once all its servers know the new one. Until
// then they write nothing that an older one of them couldn't read.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "domain/error.h"
#include "domain/feature_level.h"
#include "server/cell/cell_settings.h"
#include "store/shared_log.h"

namespace signalbox {

struct CellUpgrade {
  FeatureLevel from = feature_level_min;
  FeatureLevel to = feature_level_min;  // the cell's now
};
// Called once, with what became of an upgrade.
using CellUpgraded = std::function<void(const Decided<CellUpgrade>& outcome)>;

// Returns NOT_ACTIVE, for a server that isn't the cell's writer.
Rejection upgraded_elsewhere(const std::string& cell);

// Fails with `unsupported`, and what to do, if this program doesn't know the cell's level: it could
// meet an event that it can't read.
Stored<void> require_known_level(const std::string& cell, FeatureLevel level);

// Raises the cell's level to the newest of this program, as the writer of this epoch. NOT_ALLOWED
// if a server that reported lately doesn't know that level; NOT_ACTIVE if another server has taken
// the cell; STORAGE_AWAY or UNKNOWN_OUTCOME if the log fails, after which it may be repeated.
// Blocks.
Decided<CellUpgrade> upgrade_cell(SharedLog& shared, const CellSettings& settings,
                                  std::uint64_t epoch);

// The upgrades that were asked for and aren't done yet. Any thread.
class CellUpgrades {
 public:
  // Has `then` called by do_all(), or with a refusal by refuse_all(): at once if that was called.
  void ask(CellUpgraded then);
  // Calls each `then` with what `upgrade` returns, which is called for each.
  void do_all(const std::function<Decided<CellUpgrade>()>& upgrade);
  // Refuses all that wait, and those that are asked for later.
  void refuse_all(const Rejection& refusal);

 private:
  std::mutex mutex_;
  std::vector<CellUpgraded> waiting_;
  std::optional<Rejection> refusal_;
};

}  // namespace signalbox
