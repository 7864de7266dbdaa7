// Tests how many forecasts (`what_if.run`) are made and wait at a time, and whose turn it is; also
// of reports (`report.get`).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <string>
#include <vector>

#include "server/service_lanes.h"

namespace signalbox {
namespace {

TEST(ForecastLaneTest, OneIsMadeAndTwoOfACallerWait) {  // G7
  std::atomic<int> refused = 0;
  std::atomic<int> made = 0;
  std::latch begun(1);
  std::latch going_on(1);
  ServiceLanes lanes;
  const auto ask = [&](std::function<void()> work) {
    Lane lane{.name = "forecasts of token:one"};
    lane.failed = [&refused](LaneFailure why) {
      EXPECT_EQ(why, LaneFailure::overloaded);
      ++refused;
    };
    lanes.what_ifs.run(std::move(lane), std::move(work));
  };
  ask([&] {
    begun.count_down();
    going_on.wait();
    ++made;
  });
  begun.wait();
  std::latch all_made(static_cast<std::ptrdiff_t>(limits::what_if_waiting_max));
  for (std::size_t each = 0; each < limits::what_if_waiting_max; ++each) {
    ask([&] {
      ++made;
      all_made.count_down();
    });
  }
  EXPECT_EQ(refused, 0);
  ask([&made] { ++made; });
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(made, 0);
  going_on.count_down();
  all_made.wait();
  EXPECT_EQ(made, 1 + static_cast<int>(limits::what_if_waiting_max));
}

// Expects that `all_max` pieces of work wait, whoever they are of, and that the next one is
// refused.
void expect_bound_of_all(LanePool& pool, std::size_t all_max) {
  std::atomic<int> refused = 0;
  std::latch begun(1);
  std::latch going_on(1);
  pool.run({.name = "token:first"}, [&] {
    begun.count_down();
    going_on.wait();
  });
  begun.wait();
  for (std::size_t each = 0; each <= all_max; ++each) {
    EXPECT_EQ(refused, 0) << each;
    Lane lane{.name = "tcp:127.0.0." + std::to_string(each)};
    lane.failed = [&refused](LaneFailure why) {
      EXPECT_EQ(why, LaneFailure::overloaded);
      ++refused;
    };
    pool.run(std::move(lane), [] {});
  }
  EXPECT_EQ(refused, 1);
  going_on.count_down();
}

TEST(ForecastLaneTest, AllCallersTogetherAreBounded) {  // G7
  ServiceLanes lanes;
  expect_bound_of_all(lanes.what_ifs, limits::what_if_all_waiting_max);
  expect_bound_of_all(lanes.reports, limits::reports_waiting_max);
}

// Expects that whoever asks for much waits for its own work alone.
void expect_turns(LanePool& pool, std::size_t asked_at_once) {
  std::latch begun(1);
  std::latch going_on(1);
  std::vector<std::string> made;  // by the only thread that works
  std::latch all_made(static_cast<std::ptrdiff_t>(asked_at_once) + 1);
  const auto ask = [&](const std::string& caller) {
    Lane lane{.name = caller};
    lane.failed = [](LaneFailure) { ADD_FAILURE() << "refused"; };
    pool.run(std::move(lane), [&, caller] {
      begun.count_down(made.empty() ? 1 : 0);
      if (made.empty()) going_on.wait();
      made.push_back(caller);
      all_made.count_down();
    });
  };
  ask("token:greedy");
  begun.wait();
  for (std::size_t each = 1; each < asked_at_once; ++each) ask("token:greedy");
  ask("token:modest");
  going_on.count_down();
  all_made.wait();
  ASSERT_EQ(made.size(), asked_at_once + 1);
  // At most one of the others comes before it: the one whose turn it was.
  EXPECT_NE(std::find(made.begin(), made.begin() + 3, "token:modest"), made.begin() + 3);
}

TEST(ForecastLaneTest, CallersTakeTurns) {  // G6, G7
  ServiceLanes lanes;
  expect_turns(lanes.what_ifs, 1 + limits::what_if_waiting_max);
  expect_turns(lanes.reports, limits::lane_waiting_max);
}

}  // namespace
}  // namespace signalbox
