// What people decided about cards is part of the recorded work: in a forecast a card is started as
// early as it was moved, and blocked when it was.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "domain/nanoseconds.h"
#include "server/replay/what_if/what_if.h"
#include "tests/server/recorded_work_fixture.h"

namespace signalbox {
namespace {

constexpr std::int64_t priority_noon_ns = 1'700'000'000'000'000'000;

Uuid priority_id(std::size_t number) {
  Uuid id{};
  id.bytes[15] = static_cast<std::uint8_t>(number);
  return id;
}

// Returns three cards that are submitted a second after noon, for one place, each of ten minutes.
RecordedWork three_waiting_cards() {
  StationDefinition build;
  build.name = "build";
  build.executor = ExecutorKind::process;
  build.command = {"true"};
  RecordedWork work;
  work.from_ns = priority_noon_ns;
  work.to_ns = priority_noon_ns + 3600 * ns_per_s;
  work.projects.push_back({priority_noon_ns, {"site", "/repository", {}, {}, {{"card", {build}}}}});
  work.policies.push_back({priority_noon_ns, "/repository", {}});
  const auto pipeline = std::make_shared<PipelineDefinition>(PipelineDefinition{"card", {build}});
  for (std::size_t number = 0; number < 3; ++number) {
    RecordedAttempt attempt;
    attempt.ending = AttemptEnding::reported;
    attempt.worked_ns = 600 * ns_per_s;
    RecordedRun run;
    run.id = priority_id(100 + number);
    run.pipeline = pipeline;
    run.of_card = true;
    run.stations.resize(1);
    run.stations[0].attempts = {std::move(attempt)};
    RecordedCard card;
    card.id = priority_id(1 + number);
    card.submitted_ns = priority_noon_ns + ns_per_s;
    card.submitted = {"site", "a card", "", "", 0};
    card.builds = {number};
    work.cards.push_back(std::move(card));
    work.runs.push_back(std::move(run));
  }
  return work;
}

std::vector<Record> records_of_forecast(const RecordedWork& work) {
  std::vector<Record> records;
  WhatIfSettings settings;
  settings.visit = [&records](const Record& record) { records.push_back(record); };
  what_if(work, WhatIfPolicy{}, settings);
  return records;
}

// Returns the last bytes of the ids of the cards, in the order in which they were started.
std::vector<int> started_cards(const std::vector<Record>& records) {
  std::vector<int> cards;
  for (const Record& record : records) {
    if (event_as<CardStarted>(record.event) != nullptr) {
      cards.push_back(record.stream.run_id.bytes[15]);
    }
  }
  return cards;
}

TEST(WhatIfPriority, ACardIsStartedAsEarlyAsItWasMoved) {  // O2
  RecordedWork work = three_waiting_cards();
  EXPECT_EQ(started_cards(records_of_forecast(work)), (std::vector<int>{1, 2, 3}));
  work.cards[2].priorities = {{300 * ns_per_s, 5}};
  const std::vector<Record> records = records_of_forecast(work);
  EXPECT_EQ(started_cards(records), (std::vector<int>{1, 3, 2}));

  const RecordedWork again = recorded_from(records);
  ASSERT_EQ(again.cards.size(), 3U);
  EXPECT_TRUE(again.cards[0].priorities.empty());
  ASSERT_EQ(again.cards[2].priorities.size(), 1U);
  EXPECT_EQ(again.cards[2].priorities[0].after_ns, 300 * ns_per_s);
  EXPECT_EQ(again.cards[2].priorities[0].priority, 5);
}

TEST(WhatIfBlock, ACardIsBlockedWhenAPersonBlockedIt) {  // O10
  RecordedWork work = three_waiting_cards();
  work.cards[1].blocked_after_ns = {300 * ns_per_s};
  const std::vector<Record> records = records_of_forecast(work);
  EXPECT_EQ(started_cards(records), (std::vector<int>{1, 3}));

  const RecordedWork again = recorded_from(records);
  ASSERT_EQ(again.cards.size(), 3U);
  EXPECT_TRUE(again.cards[0].blocked_after_ns.empty());
  EXPECT_EQ(again.cards[1].blocked_after_ns, (std::vector<std::int64_t>{300 * ns_per_s}));
}

}  // namespace
}  // namespace signalbox
