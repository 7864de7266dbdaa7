// Tests recorded work under another policy. A history that the simulation made is recorded and
// simulated again with the same result: so the simulation follows the service's own rules.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/nanoseconds.h"
#include "server/replay/what_if/what_if.h"
#include "tests/server/recorded_work_fixture.h"

namespace signalbox {
namespace {

constexpr std::int64_t noon_ns = 1'800'000'000 * ns_per_s;

PipelineDefinition work_pipeline(std::int64_t lease_ms) {
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

RecordedAttempt lasting(std::int64_t seconds) {
  RecordedAttempt attempt;
  attempt.ending = AttemptEnding::reported;
  attempt.worked_ns = seconds * ns_per_s;
  return attempt;
}

RecordedAttempt failing(std::int64_t seconds) {
  RecordedAttempt attempt = lasting(seconds);
  attempt.outcome = Outcome::failed;
  attempt.error_class = ErrorClass::transient;
  attempt.code = "BROKEN";
  return attempt;
}

RunId run_number(std::uint8_t number) {
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

TEST_F(WhatIfTest, PeopleDecideAsTheyDid) {
  PipelineDefinition pipeline = work_pipeline(600'000);
  StationDefinition ask;
  ask.name = "ask";
  ask.executor = ExecutorKind::approval;
  pipeline.stations.push_back(ask);
  pipeline_ = std::make_shared<PipelineDefinition>(pipeline);
  arrive(0, {lasting(10)}, lasting(10)).stations.resize(3);
  work_.runs[0].stations[2].decisions.push_back({600 * ns_per_s, Decision::approve, {}});
  RecordedRun& canceled = arrive(0, {lasting(1000)}, lasting(10));
  canceled.stations.resize(3);
  canceled.interventions.push_back({RecordedIntervention::Kind::cancel, 30 * ns_per_s});
  const FlowMeasures measures = play("", 2);
  EXPECT_EQ(measures.succeeded, 1U);
  EXPECT_EQ(measures.run_time.max_ms, 620'000);
  EXPECT_EQ(measures.canceled, 1U);
  EXPECT_FALSE(last_.unfinished);
}

// An attempt's question keeps its run waiting as long as it did, also when the attempt has ended.
TEST_F(WhatIfTest, QuestionsOfAttemptsAreDecidedAsTheyWere) {  // G10
  RecordedAttempt held = lasting(100);
  held.questions = {{40 * ns_per_s, 600 * ns_per_s, Decision::approve}};
  arrive(0, {held}, lasting(10));
  RecordedAttempt refused = held;
  refused.questions.back().decision = Decision::reject;
  arrive(0, {lasting(5)}, refused);
  RecordedAttempt stopped;  // rejected while it was under way
  stopped.worked_ns = 70 * ns_per_s;
  stopped.questions = {{40 * ns_per_s, 30 * ns_per_s, Decision::reject}};
  arrive(0, {stopped}, lasting(10));
  arrive(0, {lasting(5)}, stopped);
  const auto expect_as_it_was = [](const FlowMeasures& measures) {
    EXPECT_EQ(measures.succeeded, 1U);
    EXPECT_EQ(measures.failed, 3U);
    EXPECT_EQ(measures.run_time.max_ms, 650'000);
  };
  expect_as_it_was(play("", 4));
  EXPECT_FALSE(last_.unfinished);
  work_ = recorded_from(records_);
  const RecordedQuestion again = work_.runs[0].stations[0].attempts[0].questions.at(0);
  EXPECT_EQ(again.after_ns, 40 * ns_per_s);
  EXPECT_EQ(again.waited_ns, 600 * ns_per_s);
  EXPECT_EQ(again.decision, Decision::approve);
  expect_as_it_was(play("", 4));
  EXPECT_FALSE(last_.unfinished);
}

// Cards go through the board's own admission: two wait for the only slot that the policy allows.
TEST_F(WhatIfTest, MorePlacesForAgentsStartCardsSooner) {
  StationDefinition build;
  build.name = "build";
  build.executor = ExecutorKind::process;
  build.command = {"true"};
  build.retry.max_retries = 0;
  work_.projects.push_back({noon_ns, {"site", "/repository", {}, {}, {{"card", {build}}}}});
  work_.policies.push_back({noon_ns, "/repository", {}});
  pipeline_ = std::make_shared<PipelineDefinition>(PipelineDefinition{"card", {build}});
  for (std::uint8_t card = 0; card < 3; ++card) {
    RecordedRun run;
    run.id = run_number(static_cast<std::uint8_t>(100 + card));
    run.pipeline = pipeline_;
    run.of_card = true;
    run.stations.resize(1);
    run.stations[0].attempts = {card == 0 ? failing(600) : lasting(600)};
    RecordedCard& recorded = work_.cards.emplace_back();
    recorded.id = run_number(static_cast<std::uint8_t>(200 + card));
    recorded.submitted_ns = noon_ns + ns_per_s;
    recorded.submitted = {"site", "a card", "", "", 0};
    recorded.builds = {card};
    work_.runs.push_back(std::move(run));
  }
  const FlowMeasures one = play("");
  EXPECT_EQ(one.cards, 3U);
  EXPECT_EQ(one.card_wait.max_ms, 1'200'000);
  // The blocked card is retried when the policy says so.
  EXPECT_EQ(one.runs, 4U + one.cards_merged);
  EXPECT_EQ(one.failed, 1U);
  const FlowMeasures three = play(
      "[board]\nmax_concurrent_agents = 3\nmax_concurrent_agents_per_project = 3\n"
      "blocked_retry_minutes = 1\n");
  EXPECT_EQ(three.card_wait.max_ms, 0);
  EXPECT_EQ(three.cards_merged, 3U);
  EXPECT_LT(three.card_time.max_ms, one.card_time.max_ms);
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
