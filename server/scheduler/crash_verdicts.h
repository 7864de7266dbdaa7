// What becomes of each thing that was in flight when the service crashed: from the state that the
// log gives and from what is found of its jobs, never from its age.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "domain/world.h"
#include "server/executors/executor.h"

namespace signalbox {

// A verdict with what to look at next; the commands work when pasted.
struct CrashVerdict {
  RecoveredItem item;
  std::vector<std::string> next_commands;
};

// Asks the executor about the job of a run's attempt.
using FindJob = std::function<Executed<JobState>(const Run& run)>;

// Claims, jobs and steps of outside workers first (by run), then locks, then ticks (by name), then
// cards (by id).
std::vector<CrashVerdict> crash_verdicts(const World& world, const FindJob& find_job);

struct CrashFacts {
  std::uint64_t incarnation = 0;  // that found it
  std::int64_t created_at_ns = 0;
  Position last_durable_position = 0;  // of the log as the crash left it
  std::uint64_t torn_bytes = 0;        // that were cut off behind it
};

// At most this many verdicts are listed; the counts are of all.
inline constexpr std::size_t crash_report_items_max = 10'000;

// Returns the report of a crash (schema crash_report.v1): what was in flight, what is known about
// it, what becomes of it, what to do. One JSON object, an artifact; its digest is in
// RecoveryFinished. It ends with a newline.
std::string crash_report(const CrashFacts& facts, std::span<const CrashVerdict> verdicts);

}  // namespace signalbox
