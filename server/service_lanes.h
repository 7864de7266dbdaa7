// The lanes of the running service: threads for everything that may hang, a pool for each purpose,
// so that no purpose waits for another one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/limits.h"
#include "server/platform/lane_pool.h"

namespace signalbox {

class ServiceLanes {
 public:
  // Requests that all work ends, except for files that are written in run roots. Doesn't block.
  void request_stop();
  // Stops all pools, and blocks until their threads have ended or `deadline_ms`
  // (CallBounds::now_ms()) has passed. Returns the lanes that hang, as LanePool::stop().
  std::vector<std::string> stop(std::int64_t deadline_ms);
  // The same for files that are written in run roots, once nobody writes any more.
  std::vector<std::string> stop_run_root_writes(std::int64_t deadline_ms);

  LanePool repositories{bounds(limits::repositories_working_max)};  // git, HEARTBEAT.md, worktrees
  LanePool files{bounds(limits::files_working_max)};  // artifacts, locks and markers in run roots
  // A store of objects for artifacts: it may hang, and holds up nobody who doesn't ask it.
  LanePool artifact_store{artifact_store_bounds()};
  LanePool compressions{single_bounds()};                 // of HTTP answers
  LanePool log_readers{bounds(limits::log_readers_max)};  // old events for queries
  LanePool tiles{tile_bounds()};                          // of the log; they share a mutex
  LanePool reports{report_bounds()};                      // one at a time, callers take turns
  LanePool backlogs{backlog_bounds()};                    // old events for subscribers
  LanePool past_worlds{background_bounds()};              // queries about the past
  LanePool what_ifs{what_if_bounds()};                    // forecasts, each in its own process
  LanePool retentions{background_bounds()};               // archiving and dropping old records
  LanePool file_retentions{background_bounds()};          // removing files of ended runs
  LanePool run_root_removals{run_root_removal_bounds()};  // the same in roots that clients named
  LanePool run_root_writes{bounds(1)};                    // called by the run root writer alone
  LanePool agent_logs{bounds(1)};                         // what agents print, for subscribers
  LanePool local_jobs{bounds(limits::local_jobs_working_max)};
  LanePool remote_jobs{remote_bounds()};

 private:
  // Returns all pools but run_root_writes, which ends last.
  std::array<LanePool*, 16> pools();
  static LanePool::Bounds bounds(std::size_t working_max);
  static LanePool::Bounds artifact_store_bounds();
  static LanePool::Bounds single_bounds();
  static LanePool::Bounds tile_bounds();
  static LanePool::Bounds backlog_bounds();
  static LanePool::Bounds background_bounds();
  static LanePool::Bounds report_bounds();
  static LanePool::Bounds run_root_removal_bounds();
  static LanePool::Bounds what_if_bounds();
  static LanePool::Bounds remote_bounds();
};

}  // namespace signalbox
