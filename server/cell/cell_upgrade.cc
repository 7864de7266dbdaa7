#include "server/cell/cell_upgrade.h"

#include <utility>
#include <vector>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/limits.h"

namespace signalbox {
namespace {

tl::unexpected<Rejection> not_done(const CellSettings& settings, const StoreError& error) {
  const bool in_doubt = error.kind == StoreError::Kind::io;
  return reject(in_doubt ? ErrorCode::UNKNOWN_OUTCOME : ErrorCode::STORAGE_AWAY,
                std::string(in_doubt ? "whether the cell's level was raised isn't known"
                                     : "the cell's level wasn't raised") +
                    ", run it again: " + error.message,
                {{"cell", settings.name}}, {"signalbox cell upgrade"});
}

// Returns the other servers that are there, by the database's clock, and don't know the newest
// level.
std::vector<ReplicaReport> servers_behind(const std::vector<ReplicaReport>& servers,
                                          const std::string& own, std::int64_t now_ns) {
  std::vector<ReplicaReport> behind;
  for (const ReplicaReport& each : servers) {
    const bool is_gone = now_ns - each.seen_ns > limits::cell_upgrade_report_ms_max * ns_per_ms;
    const bool knows_it = each.feature_level >= feature_level_newest;
    if (each.server.name != own && !is_gone && !knows_it) behind.push_back(each);
  }
  return behind;
}

tl::unexpected<Rejection> some_are_behind(const CellSettings& settings,
                                          const std::vector<ReplicaReport>& behind) {
  std::vector<std::string> names;
  std::string text;
  for (const ReplicaReport& each : behind) {
    names.push_back(each.server.name);
    text += (text.empty() ? "" : ", ") + each.server.name + " (version " + each.version +
            ", feature level " + std::to_string(each.feature_level) + ")";
  }
  return reject(
      ErrorCode::NOT_ALLOWED,
      "not all servers of the cell " + settings.name + " know feature level " +
          std::to_string(feature_level_newest) + ": " + text +
          ". Install the new version there and restart it; one that is gone for good counts for " +
          std::to_string(limits::cell_upgrade_report_ms_max / 1000) +
          " s after its last report. Then run it again",
      {{"cell", settings.name},
       {"needed", std::int64_t{feature_level_newest}},
       {"servers", std::move(names)}},
      {"signalbox cell status"});
}

}  // namespace

Rejection upgraded_elsewhere(const std::string& cell) {
  return {
      ErrorCode::NOT_ACTIVE,
      "this server doesn't write the log of the cell " + cell + " any more: ask the one that does",
      {{"cell", cell}},
      {"signalbox cell status"}};
}

Stored<void> require_known_level(const std::string& cell, FeatureLevel level) {
  if (level <= feature_level_newest) return {};
  return store_failure(StoreError::Kind::unsupported,
                       "the cell " + cell + " is at feature level " + std::to_string(level) +
                           ", and this version knows levels up to " +
                           std::to_string(feature_level_newest) +
                           ": install the version that the cell's other servers have, or a newer "
                           "one, and start this server again");
}

// The servers are read after the state, so that their times aren't before its clock's: a report
// that came between only counts longer.
Decided<CellUpgrade> upgrade_cell(SharedLog& shared, const CellSettings& settings,
                                  std::uint64_t epoch) {
  const auto state = shared.state();
  if (!state) return not_done(settings, {StoreError::Kind::away, state.error().message, {}, {}});
  if (state->epoch != epoch) return tl::unexpected(upgraded_elsewhere(settings.name));
  const auto servers = shared.replicas();
  if (!servers)
    return not_done(settings, {StoreError::Kind::away, servers.error().message, {}, {}});
  const auto behind = servers_behind(*servers, settings.server.name, state->database_wall_ns);
  if (!behind.empty()) return some_are_behind(settings, behind);
  const auto raised = shared.raise_level(epoch, feature_level_newest);
  if (!raised) return not_done(settings, raised.error());
  if (!*raised) return tl::unexpected(upgraded_elsewhere(settings.name));
  return CellUpgrade{state->feature_level, feature_level_newest};
}

void CellUpgrades::ask(CellUpgraded then) {
  std::optional<Rejection> refusal;
  {
    const std::lock_guard lock(mutex_);
    refusal = refusal_;
    if (!refusal) waiting_.push_back(std::move(then));
  }
  if (refusal) then(tl::unexpected(*refusal));
}

void CellUpgrades::do_all(const std::function<Decided<CellUpgrade>()>& upgrade) {
  std::vector<CellUpgraded> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const CellUpgraded& then : waiting) then(upgrade());
}

void CellUpgrades::refuse_all(const Rejection& refusal) {
  {
    const std::lock_guard lock(mutex_);
    refusal_ = refusal;
  }
  do_all([&refusal]() -> Decided<CellUpgrade> { return tl::unexpected(refusal); });
}

}  // namespace signalbox
