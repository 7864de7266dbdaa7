// Which records a screen is sent: what comes at once, or goes on for long, by a clock of the test.
#include "server/transport/http/record_rate.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t per_second = 1000;

class RecordRateTest : public testing::Test {
 protected:
  bool takes(std::size_t count) { return rate_.takes(count, now_); }

  RecordRate rate_{per_second};
  // Of a machine that is up for a while: the first records come to an idle stream.
  RecordRate::Clock::time_point now_{std::chrono::hours(1)};
};

TEST_F(RecordRateTest, TakesAQuarterOfASecondsRecordsAtOnceAndNoMore) {  // C6, G7
  EXPECT_TRUE(takes(per_second / 4));
  EXPECT_FALSE(takes(1));
}

TEST_F(RecordRateTest, TakesTheRateForAsLongAsItLasts) {  // C6
  for (int step = 0; step < 10'000; ++step, now_ += milliseconds(10)) {
    EXPECT_TRUE(takes(per_second / 100)) << step;
  }
}

// All or none: a part would cost as much.
TEST_F(RecordRateTest, TakesNothingWhileMoreComes) {  // C6, G7
  (void)takes(per_second);
  for (int step = 0; step < 1'000; ++step) {
    now_ += milliseconds(10);
    EXPECT_FALSE(takes(per_second / 50)) << step;
  }
}

// However large the flood was, it is over a quarter of a second after its end, and not before.
TEST_F(RecordRateTest, TakesRecordsAgainSoonAfterAFlood) {  // C6, G7
  EXPECT_FALSE(takes(1'000'000));
  now_ += milliseconds(200);
  EXPECT_FALSE(takes(1));
  now_ += milliseconds(52);
  EXPECT_TRUE(takes(1));
}

}  // namespace
}  // namespace signalbox
