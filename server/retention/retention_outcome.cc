#include "server/retention/retention_outcome.h"

namespace signalbox {

std::optional<RetentionOutcome> latest_retention(const EventLog& log) {
  const Position dropped_at = log.horizon().dropped_at;
  if (dropped_at == 0) return std::nullopt;
  const auto commit = log.read_commit(dropped_at);
  const auto* dropped = commit ? event_as<HistoryDropped>(commit->front().event) : nullptr;
  if (dropped == nullptr) return std::nullopt;
  RetentionOutcome outcome;
  outcome.at_ns = commit->front().recorded_at_ns;
  outcome.dropped_at = dropped_at;
  outcome.horizon = dropped->horizon;
  outcome.records_dropped = dropped->records;
  outcome.archive = dropped->archive;
  return outcome;
}

}  // namespace signalbox
