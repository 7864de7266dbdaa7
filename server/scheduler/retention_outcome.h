// The result of a retention, and the type of the function that prepares it. The program passes in
// its implementation of `audit retain`, so that there is only one, on which the server doesn't
// depend.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/access_token.h"
#include "domain/ids.h"
#include "domain/server_events.h"
#include "server/scheduler/retention_settings.h"
#include "store/droppable_log.h"

namespace signalbox {

struct RetentionOutcome {
  std::int64_t at_ns = 0;   // UTC, when it ended
  Position dropped_at = 0;  // of the HistoryDropped; 0: nothing was dropped
  Position horizon = 0;     // records up to this position were dropped, or have to stay
  std::uint64_t records_dropped = 0;
  std::string archive;  // path
  std::string error;    // a sentence; empty: it succeeded, or there was nothing to drop
  std::vector<std::string> next_commands;

  [[nodiscard]] bool failed() const { return !error.empty(); }
};

// A retention of which only the drop is left: the records are archived, and the archive is
// verified.
struct StagedRetention {
  RetentionOutcome outcome;             // as it will be, but for dropped_at and at_ns
  std::optional<HistoryDropped> event;  // nullopt: it failed, or there is nothing to drop
  StagedDrop drop;
  std::set<Uuid> dropped_nouns;       // runs and cards whose records will be dropped
  std::optional<AuditKey> audit_key;  // the key that the log had adopted
};

// Plans a retention of `log` and archives its old records, while others append to the log and read
// it. `data` is the data directory, `now_ns` is UTC. Blocks for as long as it takes to read and
// write the records; soon after `stopped` is set it fails, but for what hangs. May throw.
using StageRetention = std::function<StagedRetention(
    const DroppableLog& log, const std::filesystem::path& data, const RetentionSettings& settings,
    std::int64_t now_ns, const std::atomic<bool>& stopped)>;

// Returns the latest retention as the log has it; nullopt if there was none.
std::optional<RetentionOutcome> latest_retention(const EventLog& log);

}  // namespace signalbox
