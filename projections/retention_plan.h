// What a retention would drop of a log, and what has to stay: worked out by reading, before
// anything is done.
#pragma once

#include <cstdint>

#include "projections/table.h"
#include "store/event_log.h"

namespace signalbox {

struct RetentionPlan {
  Position from = 1;         // the first record that isn't in an archive yet
  Position horizon = 0;      // the last that is older than the policy; before `from`: there is none
  HistoryDrop drop;          // up to the horizon
  bool is_worth_it = false;  // there is more in it than the record of the drop before
  std::uint64_t records_dropped = 0;
  std::uint64_t records_kept = 0;
  // Why they are kept: what is open, or changed after the horizon.
  std::uint64_t runs_kept = 0;
  std::uint64_t cards_kept = 0;
  std::uint64_t runs_dropped = 0;

  [[nodiscard]] bool drops_nothing() const { return !is_worth_it || records_dropped == 0; }
};

// Of the records that were written at `until_ns` (UTC) or before. `scratch` is an empty table.
Stored<RetentionPlan> plan_retention(const EventLog& log, std::int64_t until_ns, Table& scratch);

}  // namespace signalbox
