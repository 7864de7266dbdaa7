#include "server/engine/timers.h"

#include <algorithm>

namespace signalbox {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

bool sets_deadline(const Event& event) {
  return event_as<StationClaimed>(event) != nullptr ||
         event_as<StationAttemptFailed>(event) != nullptr ||
         event_as<StationDeferred>(event) != nullptr;
}

}  // namespace

void Timers::arm(const Key& key, std::int64_t due_ns) {
  const auto [place, inserted] = timers_.try_emplace(key, Timer{due_ns, due_ns});
  if (inserted) {
    queue_.emplace(due_ns, key);
    return;
  }
  Timer& timer = place->second;
  timer.due_ns = due_ns;
  if (due_ns < timer.queued_ns) {
    queue_.erase({timer.queued_ns, key});
    timer.queued_ns = due_ns;
    queue_.emplace(due_ns, key);
  }
}

void Timers::disarm(const Key& key) {
  const auto place = timers_.find(key);
  if (place == timers_.end()) return;
  queue_.erase({place->second.queued_ns, key});
  timers_.erase(place);
}

void Timers::disarm_run(const RunId& run_id) {
  disarm({run_id, Kind::lease});
  disarm({run_id, Kind::timeout});
  disarm({run_id, Kind::wait});
}

// A job that the service itself watches has no lease, and its shim keeps its timeout.
void Timers::arm_run(const Run& run, std::int64_t wall_ns, std::int64_t monotonic_ns) {
  if (run.attempt && run.attempt->lease_ms > 0) {
    arm({run.id, Kind::lease}, monotonic_ns + run.attempt->lease_ms * ns_per_ms);
    arm({run.id, Kind::timeout}, monotonic_ns + run.definition().timeout_ms * ns_per_ms);
  }
  if (run.station().status == StationStatus::waiting) {
    const std::int64_t left_ns = run.station().waiting_until_ns - wall_ns;
    arm({run.id, Kind::wait}, monotonic_ns + std::max<std::int64_t>(left_ns, 0));
  }
}

void Timers::arm_all(const World& world, std::int64_t wall_ns, std::int64_t monotonic_ns) {
  timers_.clear();
  queue_.clear();
  for (const auto& [id, run] : world.runs) arm_run(*run, wall_ns, monotonic_ns);
}

void Timers::observe(const World& world, std::span<const Record> records, std::int64_t wall_ns,
                     std::int64_t monotonic_ns) {
  for (const Record& record : records) {
    if (record.stream.kind != StreamKind::run) continue;
    const Run* run = world.find_run(record.stream.run_id);
    if (run == nullptr) {
      disarm_run(record.stream.run_id);
    } else if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
      arm({run->id, Kind::lease}, monotonic_ns + beat->lease_ms * ns_per_ms);
    } else if (sets_deadline(record.event)) {
      // Timers of an attempt that is over are left to be looked at when their time comes: the next
      // attempt of the run, usually at once, takes their place.
      arm_run(*run, wall_ns, monotonic_ns);
    }
  }
}

std::optional<Command> Timers::command_for(const World& world, const Key& key) {
  const Run* run = world.find_run(key.run_id);
  if (run == nullptr) return std::nullopt;
  switch (key.kind) {
    case Kind::lease:
      if (!run->attempt || run->attempt->lease_ms == 0) return std::nullopt;
      return ExpireLease{run->id, run->attempt->token, run->attempt->lease_renewed_at};
    case Kind::timeout:
      if (!run->attempt || run->attempt->lease_ms == 0) return std::nullopt;
      return TimeOutStation{run->id, run->attempt->token};
    case Kind::wait:
      if (run->station().status != StationStatus::waiting) return std::nullopt;
      return WakeStation{run->id};
  }
  return std::nullopt;
}

std::vector<Command> Timers::take_due(const World& world, std::int64_t monotonic_ns) {
  std::vector<Command> due;
  while (!queue_.empty() && std::get<0>(*queue_.begin()) <= monotonic_ns) {
    const Key key = std::get<1>(*queue_.begin());
    queue_.erase(queue_.begin());
    const auto place = timers_.find(key);
    if (place->second.due_ns > monotonic_ns) {
      place->second.queued_ns = place->second.due_ns;
      queue_.emplace(place->second.due_ns, key);
      continue;
    }
    timers_.erase(place);
    if (auto command = command_for(world, key)) due.push_back(std::move(*command));
  }
  return due;
}

std::optional<std::int64_t> Timers::next_due_ns() const {
  if (queue_.empty()) return std::nullopt;
  return std::get<0>(*queue_.begin());
}

}  // namespace signalbox
