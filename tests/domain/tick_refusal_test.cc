// What the refusals of commands about ticks say, so that their callers know how to go on.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "domain/limits.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

using namespace std::string_literals;

class TickRefusalTest : public GivenWhenThen {
 protected:
  using Details = std::vector<Detail>;

  TickRefusalTest() {
    begin.loop = "nightly";
    begin.stage = "plan";
    begin.lease_ms = 1000;
    begin.run_root = "/root";
    begin.marker.path = "/root/logs/tick-in-progress.json";
  }
  void given_a_foreign_marker(std::int64_t age_ms) {
    begin.marker.kind = FoundMarker::Kind::foreign;
    begin.marker.text = "{}";
    begin.marker.age_ms = age_ms;
  }
  // Of a tick that was granted with the log's first record.
  [[nodiscard]] Details in_progress() const {
    return {{"loop", "nightly"s},
            {"token", std::int64_t{1}},
            {"stage", "plan"s},
            {"started_at_ns", now.wall_ns},
            {"lease_ms", std::int64_t{1000}}};
  }
  BeginTick begin;
};

TEST_F(TickRefusalTest, ATickInProgressIsDescribed) {  // T3
  when(begin);
  when(begin);
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  EXPECT_EQ(rejection->details, in_progress());
  EXPECT_EQ(rejection->next_commands, std::vector{"signalbox tick list --loop nightly"s});
  when(RecoverTick{"nightly", "sure", {}});
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  EXPECT_EQ(rejection->details, in_progress());
}

TEST_F(TickRefusalTest, AFreshMarkerThatTheLogDoesntKnowIsShown) {  // T4
  given_a_foreign_marker(5000);
  when(begin);
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  EXPECT_EQ(rejection->details, (Details{{"loop", "nightly"s},
                                         {"marker_path", "/root/logs/tick-in-progress.json"s},
                                         {"marker", "{}"s},
                                         {"marker_age_ms", std::int64_t{5000}}}));
}

TEST_F(TickRefusalTest, AnIncompleteTickIsDescribed) {  // T4
  when(begin);
  when(TimeOutTick{"nightly", 1, 1200});
  now.wall_ns += 3'000'000'000;
  when(begin);
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(rejection->details, (Details{{"loop", "nightly"s},
                                         {"token", std::int64_t{1}},
                                         {"marker_path", "/root/logs/tick-in-progress.json"s},
                                         {"marker", ""s},
                                         {"marker_age_ms", std::int64_t{3000}},
                                         {"stale_after_ms", std::int64_t{1000}},
                                         {"evidence", "lease_over"s}}));
  EXPECT_EQ(rejection->next_commands,
            (std::vector{"signalbox tick list --loop nightly"s,
                         "signalbox tick recover nightly --token 1 --reason checked"s}));
}

// Of a tick that only its marker is known of, the marker's age counts, before the halt and after.
TEST_F(TickRefusalTest, AnOldMarkerThatTheLogDoesntKnowIsShown) {  // T4
  const std::int64_t age_ms = limits::foreign_marker_fresh_ms_max + 5;
  given_a_foreign_marker(age_ms);
  for (const std::string& evidence : {"foreign_marker"s, "halted"s}) {
    when(begin);
    then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
    EXPECT_EQ(rejection->details, (Details{{"loop", "nightly"s},
                                           {"token", std::int64_t{0}},
                                           {"marker_path", "/root/logs/tick-in-progress.json"s},
                                           {"marker", "{}"s},
                                           {"marker_age_ms", age_ms},
                                           {"stale_after_ms", limits::foreign_marker_fresh_ms_max},
                                           {"evidence", evidence}}));
    when(NoteTickIncomplete{begin});
  }
}

TEST_F(TickRefusalTest, AnOldTokenIsToldWhatItsLoopDoes) {
  when(EndTick{"nightly", 7, TickOutcome::succeeded, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
  EXPECT_EQ(rejection->details, (Details{{"loop", "nightly"s},
                                         {"token", std::int64_t{7}},
                                         {"current_token", std::int64_t{0}},
                                         {"current_status", "idle"s}}));
  when(begin);
  when(EndTick{"nightly", 7, TickOutcome::succeeded, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
  EXPECT_EQ(rejection->details, (Details{{"loop", "nightly"s},
                                         {"token", std::int64_t{7}},
                                         {"current_token", std::int64_t{1}},
                                         {"current_status", "running"s}}));
}

TEST_F(TickRefusalTest, TheBoundOfLoopsIsNamed) {
  while (world.ticks.size() < limits::loops_max) {
    world.ticks["loop " + std::to_string(world.ticks.size())];
  }
  when(begin);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(rejection->details,
            (Details{{"loops_max", static_cast<std::int64_t>(limits::loops_max)}}));
}

TEST_F(TickRefusalTest, AnEndHasTheBoundsOfABegin) {
  const std::string longest(limits::name_bytes_max, 'x');
  when(EndTick{longest, 1, TickOutcome::succeeded, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
  when(EndTick{longest + "x", 1, TickOutcome::succeeded, {}});
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(TickRefusalTest, ATimerOfAnEarlierTickIsTooLate) {  // W4
  when(begin);
  when(EndTick{"nightly", 1, TickOutcome::succeeded, {}});
  when(begin);
  when(TimeOutTick{"nightly", 1, 1200});
  then_nothing();
  when(TimeOutTick{"nightly", 3, 1200});
  then_names({"TickTimedOut"});
}

TEST_F(TickRefusalTest, ATickOfARunHasTheRootThatItsRunWasGiven) {  // W3
  Event start = started({"one", {worker_station("a")}});
  std::get<RunStarted>(std::get<RunEvent>(start)).run_root = "/run";
  given({start});
  begin.run_id = run;
  when(begin);
  then_rejected(ErrorCode::INVALID_PARAMS);
  begin.run_root.reset();
  when(begin);
  then_names({"TickStarted"});
  EXPECT_EQ(event_as<TickStarted>(events[0].event)->run_root, "/run");
}

TEST_F(TickRefusalTest, TicksThatWereMissedAreCounted) {
  when(NoteTicksMissed{"nightly", "asleep", 3, 10, 30});
  then({TickEvent{TickMissed{"nightly", "asleep", 3, 10, 30}}});
  EXPECT_EQ(events[0].cause, 0U);
  EXPECT_EQ(world.find_tick("nightly"), nullptr);
}

}  // namespace
}  // namespace signalbox
