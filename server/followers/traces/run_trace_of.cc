#include "server/followers/traces/run_trace_of.h"

#include <utility>

#include "projections/run_history.h"
#include "projections/run_trace.h"

namespace signalbox {

std::optional<CardId> card_of_run(const RunIndex& index, const RunId& run_id) {
  const auto row = index.cards().find_by_run(run_id);
  if (!row || !*row) return std::nullopt;
  return (*row)->card_id;
}

Stored<std::optional<WholeTrace>> read_run_trace(const EventLog& log, const RunIndex& index,
                                                 const RunId& run_id) {
  auto history = read_history(log, index, run_id);
  if (!history) return tl::unexpected(std::move(history.error()));
  if (!*history) return std::nullopt;
  RunTrace trace(std::make_shared<const PipelineDefinition>(std::move((*history)->pipeline)),
                 card_of_run(index, run_id));
  WholeTrace whole;
  for (const Record& record : (*history)->records) trace.apply(record, whole.ended);
  whole.open = trace.open();
  return whole;
}

}  // namespace signalbox
