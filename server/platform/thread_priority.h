// The priority of work that may wait while commands go first.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace signalbox {

inline constexpr int lowest_niceness = 19;

// Lets the calling thread have processors that nobody else wants: from 0, as all others, to
// lowest_niceness. On Linux, setpriority() applies to one thread.
inline void set_thread_niceness(int niceness) {
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness));
}

}  // namespace signalbox
