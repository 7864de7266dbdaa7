#include "tests/simulation/lateness_watch.h"

#include <algorithm>
#include <utility>

namespace signalbox::simulation {
namespace {

// Covers the turns of the server until it looks at the time.
constexpr std::int64_t lateness_ns_max = 1500 * ns_per_ms;
// A lock on which nothing depends is kept for so long for the next one who wants it.
constexpr std::int64_t lingering_lock_ms = 60'000;

template <class... Types>
bool is_any(const Record& record) {
  return ((event_as<Types>(record.event) != nullptr) || ...);
}

}  // namespace

void LatenessWatch::begin(const Record& record, State& state, Held held) const {
  held.lease_since_ns = held.timeout_since_ns = environment_.schedule.monotonic_ns();
  if (held.lease_ms > 0) state.held[record.position] = std::move(held);
}

void LatenessWatch::renew(Token token, std::int64_t lease_ms, State& state) const {
  const auto place = state.held.find(token);
  if (place == state.held.end()) return;
  if (lease_ms > 0) place->second.lease_ms = lease_ms;
  place->second.lease_since_ns = environment_.schedule.monotonic_ns();
}

void LatenessWatch::make_progress(Token token, const std::string& progress, State& state) const {
  const auto place = state.held.find(token);
  if (place == state.held.end() || progress.empty() || place->second.progress == progress) return;
  place->second.progress = progress;
  place->second.timeout_since_ns = environment_.schedule.monotonic_ns();
}

void LatenessWatch::restart(const RunId& run_id, State& state) const {
  for (auto& [token, held] : state.held) {
    if (held.run_id != run_id) continue;
    held.lease_since_ns = held.timeout_since_ns = environment_.schedule.monotonic_ns();
  }
}

void LatenessWatch::end_all(const RunId& run_id, State& state) {
  std::erase_if(state.held, [&run_id](const auto& entry) { return entry.second.run_id == run_id; });
}

void LatenessWatch::end_steps(const RunId& run_id, State& state) {
  std::erase_if(state.held, [&run_id](const auto& entry) {
    return entry.second.run_id == run_id && entry.second.is_step;
  });
}

const StationDefinition* LatenessWatch::station_of(const State& state, const RunId& run_id,
                                                   const std::string& name) {
  const auto digest = state.pipeline_of_run.find(run_id);
  if (digest == state.pipeline_of_run.end()) return nullptr;
  const auto pipeline = state.pipelines.find(digest->second);
  if (pipeline == state.pipelines.end()) return nullptr;
  const auto& stations = pipeline->second.stations;
  const auto place = std::find_if(stations.begin(), stations.end(),
                                  [&name](const auto& station) { return station.name == name; });
  return place == stations.end() ? nullptr : &*place;
}

void LatenessWatch::follow(const Record& record, State& state) const {
  if (event_as<ClockJumped>(record.event) != nullptr) {
    for (auto& [token, held] : state.held) {
      held.lease_since_ns = held.timeout_since_ns = environment_.schedule.monotonic_ns();
    }
  } else if (record.stream.kind == StreamKind::lock) {
    follow_lock(record, state);
  } else if (record.stream.kind == StreamKind::tick) {
    follow_tick(record, state);
  } else if (record.stream.kind == StreamKind::run) {
    follow_run(record, state);
  }
}

void LatenessWatch::follow_lock(const Record& record, State& state) const {
  if (const auto* acquired = event_as<LockAcquired>(record.event)) {
    Held held;
    held.what = "lock " + acquired->key;
    held.is_lock = true;
    held.lease_ms = acquired->lease_ms;
    begin(record, state, std::move(held));
  } else if (const auto* refreshed = event_as<LockRefreshed>(record.event)) {
    renew(refreshed->token, refreshed->lease_ms, state);
  } else if (const auto* released = event_as<LockReleased>(record.event)) {
    state.held.erase(released->token);
  } else if (const auto* expired = event_as<LockExpired>(record.event)) {
    state.held.erase(expired->token);
  }
}

void LatenessWatch::follow_tick(const Record& record, State& state) const {
  const auto end = [&state](Token token) { state.held.erase(token); };
  if (const auto* started = event_as<TickStarted>(record.event)) {
    Held held;
    held.what = "a tick of " + started->loop;
    held.lock = started->lock_token;
    held.lease_ms = started->lease_ms;
    begin(record, state, std::move(held));
  } else if (const auto* succeeded = event_as<TickSucceeded>(record.event)) {
    end(succeeded->token);
  } else if (const auto* failed = event_as<TickFailed>(record.event)) {
    end(failed->token);
  } else if (const auto* recovered = event_as<TickRecovered>(record.event)) {
    end(recovered->token);
  } else if (const auto* timed_out = event_as<TickTimedOut>(record.event)) {
    end(timed_out->token);
  } else if (const auto* halted = event_as<TickIncompleteDetected>(record.event)) {
    end(halted->token);
  }
}

void LatenessWatch::follow_run(const Record& record, State& state) const {
  const RunId& run_id = record.stream.run_id;
  const auto begin_run = [&](const auto& event) {
    state.pipeline_of_run[run_id] = event.pipeline_digest;
    if (event.pipeline) state.pipelines[event.pipeline_digest] = *event.pipeline;
    state.paused.erase(run_id);
    state.canceled.erase(run_id);
  };
  if (const auto* started = event_as<RunStarted>(record.event)) {
    begin_run(*started);
  } else if (const auto* retried = event_as<RunRetried>(record.event)) {
    begin_run(*retried);
  } else if (is_any<RunPaused>(record)) {
    state.paused.insert(run_id);
  } else if (is_any<RunResumed>(record)) {
    state.paused.erase(run_id);
    restart(run_id, state);
  } else if (is_any<RunCancelRequested>(record)) {
    state.canceled.insert(run_id);
  } else if (is_any<RunSucceeded, RunFailed, RunCanceled>(record)) {
    end_all(run_id, state);
  } else if (is_any<PlanReset>(record)) {
    end_steps(run_id, state);
  } else {
    follow_attempt(record, state);
  }
}

void LatenessWatch::follow_attempt(const Record& record, State& state) const {
  const RunId& run_id = record.stream.run_id;
  if (const auto* claimed = event_as<StationClaimed>(record.event)) {
    const StationDefinition* station = station_of(state, run_id, claimed->station);
    Held held;
    held.what = "station " + std::string(claimed->station);
    held.run_id = run_id;
    held.lock = claimed->lock_token;
    held.lease_ms = claimed->lease_ms;
    held.timeout_ms = station == nullptr ? 0 : station->timeout_ms;
    begin(record, state, std::move(held));
  } else if (const auto* started = event_as<StepAttemptStarted>(record.event)) {
    const StationDefinition* station = station_of(state, run_id, started->station);
    Held held;
    held.what = "step " + std::string(started->step);
    held.run_id = run_id;
    held.is_step = true;
    held.lease_ms = started->lease_ms;
    const bool is_deep = station != nullptr && station->deep_work.has_value();
    held.timeout_ms = is_deep ? station->deep_work->step_timeout_ms : 0;
    begin(record, state, std::move(held));
  } else if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
    renew(record.cause, beat->lease_ms, state);
    make_progress(record.cause, beat->progress_digest, state);
  } else if (const auto* step_beat = event_as<StepHeartbeat>(record.event)) {
    renew(record.cause, step_beat->lease_ms, state);
  } else if (is_any<StepCompleted, StepAttemptFailed, StepFailed>(record)) {
    state.held.erase(record.cause);
  } else if (is_any<StationSucceeded, StationAttemptFailed, StationFailed, StationTimedOut,
                    StationDeferred, StationCanceled, StationResultHeld>(record)) {
    end_all(run_id, state);
  }
}

void LatenessWatch::begin_anew() {
  applied_ = durable_;
  excused_until_ns_ = environment_.schedule.monotonic_ns();
}

bool LatenessWatch::has_dependents(Token lock) const {
  return std::any_of(applied_.held.begin(), applied_.held.end(),
                     [lock](const auto& entry) { return entry.second.lock == lock; });
}

std::int64_t LatenessWatch::late_ns(std::int64_t since_ns, std::int64_t length_ms) const {
  const std::int64_t due_ns = std::max(since_ns, excused_until_ns_) + length_ms * ns_per_ms;
  return environment_.schedule.monotonic_ns() - due_ns - lateness_ns_max;
}

void LatenessWatch::examine() {
  const auto report = [this](Token token, const Held& held, const char* which) {
    environment_.violate("the " + std::string(which) + " of " + held.what + ", token " +
                         std::to_string(token) + ", was over long ago, and it goes on");
  };
  for (const auto& [token, held] : applied_.held) {
    if (applied_.canceled.contains(held.run_id)) continue;
    const bool lingers = held.is_lock && !has_dependents(token);
    const std::int64_t lease_ms = held.lease_ms + (lingers ? lingering_lock_ms : 0);
    if (late_ns(held.lease_since_ns, lease_ms) > 0) return report(token, held, "lease");
    const bool is_timed = held.timeout_ms > 0 && !applied_.paused.contains(held.run_id);
    if (is_timed && late_ns(held.timeout_since_ns, held.timeout_ms) > 0) {
      return report(token, held, "time");
    }
  }
}

}  // namespace signalbox::simulation
