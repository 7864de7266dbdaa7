// Tests that a start reports its progress, and asks for more time only while it makes some.
#include "server/platform/start_progress.h"

#include <ctime>

#include "server/platform/service_manager.h"
#include "tests/fixtures/notify_socket.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

// Uses this much processor time.
void work_for_ms(std::int64_t ms) {
  const std::clock_t until = std::clock() + ms * CLOCKS_PER_SEC / 1000;
  while (std::clock() < until) {
  }
}

TEST(StartProgress, SaysHowManyEventsOfHowMany) {
  const TemporaryDirectory directory;
  test::NotifySocket manager(directory.path() / "notify");
  StartProgress progress;
  progress.phase("reading and folding the log");
  progress.events(5, 10);
  manager.until("STATUS=reading and folding the log: 5 of 10 events");
  progress.phase("bringing up the read models");
  manager.until("STATUS=bringing up the read models");
}

TEST(StartProgress, AsksForTimeWhileItWorksAndNotWhileItHangs) {
  const TemporaryDirectory directory;
  test::NotifySocket manager(directory.path() / "notify");
  StartProgress progress;
  manager.until("STATUS=");
  work_for_ms(200);
  manager.until("EXTEND_TIMEOUT_USEC=");
  EXPECT_TRUE(
      eventually([&] { return manager.falls_silent_for(std::chrono::milliseconds(2500)); }));
}

TEST(ServiceManager, AStatusIsOneLine) {
  const TemporaryDirectory directory;
  test::NotifySocket manager(directory.path() / "notify");
  notify_status("one\nREADY=1");
  EXPECT_EQ(manager.next(), "STATUS=one READY=1");
}

TEST(ServiceManager, KnowsWhatIsBetweenItAndTheService) {
  EXPECT_TRUE(is_service_manager_variable("NOTIFY_SOCKET=/run/x"));
  EXPECT_TRUE(is_service_manager_variable("WATCHDOG_USEC=1"));
  EXPECT_FALSE(is_service_manager_variable("NOTIFY_SOCKETS=/run/x"));
  EXPECT_FALSE(is_service_manager_variable("PATH=/usr/bin"));
}

}  // namespace
}  // namespace signalbox
