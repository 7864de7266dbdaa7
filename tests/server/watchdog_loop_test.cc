// Tests the ticks of the service's own watchdog loop.
#include "server/scheduler/watchdog_loop.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "domain/service_loops.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class WatchdogLoopTest : public testing::Test {
 protected:
  static constexpr std::int64_t interval_ms = 5000;

  // Lets the interval pass and ticks.
  void tick() {
    loop.arm();
    site.clock.advance_ms(interval_ms);
    loop.run_if_due();
    site.commit_all();
  }
  [[nodiscard]] bool is_under_way() const {
    const auto& ticks = site.engine.world().ticks;
    const auto tick = ticks.find(std::string(watchdog_loop_name));
    return tick != ticks.end();
  }

  RpcSite site;
  std::function<void()> sweep = [] {};
  bool has_work = true;
  WatchdogLoop loop{site.engine, site.clock, interval_ms, [this](const World&) { return has_work; },
                    [this] { sweep(); }};
};

TEST_F(WatchdogLoopTest, ASweepIsATickWithItsEnd) {  // W1
  tick();
  EXPECT_EQ(site.event_types(), (std::vector<std::string>{"TickStarted", "TickSucceeded"}));
}

TEST_F(WatchdogLoopTest, ASweepThatFailsIsAFailedTick) {  // W1
  sweep = [] { throw std::runtime_error("no memory"); };
  tick();
  EXPECT_EQ(site.event_types(), (std::vector<std::string>{"TickStarted", "TickFailed"}));
}

// W4, K3: the log of a cell may be away just then.
TEST_F(WatchdogLoopTest, AnEndThatTheLogRefusedIsRepeated) {
  sweep = [this] { site.engine.hold({ErrorCode::STORAGE_AWAY, "the log is away", {}, {}}); };
  tick();
  EXPECT_TRUE(is_under_way());
  site.engine.go_on();
  sweep = [] {};
  has_work = false;  // it isn't the next tick that ends it
  site.clock.advance_ms(interval_ms);
  loop.run_if_due();
  site.commit_all();
  EXPECT_FALSE(is_under_way());
  EXPECT_EQ(site.event_types(), (std::vector<std::string>{"TickStarted", "TickSucceeded"}));
}

TEST_F(WatchdogLoopTest, ATickAfterTheRepeatedEndIsAnother) {  // W4, K3
  sweep = [this] { site.engine.hold({ErrorCode::STORAGE_AWAY, "the log is away", {}, {}}); };
  tick();
  site.engine.go_on();
  sweep = [] {};
  tick();
  EXPECT_EQ(site.event_types(), (std::vector<std::string>{"TickStarted", "TickSucceeded",
                                                          "TickStarted", "TickSucceeded"}));
}

}  // namespace
}  // namespace signalbox
