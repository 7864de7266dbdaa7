// A pause of the whole service is part of the recorded work: in a forecast nothing begins
// meanwhile, either. O2.
#include <gtest/gtest.h>

#include <memory>
#include <variant>
#include <vector>

#include "domain/nanoseconds.h"
#include "server/replay/what_if/what_if.h"
#include "tests/server/recorded_work_fixture.h"

namespace signalbox {
namespace {

constexpr std::int64_t pause_noon_ns = 1'700'000'000'000'000'000;

// Returns one run of an outside worker, which arrives ten seconds after noon and takes a minute.
RecordedWork one_minute_of_work() {
  auto pipeline = std::make_shared<PipelineDefinition>();
  pipeline->name = "work";
  pipeline->stations.emplace_back().name = "build";
  RecordedAttempt attempt;
  attempt.ending = AttemptEnding::reported;
  attempt.worked_ns = 60 * ns_per_s;
  attempt.lease_ms = 600'000;
  RecordedRun run;
  run.id.bytes[15] = 1;
  run.arrived_ns = pause_noon_ns + 10 * ns_per_s;
  run.pipeline = std::move(pipeline);
  run.stations.resize(1);
  run.stations[0].attempts = {attempt};
  RecordedWork work;
  work.from_ns = pause_noon_ns;
  work.to_ns = pause_noon_ns + 3600 * ns_per_s;
  work.runs = {run};
  return work;
}

WhatIf forecast(const RecordedWork& work, std::vector<Record>& records) {
  WhatIfSettings settings;
  settings.workers = 1;
  settings.visit = [&records](const Record& record) { records.push_back(record); };
  return what_if(work, WhatIfPolicy{}, settings);
}

TEST(WhatIfPause, NothingBeginsMeanwhile) {  // O2
  RecordedWork work = one_minute_of_work();
  work.pauses = {{pause_noon_ns + 5 * ns_per_s, PauseService{}},
                 {pause_noon_ns + 65 * ns_per_s, ResumeService{}}};
  std::vector<Record> records;
  const WhatIf paused = forecast(work, records);
  EXPECT_EQ(paused.measures.succeeded, 1U);
  EXPECT_EQ(paused.measures.queue_wait.max_ms, 55'000);
  const RecordedWork again = recorded_from(records);
  ASSERT_EQ(again.pauses.size(), 2U);
  EXPECT_EQ(again.pauses[0].at_ns, work.pauses[0].at_ns);
  EXPECT_EQ(again.pauses[1].at_ns, work.pauses[1].at_ns);
}

// How a pause ends that the end of the log cuts isn't known; it isn't taken to last for ever.
TEST(WhatIfPause, EndsWithTheRecordedTime) {  // O2
  Record record;
  record.position = 1;
  record.recorded_at_ns = pause_noon_ns;
  record.event = ServerEvent{ServicePaused{"an upgrade"}};
  const RecordedWork work = recorded_from({record});
  ASSERT_EQ(work.pauses.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<ResumeService>(work.pauses[1].command));
  EXPECT_EQ(work.pauses[1].at_ns, work.to_ns);
}

}  // namespace
}  // namespace signalbox
