// When a standby takes the cell, and when it doesn't (BEHAVIOURS, K3 and K4).
#include "server/cell/takeover_watch.h"

#include <gtest/gtest.h>

#include "server/limits.h"

namespace signalbox {
namespace {

using Cause = TakeoverWatch::Cause;
using namespace limits;

class TakeoverWatchTest : public testing::Test {
 protected:
  TakeoverWatchTest() {
    state_.epoch = 3;
    state_.beat_epoch = 3;
    state_.beat = 7;
    state_.holder = {"a", "tcp://a:1"};
    state_.is_attended = true;
  }

  // Judges the state at intervals of a standby's polls for `ms`, and returns the last verdict, or
  // the first that takes.
  Cause after(std::int64_t ms) {
    const std::int64_t until_ms = now_ms_ + ms;
    Cause cause = watch_.judge(state_, now_ms_);
    while (cause == Cause::none && now_ms_ < until_ms) {
      now_ms_ += cell_poll_ms_default;
      cause = watch_.judge(state_, now_ms_);
    }
    return cause;
  }

  CellState state_;
  TakeoverWatch watch_{"b"};
  std::int64_t now_ms_ = 1'000'000;
};

TEST(ClockAhead, CountsFromTheNearestMomentThatMayBeTheSame) {
  constexpr std::int64_t ms = 1'000'000;
  EXPECT_EQ(clock_ahead_ms(100 * ms, 100 * ms, 100 * ms), 0);
  EXPECT_EQ(clock_ahead_ms(100 * ms, 350 * ms, 400 * ms), 0);
  EXPECT_EQ(clock_ahead_ms(100 * ms, 30 * ms, 400 * ms), 70);
  EXPECT_EQ(clock_ahead_ms(100 * ms, 500 * ms, 400 * ms), -100);
}

TEST_F(TakeoverWatchTest, TakesACellThatNobodyHasHad) {
  EXPECT_EQ(watch_.judge({}, now_ms_), Cause::first);
}

TEST_F(TakeoverWatchTest, TakesAfterASilenceAndNotBefore) {
  EXPECT_EQ(after(cell_silence_ms_max), Cause::none);
  EXPECT_EQ(after(2 * cell_poll_ms_default), Cause::silent);
}

TEST_F(TakeoverWatchTest, WaitsForAWriterThatBeats) {
  for (int beat = 0; beat < 40; ++beat) {
    ++state_.beat;
    EXPECT_EQ(after(cell_beat_ms_default), Cause::none);
  }
}

// A writer that was just deposed may still beat with its own epoch; and any writer's beat counts.
TEST_F(TakeoverWatchTest, CountsTheSilenceAnewForAnotherEpoch) {
  EXPECT_EQ(after(cell_silence_ms_max - 100), Cause::none);
  state_.epoch = 4;
  EXPECT_EQ(after(cell_silence_ms_max), Cause::none);
  EXPECT_EQ(after(200), Cause::silent);
}

TEST_F(TakeoverWatchTest, TakesAtOnceWhenTheConnectionOfTheWriterEnds) {
  EXPECT_EQ(after(0), Cause::none);
  state_.is_attended = false;
  EXPECT_EQ(after(0), Cause::crashed);
}

// The database was failed over: its connections and locks are gone, and the writer's with them.
TEST_F(TakeoverWatchTest, DoesNotTakeForAWriterThatWasNeverSeenAttending) {
  EXPECT_EQ(after(100), Cause::none);
  watch_.note_away();
  state_.is_attended = false;
  EXPECT_EQ(after(cell_silence_ms_max), Cause::none);
}

// Both lost their connections, and this one was the first to have another.
TEST_F(TakeoverWatchTest, DoesNotTakeForAWriterWhoseConnectionWasLostWithItsOwn) {
  EXPECT_EQ(after(100), Cause::none);
  state_.is_attended = false;
  state_.session = 8;
  EXPECT_EQ(after(cell_silence_ms_max), Cause::none);
}

TEST_F(TakeoverWatchTest, CountsNoTimeInWhichTheLogWasAway) {
  EXPECT_EQ(after(cell_silence_ms_max), Cause::none);
  watch_.note_away();
  now_ms_ += 60'000;
  EXPECT_EQ(after(cell_silence_ms_max), Cause::none);
  EXPECT_EQ(after(100), Cause::silent);
}

TEST_F(TakeoverWatchTest, CountsNoTimeInWhichThisProcessWasStopped) {
  EXPECT_EQ(after(100), Cause::none);
  now_ms_ += cell_reading_gap_ms_max + 1;
  EXPECT_EQ(after(cell_silence_ms_max), Cause::none);
}

TEST_F(TakeoverWatchTest, TakesAReleasedCellAtOnce) {
  EXPECT_EQ(after(0), Cause::none);
  ++state_.beat;
  state_.is_released = true;
  EXPECT_EQ(after(0), Cause::released);
}

TEST_F(TakeoverWatchTest, LeavesAReleasedCellToTheServerThatWasNamed) {
  state_.is_released = true;
  state_.successor = "c";
  EXPECT_EQ(after(cell_successor_ms_max), Cause::none);
  EXPECT_EQ(after(100), Cause::released);
  TakeoverWatch named("c");
  EXPECT_EQ(named.judge(state_, now_ms_), Cause::released);
}

TEST_F(TakeoverWatchTest, ComesBackOnlyIfNobodyElseTakesWhatItHasLetGo) {
  state_.is_released = true;
  TakeoverWatch former("a");
  EXPECT_EQ(former.judge(state_, now_ms_), Cause::none);
  // The word of a writer of before says nothing of the present one.
  state_.epoch = 4;
  state_.holder = {"c", "tcp://c:1"};
  EXPECT_EQ(after(0), Cause::none);
}

}  // namespace
}  // namespace signalbox
