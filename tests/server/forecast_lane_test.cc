// Tests how many forecasts (`what_if.run`) are made and wait at a time, and whose turn it is; also
// of reports (`report.get`). And what those are answered who only seem to have gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <string>
#include <vector>

#include "server/rpc/methods/families.h"
#include "server/service_lanes.h"
#include "tests/server/rpc_site.h"

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
// refused; but one of a caller that has its place waits then as well.
void expect_bound_of_all(LanePool& pool, std::size_t all_max) {
  std::atomic<int> refused = 0;
  std::latch begun(1);
  std::latch going_on(1);
  std::latch all_made(static_cast<std::ptrdiff_t>(all_max) + 1);
  const auto ask = [&](Lane lane) {
    lane.failed = [&refused](LaneFailure why) {
      EXPECT_EQ(why, LaneFailure::overloaded);
      ++refused;
    };
    pool.run(std::move(lane), [&all_made] { all_made.count_down(); });
  };
  pool.run({.name = "token:first"}, [&] {
    begun.count_down();
    going_on.wait();
  });
  begun.wait();
  for (std::size_t each = 0; each <= all_max; ++each) {
    EXPECT_EQ(refused, 0) << each;
    ask({.name = "tcp:127.0.0." + std::to_string(each)});
  }
  EXPECT_EQ(refused, 1);
  ask({.name = "uid:1", .has_place = true});
  EXPECT_EQ(refused, 1);
  ask({.name = "uid:1", .has_place = true});
  EXPECT_EQ(refused, 2) << "it has one place";
  going_on.count_down();
  all_made.wait();
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

class ForecastEndTest : public ::testing::Test, protected RpcSite {
 protected:
  // Asks for a forecast whose lane fails as one that nobody waits for. Returns the answer's
  // message.
  std::string message_of_ended(const std::string& caller, bool is_stopping) {
    const BlockingPool pool(
        [this](const Lane& lane, const std::function<void()>&) {
          has_place = lane.has_place;
          lane.failed(LaneFailure::unwanted);
        },
        at_once);
    Dispatcher forecasts(
        api, what_if_methods(ForecastParts{pool, {}, [is_stopping] { return is_stopping; }}));
    forecasts.handle(request("what_if.run", R"({"policy":""})"), {caller, Role::viewer}, peer);
    settle();
    return std::string(peer->next().at("error").at("message").as_string());
  }

  bool has_place = false;
};

// Over TCP somebody may still read who seems to have gone.
TEST_F(ForecastEndTest, TheServiceIsSaidToStopOnlyIfItDoes) {  // G7
  EXPECT_NE(message_of_ended("uid:1", true).find("the service stops"), std::string::npos);
  EXPECT_TRUE(has_place);
  const std::string message = message_of_ended("tcp:127.0.0.1", false);
  EXPECT_EQ(message.find("the service stops"), std::string::npos) << message;
  EXPECT_FALSE(has_place);
}

}  // namespace
}  // namespace signalbox
