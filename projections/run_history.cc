#include "projections/run_history.h"

#include <utility>

#include "domain/evolve.h"
#include "domain/try.h"

namespace signalbox {
namespace {

// A result that was held succeeds when it is approved.
bool ends_by_success(const Event& event) {
  return event_as<StationSucceeded>(event) != nullptr ||
         event_as<StationApproved>(event) != nullptr;
}

bool may_end_station(const Event& event) {
  return ends_by_success(event) || event_as<RunFailed>(event) != nullptr ||
         event_as<RunCanceled>(event) != nullptr;
}

}  // namespace

Stored<std::vector<Record>> read_records(const EventLog& log, std::span<const Position> positions) {
  std::vector<Record> records;
  records.reserve(positions.size());
  for (std::size_t begin = 0; begin < positions.size();) {
    std::size_t end = begin + 1;
    while (end < positions.size() && positions[end] == positions[end - 1] + 1) ++end;
    const auto scanned = TRY(log.scan(positions[begin], positions[end - 1], [&](Record&& record) {
      records.push_back(std::move(record));
      return true;
    }));
    if (scanned != positions[end - 1]) {
      StoreError error;
      error.kind = StoreError::Kind::damaged;
      error.message = "the run index names a record that the log doesn't have";
      error.position = positions[end - 1];
      return tl::unexpected(std::move(error));
    }
    begin = end;
  }
  return records;
}

Stored<std::optional<RunHistory>> read_history(const EventLog& log, const RunIndex& index,
                                               const RunId& run_id) {
  const auto positions = TRY(index.run_positions(run_id));
  if (positions.empty()) return std::nullopt;
  auto records = TRY(read_records(log, positions));
  const auto* started = event_as<RunStarted>(records.front().event);
  auto pipeline = TRY(started != nullptr ? index.find_pipeline(started->pipeline_digest)
                                         : Stored<std::optional<PipelineDefinition>>());
  if (!pipeline) {
    StoreError error;
    error.kind = StoreError::Kind::damaged;
    error.message = "the run index doesn't have the start or the pipeline of a run";
    error.position = positions.front();
    return tl::unexpected(std::move(error));
  }
  return RunHistory{std::move(records), std::move(*pipeline)};
}

Stored<std::optional<RunTimeline>> read_timeline(const EventLog& log, const RunIndex& index,
                                                 const RunId& run_id) {
  const auto history = TRY(read_history(log, index, run_id));
  if (!history) return std::nullopt;
  return fold_timeline(history->records, history->pipeline);
}

std::shared_ptr<const Run> fold_ended_plan(std::span<const Record> records,
                                           const PipelineDefinition& pipeline,
                                           std::string_view station) {
  std::shared_ptr<const Run> latest;
  EvolvingRun evolving(records.front(), pipeline);
  for (const Record& record : records) {
    std::shared_ptr<Run> before;
    if (const Run* run = evolving.run();
        run != nullptr && run->plan && may_end_station(record.event)) {
      before = std::make_shared<Run>(*run);
    }
    evolving.evolve(record);
    if (before == nullptr) continue;
    if (!station.empty() && before->definition().name != station) continue;
    before->attempt.reset();
    // A station that succeeded did so with this event; any other ended with the event before.
    if (ends_by_success(record.event)) {
      before->station().status = StationStatus::succeeded;
    }
    latest = std::move(before);
  }
  return latest;
}

}  // namespace signalbox
