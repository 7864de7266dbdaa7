// Tests the fake wall clock itself: what runs under it keeps the timers of the kernel, so a test
// that sets the clock doesn't change when a server wakes up.
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "tests/crash/fake_wall_clock.h"
#include "tests/crash/server_process.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox::test {
namespace {

constexpr const char* real_time_name = "SIGNALBOX_TEST_REAL_TIME";

// Arms a timer that is already due, as Boost.Asio does.
void expect_due_timer_fires(std::time_t real_time) {
  EXPECT_GT(std::time(nullptr), real_time + 3000) << "the clock is an hour ahead";
  const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  ASSERT_GE(timer, 0);
  itimerspec due{};
  due.it_value.tv_nsec = 1;
  EXPECT_EQ(::timerfd_settime(timer, TFD_TIMER_ABSTIME, &due, nullptr), 0);
  pollfd fired{timer, POLLIN, 0};
  EXPECT_EQ(::poll(&fired, 1, 60'000), 1);
  EXPECT_EQ(::close(timer), 0);
}

TEST(FakeWallClockTest, ATimerThatIsDueWhenItIsArmedFires) {
  if (const char* real_time = std::getenv(real_time_name)) {  // this is the program under the clock
    return expect_due_timer_fires(std::atol(real_time));
  }
  const TemporaryDirectory scratch;
  const FakeWallClock clock(scratch.path());
  ASSERT_TRUE(clock.available()) << "libfaketime is missing: tools/packages faketime";
  clock.set("+1h");
  ::setenv(real_time_name, std::to_string(std::time(nullptr)).c_str(), 1);
  ProcessOutput under_clock;
  clock.over([&under_clock] {
    under_clock = run_program({"/proc/self/exe", "--gtest_filter=FakeWallClockTest.*"});
  });
  ::unsetenv(real_time_name);
  EXPECT_EQ(under_clock.end.exit_code, 0) << under_clock.text;
}

}  // namespace
}  // namespace signalbox::test
