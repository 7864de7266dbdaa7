#include "domain/retry_policy.h"

namespace signalbox {
namespace {

std::string exhausted_text(std::uint32_t failures, std::uint32_t max_retries) {
  const std::string attempts =
      failures == 1 ? "1 attempt has" : std::to_string(failures) + " attempts have";
  return attempts + " failed, and max_retries is " + std::to_string(max_retries);
}

}  // namespace

void name_max_retries(RetryPolicy& policy, std::uint32_t max_retries) {
  policy.max_retries = max_retries;
  // Without retries there is nothing to repeat.
  policy.max_retries_named = max_retries > 0;
}

bool repeats_last_strategy(const StationDefinition& station,
                           std::optional<std::uint32_t> run_max_retries) {
  if (station.executor == ExecutorKind::builtin) return false;
  if (station.retry.max_retries_named) return true;
  return run_max_retries.has_value() && station.executor != ExecutorKind::deep_work;
}

std::string not_retried_text(const StationEnd& end) {
  if (end.was_rejected) return "a person rejected it";
  if (end.was_stalled) return "its stall_actions end the station after so many stalls";
  if (end.failure.error_class == ErrorClass::config) {
    return "the configuration has to change first: its class is config";
  }
  const std::uint32_t max_retries = end.run_max_retries.value_or(end.station.retry.max_retries);
  if (end.failures > max_retries) return exhausted_text(end.failures, max_retries);
  switch (end.failure.error_class) {
    case ErrorClass::terminal:
      if (end.station.executor == ExecutorKind::builtin) {
        return "a built-in station would find the same again: its class is terminal";
      }
      if (repeats_last_strategy(end.station, end.run_max_retries)) break;
      return "its class is terminal, no further strategy is left, and the station names no "
             "max_retries";
    case ErrorClass::transient:
    case ErrorClass::lost:
    case ErrorClass::quota:
    case ErrorClass::config:
      break;
  }
  // Decided by a version with other rules.
  return "the rules of that time allowed no retry";
}

}  // namespace signalbox
