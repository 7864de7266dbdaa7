// What becomes of a card's wait when the clock was wrong.
#include "domain/limits.h"
#include "tests/domain/card_fixture.h"

namespace signalbox {
namespace {

TEST_F(CardTest, IsRetriedAtOnceIfItWasBlockedByAClockThatWasAhead) {  // A8
  const std::int64_t now_ns = now.wall_ns;
  constexpr std::int64_t day_ns = 24 * 60 * minute_ns;
  now.wall_ns = now_ns + day_ns;
  when(start_of(card, run));
  fail();
  now.wall_ns = now_ns + day_ns - limits::clock_difference_ms_max * 1'000'000;
  when(RetryBlockedCards{});
  then_nothing();
  now.wall_ns -= 1;
  when(RetryBlockedCards{});
  then_names({"CardUnblocked"});
}

}  // namespace
}  // namespace signalbox
