// The result of a retention, and the type of the function that runs it. The program passes in its
// implementation of `audit retain`, so that there is only one, on which the server doesn't depend.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "server/scheduler/retention_settings.h"
#include "store/rocks_event_log.h"

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

// Archives and drops the old records of `log`, which nothing else uses meanwhile. `data` is the
// data directory, `now_ns` is UTC. Blocks; may throw.
using RetainRecords =
    std::function<RetentionOutcome(RocksEventLog& log, const std::filesystem::path& data,
                                   const RetentionSettings& settings, std::int64_t now_ns)>;

// Returns the latest retention as the log has it; nullopt if there was none.
std::optional<RetentionOutcome> latest_retention(const EventLog& log);

}  // namespace signalbox
