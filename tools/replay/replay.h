// Folds the log offline: the result is the same state as the server's, from recorded events alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "domain/world.h"
#include "store/rocks_event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct ReplayRequest {
  std::filesystem::path data;
  std::optional<Position> to;  // none: the tail
  bool from_snapshot = false;  // start at the newest valid snapshot instead of at position 1
  bool verify = false;         // also check every file, and compare the newest snapshot
  // Called with each record before it is folded, and with those kept from before the horizon; may
  // be empty.
  std::function<void(const Record&)> visit;
  Position digest_every = 0;  // events between two digests of the state, also at the end; 0: none
  // Called once with the state that the fold begins with; may be empty.
  std::function<void(const World&)> begun = {};
  // Called with each record and the state after it; may be empty.
  std::function<void(const World&, const Record&)> folded = {};
};

struct Replayed {
  World world;
  OpenReport report;
  Position from = 0;  // the position of the state that the fold began with
  std::uint64_t events = 0;
  double seconds = 0;  // of reading, checking, decoding and folding, without opening the log
  std::optional<Position> snapshot_compared;
  std::map<Position, Digest> digests;
  // The root of the log's tree at the end of the fold, which identifies the log. Not computed for a
  // fold that ends before the tail, unless verify or digest_every asks for a second reading.
  std::optional<Digest> root;
};

// Replays the log. It only reads; the directory may be that of a running server. Fails with
// STORAGE_DAMAGED for a log that differs from what was written, or for a snapshot that differs from
// the log's state; with POSITION_NOT_FOUND beyond the tail and HISTORY_DROPPED before the horizon.
// A broken invariant of the state is a bug: CHECK.
Called<Replayed> replay(const ReplayRequest& request);

}  // namespace signalbox
