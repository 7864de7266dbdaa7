// Tests how many forecasts (`what_if.run`) are made and wait at a time.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "server/service_lanes.h"

namespace signalbox {
namespace {

TEST(ForecastLaneTest, OneIsMadeAndTwoWait) {  // G7
  std::atomic<int> refused = 0;
  std::atomic<int> made = 0;
  std::latch begun(1);
  std::latch going_on(1);
  ServiceLanes lanes;
  const auto ask = [&](std::function<void()> work) {
    Lane lane{.name = "what-if"};
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

}  // namespace
}  // namespace signalbox
