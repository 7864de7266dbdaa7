// Ticks: one at a time, none after an incomplete one, and how a halted loop is recovered.
#include <gtest/gtest.h>

#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

Event tick_started(std::string loop = "nightly") {
  return TickEvent{TickStarted{std::move(loop), "plan", "cron", 1000, {}, "/root", 0, 0, {}}};
}

BeginTick begin_of(std::string loop = "nightly") {
  BeginTick command;
  command.loop = std::move(loop);
  command.stage = "plan";
  command.reason = "cron";
  command.lease_ms = 1000;
  command.run_root = "/root";
  command.marker.path = "/root/logs/tick-in-progress.json";
  return command;
}

class TickTest : public GivenWhenThen {
 protected:
  [[nodiscard]] std::string evidence() const {
    for (const Detail& detail : rejection->details) {
      if (detail.key == "evidence") return std::get<std::string>(detail.value);
    }
    return "none";
  }
};

TEST_F(TickTest, BeginsAndEnds) {  // T1
  when(begin_of());
  then({tick_started()});
  when(EndTick{"nightly", 1, TickOutcome::succeeded, {}});
  then({TickEvent{TickSucceeded{"nightly", 1, "/root"}}});
  EXPECT_EQ(world.find_tick("nightly"), nullptr) << "an idle loop isn't kept";
  when(begin_of());
  when(EndTick{"nightly", 3, TickOutcome::failed, "no disk"});
  then({TickEvent{TickFailed{"nightly", 3, "FAILED", "no disk", "/root"}}});
  when(begin_of());  // T3: free after an error as after a success
  then({tick_started()});
}

TEST_F(TickTest, ASecondBeginIsSkipped) {  // T3
  given({tick_started()});
  when(begin_of());
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  when(NoteTickSkipped{begin_of()});
  then({TickEvent{TickSkipped{"nightly", "plan", "tick_in_progress", 1}}});
  when(EndTick{"nightly", 1, TickOutcome::succeeded, {}});
  then_names({"TickSucceeded"});
}

TEST_F(TickTest, AfterALeaseThatIsOverTheNextBeginHalts) {  // T4, W4
  given({tick_started()});
  when(TimeOutTick{"nightly", 1, 1200});
  then({TickEvent{TickTimedOut{"nightly", 1, "plan", 1200, 1000, now.wall_ns, {}, "/root"}}});
  when(EndTick{"nightly", 1, TickOutcome::succeeded, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
  when(begin_of());
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(evidence(), "lease_over");
  when(NoteTickIncomplete{begin_of()});
  then_names({"TickIncompleteDetected"});
  when(begin_of());
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  when(NoteTickIncomplete{begin_of()});
  then_nothing();                                    // one event for each halt
  when(RecoverTick{"nightly", "looked at it", {}});  // T5
  then({TickEvent{TickRecovered{"nightly", 1, "looked at it", "/root"}}});
  when(begin_of());
  then_names({"TickStarted"});
}

TEST_F(TickTest, ATickOfAnEarlierIncarnationIsIncomplete) {  // T4
  given({ServerEvent{ServerStarted{1, "x", PreviousEnd::none}}, tick_started(),
         ServerEvent{ServerStarted{2, "x", PreviousEnd::crashed}}});
  when(begin_of());
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(evidence(), "earlier_incarnation");
  // The end of the tick still counts: the orchestrator may have outlived the service.
  when(EndTick{"nightly", 2, TickOutcome::succeeded, {}});
  then_names({"TickSucceeded"});
}

TEST_F(TickTest, AMarkerThatTheLogDoesntKnow) {  // T4
  BeginTick command = begin_of();
  command.marker.kind = FoundMarker::Kind::foreign;
  command.marker.text = "{}";
  command.marker.age_ms = limits::foreign_marker_fresh_ms_max - 1;
  when(command);
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  command.marker.age_ms = limits::foreign_marker_fresh_ms_max;
  when(command);
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(evidence(), "foreign_marker");
  when(NoteTickIncomplete{command});
  then_names({"TickIncompleteDetected"});
  EXPECT_EQ(world.find_tick("nightly")->status, TickStatus::halted);
  when(RecoverTick{"nightly", "mine", {}});
  then({TickEvent{TickRecovered{"nightly", 0, "mine", "/root"}}});
  command.marker.kind = FoundMarker::Kind::unreadable;
  when(command);
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(evidence(), "unreadable_marker");
  command.marker.kind = FoundMarker::Kind::known;
  when(command);
  then_names({"TickStarted"});
}

// Its time can't be read, so nothing says that its tick is still under way.
TEST_F(TickTest, AMarkerOfUnknownAgeIsNotFresh) {  // T4
  BeginTick command = begin_of();
  command.marker.kind = FoundMarker::Kind::foreign;
  command.marker.text = "{}";
  command.marker.age_ms = -1;
  when(command);
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(evidence(), "foreign_marker");
  when(NoteTickIncomplete{command});
  then_names({"TickIncompleteDetected"});
  EXPECT_EQ(event_as<TickIncompleteDetected>(events[0].event)->marker_age_ms, -1);
  command.marker.age_ms = 0;
  when(RecoverTick{"nightly", "mine", {}});
  when(command);
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
}

TEST_F(TickTest, WhatMayBeAliveIsRecoveredByForceOnly) {  // T5
  given({tick_started()});
  when(RecoverTick{"nightly", "sure", {}});
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  when(RecoverTick{"nightly", "sure", true});
  then_names({"TickRecovered"});
  when(RecoverTick{"nightly", "sure", {}});
  then_nothing();
}

TEST_F(TickTest, ARefusedRecoveryNamesTheForce) {  // T5
  given({tick_started()});
  when(RecoverTick{"nightly", "sure", false});
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  EXPECT_EQ(rejection->next_commands.back(),
            "signalbox tick recover nightly --token 1 --reason checked --force");
}

// A command that was printed for one tick may be pasted when the loop goes on with another.
TEST_F(TickTest, ALaterTickIsNotRecoveredForTheOneThatIsMeant) {  // T5
  given({tick_started()});
  when(TimeOutTick{"nightly", 1, 1200});
  when(RecoverTick{"nightly", "checked", {}, 1});
  then_names({"TickRecovered"});
  when(RecoverTick{"nightly", "checked", {}, 1});
  then_nothing();
  when(begin_of());
  const Token living = world.find_tick("nightly")->token;
  when(RecoverTick{"nightly", "checked", true, 1});
  then_rejected(ErrorCode::STALE_TOKEN);
  EXPECT_EQ(world.find_tick("nightly")->status, TickStatus::running);
  when(RecoverTick{"nightly", "checked", true, living});
  then_names({"TickRecovered"});
}

TEST_F(TickTest, ATickOfAnEarlierIncarnationIsRecoveredWithoutForce) {  // T5
  given({ServerEvent{ServerStarted{1, "x", PreviousEnd::none}}, tick_started(),
         ServerEvent{ServerStarted{2, "x", PreviousEnd::crashed}}});
  when(RecoverTick{"nightly", "checked", {}});
  then({TickEvent{TickRecovered{"nightly", 2, "checked", "/root"}}});
}

TEST_F(TickTest, AHaltSaysAllThatIsKnownOfItsTick) {  // T4
  Event start = started({"one", {worker_station("a")}});
  std::get<RunStarted>(std::get<RunEvent>(start)).run_root = "/root";
  given({start});
  BeginTick begin = begin_of();
  begin.run_id = run;
  when(begin);
  const std::int64_t started_at_ns = now.wall_ns;
  when(TimeOutTick{"nightly", 2, 1200});
  now.wall_ns += 3'000'000'000;
  when(NoteTickIncomplete{begin_of()});
  TickIncompleteDetected expected;
  expected.loop = "nightly";
  expected.stage = "plan";
  expected.token = 2;
  expected.run_id = run;
  expected.run_root = "/root";
  expected.marker_path = "/root/logs/tick-in-progress.json";
  expected.marker_age_ms = 3000;
  expected.stale_after_ms = 1000;
  expected.evidence = "lease_over";
  expected.started_at_ns = started_at_ns;
  then({TickEvent{expected}});
}

TEST_F(TickTest, AHaltForAForeignMarkerSaysWhoseBeginFoundIt) {  // T4
  BeginTick begin = begin_of();
  begin.run_id = run;
  begin.marker.kind = FoundMarker::Kind::foreign;
  begin.marker.text = "{}";
  begin.marker.age_ms = limits::foreign_marker_fresh_ms_max + 1;
  when(NoteTickIncomplete{begin});
  TickIncompleteDetected expected;
  expected.loop = "nightly";
  expected.run_id = run;
  expected.run_root = "/root";
  expected.marker_path = "/root/logs/tick-in-progress.json";
  expected.marker = "{}";
  expected.marker_age_ms = limits::foreign_marker_fresh_ms_max + 1;
  expected.stale_after_ms = limits::foreign_marker_fresh_ms_max;
  expected.evidence = "foreign_marker";
  then({TickEvent{expected}});
}

TEST_F(TickTest, ASkippedTickNamesNoTokenWhereTheLogHasNoTick) {  // T3
  when(NoteTickSkipped{begin_of()});
  then({TickEvent{TickSkipped{"nightly", "plan", "tick_in_progress", 0}}});
}

TEST_F(TickTest, ALoopOfTheServiceRecoversByItself) {  // T5
  given({ServerEvent{ServerStarted{1, "x", PreviousEnd::none}}, tick_started(),
         ServerEvent{ServerStarted{2, "x", PreviousEnd::crashed}}});
  BeginTick command = begin_of();
  command.own_loop = true;
  when(command);
  then_names({"TickRecovered", "TickStarted"});
  when(command);
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
}

TEST_F(TickTest, LoopsWithOneRunRootShareItsMarker) {  // A10
  const auto begin_in = [](const char* loop, const char* root) {
    BeginTick command = begin_of();
    command.loop = loop;
    command.run_root = root;
    command.marker.kind = FoundMarker::Kind::known;  // written for the tick of nightly
    return command;
  };
  given({tick_started()});
  when(begin_in("post_pivot", "/root"));
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  when(begin_in("post_pivot", "/elsewhere"));
  then_names({"TickStarted"});
  when(EndTick{"post_pivot", world.find_tick("post_pivot")->token, TickOutcome::succeeded, {}});

  when(TimeOutTick{"nightly", 1, 1000});
  then_names({"TickTimedOut"});
  when(begin_in("post_pivot", "/root/"));
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(evidence(), "lease_over");
  EXPECT_EQ(rejection->next_commands.back(),
            "signalbox tick recover nightly --token 1 --reason checked");
  when(NoteTickIncomplete{begin_in("post_pivot", "/root")});
  then_names({"TickIncompleteDetected"});
  EXPECT_EQ(world.find_tick("nightly")->status, TickStatus::halted);
  EXPECT_EQ(world.find_tick("post_pivot"), nullptr);
  when(NoteTickIncomplete{begin_in("post_pivot", "/root")});
  then_nothing();
  when(begin_in("post_pivot", "/root"));
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(evidence(), "halted");
  when(RecoverTick{"nightly", "checked", {}});
  when(begin_in("post_pivot", "/root"));
  then_names({"TickStarted"});
}

// The marker lies in one directory, whichever path leads there.
TEST_F(TickTest, LoopsWhosePathsLeadToOneMarkerShareIt) {  // A10
  BeginTick command = begin_of();
  command.loop = "post_pivot";
  command.run_root = "/link-to-root";
  command.marker.kind = FoundMarker::Kind::known;
  command.marker.loop = "nightly";
  command.marker.token = 1;
  given({tick_started()});
  when(command);
  then_rejected(ErrorCode::TICK_IN_PROGRESS);
  when(NoteTickSkipped{command});
  then({TickEvent{TickSkipped{"post_pivot", "plan", "tick_in_progress", 1}}});
  when(TimeOutTick{"nightly", 1, 1000});
  when(command);
  then_rejected(ErrorCode::PREVIOUS_TICK_INCOMPLETE);
  EXPECT_EQ(evidence(), "lease_over");
  EXPECT_EQ(rejection->next_commands.back(),
            "signalbox tick recover nightly --token 1 --reason checked");
  when(RecoverTick{"nightly", "checked", {}});
  when(begin_of());
  then_names({"TickStarted"});
  when(command);
  then_names({"TickStarted"});  // the marker is that of the tick that was recovered
}

TEST_F(TickTest, ATickOfARunHasTheRunsOwnRoot) {  // W3: its manifest lies there
  given({started({"one", {worker_station("a")}})});
  BeginTick command = begin_of();
  command.run_id = run;
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  command.run_root.reset();
  when(command);
  then_names({"TickStarted"});
  EXPECT_EQ(world.find_tick("nightly")->run_root, the_run().run_root);
}

TEST_F(TickTest, ARunThatEndedIsNotDriven) {
  given({started({"one", {worker_station("a")}}), claimed("a"), succeeded("a"), run_succeeded()});
  BeginTick command = begin_of();
  command.run_id = run;
  when(command);
  then_rejected(ErrorCode::RUN_TERMINAL);
}

}  // namespace
}  // namespace signalbox
