#include "server/engine/timers.h"

#include <algorithm>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

bool sets_deadline(const Event& event) {
  return event_as<StationClaimed>(event) != nullptr ||
         event_as<StationAttemptFailed>(event) != nullptr ||
         event_as<StationDeferred>(event) != nullptr || event_as<RunResumed>(event) != nullptr;
}

// Returns the earlier of two times; nullopt stands for never.
std::optional<std::int64_t> earliest(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Returns the command that ends a tick whose lease was over at `due_ns`.
std::optional<TimeOutTick> time_out(const World& world, const std::string& loop,
                                    std::int64_t due_ns, std::int64_t monotonic_ns) {
  const Tick* tick = world.find_tick(loop);
  if (tick == nullptr || tick->status != TickStatus::running) return std::nullopt;
  return TimeOutTick{loop, tick->token, tick->lease_ms + (monotonic_ns - due_ns) / ns_per_ms};
}

}  // namespace

void Timers::disarm_run(const RunId& run_id) {
  for (const RunKind kind :
       {RunKind::lease, RunKind::timeout, RunKind::wait, RunKind::stall, RunKind::on_record}) {
    runs_.disarm({run_id, kind});
  }
}

// Arms the deadlines that count from the latest progress. An attempt without a lease is a job of
// the service itself: its shim enforces the timeout.
void Timers::arm_progress(const Run& run, std::int64_t monotonic_ns) {
  const StationDefinition& definition = run.definition();
  // Deadlines of the station before aren't this one's.
  if (run.attempt->lease_ms > 0) {
    runs_.arm({run.id, RunKind::timeout}, monotonic_ns + definition.timeout_ms * ns_per_ms);
  } else {
    runs_.disarm({run.id, RunKind::timeout});
  }
  arm_stall(run, monotonic_ns);
}

void Timers::arm_stall(const Run& run, std::int64_t monotonic_ns) {
  const std::int64_t stall_after_ms = run.definition().stall_after_ms;
  if (stall_after_ms == 0 || run.attempt->progress_digest.empty()) {
    return runs_.disarm({run.id, RunKind::stall});
  }
  runs_.arm({run.id, RunKind::stall}, monotonic_ns + stall_after_ms * ns_per_ms);
}

void Timers::arm_lease(const RunId& run_id, std::int64_t lease_ms, std::int64_t monotonic_ns) {
  if (lease_ms > 0) runs_.arm({run_id, RunKind::lease}, monotonic_ns + lease_ms * ns_per_ms);
}

void Timers::arm_attempt(const Run& run, std::int64_t monotonic_ns) {
  arm_lease(run.id, run.attempt->lease_ms, monotonic_ns);
  arm_progress(run, monotonic_ns);
}

bool Timers::renews_in_memory(const RunId& run_id, std::int64_t monotonic_ns) const {
  const auto due_ns = runs_.due_of({run_id, RunKind::on_record});
  return due_ns && *due_ns > monotonic_ns;
}

bool Timers::renew(const Run& run, std::int64_t monotonic_ns) {
  if (!renews_in_memory(run.id, monotonic_ns)) return false;
  arm_lease(run.id, run.attempt->lease_ms, monotonic_ns);
  return true;
}

void Timers::arm_run(const Run& run, std::int64_t wall_ns, std::int64_t monotonic_ns) {
  if (run.attempt) {
    arm_attempt(run, monotonic_ns);
  } else if (run.station().status == StationStatus::waiting &&
             !waits_for_person(run.station().waiting)) {
    // Its end may have been counted by a clock that was ahead.
    const std::int64_t left_ns = run.station().waiting_until_ns - wall_ns;
    const std::int64_t length_ms_max = run.station().waiting == WaitReason::backoff
                                           ? limits::backoff_ms_max
                                           : limits::defer_ms_max;
    runs_.arm({run.id, RunKind::wait},
              monotonic_ns + std::clamp<std::int64_t>(left_ns, 0, length_ms_max * ns_per_ms));
  }
}

void Timers::arm_all(const World& world, std::int64_t wall_ns, std::int64_t monotonic_ns) {
  runs_.clear();
  locks_.clear();
  lease_end_ns_.clear();
  ticks_.clear();
  for (const auto& [id, run] : world.runs) {
    if (!run->attempt) arm_run(*run, wall_ns, monotonic_ns);
  }
  steps_.arm_all(world, wall_ns, monotonic_ns);
  restart_leases(world, monotonic_ns);
}

void Timers::restart_leases(const World& world, std::int64_t monotonic_ns) {
  for (const auto& [id, run] : world.runs) {
    if (run->attempt) arm_attempt(*run, monotonic_ns);
  }
  for (const auto& [key, lock] : world.locks) {
    const std::int64_t end_ns = monotonic_ns + lock.lease_ms * ns_per_ms;
    lease_end_ns_.insert_or_assign(key, end_ns);
    locks_.arm(key, end_ns);
  }
  for (const auto& [loop, tick] : world.ticks) {
    if (tick.status == TickStatus::running) {
      ticks_.arm(loop, monotonic_ns + tick.lease_ms * ns_per_ms);
    }
  }
  steps_.restart_leases(world, monotonic_ns);
}

void Timers::count_leases_from(const World& world,
                               const std::function<std::int64_t(Position)>& began_ns) {
  for (const auto& [id, run] : world.runs) {
    if (!run->attempt || run->attempt->lease_ms == 0) continue;
    const Attempt& attempt = *run->attempt;
    const std::int64_t length_ns = attempt.lease_ms * ns_per_ms;
    const std::int64_t end_ns = began_ns(attempt.lease_renewed_at) + length_ns;
    // One that is over, and that the log doesn't end, was renewed in memory: nobody knows when.
    const auto full_ns = runs_.due_of({id, RunKind::lease});
    if (full_ns && end_ns <= *full_ns - length_ns) continue;
    runs_.arm({id, RunKind::lease}, end_ns);
  }
  for (const auto& [key, lock] : world.locks) {
    const std::int64_t end_ns = began_ns(lock.renewed_at) + lock.lease_ms * ns_per_ms;
    lease_end_ns_.insert_or_assign(key, end_ns);
    locks_.arm(key, end_ns);
  }
}

void Timers::apply_lock(const World& world, const Record& record, std::int64_t monotonic_ns) {
  const std::string& key = record.stream.name;
  const Lock* lock = world.find_lock(key);
  if (lock == nullptr) {
    locks_.disarm(key);
    lease_end_ns_.erase(key);
  } else if (lock->renewed_at == record.position) {
    const std::int64_t end_ns = monotonic_ns + lock->lease_ms * ns_per_ms;
    lease_end_ns_.insert_or_assign(key, end_ns);
    locks_.arm(key, end_ns);
  }
}

void Timers::apply_tick(const World& world, const Record& record, std::int64_t monotonic_ns) {
  const std::string& loop = record.stream.name;
  const Tick* tick = world.find_tick(loop);
  if (tick == nullptr || tick->status != TickStatus::running) {
    ticks_.disarm(loop);
  } else if (tick->token == record.position) {
    ticks_.arm(loop, monotonic_ns + tick->lease_ms * ns_per_ms);
  }
}

void Timers::apply(const World& world, std::span<const Record> records, std::int64_t wall_ns,
                   std::int64_t monotonic_ns) {
  for (const Record& record : records) {
    switch (record.stream.kind) {
      case StreamKind::server:
      case StreamKind::project:
      case StreamKind::card:
      case StreamKind::access:
        continue;
      case StreamKind::lock:
        apply_lock(world, record, monotonic_ns);
        continue;
      case StreamKind::tick:
        apply_tick(world, record, monotonic_ns);
        continue;
      case StreamKind::run:
        break;
    }
    const Run* run = world.find_run(record.stream.run_id);
    if (run != nullptr) steps_.apply(*run, record, wall_ns, monotonic_ns);
    if (event_as<StationClaimed>(record.event) != nullptr) {
      runs_.disarm({record.stream.run_id, RunKind::on_record});  // it was the attempt's before it
    }
    if (run == nullptr) {
      disarm_run(record.stream.run_id);
    } else if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
      arm_lease(run->id, beat->lease_ms, monotonic_ns);
      runs_.arm({run->id, RunKind::on_record},
                monotonic_ns + limits::unrecorded_renewal_ms_max * ns_per_ms);
      if (run->attempt && run->attempt->last_progress_at == record.position) {
        arm_progress(*run, monotonic_ns);
      }
    } else if (event_as<StationStalled>(record.event) != nullptr && run->attempt) {
      arm_stall(*run, monotonic_ns);
    } else if (event_as<StationApprovalGiven>(record.event) != nullptr && run->attempt) {
      arm_stall(*run, monotonic_ns);  // the time in which it waited for a person is no stall
    } else if (sets_deadline(record.event)) {
      // Deadlines of an attempt that is over aren't disarmed: the next attempt of the run, which
      // usually follows at once, replaces them; command_for() ignores those that expire.
      arm_run(*run, wall_ns, monotonic_ns);
    }
  }
}

std::optional<Command> Timers::command_for(const World& world, const RunKey& key,
                                           std::int64_t late_ms) {
  const Run* run = world.find_run(key.run_id);
  if (run == nullptr) return std::nullopt;
  if (key.kind == RunKind::wait) {
    if (run->attempt || run->station().status != StationStatus::waiting) return std::nullopt;
    return WakeStation{run->id};
  }
  if (!run->attempt) return std::nullopt;
  const Attempt& attempt = *run->attempt;
  switch (key.kind) {
    case RunKind::lease:
      if (attempt.lease_ms == 0) return std::nullopt;
      return ExpireLease{run->id, attempt.token, attempt.lease_renewed_at};
    case RunKind::timeout:
      if (attempt.lease_ms == 0) return std::nullopt;
      return TimeOutStation{run->id, attempt.token, attempt.timer_origin(),
                            run->definition().timeout_ms + late_ms};
    case RunKind::stall:
      if (attempt.progress_digest.empty()) return std::nullopt;
      return StallStation{run->id, attempt.token, attempt.last_progress_at, attempt.stalls,
                          run->definition().stall_after_ms * (attempt.stalls + 1) + late_ms};
    case RunKind::wait:
    case RunKind::on_record:
      break;
  }
  return std::nullopt;
}

std::vector<Command> Timers::take_due(const World& world, std::int64_t monotonic_ns) {
  std::vector<Command> due;
  while (const auto taken = runs_.take_due(monotonic_ns)) {
    const std::int64_t late_ms = (monotonic_ns - taken->first) / ns_per_ms;
    if (auto command = command_for(world, taken->second, late_ms)) {
      due.push_back(std::move(*command));
    }
  }
  while (const auto taken = locks_.take_due(monotonic_ns)) {
    const Lock* lock = world.find_lock(taken->second);
    if (lock == nullptr) continue;
    const std::int64_t end_ns =
        lease_end_ns_.find(taken->second)->second + limits::lock_linger_ms_max * ns_per_ms;
    if (lock->runs.empty() && lock->loops.empty() && monotonic_ns < end_ns) {
      locks_.arm(taken->second, end_ns);
      continue;
    }
    due.push_back(ExpireLock{lock->key, lock->token, lock->renewed_at});
  }
  while (const auto taken = ticks_.take_due(monotonic_ns)) {
    if (auto command = time_out(world, taken->second, taken->first, monotonic_ns)) {
      due.push_back(std::move(*command));
    }
  }
  steps_.take_due(world, monotonic_ns, due);
  return due;
}

std::optional<std::int64_t> Timers::next_due_ns() const {
  return earliest(earliest(runs_.next_poll_ns(), locks_.next_poll_ns()),
                  earliest(ticks_.next_poll_ns(), steps_.next_due_ns()));
}

std::optional<std::int64_t> Timers::attempt_lease_end_ns(const RunId& run_id) const {
  return runs_.due_of({run_id, RunKind::lease});
}

std::optional<std::int64_t> Timers::lease_end_ns(const std::string& key) const {
  const auto place = lease_end_ns_.find(key);
  if (place == lease_end_ns_.end()) return std::nullopt;
  return place->second;
}

std::optional<ExpireLock> Timers::expired_lock(const World& world, const std::string& key,
                                               std::int64_t monotonic_ns) const {
  const Lock* lock = world.find_lock(key);
  const auto end_ns = lease_end_ns(key);
  if (lock == nullptr || !end_ns || monotonic_ns < *end_ns) return std::nullopt;
  return ExpireLock{lock->key, lock->token, lock->renewed_at};
}

std::optional<TimeOutTick> Timers::expired_tick(const World& world, const std::string& loop,
                                                std::int64_t monotonic_ns) const {
  const auto due_ns = ticks_.due_of(loop);
  if (!due_ns || monotonic_ns < *due_ns) return std::nullopt;
  return time_out(world, loop, *due_ns, monotonic_ns);
}

std::optional<std::int64_t> Timers::elapsed_ms(const Run& run, std::int64_t monotonic_ns) const {
  if (!run.attempt) return std::nullopt;
  const auto due_ns = runs_.due_of({run.id, RunKind::timeout});
  if (!due_ns) return std::nullopt;
  return run.definition().timeout_ms - (*due_ns - monotonic_ns) / ns_per_ms;
}

}  // namespace signalbox
