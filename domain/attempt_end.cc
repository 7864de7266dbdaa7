#include "domain/attempt_end.h"

#include <optional>
#include <utility>

#include "domain/check.h"

namespace signalbox {
namespace {

// The strategy index of the next attempt, or nullopt if there is none.
std::optional<std::uint8_t> next_strategy_index(const RetryPolicy& policy,
                                                const StationState& station,
                                                ErrorClass error_class) {
  if (station.failures >= policy.max_retries) return std::nullopt;
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
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

NewEvents end_attempt(const Run& run, Failure failure, AttemptResult result, const Now& now) {
  SIGNALBOX_CHECK(run.attempt.has_value());
  SIGNALBOX_CHECK(failure.outcome == Outcome::failed || failure.outcome == Outcome::timeout);
  const Attempt& attempt = *run.attempt;
  const StationDefinition& definition = run.definition();
  const Stream stream = Stream::run(run.id);
  const auto add = [&](NewEvents& events, Event event) {
    events.push_back({stream, attempt.span_id, attempt.token, std::move(event)});
  };

  NewEvents events;
  const auto next = next_strategy_index(definition.retry, run.station(), failure.error_class);
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

}  // namespace signalbox
