// What a retention of the service came to, and who carries it out: the program hands its `audit
// retain` in, so that there is one implementation, which the server doesn't depend on.
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
  Position horizon = 0;     // up to where records were dropped
  std::uint64_t records_dropped = 0;
  std::string archive;
  std::string error;  // a sentence; or empty: it was done, or there was nothing to drop
  std::vector<std::string> next_commands;

  [[nodiscard]] bool failed() const { return !error.empty(); }
};

// Archives and drops, of a log that nothing else uses meanwhile. May throw; `now_ns` is UTC.
using RetainRecords =
    std::function<RetentionOutcome(RocksEventLog& log, const std::filesystem::path& data,
                                   const RetentionSettings& settings, std::int64_t now_ns)>;

// What the log itself tells of the latest; nothing where there was none.
std::optional<RetentionOutcome> latest_retention(const EventLog& log);

}  // namespace signalbox
