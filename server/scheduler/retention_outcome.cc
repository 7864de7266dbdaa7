#include "server/scheduler/retention_outcome.h"

#include "server/engine/dropped_history.h"

namespace signalbox {

std::optional<RetentionOutcome> latest_retention(const EventLog& log) {
  const auto drop = latest_drop(log);
  if (!drop) return std::nullopt;
  const auto* const dropped = event_as<HistoryDropped>(drop->event);
  RetentionOutcome outcome;
  outcome.at_ns = drop->recorded_at_ns;
  outcome.dropped_at = drop->position;
  outcome.horizon = dropped->horizon;
  outcome.records_dropped = dropped->records;
  outcome.archive = dropped->archive;
  return outcome;
}

}  // namespace signalbox
