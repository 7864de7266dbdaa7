// What people did and decided, in a simulation of recorded work: they do the same, as long after
// they were asked.
#include "tests/server/recorded_work_fixture.h"
#include "tests/server/what_if_fixture.h"

namespace signalbox {
namespace {

class WhatIfPeopleTest : public WhatIfTest {};

TEST_F(WhatIfPeopleTest, PeopleDecideAsTheyDid) {
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
TEST_F(WhatIfPeopleTest, QuestionsOfAttemptsAreDecidedAsTheyWere) {  // G10
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
TEST_F(WhatIfPeopleTest, MorePlacesForAgentsStartCardsSooner) {
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

}  // namespace
}  // namespace signalbox
