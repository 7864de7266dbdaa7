// The log, folded offline: the same state as the server's, from nothing but what is recorded.
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
  std::optional<Position> to;  // else the tail
  bool from_snapshot = false;  // start at the newest good snapshot instead of at position 1
  bool verify = false;         // read every file again, and compare the snapshot on the way
  // Each record before it is folded, and those that were kept of what was dropped; may be empty.
  std::function<void(const Record&)> visit;
  Position digest_every = 0;  // the state's digest after so many events, and at the end; 0: none
  // The state that the fold begins with; may be empty.
  std::function<void(const World&)> begun = {};
  // Each record with the state after it; may be empty.
  std::function<void(const World&, const Record&)> folded = {};
};

struct Replayed {
  World world;
  OpenReport report;
  Position from = 0;  // the position that the fold began after
  std::uint64_t events = 0;
  double seconds = 0;  // of reading, checking, decoding and folding; without the opening
  std::optional<Position> snapshot_compared;
  std::map<Position, Digest> digests;
};

// Reads only, on the directory of a running server too. `damaged` for a log that isn't what was
// written, or a snapshot whose state the log doesn't give. Broken invariants are a bug: CHECK.
Called<Replayed> replay(const ReplayRequest& request);

}  // namespace signalbox
