#include "server/scheduler/watchdog_sweep.h"

#include <algorithm>

#include "domain/pipeline.h"
#include "domain/placement.h"
#include "domain/service_loops.h"

namespace signalbox {

bool WatchdogSweep::has_work(const World& world) {
  const auto outside = [](const auto& each) {
    return each.second.status == TickStatus::running && !is_service_loop(each.first);
  };
  const auto under_way = [](const auto& each) { return each.second->attempt.has_value(); };
  return std::any_of(world.ticks.begin(), world.ticks.end(), outside) ||
         std::any_of(world.runs.begin(), world.runs.end(), under_way);
}

namespace {

struct AttemptNames {
  explicit AttemptNames(const RunId& run_id)
      : lease("lease " + to_string(run_id)),
        timeout("timeout " + to_string(run_id)),
        stall("stall " + to_string(run_id)) {}

  std::string lease;
  std::string timeout;
  std::string stall;
};

}  // namespace

void WatchdogSweep::apply(std::span<const Record> records) {
  for (const Record& record : records) {
    if (event_as<RunResumed>(record.event) == nullptr) continue;
    const AttemptNames names(record.stream.run_id);
    for (const std::string& name : {names.lease, names.timeout, names.stall}) {
      same_state_.forget(name);
    }
  }
}

void WatchdogSweep::note_renewal(const RunId& run_id) {
  same_state_.forget(AttemptNames(run_id).lease);
}

void WatchdogSweep::check_attempt(const Run& run, std::vector<OverdueItem>& overdue) {
  const Attempt& attempt = *run.attempt;
  const StationDefinition& definition = run.definition();
  const AttemptNames names(run.id);
  const std::string id = to_string(run.id);
  const bool own_job = attempt.lease_ms == 0;
  if (!own_job) {
    const std::int64_t quiet_ms = same_state_.same_for_ms(names.lease, attempt.lease_renewed_at);
    if (quiet_ms > attempt.lease_ms + patience_ms) {
      overdue.push_back({"the lease of run " + id + " is over",
                         ExpireLease{run.id, attempt.token, attempt.lease_renewed_at},
                         {}});
    }
  }
  if (run.status == RunStatus::paused) return;  // has no timeout; its time restarts on resume
  // A job that its runner hasn't begun, or that may be asleep with the runner, has no timeout: its
  // time starts anew once the runner reports it.
  if (own_job && is_runner(attempt.machine) && has_job_ && !has_job_(attempt)) return;
  const Position origin = own_job ? attempt.token : attempt.timer_origin();
  const std::int64_t same_ms = same_state_.same_for_ms(names.timeout, origin);
  if (!own_job && same_ms > definition.timeout_ms + patience_ms) {
    overdue.push_back({"the attempt of run " + id + " is out of time",
                       TimeOutStation{run.id, attempt.token, origin, same_ms},
                       {}});
  }
  // A remote job has no supervisor that enforces its timeout, so the watchdog doesn't wait for one.
  const std::int64_t shim_ms =
      is_remote(definition) ? 0 : definition.cancel_grace_ms + shim_patience_ms;
  if (own_job && same_ms >= definition.timeout_ms + shim_ms && !attempt.job_id.empty()) {
    overdue.push_back(
        {"job " + attempt.job_id + (shim_ms == 0 ? " is out of time" : " is long past its timeout"),
         std::nullopt, attempt.job_id});
  }
  if (definition.stall_after_ms == 0 || attempt.progress_digest.empty()) return;
  const std::int64_t stalled_ms =
      same_state_.same_for_ms(names.stall, attempt.last_progress_at + attempt.stalls);
  if (stalled_ms > definition.stall_after_ms + patience_ms) {
    overdue.push_back({"the attempt of run " + id + " doesn't get on",
                       StallStation{run.id, attempt.token, attempt.last_progress_at, attempt.stalls,
                                    definition.stall_after_ms * attempt.stalls + stalled_ms},
                       {}});
  }
}

std::vector<OverdueItem> WatchdogSweep::find_overdue(const World& world,
                                                     std::int64_t monotonic_ns) {
  std::vector<OverdueItem> overdue;
  same_state_.begin_round(monotonic_ns, 2 * interval_ms_ * 1'000'000);
  for (const auto& [id, run] : world.runs) {
    if (run->attempt && !run->cancel_requested) check_attempt(*run, overdue);
  }
  for (const auto& [loop, tick] : world.ticks) {
    if (tick.status != TickStatus::running || is_service_loop(loop)) continue;
    const std::int64_t same_ms = same_state_.same_for_ms("tick " + loop, tick.token);
    if (same_ms > tick.lease_ms + patience_ms) {
      overdue.push_back({"the tick of loop " + loop + " is out of time",
                         TimeOutTick{loop, tick.token, same_ms},
                         {}});
    }
  }
  same_state_.end_round();
  return overdue;
}

}  // namespace signalbox
