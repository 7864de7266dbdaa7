// Timelines: the history of each station of a run, attempt by attempt.
#include <gtest/gtest.h>

#include "domain/evolve.h"
#include "projections/memory_table.h"
#include "projections/run_history.h"
#include "store/memory_event_log.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class TimelineTest : public GivenWhenThen {
 protected:
  PipelineDefinition pipeline{"two", {worker_station("a"), process_station("p")}};

  RunTimeline timeline() {
    RunTimeline all = fold_timeline(log(), pipeline);
    // The timeline of every prefix can be computed, too.
    for (std::size_t end = 1; end < records.size(); ++end) {
      fold_timeline(std::span(records).first(end), pipeline);
    }
    return all;
  }
  void happens(const Event& event, const std::string& by = "uid:1000") {
    Record record;
    record.position = records.size() + 1;
    record.stream = Stream::run(run);
    record.recorded_at_ns = static_cast<std::int64_t>(100 * record.position);
    record.actor = by;
    record.span_id = uuid_of(static_cast<std::uint8_t>(span));
    record.event = event;
    evolve(world, record);
    records.push_back(record);
  }
  std::span<const Record> log() const { return records; }

  std::vector<Record> records;
  int span = 1;
};

TEST_F(TimelineTest, OfASuccess) {  // S1
  happens(started(pipeline, "key"));
  happens(claimed("a"));
  happens(StationEvent{StationHeartbeat{"a", 1000, ""}});
  happens(StationEvent{StationExternalRefSet{"a", "call-1"}});
  happens(StationEvent{
      StationSucceeded{"a", 1, {"sum", "log", "", "{}", {{"patch", "text/plain", 3, {}}}}}});
  span = 2;
  happens(dispatched("p"));
  happens(intended("p", "job-1"));
  happens(succeeded("p"));
  happens(run_succeeded());

  const RunTimeline all = timeline();
  EXPECT_EQ(all.run_id, run);
  EXPECT_EQ(all.status, RunStatus::succeeded);
  EXPECT_EQ(all.started.idempotency_key, "key");
  EXPECT_EQ(all.pipeline, "two");
  EXPECT_EQ(all.actor, "uid:1000");
  EXPECT_EQ(all.started_at_ns, 100);
  EXPECT_EQ(all.ended_at_ns, 900);
  EXPECT_EQ(all.last_position, 9u);
  ASSERT_EQ(all.stations.size(), 2u);
  const TimelineStation& a = all.stations[0];
  EXPECT_EQ(a.status, StationStatus::succeeded);
  ASSERT_EQ(a.attempts.size(), 1u);
  EXPECT_EQ(a.attempts[0].token, 2u);
  EXPECT_EQ(a.attempts[0].span_id, uuid_of(1));
  EXPECT_EQ(a.attempts[0].worker, "ann");
  EXPECT_EQ(a.attempts[0].started_at_ns, 200);
  EXPECT_EQ(a.attempts[0].ended_at_ns, 500);
  EXPECT_EQ(a.attempts[0].outcome, Outcome::succeeded);
  EXPECT_EQ(a.attempts[0].result.summary, "sum");
  EXPECT_EQ(a.attempts[0].result.external_ref, "call-1") << "known before the result";
  EXPECT_EQ(a.attempts[0].result.artifacts.at(0).name, "patch");
  const TimelineStation& p = all.stations[1];
  EXPECT_EQ(p.executor, ExecutorKind::process);
  EXPECT_EQ(p.attempts.at(0).job_id, "job-1");
  EXPECT_EQ(p.attempts.at(0).span_id, uuid_of(2));
}

TEST_F(TimelineTest, OfARetryThatWaits) {  // S1
  const Failure failure{Outcome::timeout, ErrorClass::transient, "TIMEOUT", "too long"};
  happens(started(pipeline));
  happens(claimed("a"));
  happens(StationEvent{
      StationAttemptFailed{"a", 1, failure, {"half", "", "", "", {}}, 777, Strategy::original}});
  {
    const TimelineStation a = timeline().stations[0];
    EXPECT_EQ(a.status, StationStatus::waiting);
    EXPECT_EQ(a.waiting, WaitReason::backoff);
    EXPECT_EQ(a.waiting_until_ns, 777);
    EXPECT_EQ(a.attempts.at(0).failure, failure);
    EXPECT_EQ(a.attempts.at(0).outcome, Outcome::timeout);
  }
  happens(StationEvent{StationReady{"a"}});
  happens(claimed("a", 2));
  happens(StationEvent{StationDeferred{"a", 2, WaitReason::deferred, 999, "quota"}});
  const TimelineStation a = timeline().stations[0];
  ASSERT_EQ(a.attempts.size(), 2u);
  EXPECT_EQ(a.attempts[1].token, 5u);
  EXPECT_TRUE(a.attempts[1].deferred);
  EXPECT_EQ(a.attempts[1].deferred_note, "quota");
  EXPECT_EQ(a.attempts[1].outcome, std::nullopt);
  EXPECT_EQ(a.waiting, WaitReason::deferred);
  EXPECT_EQ(timeline().stations[1].status, StationStatus::pending);
}

TEST_F(TimelineTest, OfAFailure) {  // S1
  happens(started(pipeline));
  happens(claimed("a"));
  happens(StationEvent{
      StationFailed{"a", 1, {Outcome::failed, ErrorClass::config, "CONFIG_MISSING", ""}, {}}});
  happens(RunEvent{RunFailed{"a", ErrorClass::config, "CONFIG_MISSING", "no token"}});
  const RunTimeline all = timeline();
  EXPECT_EQ(all.status, RunStatus::failed);
  EXPECT_EQ(all.failure->code, "CONFIG_MISSING");
  EXPECT_EQ(all.stations[0].status, StationStatus::failed);
  EXPECT_EQ(all.stations[0].attempts.at(0).outcome, Outcome::failed);
  EXPECT_NE(all.not_retried.find("class is config"), std::string::npos) << all.not_retried;
}

TEST_F(TimelineTest, SaysThatATerminalFailureIsNotRetried) {  // A13
  happens(started(pipeline));
  happens(claimed("a"));
  const Failure failure{Outcome::failed, ErrorClass::terminal, "EXIT_NONZERO", ""};
  happens(StationEvent{StationFailed{"a", 1, failure, {}}});
  happens(RunEvent{RunFailed{"a", ErrorClass::terminal, "EXIT_NONZERO", ""}});
  EXPECT_EQ(timeline().not_retried,
            "its class is terminal, no further strategy is left, and the station names no "
            "max_retries");
}

TEST_F(TimelineTest, SaysThatTheRetriesAreUsedUp) {  // A13
  pipeline.stations.front().retry.max_retries = 1;
  happens(started(pipeline));
  happens(claimed("a"));
  const Failure failure{Outcome::failed, ErrorClass::transient, "X", ""};
  happens(StationEvent{StationAttemptFailed{"a", 1, failure, {}, 777, Strategy::original}});
  EXPECT_EQ(timeline().not_retried, "");
  happens(StationEvent{StationReady{"a"}});
  happens(claimed("a", 2));
  happens(StationEvent{StationFailed{"a", 2, failure, {}}});
  happens(RunEvent{RunFailed{"a", ErrorClass::transient, "X", ""}});
  EXPECT_EQ(timeline().not_retried, "2 attempts have failed, and max_retries is 1");
}

TEST_F(TimelineTest, OfACancelThatLetSomethingEscape) {  // S11
  happens(started(pipeline));
  happens(claimed("a"));
  happens(succeeded("a"));
  happens(dispatched("p"));
  happens(intended("p", "job-1"));
  happens(RunEvent{RunCancelRequested{"enough", false}}, "uid:7");
  EXPECT_EQ(timeline().status, RunStatus::running);
  happens(StationEvent{CancelEscaped{"p", "job-1", {41}}});
  happens(StationEvent{StationCanceled{"p"}});
  happens(RunEvent{RunCanceled{"enough"}});
  const RunTimeline all = timeline();
  EXPECT_EQ(all.status, RunStatus::canceled);
  ASSERT_TRUE(all.cancel.has_value());
  EXPECT_EQ(all.cancel->actor, "uid:7");
  EXPECT_EQ(all.cancel->requested_at_ns, 600);
  EXPECT_EQ(all.cancel->reason, "enough");
  EXPECT_FALSE(all.cancel->confirmed);
  EXPECT_EQ(all.cancel->escaped_pids, (std::vector<std::int32_t>{41}));
  EXPECT_EQ(all.stations[1].status, StationStatus::canceled);
  EXPECT_EQ(all.stations[1].attempts.at(0).outcome, Outcome::canceled);
}

TEST_F(TimelineTest, AQuestionEndsWithItsAttempt) {  // G10
  happens(started(pipeline));
  happens(claimed("a"));
  happens(StationEvent{StationApprovalRequested{"a", 1, "may I?"}});
  EXPECT_EQ(timeline().stations[0].waiting_note, "may I?");
  happens(StationEvent{StationDeferred{"a", 1, WaitReason::quota, 999, "no quota left"}});
  const TimelineStation a = timeline().stations[0];
  EXPECT_EQ(a.waiting, WaitReason::quota);
  EXPECT_EQ(a.waiting_note, "");
}

TEST_F(TimelineTest, ADecisionIsAboutOneAttempt) {  // G10
  const Failure failure{Outcome::failed, ErrorClass::transient, "X", ""};
  happens(started(pipeline));
  happens(claimed("a"));
  happens(StationEvent{StationApprovalRequested{"a", 1, "may I?"}});
  happens(StationEvent{StationApprovalGiven{"a", 1, "go on"}}, "uid:7");
  happens(StationEvent{
      StationAttemptFailed{"a", 1, failure, {}, /*retry_at_ns=*/777, Strategy::original}});
  happens(StationEvent{StationReady{"a"}});
  happens(claimed("a", 2));
  {
    const TimelineStation a = timeline().stations[0];
    ASSERT_TRUE(a.decided.has_value());
    EXPECT_EQ(a.decided->actor, "uid:7");
    EXPECT_EQ(a.decided->attempt, 1U);
  }
  happens(StationEvent{StationApprovalRequested{"a", 2, "and now?"}});
  EXPECT_FALSE(timeline().stations[0].decided.has_value());
}

TEST_F(TimelineTest, ARejectionIsKnownBeforeItsJobHasEnded) {  // G10
  happens(started(pipeline));
  happens(claimed("a"));
  happens(succeeded("a"));
  happens(dispatched("p"));
  happens(intended("p", "job-1"));
  happens(StationEvent{StationApprovalRequested{"p", 1, "may I?"}});
  happens(RunEvent{RunCancelRequested{"not that", true}}, "uid:7");
  const TimelineStation p = timeline().stations[1];
  ASSERT_TRUE(p.decided.has_value());
  EXPECT_EQ(p.decided->decision, Decision::reject);
  EXPECT_EQ(p.decided->actor, "uid:7");
  EXPECT_EQ(p.waiting, WaitReason::approval) << "its job would take the end of the wait for a yes";
}

TEST_F(TimelineTest, OfACancelBeforeAnythingBegan) {
  happens(started(pipeline));
  happens(StationEvent{StationCanceled{"a"}});
  happens(RunEvent{RunCanceled{"enough"}});
  const RunTimeline all = timeline();
  EXPECT_EQ(all.stations[0].status, StationStatus::canceled);
  EXPECT_TRUE(all.stations[0].attempts.empty());
  EXPECT_EQ(all.cancel->reason, "enough");
}

TEST_F(TimelineTest, OfAnAttemptWhoseUsageIsToldAfterItsRunHasEnded) {  // A5
  happens(started(pipeline));
  happens(claimed("a"));
  happens(StationEvent{StationAttemptFailed{
      "a", 1, {Outcome::failed, ErrorClass::lost, "JOB_LOST", ""}, {}, 5, Strategy::original}});
  happens(StationEvent{StationReady{"a"}});
  happens(claimed("a", 2));
  happens(StationEvent{StationUsageReported{"a", 2, {1, 1, 1}}});
  happens(StationEvent{StationCanceled{"a"}});
  happens(RunEvent{RunCanceled{"enough"}});
  happens(RunEvent{LateUsageReported{"a", 1, {5, 6, 7}}});
  records.back().cause = 2;
  const RunTimeline all = timeline();
  EXPECT_EQ(all.used, (Usage{6, 7, 8}));
  EXPECT_EQ(all.stations[0].attempts.at(0).usage, (Usage{5, 6, 7}));
  EXPECT_EQ(all.stations[0].attempts.at(1).usage, (Usage{1, 1, 1}));
  EXPECT_EQ(all.status, RunStatus::canceled);
  EXPECT_EQ(all.ended_at_ns, 800);
  MemoryTable table;
  RunIndex index(table);
  ASSERT_TRUE(index.apply(records).has_value());
  EXPECT_EQ(index.find(run).value()->status, RunStatus::canceled);
  EXPECT_EQ(index.run_positions(run).value().size(), 9u);
}

TEST_F(TimelineTest, IsReadFromTheLogWhereTheIndexSays) {
  happens(started(pipeline));
  happens(claimed("a"));
  for (int i = 0; i < 5; ++i) happens(StationEvent{StationHeartbeat{"a", 1000, ""}});
  happens(succeeded("a"));
  MemoryEventLog log;
  for (const Record& record : records) {
    const Commit commit{record};
    ASSERT_EQ(log.append(log.tail(), std::span(&commit, 1)).status, AppendStatus::ok);
  }
  MemoryTable table;
  RunIndex index(table);
  ASSERT_TRUE(index.apply(records).has_value());
  const auto read = read_timeline(log, index, run);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_TRUE(**read == timeline());
  EXPECT_EQ(read_records(log, index.run_positions(run).value()).value().size(), 3u);
  EXPECT_FALSE(read_timeline(log, index, uuid_of(9)).value().has_value());
}

}  // namespace
}  // namespace signalbox
