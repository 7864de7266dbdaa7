// Passes timerfd_settime() to the kernel unchanged, in programs that run under libfaketime: a
// library that FakeWallClock preloads before it.
//
// libfaketime takes every absolute time for one of the wall clock that it fakes, whatever the clock
// of the timer. Boost.Asio arms a timer that is already due with the absolute time of one
// nanosecond. With an offset of an hour libfaketime makes that minus an hour, which the kernel
// refuses (EINVAL), and Asio doesn't expect that: the timer fires only when something else wakes
// the loop. The busier the machine, the more often a timer is due when it is armed.
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

extern "C" int timerfd_settime(int timer, int flags, const itimerspec* next,
                               itimerspec* previous) noexcept {
  return static_cast<int>(::syscall(SYS_timerfd_settime, timer, flags, next, previous));
}
