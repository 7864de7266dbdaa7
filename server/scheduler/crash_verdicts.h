// Decides what happens to everything that was in flight when the service crashed: attempts, steps,
// locks, ticks and cards. A verdict follows from the recovered state and from the state of the
// job, never from its age.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "domain/world.h"
#include "server/executors/executor.h"

namespace signalbox {

// A verdict, and the commands to run next; they work when pasted into a shell.
struct CrashVerdict {
  RecoveredItem item;
  std::vector<std::string> next_commands;
};

// Polls the executor for the job of a run's attempt.
using FindJob = std::function<Executed<JobState>(const Run& run)>;

// Returns whether the job of a run's attempt was given to another machine or data directory: it may
// run there, and is never submitted or polled here (job_ownership.h).
using IsElsewhere = std::function<bool(const Run& run)>;

// Returns the verdicts: claims, jobs and steps of outside workers first (by run), then locks and
// ticks (by name), then cards (by id). Blocks for as long as `find_job` does.
std::vector<CrashVerdict> crash_verdicts(const World& world, const FindJob& find_job,
                                         const IsElsewhere& is_elsewhere);

struct CrashFacts {
  std::uint64_t incarnation = 0;       // the one that recovers
  std::int64_t created_at_ns = 0;      // UTC
  Position last_durable_position = 0;  // of the log as the crash left it
  std::uint64_t torn_bytes = 0;        // truncated after that position
};

// The number of verdicts that a report lists; its counts include the others.
inline constexpr std::size_t crash_report_items_max = 10'000;

// Returns the report of a crash (schema crash_report.v1): what was in flight, the evidence about
// it, the verdict, and the commands to run next. It is one JSON object with a newline, stored as an
// artifact; RecoveryFinished has its digest.
std::string crash_report(const CrashFacts& facts, std::span<const CrashVerdict> verdicts);

}  // namespace signalbox
