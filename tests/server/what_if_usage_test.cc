// What an attempt has used up counts in a forecast as it does in the service: once, against the
// run's budget, also if it is told only after the attempt's end. O10.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "domain/nanoseconds.h"
#include "server/replay/what_if/what_if.h"
#include "tests/server/recorded_work_fixture.h"
#include "tests/server/what_if_fixture.h"

namespace signalbox {
namespace {

constexpr std::int64_t begin_of_all_ns = 1'700'000'000'000'000'000;

// Returns one whose worker lost its lease, and told its usage when it came back.
RecordedAttempt lost_attempt(const Usage& usage) {
  RecordedAttempt lost;
  lost.ending = AttemptEnding::silent;
  lost.lease_ms = 1000;
  lost.worked_ns = ns_per_s;
  lost.returned_ns = lost.told_late_ns = 1200 * ns_per_ms;
  lost.usage = usage;
  return lost;
}

class WhatIfUsage : public ::testing::Test {
 protected:
  // Has one run with one station, which a worker or a job of the service does.
  void record(ExecutorKind executor, std::vector<RecordedAttempt> attempts, Budget budget = {}) {
    auto pipeline = std::make_shared<PipelineDefinition>();
    pipeline->name = "work";
    StationDefinition& station = pipeline->stations.emplace_back();
    station.name = "build";
    station.executor = executor;
    if (executor == ExecutorKind::process) station.command = {"true"};
    RecordedRun run;
    run.id.bytes[15] = 1;
    run.arrived_ns = begin_of_all_ns;
    run.budget = budget;
    run.pipeline = std::move(pipeline);
    run.stations.resize(1);
    run.stations[0].attempts = std::move(attempts);
    work_ = {};
    work_.from_ns = begin_of_all_ns;
    work_.to_ns = begin_of_all_ns + 3600 * ns_per_s;
    work_.runs = {std::move(run)};
  }
  WhatIf play(const std::string& policy = "") {
    const auto read = read_what_if_policy(policy, {});
    EXPECT_TRUE(read.has_value()) << policy;
    WhatIfSettings settings;
    settings.workers = 2;
    settings.visit = [this](const Record& record) { records_.push_back(record); };
    records_.clear();
    return what_if(work_, *read, settings);
  }
  // Returns what the simulated records tell of usage, by events of this type.
  template <class T>
  [[nodiscard]] std::vector<Usage> told() const {
    std::vector<Usage> usages;
    for (const Record& record : records_) {
      if (const auto* event = event_as<T>(record.event)) usages.push_back(event->usage);
    }
    return usages;
  }

  using Usages = std::vector<Usage>;

  const Usage used_{3, 2, 10};
  RecordedWork work_;
  std::vector<Record> records_;
};

TEST_F(WhatIfUsage, OfALateCompletionCountsAsItDid) {  // A5, O10
  const RecordedAttempt lost = lost_attempt(used_);
  record(ExecutorKind::worker, {lost, lasting(5)}, {0, 0, used_.turns});
  EXPECT_EQ(play().measures.succeeded, 0U) << "its next attempt waits for a larger budget";
  EXPECT_EQ(told<LateUsageReported>(), Usages{used_});
  EXPECT_EQ(told<StationUsageReported>(), Usages{});
  const RecordedWork again = recorded_from(records_);
  const RecordedAttempt& attempt = again.runs.at(0).stations.at(0).attempts.at(0);
  EXPECT_EQ(attempt.usage, used_);
  EXPECT_EQ(attempt.told_late_ns, lost.told_late_ns);
  EXPECT_EQ(attempt.returned_ns, lost.returned_ns) << "its worker was at work so long";

  work_.runs[0].budget.turns = 2 * used_.turns;
  EXPECT_EQ(play().measures.succeeded, 1U);
  EXPECT_EQ(told<LateUsageReported>(), Usages{used_});
}

// It isn't counted as that of the attempt whose result it takes.
TEST_F(WhatIfUsage, OfALateCompletionComesWithItsEndUnderALongerLease) {  // A5, O10
  const RecordedAttempt lost = lost_attempt(used_);
  RecordedAttempt next = lasting(5);
  next.usage = {500, 500, 500};
  record(ExecutorKind::worker, {lost, next});
  const WhatIf longer = play("[[station]]\nname = \"build\"\nheartbeat_timeout = \"30s\"\n");
  EXPECT_EQ(longer.measures.succeeded, 1U);
  EXPECT_EQ(longer.kept, 1U);
  EXPECT_EQ(told<StationUsageReported>(), Usages{used_});
  EXPECT_EQ(told<LateUsageReported>(), Usages{});
}

// A worker that loses its lease only here is refused, but what it has used up is spent.
TEST_F(WhatIfUsage, OfAnAttemptThatLosesItsLeaseHereCounts) {  // A5, O10
  RecordedAttempt attempt = lasting(100);
  attempt.lease_ms = 600'000;
  attempt.usage = used_;
  attempt.beats = {{ns_per_s, ""}};
  RecordedAttempt again = lasting(10);
  again.lease_ms = 600'000;
  record(ExecutorKind::worker, {attempt, again, again, again});
  EXPECT_EQ(play().measures.leases_lost, 0U);
  EXPECT_EQ(told<StationUsageReported>(), Usages{used_});
  again = lasting(200);
  again.beats = {{20 * ns_per_s, "a"},  {40 * ns_per_s, "b"},  {60 * ns_per_s, "c"},
                 {80 * ns_per_s, "d"},  {100 * ns_per_s, "e"}, {120 * ns_per_s, "f"},
                 {140 * ns_per_s, "g"}, {160 * ns_per_s, "h"}, {180 * ns_per_s, "i"}};
  record(ExecutorKind::worker, {attempt, again});
  const WhatIf shorter = play("[[station]]\nname = \"build\"\nheartbeat_timeout = \"30s\"\n");
  EXPECT_EQ(shorter.measures.leases_lost, 1U);
  EXPECT_EQ(shorter.measures.succeeded, 1U);
  EXPECT_EQ(told<StationUsageReported>(), Usages{});
  EXPECT_EQ(told<LateUsageReported>(), Usages{used_});
}

// A worker that said nothing of it, and never will, is given no usage of others.
TEST_F(WhatIfUsage, OfASilentWorkerIsNotInvented) {  // A5, O10
  RecordedAttempt lost = lost_attempt({});
  lost.told_late_ns.reset();
  RecordedAttempt next = lasting(5);
  next.usage = used_;
  record(ExecutorKind::worker, {lost, next});
  EXPECT_EQ(play().measures.succeeded, 1U);
  EXPECT_EQ(told<StationUsageReported>(), Usages{used_});
  EXPECT_EQ(told<LateUsageReported>(), Usages{});
}

TEST_F(WhatIfUsage, OfALostJobCountsWhenItWasTold) {  // A5, O10
  RecordedAttempt lost = lasting(5);
  lost.outcome = Outcome::failed;
  lost.error_class = ErrorClass::lost;
  lost.code = "JOB_LOST";
  lost.usage = used_;
  lost.told_late_ns = 8 * ns_per_s;
  record(ExecutorKind::process, {lost, lasting(10)});
  EXPECT_EQ(play().measures.succeeded, 1U);
  EXPECT_EQ(told<StationUsageReported>(), Usages{});
  EXPECT_EQ(told<LateUsageReported>(), Usages{used_});
  const RecordedWork again = recorded_from(records_);
  const RecordedAttempt& attempt = again.runs.at(0).stations.at(0).attempts.at(0);
  EXPECT_EQ(attempt.told_late_ns, lost.told_late_ns);
  EXPECT_EQ(attempt.usage, used_);
}

TEST_F(WhatIfUsage, OfAJobThatWasEndedCounts) {  // A5, O10
  RecordedAttempt timed_out = lasting(50);
  timed_out.ending = AttemptEnding::open;
  timed_out.outcome = Outcome::timeout;
  timed_out.code = "TIMEOUT";
  timed_out.usage = used_;
  record(ExecutorKind::process, {timed_out, lasting(10)});
  EXPECT_EQ(play("[[station]]\nname = \"build\"\ntimeout = \"50s\"\n").measures.timeouts, 1U);
  EXPECT_EQ(told<StationUsageReported>(), Usages{used_});
}

}  // namespace
}  // namespace signalbox
