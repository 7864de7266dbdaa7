// Plans a retention: which records of a log would be dropped and which must be kept. Planning only
// reads; nothing is changed.
#pragma once

#include <cstdint>

#include "projections/table.h"
#include "store/event_log.h"

namespace signalbox {

struct RetentionPlan {
  Position from = 1;  // the first record that isn't in an archive yet
  // The last record older than the policy; if before `from`, there is nothing to drop.
  Position horizon = 0;
  HistoryDrop drop;              // the drop up to the horizon
  bool has_new_records = false;  // the range has more than the record of the previous drop
  std::uint64_t records_dropped = 0;
  std::uint64_t records_kept = 0;
  // Kept because they are open at the horizon or changed after it.
  std::uint64_t runs_kept = 0;
  std::uint64_t cards_kept = 0;
  std::uint64_t runs_dropped = 0;

  [[nodiscard]] bool drops_nothing() const { return !has_new_records || records_dropped == 0; }
};

// Plans to drop the records that were written at `until_ns` (UTC) or before. `scratch` must be an
// empty table; it is filled with read models. Errors as EventLog::scan() and initial_world().
// Blocks while it reads the log.
Stored<RetentionPlan> plan_retention(const EventLog& log, std::int64_t until_ns, Table& scratch);

}  // namespace signalbox
