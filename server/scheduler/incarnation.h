// The events of a start: the service begins a new life, and after a crash everything that was in
// flight gets its verdict before anybody is served.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/engine/engine.h"
#include "server/scheduler/crash_verdicts.h"
#include "store/store_error.h"

namespace signalbox {

struct IncarnationFacts {
  std::string version;
  std::int64_t created_at_ns = 0;  // UTC
  std::uint64_t torn_bytes = 0;    // that were cut off behind the log
};

// What a crash has to be looked at with.
struct CrashSite {
  // Asks the executor about the job of a run's attempt.
  std::function<Executed<JobState>(const Run& run)> find_job;
  // Keeps the crash report as an artifact. Blocks.
  std::function<Stored<Artifact>(const std::string& report)> keep;
};

struct Incarnation {
  std::uint64_t number = 0;
  bool after_crash = false;
  Position last_durable = 0;           // of the log as it was found
  std::vector<CrashVerdict> verdicts;  // after a crash
  Digest report;                       // likewise
};

// In one commit: ServerStarted and, after a crash, the recoveries of the service's own loops and
// RecoveryFinished. The error is that of keep(); then only ServerStarted was applied.
Stored<Incarnation> begin_incarnation(Engine& engine, const IncarnationFacts& facts,
                                      const CrashSite& site);

}  // namespace signalbox
