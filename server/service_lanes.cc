#include "server/service_lanes.h"

#include <algorithm>
#include <iterator>

namespace signalbox {
namespace {

// Subscribers that catch up leave the processors to commands, and so do reports, queries about the
// past and a retention.
constexpr int background_niceness = 10;

}  // namespace

LanePool::Bounds ServiceLanes::bounds(std::size_t working_max) {
  return {.working_max = working_max,
          .threads_max = limits::lane_threads_max,
          .lane_waiting_max = limits::lane_waiting_max,
          .disk_working_max = limits::disk_threads_max,
          .hang_ms = limits::lane_hang_ms_max};
}

// A lane for each caller, who has a part of the threads at most. A thread that waits for the store
// doesn't hang: requests have their own deadlines, and no other thread would get more of it.
LanePool::Bounds ServiceLanes::artifact_store_bounds() {
  LanePool::Bounds own = bounds(limits::artifact_store_working_max);
  own.threads_max = limits::artifact_store_working_max;
  own.lane_working_max = limits::artifact_store_working_of_caller_max;
  own.hang_ms = 2 * limits::artifact_store_answer_ms_max;
  return own;
}

// One thread, which uses one processor at most.
LanePool::Bounds ServiceLanes::single_bounds() {
  LanePool::Bounds own = bounds(1);
  own.threads_max = 1;
  return own;
}

// Tiles of many large records, or the first of a long log, take their time: the thread doesn't
// hang, and those who ask meanwhile wait for their turn.
LanePool::Bounds ServiceLanes::tile_bounds() {
  LanePool::Bounds own = single_bounds();
  own.hang_ms = limits::report_hang_ms_max;
  return own;
}

// One thread for each subscription that is read for, however long that takes.
LanePool::Bounds ServiceLanes::backlog_bounds() {
  LanePool::Bounds own = bounds(limits::backlog_readers_max);
  own.threads_max = limits::backlog_readers_max;
  own.niceness = background_niceness;
  return own;
}

// One thread, however long its work takes.
LanePool::Bounds ServiceLanes::background_bounds() {
  LanePool::Bounds own = single_bounds();
  own.niceness = background_niceness;
  return own;
}

// A report of a long period takes its time, and doesn't hang.
LanePool::Bounds ServiceLanes::report_bounds() {
  LanePool::Bounds own = background_bounds();
  own.waiting_max = limits::reports_waiting_max;
  own.hang_ms = limits::report_hang_ms_max;
  return own;
}

// Called by the thread of file_retentions alone: one root at a time, and those that hang.
LanePool::Bounds ServiceLanes::run_root_removal_bounds() {
  LanePool::Bounds own = bounds(1);
  own.niceness = background_niceness;
  return own;
}

// Each thread waits for a process, which inherits its niceness. A thread that waits doesn't hang.
LanePool::Bounds ServiceLanes::what_if_bounds() {
  LanePool::Bounds own = background_bounds();
  own.working_max = limits::what_if_working_max;
  own.threads_max = limits::what_if_working_max;
  own.lane_working_max = limits::what_if_working_max;
  own.lane_waiting_max = limits::what_if_waiting_max;
  own.waiting_max = limits::what_if_all_waiting_max;
  own.hang_ms = 2 * limits::what_if_ms_max;
  return own;
}

LanePool::Bounds ServiceLanes::remote_bounds() {
  LanePool::Bounds own = bounds(limits::remote_jobs_working_max);
  own.lane_working_max = limits::endpoint_working_max;
  return own;
}

std::array<LanePool*, 16> ServiceLanes::pools() {
  return {&repositories, &files,      &compressions,    &log_readers,
          &tiles,        &reports,    &backlogs,        &past_worlds,
          &what_ifs,     &retentions, &file_retentions, &run_root_removals,
          &agent_logs,   &local_jobs, &remote_jobs,     &artifact_store};
}

void ServiceLanes::request_stop() {
  for (LanePool* pool : pools()) {
    pool->request_stop();
  }
}

std::vector<std::string> ServiceLanes::stop(std::int64_t deadline_ms) {
  request_stop();
  std::vector<std::string> hanging;
  for (LanePool* pool : pools()) {
    std::ranges::copy(pool->stop(deadline_ms), std::back_inserter(hanging));
  }
  return hanging;
}

std::vector<std::string> ServiceLanes::stop_run_root_writes(std::int64_t deadline_ms) {
  return run_root_writes.stop(deadline_ms);
}

}  // namespace signalbox
