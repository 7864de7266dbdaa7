#include "domain/attempt_end.h"

#include <optional>
#include <utility>

#include "domain/check.h"
#include "domain/limits.h"
#include "domain/retry_policy.h"
#include "domain/step_end.h"
#include "domain/text_parts.h"

namespace signalbox {
namespace {

// Bytes of the text about a failed attempt that the next attempt gets.
constexpr std::size_t previous_bytes_max = 1024;
static_assert(previous_bytes_max <= limits::reason_bytes_max, "as RunRetried counts it");

// Returns the strategy index of the next attempt, or nullopt if there is none.
std::optional<std::uint8_t> next_strategy_index(const Run& run, ErrorClass error_class) {
  const RetryPolicy& policy = run.definition().retry;
  const StationState& station = run.station();
  if (station.failures >= run.max_retries.value_or(policy.max_retries)) return std::nullopt;
  switch (error_class) {
    case ErrorClass::config:
      return std::nullopt;
    case ErrorClass::transient:
    case ErrorClass::lost:
    case ErrorClass::quota:
      return station.strategy_index;
    case ErrorClass::terminal: {
      const auto next = static_cast<std::uint8_t>(station.strategy_index + 1);
      if (next < policy.strategies.size()) return next;
      if (!repeats_last_strategy(run.definition(), run.max_retries)) return std::nullopt;
      return station.strategy_index;
    }
  }
  return std::nullopt;
}

}  // namespace

bool ends_attempt(const Event& event) {
  return event_as<StationSucceeded>(event) != nullptr ||
         event_as<StationResultHeld>(event) != nullptr ||
         event_as<StationAttemptFailed>(event) != nullptr ||
         event_as<StationFailed>(event) != nullptr || event_as<StationTimedOut>(event) != nullptr ||
         event_as<StationDeferred>(event) != nullptr || event_as<StationCanceled>(event) != nullptr;
}

NewEvents end_attempt(const Run& run, Failure failure, AttemptResult result, const Now& now,
                      Retrying retrying) {
  SIGNALBOX_CHECK(run.attempt.has_value());
  SIGNALBOX_CHECK(failure.outcome == Outcome::failed || failure.outcome == Outcome::timeout);
  const Attempt& attempt = *run.attempt;
  const StationDefinition& definition = run.definition();
  const Stream stream = Stream::run(run.id);
  const auto add = [&](NewEvents& events, Event event) {
    events.push_back({stream, attempt.span_id, attempt.token, std::move(event)});
  };

  // Steps that the attempt itself was doing end with it; the next attempt does them again.
  NewEvents events = end_own_steps(run, failure.code, now);
  const auto next =
      retrying == Retrying::never ? std::nullopt : next_strategy_index(run, failure.error_class);
  if (next) {
    const std::int64_t delay_ms = backoff_ms(definition.retry, run.station().failures + 1);
    add(events, StationEvent{StationAttemptFailed{
                    definition.name, attempt.number, std::move(failure), std::move(result),
                    now.wall_ns + delay_ms * 1'000'000, definition.retry.strategies[*next]}});
    return events;
  }
  RunFailed run_failed{definition.name, failure.error_class, failure.code, failure.message};
  if (failure.outcome == Outcome::timeout) {
    add(events, StationEvent{StationTimedOut{definition.name, attempt.number, std::move(failure),
                                             std::move(result)}});
  } else {
    add(events, StationEvent{StationFailed{definition.name, attempt.number, std::move(failure),
                                           std::move(result)}});
  }
  events.push_back({stream, {}, attempt.token, RunEvent{std::move(run_failed)}});
  return events;
}

std::string previous_text(const Failure& failure, const AttemptResult& result) {
  std::string text = failure.code;
  if (!failure.message.empty()) text += ": " + failure.message;
  if (!result.summary.empty()) text += "\n" + result.summary;
  return std::string(utf8_prefix(text, previous_bytes_max));
}

NewEvent watchdog_timed_out(const Run& run, std::int64_t elapsed_ms) {
  const Attempt& attempt = *run.attempt;
  const bool progressed = attempt.last_progress_at > attempt.token;
  return {Stream::run(run.id), attempt.span_id, attempt.token,
          StationEvent{WatchdogTimedOut{
              run.definition().name, attempt.number, elapsed_ms, run.definition().timeout_ms,
              progressed ? TimerOrigin::last_progress_at : TimerOrigin::started_at,
              progressed ? attempt.last_progress_at_ns : attempt.started_at_ns, attempt.worker,
              run.run_root}}};
}

NewEvents end_stalled_attempt(const Run& run, AttemptResult result, const Now& now) {
  const Attempt& attempt = *run.attempt;
  SIGNALBOX_CHECK(attempt.stalls > 0);
  const StallAction action = stall_action(run.definition(), attempt.stalls - 1);
  return end_attempt(
      run,
      {Outcome::failed, ErrorClass::terminal, "STALLED",
       "alive, but no progress for " + std::to_string(run.definition().stall_after_ms) + " ms"},
      std::move(result), now, action == StallAction::fail ? Retrying::never : Retrying::by_policy);
}

StallAction stall_action(const StationDefinition& station, std::uint32_t stalls) {
  const std::size_t last = station.stall_actions.size() - 1;
  return station.stall_actions[stalls < last ? stalls : last];
}

}  // namespace signalbox
