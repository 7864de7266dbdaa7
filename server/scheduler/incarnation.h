// Begins an incarnation (one life of the server process) with the events of a start. After a crash,
// everything that was in flight gets a verdict before the first request is served.
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
  std::uint64_t torn_bytes = 0;    // truncated after the log's last record
};

// The functions that crash recovery needs.
struct CrashRecoveryContext {
  // Polls the executor for the job of a run's attempt.
  std::function<Executed<JobState>(const Run& run)> find_job;
  // Returns whether the job of a run's attempt was given to another machine.
  IsElsewhere is_elsewhere;
  // Stores the crash report as an artifact. Blocks.
  std::function<Stored<Artifact>(const std::string& report)> keep;
};

struct Incarnation {
  std::uint64_t number = 0;
  bool after_crash = false;
  Position last_durable = 0;           // the tail of the log before this start
  std::vector<CrashVerdict> verdicts;  // empty unless after_crash
  Digest report;                       // of the crash report; zero unless after_crash
};

// Applies, in one commit, ServerStarted and, after a crash, the recoveries of the service's own
// loops and RecoveryFinished. The error is that of keep(); then only ServerStarted was applied.
Stored<Incarnation> begin_incarnation(Engine& engine, const IncarnationFacts& facts,
                                      const CrashRecoveryContext& site);

}  // namespace signalbox
