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
  EXPECT_EQ(refusal_of(begin), std::nullopt);
}

// What has no place in the log couldn't be recovered either.
TEST_F(TickLimits, OfTheLoopsAlsoHoldForThoseThatAMarkerHalts) {  // G7
  begin.run_root = "/r";
  begin.marker.kind = FoundMarker::Kind::unreadable;
  const auto halts = [this] {
    const auto noted = decide(world, NoteTickIncomplete{begin}, now);
    return noted.has_value() && !noted->empty();
  };
  EXPECT_EQ(refusal_of(begin), ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_TRUE(halts());
  while (world.ticks.size() < limits::loops_max) {
    world.ticks["loop " + std::to_string(world.ticks.size())];
  }
  EXPECT_EQ(refusal_of(begin), ErrorCode::LIMIT_EXCEEDED);
  EXPECT_FALSE(halts());
}

// They stay until somebody ends or recovers each, so that one sender could stop all others.
TEST_F(TickLimits, OfTheLoopsOfOneSender) {  // G7
  const auto begin_as = [this](const std::string& sender, Token job_token) {
    Now moment = now;
    moment.by = {sender, /*acts_for_all=*/false, job_token, {}};
    const auto decided = decide(world, begin, moment);
    return decided ? std::nullopt : std::optional(decided.error().code);
  };
  const auto add_ticks = [this](const std::string& sender, std::size_t until) {
    while (world.ticks.size() < until) {
      const Token token = world.ticks.size() + 1;
      world.ticks["loop " + std::to_string(token)].token = token;
      world.holders[token] = sender;
    }
  };
  add_ticks("job:1/a/1", limits::loops_of_job_max - 1);
  EXPECT_EQ(begin_as("job:1/a/1", 7), std::nullopt);
  add_ticks("job:1/a/1", limits::loops_of_job_max);
  EXPECT_EQ(begin_as("job:1/a/1", 7), ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(begin_as("job:1/a/2", 8), std::nullopt);
  EXPECT_EQ(begin_as("uid:1", 0), std::nullopt);
  world.ticks.clear();
  world.holders.clear();
  add_ticks("uid:1", limits::loops_of_sender_max - 1);
  EXPECT_EQ(begin_as("uid:1", 0), std::nullopt);
  add_ticks("uid:1", limits::loops_of_sender_max);
  EXPECT_EQ(begin_as("uid:1", 0), ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(begin_as("uid:2", 0), std::nullopt);
}

}  // namespace
}  // namespace signalbox
