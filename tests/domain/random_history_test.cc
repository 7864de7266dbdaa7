// Properties that hold for any commands in any order.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "domain/invariants.h"
#include "tests/domain/random_history.h"
#include "tests/domain/world_difference.h"

namespace signalbox {
namespace {

RC_GTEST_PROP(RandomHistoryTest, InvariantsHoldAfterEveryCommand, ()) {
  const auto steps = *random_steps();
  RandomHistory history;
  for (const Step& step : steps) {
    if (!history.take(step)) continue;
    const auto broken = broken_invariants(history.world);
    RC_ASSERT(broken == std::vector<std::string>{});
  }
  RC_CLASSIFY(history.world.ended_runs.size() > 0, "a run has ended");
  RC_CLASSIFY(!history.world.runs.empty(), "a run is open");
}

RC_GTEST_PROP(RandomHistoryTest, ARefoldOfTheRecordsGivesAnEqualWorld, ()) {
  const auto steps = *random_steps();
  RandomHistory history;
  for (const Step& step : steps) history.take(step);
  World again;
  for (const Record& record : history.records) evolve(again, record);
  RC_ASSERT(difference(history.world, again) == "");
}

RC_GTEST_PROP(RandomHistoryTest, NoStationSucceedsTwiceOrOutOfOrder, ()) {  // S3, P3
  const auto steps = *random_steps();
  RandomHistory history;
  for (const Step& step : steps) history.take(step);
  std::map<RunId, std::vector<std::string>> succeeded;
  std::map<RunId, PipelineDefinition> pipelines;
  std::map<Digest, PipelineDefinition> pinned;
  for (const Record& record : history.records) {
    const RunId& id = record.stream.run_id;
    if (const auto* started = event_as<RunStarted>(record.event)) {
      if (started->pipeline) pinned[started->pipeline_digest] = *started->pipeline;
      pipelines[id] = pinned.at(started->pipeline_digest);
    }
    if (const auto* claimed = event_as<StationClaimed>(record.event)) {
      RC_ASSERT(claimed->station == pipelines[id].stations.at(succeeded[id].size()).name);
    }
    const auto* done = event_as<StationSucceeded>(record.event);
    const auto* approved = event_as<StationApproved>(record.event);
    if (done != nullptr || approved != nullptr) {
      const std::string& station = done != nullptr ? done->station : approved->station;
      RC_ASSERT(station == pipelines[id].stations.at(succeeded[id].size()).name);
      succeeded[id].push_back(station);
    }
    if (const auto* retried = event_as<RunRetried>(record.event)) {  // S11
      RC_ASSERT(retried->station == pipelines[id].stations.at(succeeded[id].size()).name);
    }
    if (event_as<RunSucceeded>(record.event) != nullptr) {  // S4
      RC_ASSERT(succeeded[id].size() == pipelines[id].stations.size());
    }
  }
}

RC_GTEST_PROP(RandomHistoryTest, TokensIncreaseAndOnlyTheNewestIsTaken, ()) {  // P4
  const auto steps = *random_steps();
  RandomHistory history;
  std::map<RunId, Token> latest;
  for (const Step& step : steps) {
    const std::size_t before = history.records.size();
    history.take(step);
    for (std::size_t i = before; i < history.records.size(); ++i) {
      const Record& record = history.records[i];
      const RunId& id = record.stream.run_id;
      if (event_as<StationClaimed>(record.event) != nullptr) {
        RC_ASSERT(record.position > latest[id]);
        latest[id] = record.position;
      }
    }
    for (const auto& [id, run] : history.world.runs) {
      if (!run->attempt) continue;
      RC_ASSERT(run->attempt->token == latest[id]);
      const auto refused = decide(
          history.world,
          HeartbeatStation{id, run->definition().name, run->attempt->token - 1, {}, {}}, Now{});
      RC_ASSERT(!refused.has_value());
      RC_ASSERT(refused.error().code == ErrorCode::STALE_TOKEN);
    }
  }
}

RC_GTEST_PROP(RandomHistoryTest, EveryEndedRunHasOneEndAndIsRefusedFromThere, ()) {
  const auto steps = *random_steps();
  RandomHistory history;
  for (const Step& step : steps) history.take(step);
  std::map<RunId, int> ends;
  std::map<RunId, bool> failed;  // whether its latest event is RunFailed
  for (const Record& record : history.records) {
    if (record.stream.kind != StreamKind::run) continue;
    if (event_as<LateUsageReported>(record.event) != nullptr) continue;  // at any time
    if (event_as<RunRetried>(record.event) != nullptr) {                 // S11
      RC_ASSERT(failed[record.stream.run_id]);
      ends[record.stream.run_id] = 0;
    }
    RC_ASSERT(ends[record.stream.run_id] == 0);
    failed[record.stream.run_id] = event_as<RunFailed>(record.event) != nullptr;
    if (event_as<RunSucceeded>(record.event) != nullptr ||
        event_as<RunFailed>(record.event) != nullptr ||
        event_as<RunCanceled>(record.event) != nullptr) {
      ++ends[record.stream.run_id];
    }
  }
  for (const RunId& id : history.started) {
    const auto result = decide(history.world, CancelRun{id, {}}, Now{});
    RC_ASSERT(result.has_value() == (ends[id] == 0));
    if (!result) RC_ASSERT(result.error().code == ErrorCode::RUN_TERMINAL);
  }
}

}  // namespace
}  // namespace signalbox
