// Plans a retention: which records of a log would be dropped and which must be kept. Planning only
// reads; nothing is changed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>

#include "domain/access_token.h"
#include "projections/table.h"
#include "store/event_log.h"

namespace signalbox {

namespace limits {
// A service archives nothing but its own housekeeping only once there are as many such records.
inline constexpr std::uint64_t housekeeping_records_min = 10'000;
}  // namespace limits

// Returns whether the record is one that the service writes without anybody's work: its starts and
// stops, dropped history, and the ticks of its own loops.
bool is_housekeeping(const Record& record);

// Returns whether the record can tell its age at `now_ns` (UTC): one of a clock that was ahead
// can't.
bool has_plausible_time(const Record& record, std::int64_t now_ns);

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
  std::uint64_t failed_runs_kept = 0;  // of runs_kept: only because they can still be retried
  // New records that would be dropped: of work, and of the service's housekeeping.
  std::uint64_t work_records = 0;
  std::uint64_t housekeeping_records = 0;
  std::optional<AuditKey> audit_key;  // the key that the log has adopted, at its tail
  // The runs and cards whose records would be dropped. If one of them gets a record after the plan
  // was made, e.g. because it is retried, the plan is outdated.
  std::set<Uuid> dropped_nouns;

  [[nodiscard]] bool drops_nothing() const { return !has_new_records || records_dropped == 0; }
  // Returns whether an idle service has reason enough for an archive.
  [[nodiscard]] bool is_worthwhile() const {
    return work_records > 0 || housekeeping_records >= limits::housekeeping_records_min;
  }
};

// Plans to drop the records that were written at `until_ns` (UTC) or before. What is open is kept;
// so are the grants of held locks, running ticks and other nouns that are still in the world, which
// are the first results of their commands; the pause of the service that is in force; and runs that
// failed after `failed_until_ns` (UTC) and can be retried. At `now_ns` (UTC) a record that has no
// plausible time goes with the next one that has one. `scratch` must be an empty table; it is
// filled with read models. Errors as EventLog::scan() and initial_world(). Blocks while it reads
// the log.
Stored<RetentionPlan> plan_retention(
    const EventLog& log, std::int64_t until_ns, Table& scratch,
    std::int64_t failed_until_ns = std::numeric_limits<std::int64_t>::max(),
    std::int64_t now_ns = std::numeric_limits<std::int64_t>::max());

// What is dropped next of what is due, see ReplicaLog::due_drops().
struct DueDropPlan {
  RetentionPlan plan;
  Position dropped_at = 0;  // of the HistoryDropped that records it, and what is due before it
};

// Calls its argument with an empty table, and returns the result.
using PlanWithScratch =
    std::function<Stored<RetentionPlan>(const std::function<Stored<RetentionPlan>(Table&)>& plan)>;

// Plans the drop that the first of the HistoryDropped at `due` (ascending, not empty) records, as
// whoever wrote it did: from the records before it, whatever `log` has behind it. If a text of what
// it keeps was redacted since, the base that it says can't be had any more; then the plan goes on
// to the next of `due` until one says the same base. Errors as plan_retention(); also `damaged` if
// there is no such event, or if the plan isn't what they say, i.e. the log isn't the one of their
// writer, or that had another version of this program.
Stored<DueDropPlan> plan_due_drop(const EventLog& log, std::span<const Position> due,
                                  const PlanWithScratch& with_scratch);

}  // namespace signalbox
