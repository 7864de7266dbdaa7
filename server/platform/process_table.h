// The machine's processes as /proc shows them (proc(5)), and signals that can't reach the wrong
// process.
//
// A pid is reused, but a pid together with its start time isn't. Signals are sent through a pidfd
// after comparing the start time, so that they never reach the successor of a process that has
// ended.
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
  std::uint64_t start_time_ticks = 0;  // clock ticks since boot

  friend auto operator<=>(const ProcessIdentity&, const ProcessIdentity&) = default;
};

struct Process {
  ProcessIdentity identity;
  pid_t parent = 0;
  bool zombie = false;
};

// Returns one process; empty if there is none with this pid. Any thread, as all functions here.
std::optional<Process> read_process(pid_t pid);
// Returns the arguments with which the process was started; empty if it has none or has ended.
std::vector<std::string> arguments_of(pid_t pid);
// Returns a variable of the environment with which the process was started; empty if there is none
// or if this user may not read it.
std::string initial_variable(pid_t pid, std::string_view name);
// Returns all processes that /proc shows, zombies included.
std::vector<Process> all_processes();

// Returns the living descendants of `root`, without `root` itself. A process that is forked during
// the scan can be missed; the next scan finds it.
std::vector<ProcessIdentity> descendants_of(pid_t root);

// Returns the living processes whose initial environment has this entry ("NAME=VALUE"), and their
// living descendants, without the caller. Finds only processes whose environment this user may
// read.
std::vector<ProcessIdentity> processes_with_environment(std::string_view entry);

// Returns a pidfd, which is readable once the process has ended. It isn't open if the process
// already has.
FileDescriptor open_process(const ProcessIdentity& identity);

// Sends a signal; returns false if the process has ended or may not be signaled. TERM is followed
// by CONT, so that a stopped process receives it too.
bool send_signal(const ProcessIdentity& identity, int signal);

// How long KILL is repeated before the survivors are reported.
inline constexpr std::int64_t kill_patience_ms = 10'000;

// Ends processes that aren't children of this process: TERM, then KILL after `grace_ms`. `find`
// returns the processes that are left; it is called repeatedly. Blocks until it returns none, or
// until `grace_ms` and then kill_patience_ms have passed. Returns the pids of the survivors.
std::vector<std::int32_t> end_processes(const std::function<std::vector<ProcessIdentity>()>& find,
                                        std::int64_t grace_ms);

}  // namespace signalbox
