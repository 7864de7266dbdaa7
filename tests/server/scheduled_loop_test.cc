// Tests loops with a schedule: each due time has exactly one event, whatever happens to the server,
// the machine and its clock.
#include <gtest/gtest.h>

#include "server/scheduler/scheduled_loop.h"
#include "tests/server/one_loop.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

using Names = std::vector<std::string>;
constexpr std::int64_t minute_ms = 60'000;

class ScheduledLoopTest : public ::testing::Test, protected RpcSite {
 protected:
  // The clock begins at 22:13:20.
  std::unique_ptr<ScheduledLoop> make_loop(const std::string& schedule = "1m") {
    return std::make_unique<ScheduledLoop>(
        engine, clock, "heartbeat", Schedule::parse(schedule).value(),
        ScheduledLoop::Work{[this](const std::function<void(const Digest&)>& then) {
                              if (!slow_prepare) return then(policy);
                              prepared = [this, then] { then(policy); };
                            },
                            [this](Token, const ScheduledLoop::Ended& ended) {
                              ++ticks;
                              if (slow) {
                                end = ended;
                              } else {
                                ended(std::nullopt);
                              }
                            }});
  }
  void pass_ms(std::int64_t ms) {
    clock.advance_ms(ms);
    loop->run_if_due();
    commit_all();
  }
  void restart() {
    loop.reset();
    slow = false;
    take(StartServer{"v"});
    loop = make_loop();
  }
  template <class Event>
  [[nodiscard]] std::vector<Event> all() const {
    std::vector<Event> found;
    EXPECT_TRUE(log.scan(1, log.tail(), [&found](Record&& record) {
      if (const auto* event = event_as<Event>(record.event)) found.push_back(*event);
      return true;
    }));
    return found;
  }
  // Returns the due times that have an event, in minutes since the first due time.
  [[nodiscard]] std::vector<std::int64_t> due_minutes() const {
    constexpr std::int64_t first_ns = 1'700'000'040'000'000'000;  // 22:14
    std::vector<std::int64_t> minutes;
    const auto add = [&](std::int64_t due_ns) {
      if (due_ns != 0) minutes.push_back((due_ns - first_ns) / (minute_ms * 1'000'000));
    };
    EXPECT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
      if (const auto* event = event_as<TickStarted>(record.event)) add(event->due_ns);
      if (const auto* event = event_as<TickSkipped>(record.event)) add(event->due_ns);
      if (const auto* event = event_as<TickMissed>(record.event)) {
        const Schedule schedule = Schedule::parse("1m").value();
        const auto due = schedule.due_between(event->first_due_ns - 1, event->last_due_ns, 1000);
        EXPECT_EQ(due.size(), event->missed);
        for (const std::int64_t each : due) add(each);
      }
      return true;
    }));
    return minutes;
  }

  bool slow = false;
  bool slow_prepare = false;
  int ticks = 0;
  Digest policy;
  std::function<void()> prepared;
  ScheduledLoop::Ended end;
  std::unique_ptr<ScheduledLoop> loop = make_loop();
};

TEST_F(ScheduledLoopTest, TicksWhenItIsDueAndSaysWhen) {  // H2, H3
  policy.bytes[0] = 7;
  loop->arm("server down");
  pass_ms(39'999);
  EXPECT_EQ(ticks, 0);
  pass_ms(1);
  pass_ms(minute_ms);
  EXPECT_EQ(ticks, 2);
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickSucceeded", "TickStarted", "TickSucceeded"}));
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(all<TickStarted>().front().policy_digest, policy);  // H3
}

TEST_F(ScheduledLoopTest, ATriggerAndADueTimeTogetherAreOneTickAndOneSkip) {  // H2
  loop->arm("server down");
  slow = true;
  pass_ms(40'000);
  TriggerResult reply;
  loop->trigger("now", false, [&reply](const TriggerResult& triggered) { reply = triggered; });
  commit_all();
  EXPECT_FALSE(reply.began);
  EXPECT_EQ(reply.token, 1U);
  EXPECT_EQ(ticks, 1);
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickSkipped"}));
}

TEST_F(ScheduledLoopTest, SoDoTheyWhileTheFirstIsOnlyAboutToBegin) {
  loop->arm("server down");
  slow_prepare = true;
  loop->trigger("now");
  pass_ms(40'000);
  prepared();
  commit_all();
  EXPECT_EQ(ticks, 1);
  EXPECT_EQ(event_types(), (Names{"TickSkipped", "TickStarted", "TickSucceeded"}));
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0}));
}

TEST_F(ScheduledLoopTest, WhatAskedForAnotherTickGetsOne) {
  loop->arm("server down");
  slow = true;
  loop->trigger("first");
  commit_all();
  loop->trigger("a card came", /*again=*/true);
  commit_all();
  slow = false;
  std::exchange(end, {})(std::nullopt);
  commit_all();
  EXPECT_EQ(ticks, 2);
  EXPECT_EQ(event_types(),
            (Names{"TickStarted", "TickSkipped", "TickSucceeded", "TickStarted", "TickSucceeded"}));
}

TEST_F(ScheduledLoopTest, WhatWasDueWhileTheServerWasDownIsMissed) {  // H2
  loop->arm("server down");
  pass_ms(40'000);
  clock.advance_ms(150'000);
  restart();
  loop->arm("server down");
  commit_all();
  ASSERT_EQ(all<TickMissed>().size(), 1U);
  EXPECT_EQ(all<TickMissed>().front().reason, "server down");
  EXPECT_EQ(all<TickMissed>().front().missed, 2U);
  pass_ms(minute_ms - 30'000);
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(ticks, 2);
}

TEST_F(ScheduledLoopTest, WhatWasDueWhileTheMachineSleptIsMissed) {  // H2
  loop->arm("server down");
  pass_ms(40'000);
  pass_ms(5 * minute_ms + 10'000);
  EXPECT_EQ(ticks, 2) << "the latest one begins at once";
  ASSERT_EQ(all<TickMissed>().size(), 1U);
  EXPECT_EQ(all<TickMissed>().front().reason, "asleep");
  EXPECT_EQ(all<TickMissed>().front().missed, 4U);
  pass_ms(50'000);
  EXPECT_EQ(ticks, 3);
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST_F(ScheduledLoopTest, ALateOneTicksAtOnceAndMissesNothing) {  // H2
  loop->arm("server down");
  pass_ms(40'000 + 10'000);
  EXPECT_EQ(ticks, 1);
  EXPECT_EQ(all<TickStarted>().front().due_ns, 1'700'000'040'000'000'000);
  EXPECT_TRUE(all<TickMissed>().empty());
  pass_ms(50'000);
  EXPECT_EQ(ticks, 2) << "the next one is when it was due anyway";
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1}));
}

// On a busy machine each turn of the loop comes later than the next due time.
TEST_F(ScheduledLoopTest, OneThatIsAlwaysLaterThanItsIntervalTicksEachTime) {  // H2
  loop = make_loop("1s");
  loop->arm("server down");
  for (int turn = 1; turn <= 5; ++turn) {
    pass_ms(3500);
    EXPECT_EQ(ticks, turn);
    EXPECT_LE(loop->next_due_ns() - clock.now_ns, 1'000'000'000);
  }
  for (const TickMissed& missed : all<TickMissed>()) EXPECT_EQ(missed.reason, "late");
  // The clock begins at a full second, so the first due time is one second later.
  std::uint64_t events = all<TickStarted>().size();
  for (const TickMissed& missed : all<TickMissed>()) events += missed.missed;
  EXPECT_EQ(events, 17U) << "each due time has one event";
  EXPECT_EQ(all<TickStarted>().back().due_ns, 1'700'000'017'000'000'000);
}

TEST_F(ScheduledLoopTest, ALateOneSkipsOnlyTheLatestWhileATickIsUnderWay) {  // H2
  loop->arm("server down");
  slow = true;
  pass_ms(40'000);
  pass_ms(2 * minute_ms + 4000);
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickMissed", "TickSkipped"}));
  EXPECT_EQ(ticks, 1);
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2}));
}

// Such as the first removal of many old files.
TEST_F(ScheduledLoopTest, WorkThatOutlastsItsLeaseMissesDueTimes) {  // H2, T3
  loop->arm("server down");
  slow = true;
  pass_ms(40'000);
  take(TimeOutTick{"heartbeat", engine.world().find_tick("heartbeat")->token, 600'000});
  loop->trigger("asked for");
  pass_ms(minute_ms);
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickTimedOut", "TickMissed"}));
  slow = false;
  end(std::nullopt);
  pass_ms(minute_ms);
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST_F(ScheduledLoopTest, AMachineThatSleptWhileADueTickWasPreparedBeginsThatOne) {  // H2
  loop->arm("server down");
  slow_prepare = true;
  pass_ms(40'000);
  pass_ms(100 * minute_ms);
  EXPECT_EQ(event_types(), Names{});
  prepared();
  commit_all();
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickMissed", "TickSkipped", "TickSucceeded"}));
  ASSERT_EQ(all<TickMissed>().size(), 1U);
  EXPECT_EQ(all<TickMissed>().front().missed, 99U);
  EXPECT_EQ(due_minutes().size(), 101U);
  EXPECT_EQ(ticks, 1);
}

// Whichever notices first that the process was stopped, the loop or the check of the clocks.
TEST_F(ScheduledLoopTest, AStopThatTheClocksShowMakesItTickAtOnceAsWell) {  // H2
  OneLoop group(*loop);
  ServiceLoops service(engine);
  service.add(group);
  service.arm();
  pass_ms(40'000);
  clock.advance_ms(3 * minute_ms);
  service.clock_jumped("stopped");
  commit_all();
  EXPECT_EQ(ticks, 2);
  ASSERT_EQ(all<TickMissed>().size(), 1U);
  EXPECT_EQ(all<TickMissed>().front().missed, 2U);
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2, 3}));

  clock.set_by_ns = 3 * minute_ms * 1'000'000;
  service.clock_jumped("wall clock set");
  commit_all();
  EXPECT_EQ(ticks, 2) << "nobody waited for these";
  EXPECT_EQ(all<TickMissed>().back().reason, "wall clock set");
}

TEST_F(ScheduledLoopTest, ATickThatTheCrashInterruptedIsRecovered) {  // T5
  loop->arm("server down");
  slow = true;
  pass_ms(40'000);
  restart();
  loop->arm("server down");
  pass_ms(minute_ms);
  EXPECT_EQ(event_types(2),
            (Names{"ServerStarted", "TickRecovered", "TickStarted", "TickSucceeded"}));
}

TEST_F(ScheduledLoopTest, AClockThatWasSetBackDoesNotStopIt) {
  loop->arm("server down");
  pass_ms(40'000);
  clock.set_by_ns = -24 * 60 * minute_ms * 1'000'000;
  loop->arm("wall clock set");
  pass_ms(minute_ms);
  EXPECT_EQ(ticks, 2);
}

TEST_F(ScheduledLoopTest, OneThatWasSetBackALittleDoesNotTickTwice) {
  loop->arm("server down");
  pass_ms(40'000);
  clock.set_by_ns = -2'000'000'000;
  loop->arm("wall clock set");
  pass_ms(2'000);
  EXPECT_EQ(ticks, 1);
  pass_ms(minute_ms);
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1}));
}

TEST_F(ScheduledLoopTest, AnErrorFailsTheTickAndFreesTheLoop) {  // T3
  loop->arm("server down");
  slow = true;
  pass_ms(40'000);
  std::exchange(end, {})("no such repository");
  commit_all();
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickFailed"}));
  EXPECT_FALSE(loop->busy());
}

TEST_F(ScheduledLoopTest, SaysForHowLongItHasWaitedForATick) {  // A16
  constexpr std::int64_t minute_ns = minute_ms * 1'000'000;
  loop->arm("server down");
  EXPECT_EQ(loop->overdue_ns(), 0);
  slow = true;
  pass_ms(40'000);
  pass_ms(minute_ms);
  EXPECT_EQ(loop->overdue_ns(), 0) << "it is due just now";
  pass_ms(minute_ms);
  pass_ms(minute_ms);
  EXPECT_EQ(loop->overdue_ns(), 2 * minute_ns) << "since the first one that was skipped";
  std::exchange(end, {})(std::nullopt);
  commit_all();
  EXPECT_EQ(loop->overdue_ns(), 2 * minute_ns);
  pass_ms(minute_ms);
  EXPECT_EQ(ticks, 2);
  EXPECT_EQ(loop->overdue_ns(), 0);
  clock.advance_ms(3 * minute_ms);  // and nothing drives the loop
  EXPECT_EQ(loop->overdue_ns(), 2 * minute_ns);
}

TEST_F(ScheduledLoopTest, SaysThatAPreparationTakesLong) {  // A16
  loop->arm("server down");
  slow_prepare = true;
  pass_ms(40'000);
  clock.advance_ms(30'000);
  EXPECT_EQ(loop->overdue_ns(), 30'000 * std::int64_t{1'000'000});
  prepared();
  commit_all();
  EXPECT_EQ(loop->overdue_ns(), 0);
}

// Reading the policies takes long; the tick that waits for them still has its event first.
TEST_F(ScheduledLoopTest, WhatIsDueWhileADueTickIsAboutToBeginComesAfterIt) {
  loop->arm("server down");
  slow_prepare = true;
  pass_ms(40'000);
  pass_ms(minute_ms);
  pass_ms(minute_ms);
  EXPECT_EQ(event_types(), Names{});
  prepared();
  commit_all();
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickSkipped", "TickSkipped", "TickSucceeded"}));
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(all<TickStarted>().front().due_ns, 1'700'000'040'000'000'000);
  restart();
  loop->arm("server down");
  commit_all();
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2})) << "none is counted again";
}

TEST_F(ScheduledLoopTest, ACrashBeforeThatMissesThemAll) {
  loop->arm("server down");
  slow_prepare = true;
  slow = true;
  loop->trigger("now");
  prepared();
  commit_all();
  pass_ms(40'000);  // skipped: from here on a due time is known
  std::exchange(end, {})(std::nullopt);
  commit_all();
  pass_ms(minute_ms);
  pass_ms(minute_ms);
  restart();
  slow_prepare = false;
  loop->arm("server down");
  commit_all();
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(all<TickMissed>().front().missed, 2U);
}

TEST_F(ScheduledLoopTest, AClockThatJumpsWhileADueTickIsAboutToBeginCountsItOnce) {
  loop->arm("server down");
  pass_ms(40'000);
  slow_prepare = true;
  pass_ms(minute_ms);
  clock.set_by_ns = 3 * minute_ms * 1'000'000;
  loop->arm("wall clock set");
  commit_all();
  EXPECT_EQ(all<TickMissed>().front().missed, 4U);
  prepared();
  commit_all();
  EXPECT_EQ(ticks, 2) << "it begins all the same, and not as a due one";
  EXPECT_EQ(all<TickStarted>().back().due_ns, 0);
  EXPECT_EQ(due_minutes(), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST_F(ScheduledLoopTest, ATriggerThatThereIsNoSpaceForSaysSo) {
  loop->arm("server down");
  loop->trigger("first");
  engine.flush();
  ASSERT_TRUE(committer.held.has_value());
  finish(AppendStatus::full);
  std::vector<TriggerResult> replies;
  loop->trigger("now", false,
                [&replies](const TriggerResult& triggered) { replies.push_back(triggered); });
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_FALSE(replies.front().began);
  ASSERT_TRUE(replies.front().refused);
  EXPECT_EQ(replies.front().refused->code, ErrorCode::STORAGE_FULL);
  EXPECT_FALSE(loop->busy());
}

}  // namespace
}  // namespace signalbox
