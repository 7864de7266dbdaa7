// The processes of this machine as /proc shows them, and signals that can't hit a wrong one.
//
// A pid is reused; a pid with its start time isn't. Signals go through a pidfd whose start time was
// compared, so that a process which ended in between isn't mistaken for its successor.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/file_descriptor.h"

namespace signalbox {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_time_ticks = 0;  // since boot

  friend auto operator<=>(const ProcessIdentity&, const ProcessIdentity&) = default;
};

struct Process {
  ProcessIdentity identity;
  pid_t parent = 0;
  bool zombie = false;
};

std::optional<Process> read_process(pid_t pid);
std::vector<Process> all_processes();

// Living descendants of `root`, without it. A process that is forked while this looks can be
// missed: its parent is found, or it is found the next time.
std::vector<ProcessIdentity> descendants_of(pid_t root);

// Living processes whose initial environment has this entry ("NAME=VALUE"), with their living
// descendants; without the caller. Only what this user may read is seen.
std::vector<ProcessIdentity> processes_with_environment(std::string_view entry);

// A descriptor that is readable once the process has ended; not open if it has.
FileDescriptor open_process(const ProcessIdentity& identity);

// False if it has ended or may not be signaled. TERM is followed by CONT, so that a stopped process
// gets it too.
bool send_signal(const ProcessIdentity& identity, int signal);

// How long KILL is repeated before the survivors are named and given up.
inline constexpr std::int64_t kill_patience_ms = 10'000;

// Ends processes that aren't our children: TERM, grace, KILL. `find` gives those that are still
// there. Blocks until it gives none, or `grace_ms` and then `kill_patience_ms` have passed. Gives
// the pids of those that would not go.
std::vector<std::int32_t> end_processes(const std::function<std::vector<ProcessIdentity>()>& find,
                                        std::int64_t grace_ms);

}  // namespace signalbox
