// Fixture for what-if simulations of work that a test makes up: runs of a station for an outside
// worker and a job, within an hour.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "domain/nanoseconds.h"
#include "server/replay/what_if/what_if.h"

namespace signalbox {

inline constexpr std::int64_t noon_ns = 1'800'000'000 * ns_per_s;

inline PipelineDefinition work_pipeline(std::int64_t lease_ms) {
  StationDefinition work;
  work.name = "work";
  work.heartbeat_timeout_ms = lease_ms;
  work.retry = {3, 1000, {Strategy::original, Strategy::simplified}};
  StationDefinition job;
  job.name = "job";
  job.executor = ExecutorKind::process;
  job.command = {"true"};
  return {"work", {work, job}};
}

inline RecordedAttempt lasting(std::int64_t seconds) {
  RecordedAttempt attempt;
  attempt.ending = AttemptEnding::reported;
  attempt.worked_ns = seconds * ns_per_s;
  return attempt;
}

inline RecordedAttempt failing(std::int64_t seconds) {
  RecordedAttempt attempt = lasting(seconds);
  attempt.outcome = Outcome::failed;
  attempt.error_class = ErrorClass::transient;
  attempt.code = "BROKEN";
  return attempt;
}

inline RunId run_number(std::uint8_t number) {
  RunId id{};
  id.bytes[15] = number;
  return id;
}

class WhatIfTest : public testing::Test {
 protected:
  // Adds a run that arrives this many seconds after noon.
  RecordedRun& arrive(std::int64_t seconds, std::vector<RecordedAttempt> attempts,
                      RecordedAttempt job) {
    RecordedRun run;
    run.id = run_number(static_cast<std::uint8_t>(work_.runs.size() + 1));
    run.arrived_ns = noon_ns + seconds * ns_per_s;
    run.pipeline = pipeline_;
    run.stations.resize(2);
    run.stations[0].attempts = std::move(attempts);
    run.stations[1].attempts = {std::move(job)};
    return work_.runs.emplace_back(std::move(run));
  }
  FlowMeasures play(const std::string& policy, std::size_t workers = 1) {
    work_.from_ns = noon_ns;
    work_.to_ns = noon_ns + 3600 * ns_per_s;
    const auto read = read_what_if_policy(policy, {});
    EXPECT_TRUE(read.has_value()) << policy;
    WhatIfSettings settings;
    settings.workers = workers;
    settings.visit = [this](const Record& record) { records_.push_back(record); };
    records_.clear();
    last_ = what_if(work_, *read, settings);
    return last_.measures;
  }

  RecordedWork work_;
  std::shared_ptr<const PipelineDefinition> pipeline_ =
      std::make_shared<PipelineDefinition>(work_pipeline(600'000));
  std::vector<Record> records_;
  WhatIf last_;
};

}  // namespace signalbox
