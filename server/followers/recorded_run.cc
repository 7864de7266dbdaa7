#include "server/followers/recorded_run.h"

#include <algorithm>
#include <optional>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "domain/evolve.h"
#include "domain/placement.h"
#include "domain/run.h"
#include "domain/try.h"
#include "projections/run_history.h"
#include "projections/run_index.h"
#include "server/text/json_text.h"

namespace signalbox {
namespace {

Stored<FailedRun> find_in_rows(const RunIndex& index, const EventLog& log, const RunId& run_id) {
  const auto row = TRY(index.find(run_id));
  if (!row || row->status != RunStatus::failed) return FailedRun{};
  return read_failed_run(log, index, *row);
}

Stored<bool> is_over(const RunIndex& index, const RunId& run_id) {
  const auto row = TRY(index.find(run_id));
  if (!row) return true;
  if (!is_terminal(row->status)) return false;
  if (row->status != RunStatus::failed) return true;
  return TRY(index.cards().find_by_run(run_id)).has_value();
}

Stored<std::string> find_other_machine(const RunIndex& index, const EventLog& log,
                                       const std::string& own, const RunId& run_id) {
  const auto row = TRY(index.find(run_id));
  if (!row) return std::string();
  const auto pipeline = TRY(index.find_pipeline(row->pipeline_digest));
  for (const Position position : TRY(index.run_positions(run_id))) {
    const auto records = TRY(log.read(position, 1));
    const auto* given =
        records.empty() ? nullptr : event_as<StationSubmitIntended>(records.front().event);
    if (given == nullptr || given->machine.empty() || given->machine == own) continue;
    if (is_runner(given->machine) || !pipeline) continue;
    // A remote job says nothing about where the run's files are.
    const bool is_here = std::ranges::any_of(pipeline->stations, [given](const auto& station) {
      return station.name == given->station && has_job(station);
    });
    if (is_here) return std::string(given->machine);
  }
  return std::string();
}

// Returns the result that the event gives the station; nullptr if it gives none.
const AttemptResult* result_for(const Event& event, const std::string& station) {
  if (const auto* done = event_as<StationSucceeded>(event)) {
    return done->station == station ? &done->result : nullptr;
  }
  if (const auto* held = event_as<StationResultHeld>(event)) {
    return held->station == station ? &held->result : nullptr;
  }
  return nullptr;
}

std::string commit_in(const AttemptResult& result, const std::string& field) {
  const auto metadata = parse_json(result.metadata);
  if (!metadata || !metadata->is_object()) return {};
  const boost::json::value* const commit = metadata->get_object().if_contains(field);
  return commit != nullptr && commit->is_string() ? std::string(commit->get_string())
                                                  : std::string();
}

}  // namespace

Stored<FailedRun> read_failed_run(const EventLog& log, const RunIndex& index, const RunRow& row) {
  FailedRun failed;
  failed.read_at = index.applied();
  const auto pipeline = TRY(index.find_pipeline(row.pipeline_digest));
  const auto positions = TRY(index.run_positions(row.run_id));
  const auto records = TRY(read_records(log, positions));
  if (pipeline) failed.run = evolved_failed_run(records, *pipeline);
  const auto failure = std::find_if(records.rbegin(), records.rend(), [](const Record& record) {
    return event_as<RunFailed>(record.event) != nullptr;
  });
  if (failure != records.rend()) failed.failed_at = failure->position;
  return failed;
}

tl::expected<FailedRun, std::string> find_failed_run(Projector& projector, const EventLog& log,
                                                     Position position, const RunId& run_id) {
  if (!projector.wait_for(position)) {
    return tl::unexpected(std::string("the read models stay behind the log, or are rebuilt"));
  }
  auto found = find_in_rows(projector.index(), log, run_id);
  if (found) return *std::move(found);
  if (found.error().kind == StoreError::Kind::dropped) return FailedRun{};
  return tl::unexpected(found.error().message);
}

tl::expected<std::set<std::string>, std::string> runs_over(Projector& projector, Position position,
                                                           const std::set<std::string>& run_ids) {
  std::set<std::string> over;
  if (run_ids.empty()) return over;
  if (!projector.wait_for(position)) {
    return tl::unexpected(std::string("the read models stay behind the log"));
  }
  for (const std::string& text : run_ids) {
    const auto run_id = parse_uuid(text);
    const auto found = run_id ? is_over(projector.index(), *run_id) : Stored<bool>(true);
    if (!found) return tl::unexpected(found.error().message);
    if (*found) over.insert(text);
  }
  return over;
}

tl::expected<std::string, std::string> other_machine_of(Projector& projector, const EventLog& log,
                                                        const std::string& own,
                                                        const RunId& run_id) {
  if (!projector.wait_for(log.tail())) {
    return tl::unexpected(std::string("the read models stay behind the log, or are rebuilt"));
  }
  auto found = find_other_machine(projector.index(), log, own, run_id);
  if (found) return *std::move(found);
  if (found.error().kind == StoreError::Kind::dropped) return std::string();
  return tl::unexpected(found.error().message);
}

Stored<std::string> recorded_commit(const EventLog& log, const RunIndex& index, Position applied,
                                    const DeclaredCommit& wanted) {
  const Stream stream = Stream::run(wanted.run_id);
  const auto positions = index.run_positions(wanted.run_id);
  // Without the index, as while it is computed anew, the run's part of the log has to be read.
  const Position unread = positions ? applied + 1 : wanted.started;
  std::optional<std::string> newest;
  if (unread < wanted.before) {
    TRY(log.scan(unread, wanted.before - 1, [&](Record&& record) {
      const auto* result =
          record.stream == stream ? result_for(record.event, wanted.station) : nullptr;
      if (result != nullptr) newest = commit_in(*result, wanted.field);
      return true;
    }));
  }
  if (newest) return *newest;
  if (!positions) return std::string();
  auto next = std::lower_bound(positions->begin(), positions->end(), wanted.before);
  while (next != positions->begin()) {
    const auto records = TRY(log.read(*--next, 1));
    if (records.empty()) break;
    const auto* result = result_for(records.front().event, wanted.station);
    if (result != nullptr) return commit_in(*result, wanted.field);
  }
  return std::string();
}

}  // namespace signalbox
