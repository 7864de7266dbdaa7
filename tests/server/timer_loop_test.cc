// Tests what the service does by itself, and in which order. DESIGN §6, L9
#include "server/timer_loop.h"
#include "server/rpc/step_queue.h"

#include <gtest/gtest.h>

#include "server/scheduler/station_jobs.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class NoJobs final : public JobRunner {
 public:
  void track(Job) override {}
  void cancel(const std::string&) override {}
};

class TimerLoopTest : public testing::Test {
 protected:
  void acquire(std::int64_t lease_ms) {
    AcquireLock command;
    command.key = "deploy";
    command.owner = "me";
    command.lease_ms = lease_ms;
    auto transaction = site.engine.begin({"uid:1", {}, {}});
    ASSERT_TRUE(transaction.apply(command));
    timer_loop.apply(transaction.records());
  }

  RpcSite site;
  StepQueue steps{site.api, [] {}};
  std::vector<ClockJump> jumps;
  TimerLoop timer_loop{
      {site.engine, site.clock, site.claims, site.locks, steps},
      5000,
      {[this](const ClockJump& jump) { jumps.push_back(jump); }, [](const OverdueItem&) {}, [] {}}};
  StationJobs jobs{site.engine,
                   site.ids,
                   [](const JobReports&) { return std::make_unique<NoJobs>(); },
                   [](const std::function<void()>& action) { action(); },
                   [](const Job&, const std::string&) {},
                   {JobOwnership({}, [](const std::string&) { return true; }), "/data/runs", 1}};
};

// A turn that was scheduled before the process was suspended runs before any timer.
TEST_F(TimerLoopTest, ATurnAfterAStopGivesEveryLeaseItsFullLength) {
  acquire(1000);
  site.clock.advance_ms(5000);
  timer_loop.turn(jobs);
  ASSERT_EQ(jumps.size(), 1U);
  EXPECT_EQ(jumps.front().cause, "stopped");
  EXPECT_EQ(timer_loop.timers().lease_end_ns("deploy"), site.clock.now_ns + 1'000'000'000);
  site.commit_all();
  const auto last = site.log.read(site.log.tail(), 1);
  ASSERT_TRUE(last && !last->empty());
  EXPECT_NE(event_as<ClockJumped>(last->front().event), nullptr);
}

TEST_F(TimerLoopTest, ATimerThatIsLateByAStopEndsNothing) {
  acquire(1000);
  site.clock.advance_ms(5000);
  timer_loop.fire();
  EXPECT_NE(site.engine.world().find_lock("deploy"), nullptr);
  site.clock.advance_ms(900);
  timer_loop.fire();
  EXPECT_NE(site.engine.world().find_lock("deploy"), nullptr);
}

TEST_F(TimerLoopTest, WhoStopsSaysNothingOfTheClock) {
  const Position before = site.engine.world().position;
  site.clock.advance_ms(5000);
  timer_loop.check_for_clock_jump(/*stopping=*/true);
  EXPECT_EQ(jumps.size(), 1U);
  EXPECT_EQ(site.engine.world().position, before);
}

// K10: a server whose clock is behind that of the writer before it.
TEST_F(TimerLoopTest, AWaitIsNoLongerBecauseTheNextServersClockIsBehind) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  site.clock.set_by_ns = hour_ns;
  const std::string run_id =
      site.start_run(R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work"}]}})");
  const auto claimed = site.ask("station.claim", R"({"worker":"w"})");
  const Token token = claimed.at("result").at("claim").at("token").to_number<Token>();
  const auto deferred =
      site.ask("station.defer", R"({"run_id":")" + run_id + R"(","station":"work","token":)" +
                                    std::to_string(token) + R"(,"delay_ms":10000})");
  ASSERT_EQ(code_of(deferred), "");
  const std::int64_t recorded_ns = site.clock.wall_ns();

  site.clock.set_by_ns = 0;
  site.engine.lead(recorded_ns);
  timer_loop.arm(site.engine.world());
  EXPECT_EQ(timer_loop.timers().next_due_ns(), site.clock.monotonic_ns() + 10'000'000'000);
  site.clock.advance_ms(10'000);
  EXPECT_EQ(timer_loop.timers().take_due(site.engine.world(), site.clock.monotonic_ns()).size(),
            1U);
}

TEST_F(TimerLoopTest, TheClocksAreLookedAtEverySecond) {
  EXPECT_LE(timer_loop.next_due_ns(), site.clock.now_ns + ClockWatch::interval_ns);
  site.clock.advance_ms(1000);
  timer_loop.fire();
  EXPECT_TRUE(jumps.empty());
  EXPECT_EQ(timer_loop.next_due_ns(), site.clock.now_ns + ClockWatch::interval_ns);
}

}  // namespace
}  // namespace signalbox
