// A run's trace: its spans, that their ids and bytes are determined by the log alone, and that a
// finished span never changes.
#include "projections/run_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

class RunTraceTest : public ::testing::Test {
 protected:
  // Adds a record at the next position, a second later.
  Record& add(Event event, std::uint8_t span = 0) {
    Record& record = records_.emplace_back();
    record.position = records_.size();
    record.stream = Stream::run(uuid_of(7));
    record.recorded_at_ns = (1'700'000'000 + std::int64_t(records_.size())) * second_ns;
    record.actor = "uid:1000";
    if (span != 0) {
      record.span_id.bytes.fill(span);
    }
    record.event = std::move(event);
    return record;
  }
  void begin() {
    PipelineDefinition pipeline;
    pipeline.name = "two";
    pipeline.stations = {worker_station("plan"), process_station("implement")};
    pipeline_ = std::make_shared<const PipelineDefinition>(pipeline);
    RunStarted event;
    event.project = "web";
    event.labels = {{"team", "blue"}};
    event.pipeline_digest = digest_of(9);
    add(RunEvent{event});
  }
  static Failure failure(std::string code, Outcome outcome = Outcome::failed) {
    return {outcome, ErrorClass::transient, std::move(code), "why"};
  }
  void fail_attempt(std::string code) {
    add(StationEvent{StationAttemptFailed{"plan", 1, failure(std::move(code)), {}, 0, {}}});
  }
  [[nodiscard]] std::vector<TraceSpan> ended() const {
    RunTrace trace(pipeline_, std::nullopt);
    std::vector<TraceSpan> spans;
    for (const Record& record : records_) trace.apply(record, spans);
    return spans;
  }
  static std::string attribute(const TraceSpan& span, std::string_view key) {
    for (const auto& [name, value] : span.attributes) {
      if (name != key) continue;
      if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
      return std::get<std::string>(value);
    }
    return "none";
  }

  std::vector<Record> records_;
  std::shared_ptr<const PipelineDefinition> pipeline_;
};

TEST_F(RunTraceTest, ARunIsTheRootAndItsAttemptsAreBelowIt) {  // R7
  begin();
  add(claimed("plan"), 1);
  fail_attempt("LEASE_EXPIRED");
  add(StationEvent{StationReady{"plan"}});
  add(claimed("plan", 2, Strategy::simplified), 2);
  add(succeeded("plan", 2));
  add(dispatched("implement"), 3);
  add(intended("implement", "job-1"));
  add(succeeded("implement"));
  add(run_succeeded());
  const auto spans = ended();
  ASSERT_EQ(spans.size(), 4U);
  const TraceSpan& first = spans[0];
  const TraceSpan& second = spans[1];
  const TraceSpan& third = spans[2];
  const TraceSpan& run = spans[3];
  EXPECT_TRUE(run.parent.is_none());
  EXPECT_EQ(run.name, "run two");
  EXPECT_EQ(run.status, SpanStatus::ok);
  EXPECT_EQ(attribute(run, "signalbox.label.team"), "blue");
  EXPECT_EQ(run.started_at_ns, records_.front().recorded_at_ns);
  EXPECT_EQ(run.ended_at_ns, records_.back().recorded_at_ns);
  for (const TraceSpan& span : spans) EXPECT_EQ(span.trace_id, uuid_of(7));
  for (const TraceSpan* span : {&first, &second, &third}) {
    EXPECT_EQ(span->parent, run.span_id);
    EXPECT_EQ(attribute(*span, "signalbox.project"), "web");
  }
  // The first eight bytes of the attempt's own span id, which its job got in TRACEPARENT.
  EXPECT_EQ(first.span_id, (SpanId{{1, 1, 1, 1, 1, 1, 1, 1}}));
  EXPECT_EQ(first.status, SpanStatus::error);
  EXPECT_EQ(first.status_message, "LEASE_EXPIRED: why");
  EXPECT_EQ(attribute(first, "error.type"), "LEASE_EXPIRED");
  EXPECT_EQ(attribute(first, "signalbox.error.class"), "transient");
  EXPECT_EQ(first.events.back().name, "LeaseExpired");
  EXPECT_EQ(second.links, std::vector<SpanId>{first.span_id});
  EXPECT_EQ(attribute(second, "signalbox.strategy"), "simplified");
  EXPECT_TRUE(third.links.empty());
  EXPECT_EQ(attribute(third, "signalbox.executor"), "process");
  EXPECT_EQ(third.events.front().name, "StationSubmitIntended");
}

// The span of the run up to its failure was sent already, so the retry has another span as its
// child.
TEST_F(RunTraceTest, ARetryIsASpanOfItsOwnInTheSameTrace) {
  begin();
  add(claimed("plan"), 1);
  add(StationEvent{StationFailed{"plan", 1, failure("TESTS_RED"), {}}});
  add(RunEvent{RunFailed{"plan", ErrorClass::terminal, "TESTS_RED", "red"}});
  const auto before = ended();
  ASSERT_EQ(before.size(), 2U);
  RunRetried retried;
  retried.station = "plan";
  retried.reason = "fixed";
  const Position retried_at = add(RunEvent{retried}).position;
  add(claimed("plan", 2), 2);
  add(succeeded("plan", 2));
  add(run_succeeded());
  const auto after = ended();
  ASSERT_EQ(after.size(), 4U);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  EXPECT_EQ(after[3].span_id, run_span_id(uuid_of(7), retried_at));
  EXPECT_EQ(after[3].parent, after[1].span_id);
  EXPECT_EQ(after[2].parent, after[3].span_id);
  EXPECT_EQ(after[2].links, std::vector<SpanId>{after[0].span_id});
  EXPECT_EQ(attribute(after[3], "signalbox.retry.reason"), "fixed");
  EXPECT_EQ(attribute(after[3], "signalbox.label.team"), "blue");
}

TEST_F(RunTraceTest, StepsAreBelowTheirAttempt) {
  begin();
  add(claimed("plan"), 1);
  add(PlanEvent{PlanSet{"plan", {{"write", "", {}, {}, {}}, {"check", "", {}, {}, {}}}, 0}}, 1);
  add(PlanEvent{StepAttemptStarted{"plan", "write", 1, Strategy::original, "ann", 0}}, 1);
  add(PlanEvent{StepAttemptFailed{"write", 1, failure("SLOW", Outcome::timeout), 0, {}}}, 1);
  add(PlanEvent{StepAttemptStarted{"plan", "write", 2, Strategy::original, "ann", 0}}, 1);
  add(PlanEvent{StepCompleted{"write", 2, "done"}}, 1);
  add(PlanEvent{StepAttemptStarted{"plan", "check", 1, Strategy::original, "ann", 0}}, 1);
  add(StationEvent{StationCanceled{"plan"}}, 1);
  add(RunEvent{RunCanceled{"enough"}});
  const auto spans = ended();
  ASSERT_EQ(spans.size(), 5U);
  EXPECT_EQ(spans[0].name, "plan/write");
  EXPECT_EQ(attribute(spans[0], "signalbox.outcome"), "timeout");
  EXPECT_EQ(spans[1].status, SpanStatus::ok);
  EXPECT_NE(spans[0].span_id, spans[1].span_id);
  const TraceSpan& attempt = spans[2];
  EXPECT_EQ(attempt.kind, SpanKind::attempt);
  EXPECT_EQ(attempt.status, SpanStatus::unset);
  EXPECT_EQ(spans[3].name, "plan/check");  // under way when the run ended
  EXPECT_EQ(attribute(spans[3], "signalbox.outcome"), "canceled");
  for (const std::size_t step : {0, 1, 3}) EXPECT_EQ(spans[step].parent, attempt.span_id);
  EXPECT_EQ(attribute(spans[4], "signalbox.cancel.reason"), "enough");
}

TEST_F(RunTraceTest, WhatHappensMeanwhileIsBoundedAndCounted) {
  begin();
  add(claimed("plan"), 1);
  for (std::size_t count = 0; count < limits::trace_span_events_max + 3; ++count) {
    add(StationEvent{StationStalled{"plan", 1, "same", 1000, StallAction::nudge}}, 1);
  }
  add(RunEvent{RunPaused{"lunch"}});
  add(RunEvent{RunResumed{}});
  RunTrace trace(pipeline_, uuid_of(3));
  std::vector<TraceSpan> none;
  for (const Record& record : records_) trace.apply(record, none);
  EXPECT_TRUE(none.empty());
  const auto open = trace.open();
  ASSERT_EQ(open.size(), 2U);
  EXPECT_EQ(open[0].events.size(), 2U);
  EXPECT_EQ(open[0].events[0].name, "RunPaused");
  EXPECT_EQ(attribute(open[0], "signalbox.card.id"), to_string(uuid_of(3)));
  EXPECT_EQ(open[1].events.size(), limits::trace_span_events_max);
  EXPECT_EQ(open[1].events_dropped, 3U);
  EXPECT_EQ(open[1].ended_at_ns, 0);
}

// If the wall clock is set back, a span still doesn't end before it began.
TEST_F(RunTraceTest, NoSpanEndsBeforeItBegan) {
  begin();
  add(claimed("plan"), 1);
  add(succeeded("plan")).recorded_at_ns -= 3600 * second_ns;
  add(run_succeeded()).recorded_at_ns -= 3600 * second_ns;
  for (const TraceSpan& span : ended()) EXPECT_EQ(span.ended_at_ns, span.started_at_ns);
}

// The attempt's span may have been sent, and so may the run's.
TEST_F(RunTraceTest, UsageThatIsToldLateIsASpanOfItsOwn) {  // R7, A5
  begin();
  add(claimed("plan"), 1);
  fail_attempt("JOB_LOST");
  add(RunEvent{LateUsageReported{"plan", 1, {5, 6, 7}}}, 1);
  add(StationEvent{StationReady{"plan"}});
  add(claimed("plan", 2), 2);
  add(succeeded("plan", 2));
  add(run_succeeded());
  add(RunEvent{LateUsageReported{"plan", 2, {50, 60, 70}}}, 2);
  const auto spans = ended();
  ASSERT_EQ(spans.size(), 5U);
  for (const std::size_t attempt : {0U, 2U}) {
    EXPECT_EQ(attribute(spans[attempt], "signalbox.usage.tokens"), "none") << "it never changes";
  }
  EXPECT_TRUE(spans[3].events.empty() ||
              std::none_of(spans[3].events.begin(), spans[3].events.end(),
                           [](const auto& event) { return event.name == "LateUsageReported"; }))
      << "it would be told twice";
  const TraceSpan& early = spans[1];
  EXPECT_EQ(early.kind, SpanKind::usage);
  EXPECT_EQ(early.name, "plan usage");
  EXPECT_EQ(early.parent, spans[0].span_id);
  EXPECT_EQ(early.started_at_ns, early.ended_at_ns);
  EXPECT_EQ(attribute(early, "signalbox.usage.tokens"), "6");
  EXPECT_EQ(attribute(early, "signalbox.attempt"), "1");
  EXPECT_EQ(attribute(early, "signalbox.project"), "web");
  const TraceSpan& late = spans[4];
  EXPECT_EQ(late.parent, spans[2].span_id) << "the run's span has ended";
  EXPECT_EQ(attribute(late, "signalbox.usage.cost_microusd"), "50");
  EXPECT_NE(late.span_id, early.span_id);
}

TEST_F(RunTraceTest, HeartbeatsMakeNoDifference) {
  begin();
  add(claimed("plan"), 1);
  const auto position = records_.size();
  add(succeeded("plan"));
  add(run_succeeded());
  const auto without = ended();
  Record beat = records_[position - 1];
  beat.event = StationEvent{StationHeartbeat{"plan", 1000, "half"}};
  records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(position), beat);
  EXPECT_EQ(ended(), without);
}

TEST(TraceIds, AreNeverNoneAndDifferForWhatDiffers) {  // R7
  EXPECT_FALSE(attempt_span_id(Uuid{}).is_none());
  const RunId run = uuid_of(1);
  const RunId other = uuid_of(2);
  const std::set<SpanId> ids{run_span_id(run, 0),  run_span_id(run, 5),    run_span_id(other, 0),
                             step_span_id(run, 5), step_span_id(other, 5), step_span_id(run, 6)};
  EXPECT_EQ(ids.size(), 6U);
}

}  // namespace
}  // namespace signalbox
