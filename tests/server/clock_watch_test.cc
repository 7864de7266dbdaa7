// Tests ClockWatch: detecting that time didn't pass as it should have.
#include "server/engine/clock_watch.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

class ClockWatchTest : public ::testing::Test {
 protected:
  std::optional<ClockJump> pass(std::int64_t wall_ns, std::int64_t monotonic_ns) {
    wall_ns_ += wall_ns;
    monotonic_ns_ += monotonic_ns;
    return watch_.check(wall_ns_, monotonic_ns_);
  }
  std::int64_t wall_ns_ = 1'700'000'000 * second_ns;
  std::int64_t monotonic_ns_ = 5 * second_ns;
  ClockWatch watch_{wall_ns_, monotonic_ns_};
};

TEST_F(ClockWatchTest, OrdinaryTimeIsNoJump) {
  EXPECT_EQ(watch_.next_poll_ns(), 6 * second_ns);
  EXPECT_FALSE(pass(second_ns, second_ns));
  EXPECT_FALSE(pass(second_ns + second_ns / 2, second_ns));  // the clock is slewed
  EXPECT_FALSE(pass(2 * second_ns, 2 * second_ns));          // the poll is a little late
  EXPECT_EQ(watch_.next_poll_ns(), 10 * second_ns);
}

TEST_F(ClockWatchTest, ToleratesSoMuchAndNoMore) {  // P8
  constexpr std::int64_t interval_ns = ClockWatch::interval_ns;
  constexpr std::int64_t tolerance_ns = ClockWatch::tolerance_ns;
  EXPECT_FALSE(pass(interval_ns + tolerance_ns, interval_ns));
  EXPECT_TRUE(pass(interval_ns + tolerance_ns + 1, interval_ns));
  EXPECT_FALSE(pass(interval_ns - tolerance_ns, interval_ns));
  EXPECT_TRUE(pass(interval_ns - tolerance_ns - 1, interval_ns));
  EXPECT_FALSE(pass(interval_ns + tolerance_ns, interval_ns + tolerance_ns));
  EXPECT_TRUE(pass(interval_ns + tolerance_ns + 1, interval_ns + tolerance_ns + 1));
}

TEST_F(ClockWatchTest, AWallClockThatWasSet) {
  const auto forward = pass(3600 * second_ns, second_ns);
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->cause, "wall clock set");
  EXPECT_EQ(forward->wall_ms, 3'600'000);
  EXPECT_EQ(forward->monotonic_ms, 1000);
  const auto back = pass(-3600 * second_ns, second_ns);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->wall_ms, -3'600'000);
  EXPECT_FALSE(pass(second_ns, second_ns)) << "a jump is told once";
}

TEST_F(ClockWatchTest, AProcessThatWasStopped) {
  const auto stopped = pass(60 * second_ns, 60 * second_ns);
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->cause, "stopped");
  EXPECT_EQ(stopped->monotonic_ms, 60'000);
}

}  // namespace
}  // namespace signalbox
