#include "tools/replay/replay.h"

#include <chrono>

#include "domain/evolve.h"
#include "domain/invariants.h"
#include "domain/try.h"
#include "projections/history_base.h"
#include "projections/world_digest.h"
#include "projections/world_snapshot.h"
#include "server/engine/dropped_history.h"
#include "server/rpc/error_json.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Folds the records after world.position up to `to`.
Called<void> fold(const EventLog& log, Position to, const ReplayRequest& request,
                  Replayed& replayed) {
  WorldDigest digest;
  const auto start = SteadyClock::now();
  const auto scanned = log.scan(replayed.world.position + 1, to, [&](Record&& record) {
    if (request.visit) request.visit(record);
    evolve(replayed.world, record);
    if (request.folded) request.folded(replayed.world, record);
    ++replayed.events;
    if (request.digest_every != 0 &&
        (replayed.world.position % request.digest_every == 0 || replayed.world.position == to)) {
      replayed.digests.emplace(replayed.world.position, digest.of(replayed.world));
    }
    return true;
  });
  if (!scanned) return tl::unexpected(from_store_error(scanned.error()));
  replayed.seconds += std::chrono::duration<double>(SteadyClock::now() - start).count();
  return {};
}

Called<void> visit_kept(const EventLog& log, const ReplayRequest& request) {
  if (!request.visit) return {};
  for (const PositionRange& range : log.horizon().kept) {
    const auto scanned = log.scan(range.first, range.last, [&request](Record&& record) {
      request.visit(record);
      return true;
    });
    if (!scanned) return tl::unexpected(from_store_error(scanned.error()));
  }
  return {};
}

Called<void> compare(const World& folded, const WorldSnapshot& snapshot) {
  if (world_digest(folded) == snapshot.digest) return {};
  StoreError differs;
  differs.kind = StoreError::Kind::damaged;
  differs.message = "the snapshot at position " + std::to_string(snapshot.world.position) +
                    " isn't the state that the log gives there";
  differs.position = snapshot.world.position;
  return tl::unexpected(from_store_error(differs));
}

Called<std::optional<Digest>> root_at(const RocksEventLog& log, Position to,
                                      const ReplayRequest& request) {
  Sha256 sha256;
  if (to == log.tail()) return merkle_root(log.frontier(), sha256);
  if (!request.verify && request.digest_every == 0) return std::nullopt;
  const auto frontier = TRY(called(log.verify(to)));
  return merkle_root(frontier, sha256);
}

}  // namespace

Called<Replayed> replay(const ReplayRequest& request) {
  auto log = TRY(called(RocksEventLog::open(request.data, {.read_only = true})));
  const Position tail = log->tail();
  const Position to = request.to.value_or(tail);
  if (const Horizon horizon = log->horizon(); horizon.position > 0 && to < horizon.position) {
    return tl::unexpected(from_rejection(history_dropped(*log, to)));
  }
  if (to > tail) {
    return tl::unexpected(
        from_rejection({ErrorCode::POSITION_NOT_FOUND,
                        "the log ends at " + std::to_string(tail),
                        {position_detail("to", to), position_detail("tail", tail)},
                        {"signalbox events --backwards --limit 1"}}));
  }
  if (request.verify) {
    TRY(called(log->verify(tail)));
  }
  Replayed replayed;
  replayed.report = log->report();
  auto root = TRY(root_at(*log, to, request));
  replayed.root = root;
  replayed.world = TRY(called(initial_world(*log)));
  replayed.from = replayed.world.position;
  TRY(visit_kept(*log, request));
  auto loaded = request.from_snapshot || request.verify
                    ? load_newest_snapshot(request.data / "projections" / "snapshots", to)
                    : LoadedSnapshot{};
  if (loaded.snapshot && loaded.snapshot->world.position < replayed.from) loaded.snapshot.reset();
  if (request.begun) {
    request.begun(request.from_snapshot && loaded.snapshot ? loaded.snapshot->world
                                                           : replayed.world);
  }
  if (request.from_snapshot && loaded.snapshot) {
    replayed.world = std::move(loaded.snapshot->world);
    replayed.from = replayed.world.position;
  } else if (loaded.snapshot) {
    const Position position = loaded.snapshot->world.position;
    TRY(fold(*log, position, request, replayed));
    TRY(compare(replayed.world, *loaded.snapshot));
    replayed.snapshot_compared = position;
  }
  TRY(fold(*log, to, request, replayed));
  // The invariants needn't hold between the events of one command.
  const auto commit = log->read_commit(to);
  if (!commit || commit->back().position == to) check_invariants(replayed.world);
  return replayed;
}

}  // namespace signalbox
