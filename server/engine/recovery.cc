#include "server/engine/recovery.h"

#include <chrono>
#include <limits>
#include <utility>

#include "domain/evolve.h"
#include "domain/invariants.h"
#include "domain/try.h"
#include "projections/history_base.h"
#include "server/limits.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr Position progress_every_events = 8192;

Stored<void> fold_tail(const EventLog& log, World& world, const FoldProgress& progress = {}) {
  const Position tail = log.tail();
  TRY(log.scan(world.position + 1, tail, [&](Record&& record) {
    evolve(world, record);
    if (progress && record.position % progress_every_events == 0) progress(record.position, tail);
    return true;
  }));
  check_invariants(world);
  return {};
}

Stored<std::unique_ptr<RocksEventLog>> open_log(const std::filesystem::path& data,
                                                const WorldSnapshot* snapshot,
                                                const std::string& command) {
  RocksEventLog::Options options;
  options.command = command;
  options.lock_wait = std::chrono::milliseconds(limits::data_lock_wait_ms_max);
  if (snapshot != nullptr) {
    options.verified.emplace(Checkpoint{snapshot->world.position, snapshot->frontier});
  }
  return RocksEventLog::open(data, std::move(options));
}

Stored<void> remove_snapshots(const std::filesystem::path& data) {
  const std::filesystem::path directory = snapshots_directory(data);
  std::error_code failed;
  std::filesystem::remove_all(directory, failed);
  if (!failed) return sync_directory(directory.parent_path());
  return store_failure(StoreError::Kind::io,
                       "can't remove " + directory.string() + ": " + failed.message());
}

}  // namespace

std::filesystem::path snapshots_directory(const std::filesystem::path& data) {
  return data / "projections" / "snapshots";
}

Stored<World> begin_fold(const EventLog& log, std::optional<WorldSnapshot> snapshot) {
  if (snapshot && snapshot->world.position >= log.horizon().position) {
    return std::move(snapshot->world);
  }
  return initial_world(log);
}

Stored<World> fold_log(const EventLog& log, const std::filesystem::path& data) {
  LoadedSnapshot loaded = load_newest_snapshot(snapshots_directory(data), log.tail());
  auto begun = TRY(begin_fold(log, std::move(loaded.snapshot)));
  World world = std::move(begun);
  TRY(fold_tail(log, world));
  return world;
}

Stored<Recovered> recover(const std::filesystem::path& data, const FoldProgress& progress,
                          const std::string& command) {
  Recovered recovered;
  LoadedSnapshot loaded =
      load_newest_snapshot(snapshots_directory(data), std::numeric_limits<Position>::max());
  recovered.notes = std::move(loaded.problems);

  auto log = open_log(data, loaded.snapshot ? &*loaded.snapshot : nullptr, command);
  if (!log && log.error().kind == StoreError::Kind::damaged && loaded.snapshot) {
    // Either the snapshot or the log is wrong. Only the log counts, so verify all of it.
    auto again = open_log(data, nullptr, command);
    if (again) {
      recovered.notes.push_back("the snapshot doesn't fit the log, which is good: " +
                                log.error().message);
      loaded.snapshot.reset();
      // They are of another history, such as that of a log that was put back: whoever folds from
      // one later on would have a state that no log leads to.
      TRY(remove_snapshots(data));
    }
    log = std::move(again);
  }
  if (!log) return tl::unexpected(log.error());
  recovered.log = std::move(*log);
  // It may have been made of a text that was redacted afterwards.
  if (recovered.log->report().erased_replaced) loaded.snapshot.reset();
  const Position horizon = recovered.log->horizon().position;
  if (loaded.snapshot && loaded.snapshot->world.position >= horizon) {
    recovered.snapshot_position = loaded.snapshot->world.position;
  }
  auto begun = TRY(begin_fold(*recovered.log, std::move(loaded.snapshot)));
  recovered.world = std::move(begun);
  if (auto ok = fold_tail(*recovered.log, recovered.world, progress); !ok)
    return tl::unexpected(ok.error());
  recovered.torn_bytes = recovered.log->report().torn_bytes;
  if (const std::uint64_t torn = recovered.torn_bytes; torn > 0) {
    recovered.notes.push_back("a write that a crash cut short was taken off the log: " +
                              std::to_string(torn) + " bytes, of which nothing was acknowledged");
  }
  return recovered;
}

}  // namespace signalbox
