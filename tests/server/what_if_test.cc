// Tests recorded work under another policy. A history that the simulation made is recorded and
// simulated again with the same result: so the simulation follows the service's own rules.
#include <algorithm>

#include <rapidcheck/gtest.h>

#include "tests/server/recorded_work_fixture.h"
#include "tests/server/what_if_fixture.h"

namespace signalbox {
namespace {

TEST_F(WhatIfTest, MoreWorkersShortenTheQueue) {
  for (int run = 0; run < 4; ++run) arrive(0, {lasting(100)}, lasting(10));
  const FlowMeasures one = play("");
  EXPECT_EQ(one.succeeded, 4U);
  EXPECT_EQ(one.makespan_ms, 410'000);
  EXPECT_EQ(one.queue_wait.max_ms, 300'000);
  EXPECT_EQ(one.at_once, 2U);
  const FlowMeasures two = play("[limits]\nworkers = 2\n");
  EXPECT_EQ(two.makespan_ms, 210'000);
  EXPECT_EQ(two.queue_wait.max_ms, 100'000);
  EXPECT_EQ(two.worked_ms, one.worked_ms);
}

TEST_F(WhatIfTest, PlacesForJobsBoundThem) {
  for (int run = 0; run < 4; ++run) arrive(0, {lasting(0)}, lasting(100));
  EXPECT_EQ(play("", 4).makespan_ms, 100'000);
  EXPECT_EQ(play("[limits]\njobs_max = 1\n", 4).makespan_ms, 400'000);
}

TEST_F(WhatIfTest, AnAttemptThatOutlivedItsLeaseRenewedIt) {  // N6
  RecordedAttempt attempt = lasting(1000);
  attempt.lease_ms = 60'000;
  attempt.beats = {{20 * ns_per_s, ""}};
  arrive(0, {attempt}, lasting(0));
  attempt.ending = AttemptEnding::silent;
  arrive(2000, {attempt, lasting(10)}, lasting(0));
  EXPECT_EQ(play("").leases_lost, 1U);
  EXPECT_NEAR(static_cast<double>(last_.measures.duplicated_ms), 940'000, 30'000);
}

// A worker that is silent for 40 seconds keeps a lease of a minute, but loses one of 30 seconds:
// its work is then done a second time while it still works.
TEST_F(WhatIfTest, AShorterLeaseIsLostAndTheWorkDoneTwice) {
  RecordedAttempt attempt = lasting(100);
  attempt.lease_ms = 60'000;
  attempt.beats = {{20 * ns_per_s, ""}, {60 * ns_per_s, ""}};
  RecordedAttempt again = lasting(50);
  again.beats = {{25 * ns_per_s, ""}};
  arrive(0, {attempt, again}, lasting(0));
  const FlowMeasures as_it_was = play("", 2);
  EXPECT_EQ(as_it_was.leases_lost, 0U);
  EXPECT_EQ(as_it_was.duplicates, 0U);
  const FlowMeasures shorter =
      play("[[station]]\nname = \"work\"\nheartbeat_timeout = \"30s\"\n", 2);
  EXPECT_EQ(shorter.leases_lost, 1U);
  EXPECT_EQ(shorter.duplicates, 1U);
  EXPECT_EQ(shorter.duplicated_ms, 20'000);
  EXPECT_EQ(shorter.succeeded, 1U);
  EXPECT_EQ(shorter.run_time.max_ms, 101'000);  // 20 + 30 lost, a second of backoff, 50 again
  // With one worker the second attempt waits until the first has learned that it lost its lease.
  EXPECT_EQ(play("[[station]]\nheartbeat_timeout = \"30s\"\n", 1).run_time.max_ms, 110'000);
}

// Work of 1.2 seconds without heartbeats under a lease of one: all of it is lost, until the runs
// fail. Would a longer lease have helped?
TEST_F(WhatIfTest, ALongerLeaseKeepsTheWorkOfAWorkerThatWasHeardOfAgain) {  // O10
  RecordedAttempt lost;
  lost.ending = AttemptEnding::silent;
  lost.lease_ms = 1000;
  lost.worked_ns = ns_per_s;
  lost.returned_ns = 1200 * ns_per_ms;
  for (int run = 0; run < 5; ++run) arrive(0, {lost, lost, lost, lost}, lasting(0));
  const auto expect_answers = [this] {
    const FlowMeasures as_it_was = play("");
    EXPECT_EQ(as_it_was.leases_lost, 20U);
    EXPECT_EQ(as_it_was.failed, 5U);
    EXPECT_EQ(as_it_was.makespan_ms, 19 * 1200 + 1000);
    const FlowMeasures longer = play("[[station]]\nname = \"work\"\nheartbeat_timeout = \"30s\"\n");
    EXPECT_EQ(longer.leases_lost, 0U);
    EXPECT_EQ(longer.succeeded, 5U);
    EXPECT_EQ(longer.makespan_ms, 6000);
    EXPECT_EQ(last_.kept, 5U);
  };
  expect_answers();
  // The log that such a worker leaves says the same.
  (void)play("");
  work_ = recorded_from(records_);
  EXPECT_EQ(work_.workers, 1U);
  EXPECT_EQ(work_.runs[0].stations[0].attempts[0].returned_ns, 1200 * ns_per_ms);
  expect_answers();
}

// A worker that sends no heartbeats may be at work when it is silent: it takes as long as another.
TEST_F(WhatIfTest, SilenceWithoutHeartbeatsSaysNothing) {  // O10
  RecordedAttempt lost;
  lost.ending = AttemptEnding::silent;
  lost.lease_ms = 10'000;
  lost.worked_ns = 10 * ns_per_s;
  RecordedAttempt other = lasting(40);
  other.lease_ms = 60'000;
  arrive(0, {lost, lasting(5)}, lasting(0));
  arrive(0, {other}, lasting(0));
  EXPECT_EQ(play("", 2).leases_lost, 1U);
  const FlowMeasures longer = play("[[station]]\nheartbeat_timeout = \"60s\"\n", 2);
  EXPECT_EQ(longer.leases_lost, 0U);
  EXPECT_EQ(longer.succeeded, 2U);
  EXPECT_EQ(longer.makespan_ms, 40'000);
  EXPECT_EQ(last_.kept, 1U);
}

// One that had sent heartbeats and stopped is gone: a longer lease only notices that later.
TEST_F(WhatIfTest, SilenceAfterHeartbeatsIsTheEnd) {  // O10
  RecordedAttempt lost;
  lost.ending = AttemptEnding::silent;
  lost.lease_ms = 10'000;
  lost.worked_ns = 15 * ns_per_s;
  lost.beats = {{5 * ns_per_s, ""}};
  arrive(0, {lost, lasting(5)}, lasting(0));
  const FlowMeasures longer = play("[[station]]\nheartbeat_timeout = \"60s\"\n");
  EXPECT_EQ(longer.leases_lost, 1U);
  EXPECT_EQ(longer.succeeded, 1U);
  EXPECT_EQ(longer.makespan_ms, 5'000 + 60'000 + 1000 + 5'000);
  EXPECT_EQ(last_.kept, 0U);
}

TEST_F(WhatIfTest, FewerRetriesFailSooner) {
  arrive(0, {failing(10), failing(10), lasting(10)}, lasting(5));
  const FlowMeasures as_it_was = play("");
  EXPECT_EQ(as_it_was.succeeded, 1U);
  EXPECT_EQ(as_it_was.retries, 2U);
  EXPECT_EQ(as_it_was.run_time.max_ms, 38'000);  // backoff of 1 and of 2 seconds
  const FlowMeasures once = play("[[station]]\nretry = { max_retries = 1, backoff = \"5s\" }\n");
  EXPECT_EQ(once.failed, 1U);
  EXPECT_EQ(once.attempts, 2U);
  EXPECT_EQ(once.makespan_ms, 25'000);
  EXPECT_EQ(last_.drawn, 0U);
}

// Attempts beyond the recorded ones are drawn from the station's attempts, the same ones each time.
TEST_F(WhatIfTest, WhatWasNeverTriedIsDrawn) {
  arrive(0, {failing(10)}, lasting(5));
  arrive(0, {lasting(30)}, lasting(5));
  const FlowMeasures first = play("[[station]]\nretry = { max_retries = 9 }\n");
  EXPECT_GT(last_.drawn, 0U);
  EXPECT_EQ(play("[[station]]\nretry = { max_retries = 9 }\n"), first);
}

TEST_F(WhatIfTest, AShorterTimeoutEndsWhatWasDone) {
  arrive(0, {lasting(1)}, lasting(100));
  EXPECT_EQ(play("").timeouts, 0U);
  const FlowMeasures shorter =
      play("[[station]]\nname = \"job\"\ntimeout = \"50s\"\nretry = { max_retries = 0 }\n");
  EXPECT_EQ(shorter.timeouts, 1U);
  EXPECT_EQ(shorter.failed, 1U);
  EXPECT_EQ(shorter.makespan_ms, 51'000);
}

TEST_F(WhatIfTest, AWrongPolicyIsRefusedWithItsPlace) {
  for (const auto& [policy, message] : std::vector<std::pair<std::string, std::string>>{
           {"[limits]\nworker = 1\n", "limits.worker"},
           {"[limits]\nworkers = 0\n", "limits.workers"},
           {"[[station]]\nheartbeat_timeout = \"soon\"\n", "station[0].heartbeat_timeout"},
           {"[[station]]\n[[station]]\nretry = { max_retries = 1000 }\n",
            "station[1].retry.max_retries"},
           {"[board]\nheartbeat = \"always\"\n", "board.heartbeat"},
           {"[limits\n", "line 1"}}) {
    const auto read = read_what_if_policy(policy, {});
    ASSERT_FALSE(read.has_value()) << policy;
    EXPECT_EQ(read.error().code, ErrorCode::INVALID_PARAMS);
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().message;
  }
}

RecordedAttempt any_attempt(bool worker) {
  RecordedAttempt attempt = lasting(*rc::gen::inRange(0, 300));
  attempt.worked_ns += *rc::gen::inRange(1, 1'000'000);
  if (*rc::gen::inRange(0, 3) == 0) {
    attempt.outcome = Outcome::failed;
    attempt.error_class = *rc::gen::element(ErrorClass::transient, ErrorClass::terminal);
    attempt.code = "BROKEN";
  }
  if (!worker) return attempt;
  // The log can't show that a worker went on after losing its lease, so none does here.
  attempt.lease_ms = 60'000;
  std::int64_t at_ns = 0;
  while (attempt.worked_ns - at_ns > 50 * ns_per_s || *rc::gen::inRange(0, 3) > 0) {
    at_ns += *rc::gen::inRange(1, 50) * ns_per_s;
    if (at_ns >= attempt.worked_ns) break;
    attempt.beats.push_back({at_ns, *rc::gen::element<std::string>("", "a", "b")});
  }
  if (*rc::gen::inRange(0, 5) == 0) attempt.ending = AttemptEnding::silent;
  return attempt;
}

// How long attempts under way at the end would have taken isn't known, so their durations are
// drawn; they do end.
TEST_F(WhatIfTest, WhatTheEndOfTheLogCutsIsDrawn) {
  arrive(0, {lasting(100)}, lasting(10));
  arrive(0, {lasting(100)}, lasting(10));
  (void)play("", 2);
  std::vector<Record> cut = records_;
  while (event_as<StationSucceeded>(cut.back().event) == nullptr ||
         cut.back().recorded_at_ns > noon_ns + 100 * ns_per_s) {
    cut.pop_back();
  }
  work_ = recorded_from(cut);
  const FlowMeasures measures = play("", 2);
  EXPECT_EQ(measures.succeeded, 2U);
  EXPECT_EQ(measures.timeouts, 0U);
  EXPECT_FALSE(last_.unfinished);
}

// Simulates random work, records the resulting history, and simulates that: the measures must be
// the same.
RC_GTEST_FIXTURE_PROP(WhatIfTest, AHistoryOfItsOwnIsMadeAgain, ()) {
  work_ = {};
  records_.clear();
  const int runs = *rc::gen::inRange(1, 12);
  for (int run = 0; run < runs; ++run) {
    std::vector<RecordedAttempt> attempts;
    const int count = *rc::gen::inRange(1, 4);
    for (int each = 0; each < count; ++each) attempts.push_back(any_attempt(true));
    arrive(*rc::gen::inRange(0, 600), std::move(attempts), any_attempt(false));
  }
  const auto workers = static_cast<std::size_t>(*rc::gen::inRange(1, 5));
  std::sort(work_.runs.begin(), work_.runs.end(),
            [](const RecordedRun& left, const RecordedRun& right) {
              return left.arrived_ns < right.arrived_ns;
            });
  const FlowMeasures first = play("", workers);
  const std::vector<Record> history = records_;
  FlowMeter meter;
  for (const Record& record : history) meter.apply(record);
  RC_ASSERT(meter.measures() == first);

  work_ = recorded_from(history);
  RC_ASSERT(work_.runs.size() == static_cast<std::size_t>(runs));
  const FlowMeasures second = play("", workers);
  RC_ASSERT(second == first);
}

}  // namespace
}  // namespace signalbox
