// The limits of the commands about ticks. P8
#include <gtest/gtest.h>

#include "tests/domain/limits_fixture.h"

namespace signalbox {
namespace {

class TickLimits : public LimitsTest {
 protected:
  TickLimits() { begin.loop = "nightly"; }
  BeginTick begin;
};

TEST_F(TickLimits, OfABegin) {
  expect_bytes_max("loop", limits::name_bytes_max, with_field(begin, &BeginTick::loop));
  expect_bytes_max("stage", limits::name_bytes_max, with_field(begin, &BeginTick::stage));
  expect_bytes_max("reason", limits::reason_bytes_max, with_field(begin, &BeginTick::reason));
  expect_bytes_max("run_root", limits::path_bytes_max, with_field(begin, &BeginTick::run_root),
                   '/');
  expect_between("lease_ms", limits::lease_ms_min, limits::lease_ms_max,
                 with_field(begin, &BeginTick::lease_ms));
}

TEST_F(TickLimits, OfAnEndAndARecovery) {
  when(begin);
  const EndTick end{"nightly", 1, TickOutcome::failed, {}};
  expect_bytes_max("error", limits::reason_bytes_max, with_field(end, &EndTick::error));
  const RecoverTick recover{"nightly", "checked", true};
  expect_bytes_max("loop", limits::name_bytes_max, with_field(recover, &RecoverTick::loop));
  expect_bytes_max("reason", limits::reason_bytes_max, with_field(recover, &RecoverTick::reason));
}

TEST_F(TickLimits, WithoutALeaseItIsTheDefault) {
  when(begin);
  then_names({"TickStarted"});
  EXPECT_EQ(event_as<TickStarted>(events[0].event)->lease_ms, limits::tick_lease_ms_default);
}

TEST_F(TickLimits, OfTheLoopsWithATick) {
  while (world.ticks.size() < limits::loops_max - 1) {
    world.ticks["loop " + std::to_string(world.ticks.size())];
  }
  EXPECT_EQ(refusal_of(begin), std::nullopt);
  world.ticks["the last one"];
  EXPECT_EQ(refusal_of(begin), ErrorCode::LIMIT_EXCEEDED);
}

// Otherwise whoever begins many ticks, and ends none, stops the board and the watchdog.
TEST_F(TickLimits, OfTheLoopsAreNotThoseOfTheServicesOwn) {  // G7
  while (world.ticks.size() < limits::loops_max) {
    world.ticks["loop " + std::to_string(world.ticks.size())];
  }
  begin.loop = "watchdog";
  begin.own_loop = true;
  when(begin);
  then_names({"TickStarted"});
}

TEST_F(TickLimits, OfTheLoopsAlsoHoldForThoseThatAMarkerHalts) {  // G7
  begin.run_root = "/r";
  begin.marker = {FoundMarker::Kind::unreadable, "/r/logs/tick-in-progress.json", "", -1, "", 0};
  EXPECT_EQ(refusal_of(begin), ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  while (world.ticks.size() < limits::loops_max - 1) {
    world.ticks["loop " + std::to_string(world.ticks.size())];
  }
  when(NoteTickIncomplete{begin});
  then_names({"TickIncompleteDetected"});
  begin.loop = "another";
  begin.run_root = "/other";
  when(NoteTickIncomplete{begin});
  then_nothing();
  EXPECT_EQ(refusal_of(begin), ErrorCode::PREVIOUS_TICK_INCOMPLETE) << "it is refused all the same";
}

}  // namespace
}  // namespace signalbox
