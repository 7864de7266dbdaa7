#include "tests/simulation/wait_watch.h"

#include <algorithm>
#include <optional>

namespace signalbox::simulation {
namespace {

// Covers the turns of the server until it looks at the time.
constexpr std::int64_t late_wait_ns_max = 1500 * ns_per_ms;

// Returns the step that this event makes ready, "" for the station, or nullopt.
std::optional<std::string> ready_by(const Event& event) {
  if (const auto* step = event_as<StepReady>(event)) return step->step;
  const auto* held = event_as<StationHeld>(event);
  if (event_as<StationReady>(event) != nullptr || held != nullptr) return std::string();
  return std::nullopt;
}

}  // namespace

WaitWatch::Wait WaitWatch::until(std::int64_t until_ns) const {
  const Schedule& schedule = environment_.schedule;
  const std::int64_t left_ns =
      std::max<std::int64_t>(until_ns - std::max(schedule.wall_ns(), now_min_ns_), 0);
  return {until_ns, schedule.monotonic_ns() + left_ns};
}

void WaitWatch::forget(const RunId& run_id, std::map<Key, Wait>& waits) {
  std::erase_if(waits, [&run_id](const auto& entry) { return entry.first.first == run_id; });
}

bool WaitWatch::begins(const Record& record, std::map<Key, Wait>& waits) const {
  const RunId& run_id = record.stream.run_id;
  if (const auto* failed = event_as<StationAttemptFailed>(record.event)) {
    waits[{run_id, {}}] = until(failed->retry_at_ns);
  } else if (const auto* deferred = event_as<StationDeferred>(record.event)) {
    waits[{run_id, {}}] = until(deferred->until_ns);
  } else if (const auto* step = event_as<StepAttemptFailed>(record.event)) {
    waits[{run_id, step->step}] = until(step->retry_at_ns);
  } else {
    if (event_as<RunFailed>(record.event) != nullptr ||
        event_as<RunCanceled>(record.event) != nullptr) {
      forget(run_id, waits);
    }
    return false;
  }
  return true;
}

bool WaitWatch::by_another_clock() const {
  return environment_.mutant == Mutant::wall_clock_lease ||
         environment_.mutant == Mutant::unwatched_clock;
}

void WaitWatch::end(const Record& record, const Key& key) {
  const auto place = applied_.find(key);
  if (place == applied_.end()) return;  // it waited for a person
  if (by_another_clock()) return;
  const std::int64_t early_ns = place->second.due_ns - environment_.schedule.monotonic_ns();
  // The service has no command ids: a person ended the wait (run.resume).
  environment_.expect(early_ns <= 0 || !record.command_id.empty(),
                      "position " + std::to_string(record.position) + ": a wait of " +
                          to_string(record.stream) + " " + key.second + " is over " +
                          std::to_string(early_ns / ns_per_ms) + " ms too early");
  applied_.erase(place);
}

void WaitWatch::applied(const Record& record) {
  if (record.stream.kind != StreamKind::run || begins(record, applied_)) return;
  if (event_as<RunResumed>(record.event) != nullptr) {
    const auto place = applied_.find({record.stream.run_id, {}});
    if (place != applied_.end()) place->second = until(place->second.until_ns);
  }
  if (const auto step = ready_by(record.event)) end(record, {record.stream.run_id, *step});
}

void WaitWatch::durable(const Record& record) {
  if (record.stream.kind != StreamKind::run || begins(record, durable_)) return;
  if (const auto step = ready_by(record.event)) durable_.erase({record.stream.run_id, *step});
}

void WaitWatch::examine(std::int64_t excused_until_ns) {
  if (by_another_clock()) return;
  const std::int64_t now_ns = environment_.schedule.monotonic_ns();
  for (const auto& [key, wait] : applied_) {
    // The step of a plan may be dropped with its plan, without an event of its own.
    if (!key.second.empty()) continue;
    const std::int64_t late_ns = now_ns - std::max(wait.due_ns, excused_until_ns);
    if (late_ns <= late_wait_ns_max) continue;
    return environment_.violate("the wait of run " + to_string(key.first) +
                                " was over long ago, and its station isn't ready");
  }
}

void WaitWatch::begin_anew() {
  applied_ = durable_;
  for (auto& [key, wait] : applied_) wait = until(wait.until_ns);
}

}  // namespace signalbox::simulation
